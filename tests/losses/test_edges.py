"""What happens at the edges: nothing to count, bad labels, saturation, half precision."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from dicebook import LOSS_NAMES, SelfAdjustingDiceLoss, make_loss
from dicebook.losses import functional as L

pytestmark = pytest.mark.filterwarnings("ignore:alpha=")
MULTI = [name for name in LOSS_NAMES if not name.startswith("binary_")]
BINARY = [name for name in LOSS_NAMES if name.startswith("binary_")]
LEVELS = ["set", "example"]


def make(name: str, level: str = "set", **options: object) -> Callable[..., Tensor]:
    if name.endswith(("dl", "tl", "dsc")):
        options["level"] = level
    if name.endswith("wce"):
        options["weight"] = [0.5, 2.0] if name in BINARY else [0.5, 2.0, 1.0]
    return make_loss(name, **options)


def batch(name: str) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    shape = (2, 6) if name in BINARY else (2, 6, 3)
    classes = 2 if name in BINARY else 3
    logits = torch.randn(shape, generator=generator, requires_grad=True)
    return logits, torch.randint(classes, (2, 6), generator=generator)


def value_and_gradient(
    loss: Callable[..., Tensor], x: Tensor, *rest: Tensor
) -> tuple[Tensor, Tensor]:
    value = loss(x, *rest)
    (gradient,) = torch.autograd.grad(value.sum(), x)
    return value.detach(), gradient


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_ignoring_or_masking_a_row_is_leaving_it_out_whatever_it_holds(name: str, level: str):
    x, y = batch(name)
    loss = make(name, level)
    flat = torch.cat([x[0, :2], x[0, 4:], x[1]]).detach().requires_grad_()
    expected, slope = value_and_gradient(loss, flat, torch.cat([y[0, :2], y[0, 4:], y[1]]))
    x = x.detach().clone()
    x[0, 2], x[0, 3] = torch.nan, torch.inf
    x.requires_grad_()
    ignored = y.clone()
    ignored[0, 2:4] = -100
    mask = torch.ones(2, 6, dtype=torch.bool)
    mask[0, 2:4] = False
    for value, gradient in (
        value_and_gradient(loss, x, ignored),
        value_and_gradient(loss, x, y, mask),
        value_and_gradient(loss, x, y, mask.float()),
        value_and_gradient(make(name, level, ignore_index=7), x, ignored.where(ignored >= 0, 7)),
    ):
        torch.testing.assert_close(value, expected)
        assert (gradient[0, 2:4] == 0).all()
        torch.testing.assert_close(gradient[mask], slope)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", LOSS_NAMES)
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_nothing_to_count_is_zero_and_attached(name: str, level: str, reduction: str) -> None:
    x, y = batch(name)
    loss = make(name, level, reduction=reduction)
    for rows in (slice(None), slice(0)):  # all ignored; an empty batch
        value, gradient = value_and_gradient(
            loss, x[rows].detach().requires_grad_(), y[rows] * 0 - 100
        )
        assert value.item() == 0
        assert (gradient == 0).all()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_any_leading_shape_and_strides(name: str, level: str) -> None:
    x, y = batch(name)
    loss = make(name, level)
    expected, gradient = value_and_gradient(loss, x, y)
    swapped = x.detach().transpose(0, 1).requires_grad_()
    assert not swapped.is_contiguous()
    value, other = value_and_gradient(loss, swapped, y.t())
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(other.transpose(0, 1), gradient)
    deep = (2, 1, 3, 2)
    torch.testing.assert_close(loss(x.reshape(*deep, *x.shape[2:]), y.reshape(deep)), expected)
    assert loss(x[0, 0], y[0, 0]).shape == ()


@pytest.mark.parametrize("name", LOSS_NAMES)
def test_reductions(name: str) -> None:
    x, y = batch(name)
    y[0, 0] = -100
    for level in LEVELS:
        none = make(name, level, reduction="none")(x, y)
        by_class = level == "set" and name.endswith(("dl", "tl", "dsc"))
        shape = ((1,) if name in BINARY else (3,)) if by_class else (2, 6)
        assert none.shape == shape
        torch.testing.assert_close(make(name, level, reduction="sum")(x, y), none.sum())
        count = none.numel() if by_class else 11
        torch.testing.assert_close(make(name, level, reduction="mean")(x, y), none.sum() / count)


@pytest.mark.parametrize("name", MULTI)
@pytest.mark.parametrize("label", [3, -1, -7])
def test_a_label_out_of_range_is_named(name: str, label: int) -> None:
    x, y = batch(name)
    y[1, 1] = label
    with pytest.raises(ValueError, match=rf"in 0\.\.2 or ignore_index; got {label}$"):
        make(name)(x, y)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("label", [2.0, -1.0, math.nan])
def test_a_binary_target_out_of_range_is_named(name: str, label: float) -> None:
    x, y = batch(name)
    target = y.float()
    target[1, 1] = label
    with pytest.raises(ValueError, match=f"between 0 and 1, or be ignore_index; got {label:g}"):
        make(name)(x, target)


def test_soft_targets_are_refused_where_they_have_no_meaning() -> None:
    x, soft = batch("fl")[0], torch.rand(2, 6, 3).softmax(-1)
    mined = {"ohem_ratio": 1.0}
    for error, loss, options in ((TypeError, L.focal, {}), (TypeError, L.dice, mined)):
        with pytest.raises(error, match="not defined for soft targets"):
            loss(x, soft, **options)
    for loss, options in ((L.binary_focal, {}), (L.binary_dice, mined)):
        with pytest.raises(ValueError, match="not defined for soft targets"):
            loss(x[..., 0], soft[..., 0], **options)


@pytest.mark.parametrize("name", LOSS_NAMES)
def test_soft_targets_outside_the_unit_interval_are_refused(name: str) -> None:
    x, _ = batch(name)
    wrong = torch.full_like(x, 0.5).index_fill(-1, torch.tensor([0]), 1.5)
    said = r"between 0 and 1.*got 1.5|not defined for soft targets"
    with pytest.raises((TypeError, ValueError), match=said):
        make(name)(x, wrong)


def test_shapes_that_do_not_belong_together_are_refused() -> None:
    x, y = batch("dsc")
    for error, said, arguments, options in (
        (ValueError, r"target must have shape \[2, 6\].*got \[2\]", (x, y[:, 0]), {}),
        (ValueError, r"mask must be .* \[2, 6\]; got \[2, 1\]", (x, y, torch.ones(2, 1)), {}),
        (ValueError, "at least two classes last", (x[..., :1], y), {}),
        (TypeError, "floating tensor of logits; got torch.int64", (y, y), {}),
        (
            ValueError,
            r"weight .* of shape \[3\]; got shape \[2\]",
            (x, y),
            {"weight": torch.ones(2)},
        ),
        (ValueError, r"classes must lie in 0\.\.2", (x, y), {"classes": [1, 3]}),
        (TypeError, "class indices", (x, y > 0), {}),
    ):
        with pytest.raises(error, match=said):
            L.dice(*arguments, **options)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("alpha", [0, 0.01, 0.1, 0.5, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_saturated_logits_keep_value_and_gradient_true(level, alpha, dtype):
    margins = [7.0, 9.0, 17.0, 18.0, 60.0, 88.0, 104.0, 120.0, 1000.0]
    rows = [[m, 0.0, -1.0] for m in margins] + [[-m, 0.0, 1.0] for m in margins]
    x = torch.tensor(rows, dtype=dtype, requires_grad=True)
    y = torch.tensor([0, 1] * len(margins))

    def loss(x: Tensor) -> Tensor:
        return L.dice(x, y, alpha=alpha, level=level)

    value, gradient = value_and_gradient(loss, x)
    expected, exact = value_and_gradient(loss, x.detach().double().requires_grad_())
    assert value.dtype == torch.float32
    torch.testing.assert_close(value, expected.float(), rtol=2e-6, atol=1e-6)
    tolerance = 1e-6 if dtype == torch.float32 else torch.finfo(dtype).eps
    torch.testing.assert_close(gradient, exact.to(dtype), rtol=tolerance, atol=1e-8)
    for i in (0, 1):
        binary = (x[:, i].detach().requires_grad_(), (y == i).float())
        value, gradient = value_and_gradient(
            lambda x, y: L.binary_dice(x, y, alpha=alpha, level=level), *binary
        )
        assert value.isfinite()
        assert gradient.isfinite().all()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("alpha", [0, 0.1, 1])
def test_logits_of_minus_infinity_are_classes_ruled_out(alpha: float, level: str) -> None:
    rows = [[2.0, -math.inf, -math.inf], [-math.inf, 1.0, 0.5], [0.3, 0.1, -math.inf]]
    loss = functools.partial(L.dice, target=torch.tensor([0, 1, 0]), alpha=alpha, level=level)
    far = torch.tensor(rows).clamp(min=-1e4).requires_grad_()
    actual = value_and_gradient(loss, torch.tensor(rows, requires_grad=True))
    torch.testing.assert_close(actual, value_and_gradient(loss, far))


@pytest.mark.parametrize("name", ["dl", "tl", "dsc", "binary_dl", "binary_tl", "binary_dsc"])
def test_many_tokens_in_half_precision(name: str) -> None:
    shape = (20_000,) if name in BINARY else (20_000, 9)
    x = torch.randn(shape).half().requires_grad_()
    y = torch.randint(2 if name in BINARY else 9, (20_000,))
    loss = make_loss(name)
    # float16 gradients need a scaled loss, as torch.amp.GradScaler does it: each is about 1e-5.
    value, gradient = value_and_gradient(lambda x: 2**10 * loss(x, y), x)
    exact = value_and_gradient(lambda x: 2**10 * loss(x, y), x.detach().double().requires_grad_())
    assert value.dtype == torch.float32
    torch.testing.assert_close(value, exact[0].float(), rtol=1e-6, atol=0)
    torch.testing.assert_close(gradient.double(), exact[1], rtol=1e-3, atol=6e-8)


def test_autocast_does_not_lower_the_precision() -> None:
    x, y = batch("dsc")
    for name in ("ce", "fl", "dl", "dsc"):
        expected = value_and_gradient(make(name), x, y)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            actual = value_and_gradient(make(name), x, y)
        torch.testing.assert_close(actual, expected)


def test_the_positive_class_of_a_binary_loss_always_counts() -> None:
    assert L.binary_dice(batch("binary_dl")[0], torch.zeros(2, 6)).item() > 0


def test_hard_negatives_are_the_most_probable_ones() -> None:
    x = torch.tensor([3.0, 2.0, 1.0, 0.0, -1.0, 9.0], requires_grad=True)
    y = torch.tensor([0, 1, 0, 0, 0, -100])
    _, gradient = value_and_gradient(lambda x: L.binary_dice(x, y, ohem_ratio=2.9), x)
    assert (gradient != 0).tolist() == [True, True, True, False, False, False]
    kept = torch.tensor([1, 1, 1, 0, 0, 0])
    expected = L.binary_dice(x, y, kept)
    torch.testing.assert_close(L.binary_dice(x, y, ohem_ratio=2.9), expected)
    torch.testing.assert_close(L.binary_dice(x, y, ohem_ratio=99.0), L.binary_dice(x, y))
    # Without a positive no negative is kept.
    assert L.binary_dice(x, torch.zeros_like(y), ohem_ratio=1.0).item() == 0
    # With alpha = 2 the most probable negatives have a small q; they are the hardest all the same.
    adjusted = L.binary_dice(x, y, alpha=2, ohem_ratio=2.9)
    torch.testing.assert_close(adjusted, L.binary_dice(x, y, kept, alpha=2))


def test_hard_negatives_are_chosen_for_each_class() -> None:
    x, y = batch("dl")
    per_class = []
    for c in range(3):
        p = x.detach().softmax(-1)[..., c].flatten()
        positives = (y.flatten() == c).nonzero().flatten()
        negatives = (y.flatten() != c).nonzero().flatten()
        hardest = negatives[p[negatives].argsort(descending=True)[: len(positives)]]
        mask = torch.zeros(12).index_fill(0, torch.cat([positives, hardest]), 1).reshape(2, 6)
        per_class.append(L.dice(x, y, mask, classes=[c]))
    torch.testing.assert_close(L.dice(x, y, ohem_ratio=1.0), sum(per_class) / 3)


def test_alpha_of_a_half_or_more_warns_once_with_the_reason() -> None:
    x, y = batch("dsc")
    L._warned_of.clear()
    with pytest.warns(UserWarning, match=r"alpha=1: .* above 0\.50 .*1/\(1 \+ alpha\)") as seen:
        L.dice(x, y, alpha=1)
    assert len(seen) == 1
    with pytest.warns(UserWarning, match="alpha=2") as of_module:
        SelfAdjustingDiceLoss(alpha=2)
    with pytest.warns(UserWarning, match="alpha=3") as by_name:
        make_loss("dsc", alpha=3)
    with pytest.warns(UserWarning, match=r"alpha=0\.5"):
        make_loss("dsc", alpha=0.5)
    assert seen[0].filename == of_module[0].filename == by_name[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_loss("binary_dsc", alpha=1)
        L.dice(x, y, alpha=0.49)
        L.dice(x, y, alpha=1)


@pytest.mark.parametrize("name", ["binary_dl", "binary_tl", "binary_dsc"])
@pytest.mark.parametrize(("squared", "logit"), [(False, -92.0), (True, -48.0)])
def test_a_sum_that_is_hardly_a_number_is_an_empty_one(name, squared, logit):
    """Without positives and smoothing, p of 1e-40 is nothing to find: not all of the loss."""
    x = torch.full((3,), logit, requires_grad=True)
    probability = torch.sigmoid(x.detach().double()) ** (2 if squared else 1)
    assert 0 < probability.sum() < torch.finfo(torch.float32).tiny
    for smooth in (0.0, 1e-42):  # the second is hardly a number itself
        loss = make_loss(name, smooth=smooth, squared=squared)
        value, gradient = value_and_gradient(loss, x, torch.zeros(3, dtype=torch.long))
        assert value == 0
        assert (gradient == 0).all()

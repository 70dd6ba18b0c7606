"""Properties over shapes, masks, dtypes and options."""

from __future__ import annotations

import functools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from dicebook.losses import functional as L
from losses import oracle

pytestmark = pytest.mark.filterwarnings("ignore:alpha=")
LEVELS = st.sampled_from(["set", "example"])
ALPHAS = st.sampled_from([0, 0.01, 0.1, 0.5, 1, 2]) | st.floats(0, 3)
SMOOTH = st.sampled_from([0.0, 1e-4, 1.0]) | st.floats(0.01, 5)


@st.composite
def batches(draw: st.DrawFn, scale: float = 3.0) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, labels with ignored ones, and a mask."""
    leading = tuple(draw(st.lists(st.integers(1, 5), min_size=0, max_size=3)))
    classes = draw(st.integers(2, 7))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**20)))
    x = scale * torch.randn(*leading, classes, generator=generator, dtype=torch.float64)
    y = torch.randint(classes, leading, generator=generator)
    y = torch.where(torch.rand(leading, generator=generator) < 0.2, -100, y)
    return x, y, torch.rand(leading, generator=generator) < 0.8


@settings(max_examples=60, deadline=None)
@given(batches(), LEVELS, ALPHAS, SMOOTH)
def test_equal_to_the_loop_whatever_the_shape(
    batch: tuple[Tensor, Tensor, Tensor], level: str, alpha: float, smooth: float
) -> None:
    x, y, mask = batch
    options = {"level": level, "alpha": alpha, "smooth": smooth, "squared": False}
    options["absent"] = "keep"
    actual = L.dice(x, y, mask, **options).item()
    kept = (mask & (y >= 0)).flatten()
    rows, labels = x.reshape(-1, x.shape[-1])[kept].tolist(), y.flatten()[kept].tolist()
    if not labels:
        assert actual == 0
        return
    losses = []
    for p, gold in oracle.one_vs_rest(rows, labels):
        q = oracle.decay(p, alpha)
        if level == "set":
            losses.append(oracle.equation_8(q, gold, smooth, power=1))
        else:
            losses.append(oracle.one_minus_equation_6(q, gold, smooth))
    assert actual == pytest.approx(sum(losses) / len(losses), rel=1e-9, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(batches(scale=40.0), LEVELS, ALPHAS, st.booleans())
def test_bounded_and_finite_even_when_saturated(
    batch: tuple[Tensor, Tensor, Tensor], level: str, alpha: float, squared: bool
) -> None:
    x, y, mask = batch
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        low = x.to(dtype).requires_grad_()
        loss = L.dice(low, y, mask, level=level, alpha=alpha, squared=squared)
        (gradient,) = torch.autograd.grad(loss, low)
        assert -1e-6 <= loss.item() <= 1
        assert gradient.isfinite().all()


@settings(max_examples=40, deadline=None)
@given(batches(), LEVELS, ALPHAS, st.floats(-30, 30))
def test_a_constant_added_to_all_logits_changes_nothing(
    batch: tuple[Tensor, Tensor, Tensor], level: str, alpha: float, shift: float
) -> None:
    x, y, mask = batch
    options = {"level": level, "alpha": alpha}
    moved = L.dice(x + shift, y, mask, **options)
    torch.testing.assert_close(moved, L.dice(x, y, mask, **options))


@settings(max_examples=40, deadline=None)
@given(batches(), LEVELS, st.randoms(use_true_random=False))
def test_the_order_of_classes_does_not_matter(
    batch: tuple[Tensor, Tensor, Tensor], level: str, random: object
) -> None:
    x, y, mask = batch
    order = torch.randperm(
        x.shape[-1], generator=torch.Generator().manual_seed(random.randint(0, 99))
    )
    renamed = torch.where(y >= 0, order.argsort()[y.clamp(min=0)], y)
    tversky, adjusting = (
        functools.partial(L.dice, fp_weight=0.5, fn_weight=0.5),
        functools.partial(L.dice, alpha=0.1),
    )
    for loss in (L.dice, tversky, adjusting):
        torch.testing.assert_close(
            loss(x[..., order], renamed, mask, level=level), loss(x, y, mask, level=level)
        )


@settings(max_examples=40, deadline=None)
@given(batches(), st.floats(0.1, 5))
def test_a_better_logit_lowers_dice_and_tversky(
    batch: tuple[Tensor, Tensor, Tensor], step: float
) -> None:
    x, y, _ = batch
    gold = torch.nn.functional.one_hot(y.clamp(min=0), x.shape[-1]) * (y >= 0).unsqueeze(-1)
    precise = functools.partial(L.dice, fp_weight=0.9, fn_weight=0.1)
    even = functools.partial(L.dice, fp_weight=0.5, fn_weight=0.5)
    for loss in (L.dice, even, precise, L.cross_entropy, L.focal):
        assert loss(x + step * gold, y).item() <= loss(x, y).item() + 1e-12

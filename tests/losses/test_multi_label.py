"""Any number of labels an example: against a loop over labels, in parts, and refused."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from dicebook import BinaryDiceLoss, MultiLabelDiceLoss, backward_in_two_passes
from dicebook.losses.functional import multi_label_dice


def batch(seed: int = 0, shape: tuple[int, ...] = (7, 3)) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=generator, dtype=torch.float64)
    return x, (torch.rand(shape, generator=generator) < 0.3).double()


def of_one_label(x: Tensor, y: Tensor, alpha: float, squared: bool, smooth: float) -> float:
    """The dice of the decisions on one label, or on all."""
    p, power = [1 / (1 + 1 / value) for value in x.exp().tolist()], 2 if squared else 1
    pairs = [((1 - a) ** alpha * a, b) for a, b in zip(p, y.tolist(), strict=True)]
    overlap, below = sum(q * b for q, b in pairs), sum(q**power + b**power for q, b in pairs)
    return 1 - (2 * overlap + smooth) / (below + smooth)


@pytest.mark.filterwarnings("ignore:alpha=")
@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**20),
    st.lists(st.integers(1, 4), max_size=2),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.booleans(),
    st.sampled_from([1e-3, 1.0]),
)
def test_equal_to_a_loop_over_labels(seed, leading, labels, alpha, squared, smooth):
    x, y = batch(seed, (*leading, labels))
    generator = torch.Generator().manual_seed(seed)
    known = torch.rand(x.shape, generator=generator) < 0.8
    y[torch.rand(x.shape, generator=generator) < 0.1] = -100
    kept = known & (y >= 0)
    options = {"alpha": alpha, "squared": squared, "smooth": smooth}
    weight = torch.arange(1, labels + 1)
    losses, shares = [], []
    for label in range(labels):
        here = kept[..., label]
        losses.append(of_one_label(x[..., label][here], y[..., label][here], **options))
        shares.append(label + 1 if bool((y[..., label][here] > 0).any()) else 0)
    expected = sum(a * b for a, b in zip(losses, shares, strict=True)) / max(1, sum(shares))
    actual = multi_label_dice(x, y, known, weight=weight, **options)
    assert actual.item() == pytest.approx(expected, rel=1e-9, abs=1e-12)
    each = multi_label_dice(x, y, known, absent="keep", reduction="none", **options)
    assert each.tolist() == pytest.approx(losses, rel=1e-9, abs=1e-12)
    micro = multi_label_dice(x, y, known, average="micro", **options)
    assert micro.item() == pytest.approx(of_one_label(x[kept], y[kept], **options), rel=1e-9)


def test_a_mask_of_rows_drops_rows_even_with_nan_in_them() -> None:
    x, y = batch()
    mask = torch.tensor([1, 0, 1, 1, 0, 1, 1])
    broken = torch.where(mask.bool().unsqueeze(-1), x, torch.nan).requires_grad_()
    value = MultiLabelDiceLoss()(broken, y, mask)
    torch.testing.assert_close(value, MultiLabelDiceLoss()(x[mask > 0], y[mask > 0]))
    (gradient,) = torch.autograd.grad(value, broken)
    assert (gradient[mask == 0] == 0).all()
    assert (gradient[mask > 0] != 0).any()


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("ohem_ratio", [None, 1.0])
def test_in_two_passes_and_by_sums_it_is_the_loss_of_the_whole(average, ohem_ratio):
    loss = MultiLabelDiceLoss(average=average, alpha=0.1, ohem_ratio=ohem_ratio)
    x, y = batch(1, (12, 4))
    x.requires_grad_()
    parts = [(0, 5), (5, 6), (6, 12)]
    added = loss.loss_of(sum(loss.statistics(x[a:b], y[a:b]) for a, b in parts))
    value = backward_in_two_passes(loss, lambda p: (x[p[0] : p[1]], y[p[0] : p[1]]), parts)
    torch.testing.assert_close(value, added.detach())
    torch.testing.assert_close(x.grad, torch.autograd.grad(added, x)[0])
    if ohem_ratio is None:
        torch.testing.assert_close(value, loss(x, y).detach())


def test_hard_negatives_are_chosen_label_by_label() -> None:
    x, y = batch(2, (9, 3))
    loss = MultiLabelDiceLoss(ohem_ratio=1.0, reduction="none", absent="keep")
    alone = BinaryDiceLoss(ohem_ratio=1.0)
    expected = [alone(x[:, label], y[:, label]).item() for label in range(3)]
    assert loss(x, y).tolist() == pytest.approx(expected)


def test_nothing_known_is_zero_and_attached() -> None:
    x, y = batch()
    x.requires_grad_()
    for average in ("macro", "micro"):
        value = MultiLabelDiceLoss(average=average)(x, y, torch.zeros(7))
        assert value.item() == 0
        assert (torch.autograd.grad(value, x)[0] == 0).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"average": "samples"}, "average must be one of 'macro', 'micro'; got 'samples'"),
        ({"average": "micro", "weight": [1, 2, 3]}, "got average='micro'"),
        ({"average": "micro", "absent": "keep"}, "got average='micro'"),
        ({"average": "micro", "reduction": "none"}, "got average='micro'"),
    ],
)
def test_wrong_options_are_refused_when_the_module_is_made(options: dict, said: str) -> None:
    x, y = batch()
    with pytest.raises(ValueError, match=said):
        MultiLabelDiceLoss(**options)
    with pytest.raises(ValueError, match=said):
        multi_label_dice(x, y, **options)


def test_wrong_batches_are_refused() -> None:
    x, y = batch()
    loss = MultiLabelDiceLoss()
    with pytest.raises(ValueError, match=r"target must have shape \[7, 3\]"):
        loss(x, y[:, 0])
    with pytest.raises(ValueError, match=r"mask must be a tensor of .* shape \[7, 3\]"):
        loss(x, y, torch.ones(3))
    with pytest.raises(ValueError, match="lie between 0 and 1"):
        loss(x, 2 * y)
    with pytest.raises(ValueError, match="the labels last"):
        loss(x[0, 0], y[0, 0])

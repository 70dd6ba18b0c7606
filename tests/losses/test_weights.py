"""Weights of examples, of positives and of classes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dicebook import (
    LOSS_NAMES,
    BinaryCrossEntropyLoss,
    BinaryFocalLoss,
    CrossEntropyLoss,
    DiceLoss,
    MultiLabelDiceLoss,
    WeightedSum,
    backward_in_two_passes,
    balanced_weights,
    make_loss,
)
from dicebook.losses import functional as L

pytestmark = pytest.mark.filterwarnings("ignore:alpha=")
LEVELS = ("set", "example")


def loss_of(name: str, level: str = "set", **options: Any) -> nn.Module:
    if name == "labels":
        return MultiLabelDiceLoss(**options)
    if name.endswith(("dl", "tl", "dsc")):
        options["level"] = level
    if name.endswith("wce"):
        options["weight"] = [0.5, 2.0] if "binary" in name else [0.5, 2.0, 1.0]
    return make_loss(name, **options)


def batch(name: str) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    binary = "binary" in name
    x = torch.randn((12,) if binary else (12, 3), generator=generator, dtype=torch.float64)
    y = torch.randint(2 if binary else 3, (12,), generator=generator)
    if name == "labels":
        y = torch.randint(2, (12, 3), generator=generator)
    return x.requires_grad_(), y, torch.tensor([0, 1, 2, 3] * 3)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", [*LOSS_NAMES, "labels"])
def test_an_example_of_weight_2_is_two_examples(name: str, level: str, reduction: Any) -> None:
    x, y, times = batch(name)
    loss = loss_of(name, level, reduction=reduction)
    dirty = torch.where((times == 0).reshape(-1, *[1] * (x.ndim - 1)), torch.nan, x)
    weighted = loss(dirty, y, sample_weight=times.double())
    repeated = loss(x.repeat_interleave(times, 0), y.repeat_interleave(times, 0))
    torch.testing.assert_close(weighted, repeated)
    gradients = [torch.autograd.grad(value, x)[0] for value in (weighted, repeated)]
    torch.testing.assert_close(*gradients)
    halved = loss(x, y, sample_weight=times / 2)
    if (
        reduction == "mean"
        and name != "labels"
        and (level == "example" or name.endswith(("ce", "fl")))
    ):
        torch.testing.assert_close(halved, weighted)


@pytest.mark.parametrize("name", ["dl", "tl", "dsc"])
def test_weights_of_soft_targets_and_of_what_python_cannot_read(name: str) -> None:
    x, y, times = batch(name)
    loss = loss_of(name)
    expected = loss(x, y, sample_weight=times)
    torch.testing.assert_close(loss(x, F.one_hot(y, 3).double(), sample_weight=times), expected)
    with torch.no_grad():
        by_vmap = torch.func.vmap(lambda x, y, w: loss(x, y, None, w))(
            x[None], y[None], times[None]
        )
    torch.testing.assert_close(by_vmap[0], expected.detach())


def test_weighted_statistics_add_up_and_go_through_two_passes() -> None:
    x, y, times = batch("dl")
    for loss in (DiceLoss(), WeightedSum(CrossEntropyLoss(), DiceLoss())):
        whole = loss(x, y, None, times)
        repeated = loss(x.repeat_interleave(times, 0), y.repeat_interleave(times, 0))
        torch.testing.assert_close(whole, repeated)
    scaled = []
    backward_in_two_passes(
        DiceLoss(),
        lambda part: (x[part], y[part], None, times[part]),
        [slice(0, 5), slice(5, 12)],
        backward=lambda value: scaled.append(value) or (64 * value).backward(),
    )
    assert len(scaled) == 2
    torch.testing.assert_close(
        x.grad / 64, torch.autograd.grad(DiceLoss()(x, y, None, times), x)[0]
    )


def test_weights_of_labels_and_refusals() -> None:
    x, y, times = batch("labels")
    loss = MultiLabelDiceLoss()
    each = times.unsqueeze(-1).expand(12, 3)
    torch.testing.assert_close(loss(x, y, None, each), loss(x, y, None, times))
    for bad, said in (
        (-times, "finite numbers of at least 0"),
        (times * torch.nan, "finite numbers of at least 0"),
        (times[:3], "sample_weight must be a tensor of the examples' shape"),
    ):
        with pytest.raises(ValueError, match=said):
            DiceLoss()(x, y[:, 0], sample_weight=bad)
    with pytest.raises(ValueError, match="ohem_ratio counts examples"):
        DiceLoss(ohem_ratio=1.0)(x, y[:, 0], sample_weight=times)


@pytest.mark.parametrize("name", [*LOSS_NAMES, "labels"])
@pytest.mark.parametrize("value", [0.3, -1e9, 2.0])
def test_a_mask_of_other_numbers_than_0_and_1_is_refused(name: str, value: float) -> None:
    x, y, _ = batch(name)
    mask = torch.ones(12)
    mask[4] = value
    with pytest.raises(
        ValueError, match=f"mask must hold 0 and 1.*got {re.escape(f'{value:g}')}.*sample_weight"
    ):
        loss_of(name)(x, y, mask)


@pytest.mark.parametrize("pos_weight", [3.0, [1.0, 2.0, 5.0], torch.tensor([1.0, 2.0, 5.0])])
def test_positives_weigh_what_they_weigh_in_torch(pos_weight: Any) -> None:
    x, y, _ = batch("labels")
    expected = F.binary_cross_entropy_with_logits(
        x, y.double(), pos_weight=torch.as_tensor(pos_weight)
    )
    torch.testing.assert_close(BinaryCrossEntropyLoss(pos_weight=pos_weight)(x, y), expected)
    torch.testing.assert_close(L.binary_cross_entropy(x, y, pos_weight=pos_weight), expected)
    flat = BinaryFocalLoss(pos_weight=pos_weight, gamma=0.0)(x, y)
    torch.testing.assert_close(flat, expected)
    for bad in (-1.0, "2", [1.0, 2.0], torch.eye(3)):
        with pytest.raises(ValueError, match="pos_weight must be"):
            BinaryCrossEntropyLoss(pos_weight=bad)(x, y)


@pytest.mark.parametrize("squared", [True, False])
def test_multi_label_tversky_is_that_of_each_label(squared: bool) -> None:
    x, y, _ = batch("labels")
    prices = {"fp_weight": 0.3, "fn_weight": 0.7, "squared": squared}
    each = [L.binary_dice(x[:, label], y[:, label], **prices) for label in range(3)]
    torch.testing.assert_close(MultiLabelDiceLoss(**prices)(x, y), sum(each) / 3)
    micro = MultiLabelDiceLoss(average="micro", **prices)(x, y)
    torch.testing.assert_close(micro, L.binary_dice(x, y, **prices))


def test_balanced_weights_are_those_of_scikit_learn() -> None:
    from sklearn.utils.class_weight import compute_class_weight

    labels = [0] * 90 + [1] * 9 + [2]
    expected = compute_class_weight("balanced", classes=np.arange(3), y=np.array(labels))
    assert balanced_weights([90, 9, 1]).tolist() == pytest.approx(expected.tolist())
    assert balanced_weights([4, 1], power=0.5)[1].item() == pytest.approx(2.5**0.5)
    assert balanced_weights([4, 1], power=0).tolist() == [1.0, 1.0]
    for bad, power in (([1, 0], 1.0), ([1, 2], -1.0)):
        with pytest.raises(ValueError, match=r"counts must be|power must be"):
            balanced_weights(bad, power)


def test_a_shape_in_torch_s_order_is_told_the_remedy() -> None:
    x, y = torch.randn(2, 3, 5), torch.zeros(2, 5, dtype=torch.long)
    with pytest.raises(ValueError, match=r"classes stand last: input.movedim\(1, -1\)"):
        DiceLoss()(x, y)
    with pytest.raises(ValueError, match=r"One logit an example: input.squeeze\(-1\)"):
        BinaryCrossEntropyLoss()(torch.randn(4, 1), torch.zeros(4))

"""Margins at saturation, labels of any integer type, and tensors that Python cannot read."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from dicebook.losses import functional

pytestmark = pytest.mark.filterwarnings("ignore:alpha=")
LOSSES: dict[str, Any] = {
    "cross entropy": functional.cross_entropy,
    "dice": functional.dice,
    "Tversky": functools.partial(functional.dice, fp_weight=0.2, fn_weight=0.9),
    "DSC .1": functools.partial(functional.dice, alpha=0.1),
}


def test_a_class_of_hardly_any_mass_has_a_finite_gradient_without_smoothing() -> None:
    y = torch.zeros(4, dtype=torch.long)
    for margin in range(40, 110):
        x = torch.tensor([0.0, -float(margin)]).repeat(4, 1).requires_grad_()
        for options in ({"squared": True}, {"squared": False}):
            value = functional.dice(x, y, smooth=0.0, absent="keep", **options)
            assert torch.autograd.grad(value, x)[0].isfinite().all(), (margin, options)


def test_squared_tversky_without_a_price_for_misses_is_zero_where_all_is_right() -> None:
    x, y = 9.0 * torch.eye(3), torch.arange(3)
    for target in (y, torch.eye(3)):
        value = functional.dice(x, target, fp_weight=1.0, fn_weight=0.0, smooth=1e-9)
        assert abs(value.item()) < 1e-6


class _Device(torch.Tensor):
    """A tensor whose values Python cannot read: as one on a GPU, or a fake one."""

    def tolist(self) -> None:
        raise AssertionError("waits for the device")

    item = __bool__ = __float__ = __int__ = tolist


def on_device(tensor: Tensor) -> Tensor:
    return tensor.as_subclass(_Device)


@pytest.mark.parametrize("name", LOSSES)
def test_no_value_is_read_back_from_a_device(name: str) -> None:
    torch.manual_seed(0)
    x, y = torch.randn(6, 4), torch.tensor([0, 1, -100, 3, 2, 1])
    value = LOSSES[name](on_device(x), on_device(y))
    torch.testing.assert_close(value.as_subclass(torch.Tensor), LOSSES[name](x, y))
    soft = F.one_hot(y.clamp(min=0), 4).float()
    LOSSES[name](on_device(x), on_device(soft))
    meta = LOSSES[name](x.to("meta"), y.to("meta"))
    assert meta.device.type == "meta"


def test_a_label_out_of_range_is_an_error_on_every_device() -> None:
    x, y = torch.randn(3, 4), torch.tensor([0, 4, 1])
    for loss in (functional.focal, functional.cross_entropy, functional.dice):
        with pytest.raises(ValueError, match=r"class indices in 0\.\.3"):
            loss(x, y)
        with pytest.raises((RuntimeError, IndexError), match=r"out of (range|bounds)"):
            loss(on_device(x), on_device(y))


def test_an_unsigned_label_of_156_is_not_minus_100() -> None:
    x, y = torch.randn(2, 200), torch.tensor([156, 3], dtype=torch.uint8)
    for loss in (functional.focal, functional.cross_entropy, functional.dice):
        torch.testing.assert_close(loss(x, y), loss(x, y.long()))

"""Where the definitions coincide, the values of other packages (run if they are installed)."""

from __future__ import annotations

import types

import pytest
import torch
from torch import Tensor

from dicebook.losses import functional as L


@pytest.fixture
def batch() -> tuple[Tensor, Tensor]:
    """32 × 5 logits and class indices."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(32, 5, generator=generator, requires_grad=True)
    return x, torch.randint(5, (32,), generator=generator)


def compare(actual: Tensor, expected: Tensor, x: Tensor) -> None:
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(torch.autograd.grad(actual, x), torch.autograd.grad(expected, x))


@pytest.mark.parametrize("squared", [False, True])
def test_monai_dice_over_the_batch(batch: tuple[Tensor, Tensor], squared: bool) -> None:
    losses = pytest.importorskip("monai.losses")
    x, y = batch
    peer = losses.DiceLoss(
        softmax=True, to_onehot_y=True, batch=True, squared_pred=squared, smooth_nr=1, smooth_dr=1
    )
    compare(L.dice(x, y, squared=squared), peer(x.t()[None], y[None, None]), x)


def test_monai_tversky_over_the_batch(batch: tuple[Tensor, Tensor]) -> None:
    losses = pytest.importorskip("monai.losses")
    x, y = batch
    peer = losses.TverskyLoss(
        softmax=True, to_onehot_y=True, batch=True, alpha=0.3, beta=0.7, smooth_nr=1, smooth_dr=1
    )
    compare(
        L.dice(x, y, fp_weight=0.3, fn_weight=0.7, squared=False),
        peer(x.t()[None], y[None, None]),
        x,
    )


def test_segmentation_models_dice(
    batch: tuple[Tensor, Tensor], segmentation_models: types.ModuleType
) -> None:
    losses = segmentation_models
    x, y = batch
    peer = losses.DiceLoss("multiclass", smooth=1.0)  # a Tversky loss: half the smoothing
    compare(
        L.dice(x, y, smooth=2.0, squared=False), peer(x.t()[None, :, :, None], y[None, :, None]), x
    )


def test_segmentation_models_focal(
    batch: tuple[Tensor, Tensor], segmentation_models: types.ModuleType
) -> None:
    losses = segmentation_models
    x, _ = batch
    y = (torch.arange(32) % 3 == 0).long()
    peer = losses.FocalLoss("binary", gamma=2.0)
    compare(L.binary_focal(x[:, 0], y, gamma=2.0), peer(x[:, 0], y), x)


def test_kornia_focal(batch: tuple[Tensor, Tensor]) -> None:
    losses = pytest.importorskip("kornia.losses")
    x, y = batch
    peer = losses.focal_loss(x, y, alpha=None, gamma=2.0, reduction="mean")
    compare(L.focal(x, y, gamma=2.0), 5 * peer, x)  # its mean is over examples and classes

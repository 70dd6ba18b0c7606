"""What the dice and focal losses of other packages accept, and where they are exact.

make bench                                                 # fetches them, and times them
PYTHONPATH=.venv/peers python -m benchmarks.beside         # the table of docs/beside.md
"""

from __future__ import annotations

import importlib.util
import sys
import types
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from dicebook.losses import functional as L

LossFunction = Callable[[Tensor, Tensor], Tensor]
PACKAGES = ("torch", "monai", "segmentation-models-pytorch", "kornia", "torchvision")
ROWS, CLASSES = 240, 5


def dice_of_others() -> dict[str, LossFunction]:
    """Dice losses of logits ``[N, C]`` and labels ``[N]``, over the whole batch, if installed."""
    found: dict[str, LossFunction] = {}
    if importlib.util.find_spec("monai"):
        from monai.losses import DiceLoss as Monai

        options: dict[str, Any] = {"softmax": True, "to_onehot_y": True, "batch": True}
        linear, squared = Monai(**options), Monai(squared_pred=True, **options)
        found["MONAI dice, linear"] = lambda x, y: linear(x.t()[None], y[None, None])
        found["MONAI dice, squared"] = lambda x, y: squared(x.t()[None], y[None, None])
    spec = importlib.util.find_spec("segmentation_models_pytorch")
    if spec and spec.submodule_search_locations:
        # Its losses need torch alone; the package's own __init__ would also want torchvision.
        package = types.ModuleType("segmentation_models_pytorch")
        package.__path__ = list(spec.submodule_search_locations)
        sys.modules.setdefault("segmentation_models_pytorch", package)
        from segmentation_models_pytorch.losses import DiceLoss as Smp

        smp = Smp("multiclass", ignore_index=-100)
        found["segmentation-models-pytorch dice"] = lambda x, y: smp(
            x.t()[None, :, :, None], y[None, :, None]
        )
    if importlib.util.find_spec("kornia"):
        from kornia.losses import dice_loss

        found["kornia dice"] = lambda x, y: dice_loss(
            x.t()[None, :, :, None], y[None, :, None], average="macro", ignore_index=-100
        )
    return found


def focal_of_others() -> dict[str, LossFunction]:
    """The focal loss of torchvision, of one-hot labels, if one for this torch is installed."""
    try:
        from torchvision.ops.focal_loss import sigmoid_focal_loss
    except (ImportError, RuntimeError):  # built for another torch
        return {}

    def loss(x: Tensor, y: Tensor) -> Tensor:
        one_hot = F.one_hot(y, x.shape[-1]).to(x)
        found: Tensor = sigmoid_focal_loss(x, one_hot, reduction="mean")
        return found

    return {"torchvision focal": loss}


def ours() -> dict[str, LossFunction]:
    """The losses of dicebook beside which the others stand."""
    return {
        "dicebook dice": L.dice,
        "dicebook focal": L.focal,
    }


def _slope(loss: LossFunction, x: Tensor, y: Tensor) -> Tensor:
    leaf = x.detach().clone().requires_grad_()
    (slope,) = torch.autograd.grad(loss(leaf, y).float().sum(), leaf)
    return slope.float()


def padding(loss: LossFunction, x: Tensor, y: Tensor) -> str:
    """Whether rows with the label -100 count."""
    padded = torch.cat([x, torch.full((40, CLASSES), 3.0)])
    labels = torch.cat([y, torch.full((40,), -100)])
    try:
        same = torch.allclose(loss(padded, labels), loss(x, y), rtol=1e-4)
    except (RuntimeError, IndexError, ValueError, AssertionError):
        return "an error"
    return "left out" if same else "they count"


def pieces(loss: LossFunction, x: Tensor, y: Tensor) -> str:
    """How far the mean gradient over six micro-batches is from that of the batch."""
    exact = _slope(loss, x, y)
    parts = torch.cat([_slope(loss, *p) / 6 for p in zip(x.chunk(6), y.chunk(6), strict=True)])
    return f"{100 * ((parts - exact).norm() / exact.norm()).item():.0f}% off"


def half(loss: LossFunction, x: Tensor, y: Tensor) -> str:
    """Whether 200,000 rows in float16 have a finite gradient that is not zero."""
    many = x.repeat(834, 1)[:200_000].half()
    slope = _slope(loss, many, y.repeat(834)[:200_000])
    if not slope.isfinite().all():
        return "NaN"
    return "yes" if slope.abs().max() > 0 else "all zero"


MEASURES = {
    "rows with label -100": padding,
    "gradient over six micro-batches": pieces,
    "trains on 200,000 rows of float16": half,
}


def measure() -> dict[str, dict[str, str]]:
    """Each measure of each loss, by its name."""
    generator = torch.Generator().manual_seed(0)
    x = 2 * torch.randn(ROWS, CLASSES, generator=generator)
    y = torch.randint(CLASSES, (ROWS,), generator=generator)
    losses = {**ours(), **dice_of_others(), **focal_of_others()}
    return {
        name: {title: of(loss, x, y) for title, of in MEASURES.items()}
        for name, loss in losses.items()
    }


def versions() -> dict[str, str]:
    """Of the packages, or that one is missing."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def main() -> None:
    """Print the table, and the versions that it is of."""
    warnings.simplefilter("ignore")
    print("| loss | " + " | ".join(MEASURES) + " |\n|---" + "|---" * len(MEASURES) + "|")
    for name, row in measure().items():
        print("| " + " | ".join([name, *row.values()]) + " |")
    print("\n" + ", ".join(" ".join(item) for item in versions().items()))


if __name__ == "__main__":
    main()

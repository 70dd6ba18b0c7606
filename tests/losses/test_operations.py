"""On a device no loss waits for the host, and none copies from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from dicebook import (
    CrossEntropyLoss,
    DiceLoss,
    FocalLoss,
    LogitAdjustedCrossEntropyLoss,
    MultiLabelDiceLoss,
    SelfAdjustingDiceLoss,
    TverskyLoss,
)
from dicebook.losses import functional

WEIGHT = [1.0, 2.0, 0.5, 1.0]


class Operations(TorchDispatchMode):
    """The operations, forward and backward, that read or write elsewhere than on the device."""

    def __init__(self) -> None:
        super().__init__()
        self.copies: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        read = [t.device for t in args if isinstance(t, Tensor)]
        written = made.device if isinstance(made, Tensor) else torch.device("meta")
        if {device.type for device in (*read, written)} != {"meta"}:
            self.copies.append(str(func))
        return made


def on_meta(loss: Callable[..., Tensor]) -> Operations:
    """Tensors without values stand for those of a device, which Python must not read."""
    x = torch.randn(64, 4, device="meta", requires_grad=True)
    y = torch.randint(4, (64,), device="meta")
    y = torch.randint(2, (64, 4), device="meta") if isinstance(loss, MultiLabelDiceLoss) else y
    with Operations() as seen:
        loss(x, y).backward()
    return seen


@pytest.mark.parametrize(
    "loss",
    [
        CrossEntropyLoss(weight=WEIGHT),
        LogitAdjustedCrossEntropyLoss(counts=[4, 3, 2, 1]),
        FocalLoss(weight=WEIGHT),
        DiceLoss(classes=[1, 2], weight=WEIGHT),
        DiceLoss(classes=[3, 0], level="example"),
        TverskyLoss(classes=[1, 2], absent="skip"),
        SelfAdjustingDiceLoss(classes=[1, 2]),
        MultiLabelDiceLoss(weight=WEIGHT),
    ],
    ids=str,
)
def test_nothing_is_copied_from_the_host_at_each_call(loss: torch.nn.Module) -> None:
    assert on_meta(loss.to("meta")).copies == []


def test_a_list_in_a_function_is_copied_and_the_test_sees_it() -> None:
    dice = functional.dice
    assert on_meta(lambda x, y: dice(x, y, classes=[1, 2])).copies
    assert on_meta(lambda x, y: dice(x, y, weight=WEIGHT)).copies

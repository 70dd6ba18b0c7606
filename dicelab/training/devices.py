"""Where to compute, and in which precision."""

from __future__ import annotations

import torch

from dicelab.training.experiment import DEVICES as DEVICES
from dicelab.training.experiment import Experiment, ParameterError


def device_of(setting: Experiment | str) -> torch.device:
    """The device that an experiment asks for.

    Args:
        setting: an experiment, or one of ``DEVICES``: ``"auto"`` is CUDA where there is a card,
            else the CPU; ``"mps"`` is the GPU of an Apple computer.

    Raises:
        ParameterError: for a device that is not there.
    """
    name = setting if isinstance(setting, str) else setting.device
    cuda = torch.cuda.is_available()
    if (name == "cuda" and not cuda) or (name == "mps" and not torch.backends.mps.is_available()):
        what = "a CUDA GPU" if name == "cuda" else "the GPU of an Apple computer"
        raise ParameterError(
            f"parameter 'device': expected {what} for {name!r}, found none; say 'auto' or 'cpu'"
        )
    return torch.device(("cuda" if cuda else "cpu") if name == "auto" else name)


def precision_of(precision: str, device: torch.device) -> str:
    """``"fp32"``, ``"bf16"`` or ``"fp16"`` for what an experiment's ``precision`` says.

    A GPU gets bf16 where its hardware has it, else fp16: emulated, as on a T4, bf16 is slow.
    """
    if precision != "auto":
        return precision
    if device.type != "cuda":
        return "fp32"
    return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16"

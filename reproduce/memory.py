"""How much of a device's memory a step takes, and into how many parts its batch must go.

A step's batch is the script's: the rows of its micro-batches, accumulated and on all of its cards,
as one. The losses are exact however it is divided, so it is divided only where it does not fit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import psutil
import torch
from transformers import AutoConfig

from dicelab.training.encoders import MINILM, TINY, from_pretrained

USED = 0.85  # of a GPU's memory; the rest is for heads, fragments and other programs


SET_LEVEL = ("dl", "tl", "dsc")


class Size(NamedTuple):
    """Of an encoder: layers, width, millions of parameters, and the type of its config."""

    layers: int
    width: int
    millions: float
    kind: str = "bert"


#: The encoders of the grid.
SIZES = {
    "bert-base-cased": Size(12, 768, 108),
    "bert-base-chinese": Size(12, 768, 102),
    "bert-large-cased": Size(24, 1024, 334),
    "bert-large-uncased": Size(24, 1024, 335),
    "xlnet-large-cased": Size(24, 1024, 360, "xlnet"),
    MINILM: Size(6, 384, 23),
    TINY: Size(2, 128, 1),
}


def size_of(encoder: str) -> Size:
    """The size of an encoder, by its name or folder, from its config."""
    if encoder in SIZES:
        return SIZES[encoder]
    config: Any = from_pretrained(AutoConfig, encoder)
    layers, width = config.num_hidden_layers, config.hidden_size
    # Four matrices of attention and two of four times the width, in each layer; the words.
    millions = (12 * layers * width**2 + config.vocab_size * width) / 1e6
    return Size(layers, width, millions, config.model_type)


def gigabytes(
    size: Size, rows: int, length: int, *, recompute: bool = False, half: bool = True
) -> float:
    """What a step takes of a device's memory.

    Args:
        size: the encoder's.
        rows: whose activations are held at a time.
        length: sub-words of a row.
        recompute: whether only the input of a layer is held, and the rest computed again.
        half: activations of 16 bits, else of 32.

    Source:
        Activations: Korthikanti et al. (2022), Equation 1, with 64 to a head.
    """
    layer = length * rows * (34 * size.width + 5 * (size.width // 64) * length)
    activations = size.layers * layer
    if recompute:
        activations = size.layers * length * rows * 2 * size.width + layer
    return (16e6 * size.millions + activations * (1 if half else 2)) / 1e9


class Division(NamedTuple):
    """Into how many parts a step's batch goes, and whether activations are computed again."""

    parts: int = 1
    recompute: bool = False


def is_whole(system: str, loss: str) -> bool:
    """Whether a loss is one of the whole step, which has its activations until the last part."""
    return system == "mrc" or loss in SET_LEVEL


def divided(
    size: Size, batch: int, length: int, room: float, *, whole: bool, half: bool = True
) -> Division:
    """The division with the fewest launches that fits.

    Args:
        size: the encoder's.
        batch: rows of a step.
        length: sub-words of the longest row.
        room: gigabytes there are.
        whole: the loss is of the whole step, as a dice loss is: then the activations of all parts
            are held until the last one, so that parts save nothing, and recomputing does. XLNet
            cannot recompute.
        half: see `gigabytes`.
    """
    if gigabytes(size, batch, length, half=half) <= room:
        return Division()
    if whole:
        return Division(recompute=size.kind != "xlnet")
    for parts in range(2, batch):
        if batch % parts == 0 and gigabytes(size, batch // parts, length, half=half) <= room:
            return Division(parts)
    return Division(batch)


def room_on(device: torch.device) -> float:
    """Gigabytes that a run may take on a device."""
    if device.type == "cuda":
        return USED * torch.cuda.get_device_properties(device).total_memory / 1e9
    return psutil.virtual_memory().total / 2e9

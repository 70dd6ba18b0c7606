"""A model's outputs for rows of any length, as the `predict` of every task needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase

LONGEST = 512


def outputs_of(
    model: Any,
    rows: Sequence[Mapping[str, Any]],
    collate: Callable[[Any], Mapping[str, torch.Tensor]],
    names: Sequence[str],
    batch_size: int,
) -> list[list[np.ndarray]]:
    """Run a model over rows without training it.

    Args:
        model: the model, on the device it is to run on.
        rows: encoded rows.
        collate: makes a batch of some rows; its ``labels`` are left out.
        names: the outputs wanted.
        batch_size: rows in a batch.

    Returns:
        For each name an array for each row, padded as in its batch.
    """
    device = next(model.parameters()).device
    training = model.training
    by_name: list[list[np.ndarray]] = [[] for _ in names]
    model.eval()
    try:
        for first in range(0, len(rows), batch_size):
            batch = collate(rows[first : first + batch_size])
            inputs = {k: v.to(device) for k, v in batch.items() if k != "labels"}
            with torch.inference_mode():
                outputs = model(**inputs)
            for name, arrays in zip(names, by_name, strict=True):
                values = outputs[name]
                values = values.float() if values.is_floating_point() else values
                arrays.extend(values.cpu().numpy())
    finally:
        model.train(training)
    return by_name


def rows_of(encoded: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of what a tokenizer made, each with its columns."""
    return [dict(zip(encoded, row, strict=True)) for row in zip(*encoded.values(), strict=True)]


def logits_of(
    model: Any,
    rows: Sequence[Mapping[str, Any]],
    collate: Callable[[Any], Mapping[str, torch.Tensor]],
    batch_size: int,
) -> list[np.ndarray]:
    """The logits of each row, padded as in its batch; rows of about one length share a batch.

    Args:
        model: as in :func:`outputs_of`.
        rows: as there.
        collate: as there.
        batch_size: as there.
    """
    order = np.argsort([len(row["input_ids"]) for row in rows], kind="stable")
    by_length = [rows[place] for place in order]
    (outputs,) = outputs_of(model, by_length, collate, ["logits"], batch_size)
    return [outputs[place] for place in np.argsort(order)]


def longest_input(model: Any, tokenizer: PreTrainedTokenizerBase) -> int:
    """How many sub-words a model reads at once: what its tokenizer says, at most 512."""
    config = getattr(model, "config", None)
    positions = getattr(config, "max_position_embeddings", None) or LONGEST
    if positions < 0:  # XLNet's way to say that there is no limit
        positions = LONGEST
    return min(tokenizer.model_max_length, positions, LONGEST)

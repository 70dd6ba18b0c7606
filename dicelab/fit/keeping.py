"""The model that stays: its threshold folded in, what it is made of, its card."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from transformers import PreTrainedTokenizerBase

from dicebook import fold_bias
from dicelab.atomic import write_json
from dicelab.fit.predicting import FINE_TUNED, INFO, LINEAR
from dicelab.training.saving import replaced


def keep(
    model: Any,
    tokenizer: PreTrainedTokenizerBase,
    bias: np.ndarray,
    folder: Path,
    info: Mapping[str, Any],
    linear: Path | None = None,
) -> None:
    """Save a fine-tuned model with its decision folded in. The folder appears in one step.

    Args:
        model: the trained model; its bias is changed.
        tokenizer: its tokenizer; ``model_max_length`` becomes ``info["max_length"]``.
        bias: the model's own decision.
        folder: where to; an older one is replaced.
        info: what ``predict`` needs to know.
        linear: a folder that :func:`keep_linear` made. It goes to ``linear/`` and the model to
            ``fine_tuned/``. The mean of their logits decides, with ``info["offset"]`` added, and
            transformers does not load the folder itself.
    """
    fold_bias(model, torch.as_tensor(bias))
    tokenizer.model_max_length = info["max_length"]
    with replaced(folder) as whole:
        part = whole if linear is None else whole / FINE_TUNED
        model.save_pretrained(part)
        tokenizer.save_pretrained(part)
        if linear is not None:
            copy(linear, whole / LINEAR)
            info = {**info, "kind": "mean"}
        _write_info(whole, info, bias)


def keep_linear(model: Any, bias: np.ndarray, folder: Path, info: Mapping[str, Any]) -> None:
    """Save a linear model with its decision. The folder appears in one step.

    Args:
        model: the trained model, of :class:`~dicelab.fit.linear.Linear` or of
            :class:`~dicelab.fit.tagger.Crf`.
        bias: the decision, which goes into the intercepts.
        folder: where to; an older one is replaced.
        info: what ``predict`` needs to know.
    """
    with replaced(folder) as whole:
        model.shifted(bias).save(whole)
        _write_info(whole, {**info, "kind": "linear"}, bias)


def copy(source: Path, folder: Path) -> None:
    """Put a kept model into another folder, in one step; an older one there is replaced."""

    def link(old: str, new: str) -> None:
        try:
            os.link(old, new)
        except OSError:  # a file system without links
            shutil.copy2(old, new)

    with replaced(folder) as whole:
        shutil.copytree(source, whole, copy_function=link, dirs_exist_ok=True)


def _write_info(folder: Path, info: Mapping[str, Any], bias: np.ndarray) -> None:
    told = {"bias": [float(b) for b in bias], "transformers": transformers.__version__}
    write_json(folder / INFO, {**told, **info})

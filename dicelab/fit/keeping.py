"""The model that stays: its threshold folded in, what it is made of, its card."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from huggingface_hub import ModelCard, ModelCardData
from transformers import PreTrainedTokenizerBase

from dicebook import fold_bias
from dicelab.atomic import write_json
from dicelab.fit.linear import Linear

#: What ``predict`` reads beside the config: the task, its columns, how long a text may be.
TOLD = "dicebook.json"


def keep(
    model: Any,
    tokenizer: PreTrainedTokenizerBase,
    bias: np.ndarray,
    folder: Path,
    told: Mapping[str, Any],
) -> Path:
    """Save a fine-tuned model with its decision folded in. The folder appears in one step.

    Args:
        model: the trained model; its bias is changed.
        tokenizer: its tokenizer; ``model_max_length`` becomes ``told["max_length"]``.
        bias: the decision.
        folder: where to; an older one is replaced.
        told: what ``predict`` needs to know.
    """
    fold_bias(model, torch.as_tensor(bias))
    tokenizer.model_max_length = told["max_length"]
    with _replaced(folder) as whole:
        model.save_pretrained(whole)
        tokenizer.save_pretrained(whole)
        _tell(whole, told, bias)
    return folder


def keep_linear(model: Linear, bias: np.ndarray, folder: Path, told: Mapping[str, Any]) -> Path:
    """Save a linear model with its decision. The folder appears in one step.

    Args:
        model: the trained model.
        bias: the decision, which goes into the intercepts.
        folder: where to; an older one is replaced.
        told: what ``predict`` needs to know.
    """
    with _replaced(folder) as whole:
        Linear(model.features, model.coef, (model.intercept + bias).astype(np.float32)).save(whole)
        _tell(whole, {**told, "kind": "linear"}, bias)
    return folder


def copy(source: Path, folder: Path) -> Path:
    """Put a kept model into another folder, in one step; an older one there is replaced."""

    def link(old: str, new: str) -> None:
        try:
            os.link(old, new)
        except OSError:  # a file system without links
            shutil.copy2(old, new)

    with _replaced(folder) as whole:
        shutil.copytree(source, whole, copy_function=link, dirs_exist_ok=True)
    return folder


def write_card(folder: Path, text: str, task: str, library: str) -> None:
    """Write the card of a kept model, ``README.md``.

    Args:
        folder: of the model.
        text: in Markdown.
        task: of the data.
        library: that reads the model: ``"transformers"`` or ``"dicebook"``.
    """
    tags = {"tagging": "token-classification"}
    data = ModelCardData(
        library_name=library,
        tags=["dicebook"],
        pipeline_tag=tags.get(task, "text-classification"),
    )
    ModelCard(f"---\n{data.to_yaml()}\n---\n\n{text}").save(folder / "README.md")


def _tell(folder: Path, told: Mapping[str, Any], bias: np.ndarray) -> None:
    versions = {"bias": [float(b) for b in bias], "transformers": transformers.__version__}
    write_json(folder / TOLD, {**told, **versions})


@contextlib.contextmanager
def _replaced(folder: Path) -> Iterator[Path]:
    """A folder to write into, which takes the place of ``folder`` when the block ends well."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as scratch:
        whole = Path(scratch) / "model"
        whole.mkdir()
        yield whole
        if folder.exists():
            folder.rename(Path(scratch) / "old")
        whole.rename(folder)

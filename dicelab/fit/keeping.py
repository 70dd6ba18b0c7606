"""The model that stays: its threshold in the bias of its last layer, its tokenizer, its card."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from huggingface_hub import ModelCard, ModelCardData
from transformers import PreTrainedTokenizerBase

from dicebook import fold_bias
from dicelab.atomic import write_json

#: What ``predict`` reads beside the config: the task, its columns, how long a text may be.
TOLD = "dicebook.json"


def keep(
    model: Any,
    tokenizer: PreTrainedTokenizerBase,
    bias: np.ndarray,
    folder: Path,
    told: Mapping[str, Any],
    card: str,
) -> Path:
    """Save a model with its decision folded in. The folder appears in one step.

    Args:
        model: the trained model; its bias is changed.
        tokenizer: its tokenizer; ``model_max_length`` becomes ``told["max_length"]``.
        bias: the decision.
        folder: where to; an older one is replaced.
        told: what ``predict`` needs to know.
        card: the text of the card, in Markdown.
    """
    fold_bias(model, torch.as_tensor(bias))
    tokenizer.model_max_length = told["max_length"]
    tags = {"tagging": "token-classification"}
    data = ModelCardData(
        library_name="transformers",
        tags=["dicebook"],
        pipeline_tag=tags.get(told["task"], "text-classification"),
    )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as scratch:
        whole = Path(scratch) / "model"
        model.save_pretrained(whole)
        tokenizer.save_pretrained(whole)
        write_json(
            whole / TOLD,
            {**told, "bias": [float(b) for b in bias], "transformers": transformers.__version__},
        )
        ModelCard(f"---\n{data.to_yaml()}\n---\n\n{card}").save(whole / "README.md")
        if folder.exists():
            shutil.rmtree(folder)
        whole.rename(folder)
    return folder

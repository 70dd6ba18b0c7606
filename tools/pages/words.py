"""Records in words, as the pages say them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dicelab.corpora.registry import CORPORA
from reproduce.tables import Record

ENCODERS = {"tiny": "a small encoder trained from nothing", "minilm": "all-MiniLM-L6-v2"}
LETTERS = """\
Tversky's α prices false positives, its β false negatives; the α of self-adjusting dice is its
exponent."""


def corpus(name: str) -> str:
    """The title of a corpus, or its name where it has none."""
    return CORPORA[name].title.partition(",")[0] if name in CORPORA else f"`{name}`"


def device(records: Sequence[Record]) -> str:
    """On what some runs were trained."""
    devices = dict.fromkeys(record["measured"]["device"] for record in records)
    return ", ".join(devices).replace("1 threads", "one thread")


def time(records: Sequence[Record]) -> str:
    """How long some runs were trained, together."""
    seconds = sum(record["measured"]["seconds"] for record in records)
    minutes = max(1, round(seconds / 60))
    if minutes >= 60:
        return f"{seconds / 3600:.1f} hours"
    return f"{minutes} minute{'s' if minutes > 1 else ''}"


def settings(parameters: Mapping[str, Any]) -> str:
    """The settings of a group in words, with their units."""
    size, encoder = parameters["train_size"], str(parameters["encoder"])
    frozen = parameters.get("habits", {}).get("frozen_layers", 0)
    words = [
        ENCODERS.get(encoder, encoder) + f", {frozen} layers frozen" * bool(frozen),
        f"{size:,} training examples" if size else "all training examples",
    ]
    if parameters.get("ratio"):
        words.append(f"{parameters['ratio']:g} negatives for each positive")
    if parameters["epochs"]:
        words += [
            f"{parameters['epochs']} passes in batches of {parameters['batch_size']}",
            f"learning rate {parameters['learning_rate']:g}",
            f"at most {parameters['max_length']} sub-words",
            *filter(None, [parameters.get("precision")]),
        ]
    else:
        words.append("learning rate and steps chosen on validation")
    return ", ".join(words)

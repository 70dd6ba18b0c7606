"""The counts of the embedded corpora: ``python -m data_scripts.embedded --card`` prints them."""

from __future__ import annotations

import hashlib
import json

from datasets import DatasetDict

from data_scripts.embedded import NAMES, load
from data_scripts.embedded.letters_en import TOPICS
from data_scripts.embedded.names import SPLITS
from data_scripts.embedded.word_classes import RARE


def digest(corpus: DatasetDict) -> str:
    """Return the SHA-256 of all rows of a corpus, in their order."""
    rows = {split: corpus[split].to_list() for split in SPLITS}
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def counts(name: str, corpus: DatasetDict) -> tuple[int, int, int]:
    """Count the training split by the convention of the corpus's own imbalance.

    Args:
        name: one of ``NAMES``.
        corpus: what ``load(name)`` made.

    Returns:
        Units (tokens; words or characters of the context, once for each question; pairs;
        sentences; sentences with each label in turn), and the negatives and positives among them.
    """
    train = corpus["train"]
    task, language = NAMES[name]
    if task in ("pos", "entities"):
        tags = [tag for row in train["tags"] for tag in row]
        positive = sum(tag in RARE if task == "pos" else tag != "O" for tag in tags)
        return len(tags), len(tags) - positive, positive
    if task == "reading":
        contexts = train["context"]
        units = sum(len(c.split()) if language == "en" else len(c) for c in contexts)
        positive = 2 * sum(bool(answers["text"]) for answers in train["answers"])
        return units, units - positive, positive
    if task == "labels":
        units, positive = len(TOPICS) * len(train), sum(map(len, train["labels"]))
        return units, units - positive, positive
    labels = list(train["label"])
    return len(labels), labels.count(0), labels.count(1)


def table() -> str:
    """Return the sizes and ratios of all embedded corpora, by default, as a Markdown table."""
    lines = [
        "| corpus | train | validation | test | units | negative | positive | ratio |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in NAMES:
        corpus = load(name)
        sizes = [f"{len(corpus[split]):,}" for split in SPLITS]
        units, negative, positive = counts(name, corpus)
        numbers = [f"{units:,}", f"{negative:,}", f"{positive:,}", f"{negative / positive:.2f}"]
        lines.append(f"| `{name}` | " + " | ".join(sizes + numbers) + " |")
    return "\n".join(lines)

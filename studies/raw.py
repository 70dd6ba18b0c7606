"""The one door to raw files: what ``dicebook data NAME`` leaves in ``data/NAME/raw``.

Official parts by name, as rows of text; what a study draws from them is its own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dicelab.corpora import read_conll, read_pairs
from dicelab.corpora.trees import read_trees

Rows = list[dict[str, Any]]

CONLL = {
    "wnut17": {
        "train": "wnut17train.conll",
        "dev": "emerging.dev.conll",
        "test": "emerging.test.annotated",
    },
    "crossner_politics": {part: f"politics_{part}.txt" for part in ("train", "dev", "test")},
}


class RawError(FileNotFoundError):
    """A corpus is not there; the message says which command fetches it."""


def root() -> Path:
    """The folder of corpora: ``$DICEBOOK_DATA``, or ``data``."""
    return Path(os.environ.get("DICEBOOK_DATA") or "data")


def folder(name: str) -> Path:
    """The raw folder of a corpus.

    Args:
        name: As in ``dicebook data``.

    Raises:
        RawError: It is not there.
    """
    path = root() / name / "raw"
    if not path.is_dir():
        raise RawError(
            f"{name}: expected its files in {path}, found no such folder; "
            f"`dicebook data {name} --out {root()}` fetches them"
        )
    return path


def file(name: str, file_name: str) -> Path:
    """One raw file of a corpus.

    Raises:
        RawError: It is not there.
    """
    path = folder(name) / file_name
    if not path.is_file():
        raise RawError(
            f"{name}: expected {path}, found no such file; "
            f"`dicebook data {name} --out {root()}` fetches it"
        )
    return path


def tagged(name: str, parts: Sequence[str]) -> Rows:
    """Sentences with a tag a word, ``tokens`` and ``tags``: parts of a corpus of ``CONLL``."""
    return [row for part in parts for row in read_conll(file(name, CONLL[name][part]))]


def mrpc(part: str) -> Rows:
    """MRPC, ``sentence1``, ``sentence2`` and ``label``, 1 for a paraphrase."""
    return list(read_pairs(file("mrpc", f"msr_paraphrase_{part}.txt")))


def sst2(part: str) -> Rows:
    """Sentences of the sentiment treebank but the neutral ones: ``sentence`` and ``label``."""
    return list(read_trees(file("sst2", f"trees_{part}.txt"), classes=2))


def goemotions(part: str) -> Rows:
    """Comments of GoEmotions: ``sentence``, and the names of their emotions as ``labels``."""
    names = file("goemotions", "labels.txt").read_text(encoding="utf-8").split()
    rows = []
    for line in file("goemotions", f"{part}.tsv").read_text(encoding="utf-8").split("\n"):
        if line:
            sentence, numbers, _ = line.split("\t")
            labels = [names[int(n)] for n in numbers.split(",")]
            rows.append({"sentence": sentence.strip(), "labels": labels})
    return rows

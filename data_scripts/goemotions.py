"""GoEmotions: comments with one or more of 27 emotions, or neutral."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.errors import CorpusError
from dicelab.corpora.features import to_dataset
from dicelab.corpora.text import read_lines

from .corpus import Recipe

NAMES = "labels.txt"
FILES = {"train": "train.tsv", "validation": "dev.tsv", "test": "test.tsv"}


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Lines of comment, tab, numbers of labels, tab, id; the fourth file names the labels."""
    names = [name for name in read_lines(raw / NAMES, repairs) if name]
    return {split: _read(raw / file, names, repairs) for split, file in FILES.items()}


def _read(path: Path, names: list[str], repairs: Counter[str]) -> Dataset:
    sentences, labels = [], []
    for number, line in enumerate(read_lines(path, repairs), start=1):
        if not line:
            continue
        fields = line.split("\t")
        numbers = fields[1].split(",") if len(fields) == 3 else []
        if not numbers or not all(n.isdecimal() and int(n) < len(names) for n in numbers):
            problem = f"expected comment, labels from 0 to {len(names) - 1} and id, got {line!r}"
            raise CorpusError.at(path, number, problem)
        sentences.append(fields[0].strip())
        labels.append([names[int(n)] for n in numbers])
    return to_dataset({"sentence": sentences, "labels": labels}, task="labels")


RECIPE = Recipe.of("goemotions", convert)

"""SST-5, sentiment of English movie reviews in five degrees, from the treebank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.trees import read_trees

from .corpus import Recipe, main
from .licensed import one_of


def read(raw: Path, repairs: Counter[str], classes: int) -> Mapping[str, Dataset]:
    """The three splits of the treebank, whole sentences only, with 5 or 2 classes."""
    names = {"train": "train.txt", "validation": "dev.txt", "test": "test.txt"}
    files = {split: one_of(raw, [f"trees_{name}", name]) for split, name in names.items()}
    return {split: read_trees(path, repairs, classes=classes) for split, path in files.items()}


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Labels 0 (very negative) to 4 (very positive)."""
    return read(raw, repairs, classes=5)


RECIPE = Recipe.of("sst5", convert)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

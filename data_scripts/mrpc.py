"""MRPC, English paraphrases from news."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.delimited import read_pairs

from .corpus import Recipe, main

TRAIN, TEST = "msr_paraphrase_train.txt", "msr_paraphrase_test.txt"


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """The two files of the release; a quote in them is a character like any other."""
    files = {"train": TRAIN, "test": TEST}
    return {split: read_pairs(raw / name, repairs) for split, name in files.items()}


RECIPE = Recipe.of("mrpc", convert)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

"""WNUT 2017, emerging and rare entities in user-generated text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.conll import read_conll

from .corpus import Recipe, main

TRAIN, VALIDATION, TEST = "wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """The three files, token and tag; most sentence breaks of train are a lone tab."""
    files = {"train": TRAIN, "validation": VALIDATION, "test": TEST}
    return {split: read_conll(raw / name, repairs=repairs) for split, name in files.items()}


RECIPE = Recipe.of("wnut17", convert)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

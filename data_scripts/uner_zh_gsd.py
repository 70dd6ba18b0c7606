"""Universal NER, Chinese GSD: entities in Wikipedia, free to use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.conll import UNIVERSAL_NER, read_conll

from .corpus import Recipe, main

FILES = {
    "train": "zh_gsd-ud-train.iob2",
    "validation": "zh_gsd-ud-dev.iob2",
    "test": "zh_gsd-ud-test.iob2",
}


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Five columns, the token in the second and the tag in the third; comments."""
    return {
        split: read_conll(raw / name, **UNIVERSAL_NER, repairs=repairs)
        for split, name in FILES.items()
    }


RECIPE = Recipe.of("uner_zh_gsd", convert)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

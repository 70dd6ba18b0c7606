"""CMRC 2018, Chinese reading comprehension."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.squad import read_squad

from .corpus import Recipe, main


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Train, trial as validation, dev as test: the real test set was never published."""
    files = {"train": "train", "validation": "trial", "test": "dev"}
    return {
        split: read_squad(raw / f"cmrc2018_{name}.json", repairs) for split, name in files.items()
    }


RECIPE = Recipe.of("cmrc2018", convert)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

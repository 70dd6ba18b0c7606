"""SQuAD 1.1, English reading comprehension."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.squad import read_squad

from .corpus import Recipe, main


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Train, and the official development set as test: the real test set was never published."""
    return {
        "train": read_squad(raw / "train-v1.1.json", repairs),
        "test": read_squad(raw / "dev-v1.1.json", repairs),
    }


RECIPE = Recipe.of("squad11", convert)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

"""SQuAD 2.0, English reading comprehension with unanswerable questions."""

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
        "train": read_squad(raw / "train-v2.0.json", repairs),
        "test": read_squad(raw / "dev-v2.0.json", repairs),
    }


RECIPE = Recipe.of("squad20", convert)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

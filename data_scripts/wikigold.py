"""WikiGold, entities in Wikipedia articles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.conll import read_conll
from dicelab.corpora.loading import with_missing_splits

from .corpus import Recipe, main

FILE = "wikigold.conll.txt"


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """One file in IOB1, without splits: a tenth of its sentences for each of the other two."""
    train = read_conll(raw / FILE, repairs=repairs)
    return with_missing_splits({"train": train}, "tagging", seed)


RECIPE = Recipe.of("wikigold", convert)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

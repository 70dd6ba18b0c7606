"""SST-2, sentiment of English movie reviews, from the treebank without its neutral sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from .corpus import Recipe, main
from .sst5 import read


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Labels 0 (negative) and 1 (positive); neutral sentences are left out and counted."""
    return read(raw, repairs, classes=2)


RECIPE = Recipe.of("sst2", convert)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

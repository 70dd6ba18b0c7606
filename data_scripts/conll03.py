"""CoNLL-2003 English entities, from your own copy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.conll import read_conll

from .corpus import Recipe, main
from .licensed import one_of

FILES = {
    "train": ("eng.train", "train.txt"),
    "validation": ("eng.testa", "valid.txt"),
    "test": ("eng.testb", "test.txt"),
}


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Four columns, the token first and the entity last; IOB1 in the original files."""
    return {
        split: read_conll(one_of(raw, names), tags="entities", repairs=repairs)
        for split, names in FILES.items()
    }


RECIPE = Recipe.of("conll03", convert)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

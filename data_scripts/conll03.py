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


RECIPE = Recipe(
    name="conll03",
    citation="Tjong Kim Sang, De Meulder (2003), Introduction to the CoNLL-2003 Shared Task, CoNLL",
    convert=convert,
    published={
        "train": {"sentences": 14041, "tokens": 203621, "entities": 7140 + 3438 + 6321 + 6600},
        "validation": {"sentences": 3250, "tokens": 51362, "entities": 1837 + 922 + 1341 + 1842},
        "test": {"sentences": 3453, "tokens": 46435, "entities": 1668 + 702 + 1661 + 1617},
    },
    published_by="Tjong Kim Sang and De Meulder (2003), Tables 1 and 2, less the -DOCSTART- lines, "
    "which they count as sentences",
)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

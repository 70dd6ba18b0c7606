"""QQP in the split of Wang et al. (2017), balanced; dev and test alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.delimited import read_pairs

from .corpus import Recipe, halves, main


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Half of dev to train on, drawn by the seed, and the rest of it to choose on; test as it is.

    In some questions a character has lost its last byte: U+FFFD stands for it.
    """
    dev, test = (
        read_pairs(raw / f"{name}.tsv", repairs, errors="replace") for name in ("dev", "test")
    )
    return {**halves(dev, seed), "test": test}


RECIPE = Recipe.of("qqp_wang", convert)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

"""Universal Dependencies 1.4 Chinese: the paper's free corpus for part of speech."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.conll import read_conllu

from .corpus import Recipe, main

FILES = {
    "train": "zh-ud-train.conllu",
    "validation": "zh-ud-dev.conllu",
    "test": "zh-ud-test.conllu",
}


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Words and universal tags, as the paper's predecessors take them."""
    return {split: read_conllu(raw / name, repairs=repairs) for split, name in FILES.items()}


RECIPE = Recipe.of("ud_zh", convert)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

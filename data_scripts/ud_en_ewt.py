"""Universal Dependencies English EWT 2.16: part of speech in web text, free to use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.conll import read_conllu

from .corpus import Recipe, main

FILES = {
    "train": "en_ewt-ud-train.conllu",
    "validation": "en_ewt-ud-dev.conllu",
    "test": "en_ewt-ud-test.conllu",
}


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """The treebank's own tags (XPOS), which are those of the Penn Treebank and a few more."""
    return {
        split: read_conllu(raw / name, column="xpos", repairs=repairs)
        for split, name in FILES.items()
    }


RECIPE = Recipe.of("ud_en_ewt", convert)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

"""Universal NER, English EWT: entities in web text, free to use; dev and test alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.conll import UNIVERSAL_NER, read_conll

from .corpus import Recipe, halves, main

DEV, TEST = "en_ewt-ud-dev.iob2", "en_ewt-ud-test.iob2"


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Half of dev to train on, drawn by the seed, and the rest to choose on; test as it is."""
    dev, test = (read_conll(raw / name, **UNIVERSAL_NER, repairs=repairs) for name in (DEV, TEST))
    return {**halves(dev, seed), "test": test}


RECIPE = Recipe.of("uner_en_ewt", convert)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

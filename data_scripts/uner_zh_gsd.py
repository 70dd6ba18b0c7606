"""Universal NER, Chinese GSD: entities in Wikipedia, free to use."""

from __future__ import annotations

from functools import partial

from dicelab.corpora.conll import UNIVERSAL_NER, read_conll

from .converters import by_file
from .corpus import Recipe

FILES = {
    "train": "zh_gsd-ud-train.iob2",
    "validation": "zh_gsd-ud-dev.iob2",
    "test": "zh_gsd-ud-test.iob2",
}
RECIPE = Recipe.of("uner_zh_gsd", by_file(partial(read_conll, **UNIVERSAL_NER), FILES))

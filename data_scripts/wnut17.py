"""WNUT 2017, emerging and rare entities in user-generated text: token and tag."""

from __future__ import annotations

from dicelab.corpora.conll import read_conll

from .converters import by_file
from .corpus import Recipe

FILES = {
    "train": "wnut17train.conll",
    "validation": "emerging.dev.conll",
    "test": "emerging.test.annotated",
}
RECIPE = Recipe.of("wnut17", by_file(read_conll, FILES))

"""Universal NER, Chinese GSD: entities in Wikipedia, free to use."""

from __future__ import annotations

from functools import partial

from dicelab.corpora.conll import UNIVERSAL_NER, read_conll

from .converters import USUAL, by_file
from .corpus import Recipe

FILES = {split: f"zh_gsd-ud-{name}.iob2" for split, name in USUAL.items()}
RECIPE = Recipe.of("uner_zh_gsd", by_file(partial(read_conll, **UNIVERSAL_NER), FILES))

"""Universal NER, English EWT: entities in web text, free to use; dev and test alone."""

from __future__ import annotations

from functools import partial

from dicelab.corpora.conll import UNIVERSAL_NER, read_conll

from .converters import in_halves
from .corpus import Recipe

FILES = {"dev": "en_ewt-ud-dev.iob2", "test": "en_ewt-ud-test.iob2"}
RECIPE = Recipe.of("uner_en_ewt", in_halves(partial(read_conll, **UNIVERSAL_NER), **FILES))

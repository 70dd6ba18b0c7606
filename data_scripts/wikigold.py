"""WikiGold, entities in Wikipedia articles: one file in IOB1, without splits."""

from __future__ import annotations

from dicelab.corpora.conll import read_conll

from .converters import by_file
from .corpus import Recipe

RECIPE = Recipe.of(
    "wikigold", by_file(read_conll, {"train": "wikigold.conll.txt"}, drawn="tagging")
)

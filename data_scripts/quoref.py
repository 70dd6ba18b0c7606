"""Quoref, English reading comprehension through coreference, with several answers a question."""

from __future__ import annotations

from functools import partial

from dicelab.corpora.squad import read_squad

from .converters import by_file
from .corpus import Recipe

# Several answers to a question are all needed, not alternatives.
FILES = {"train": "quoref-train-v0.1.json", "test": "quoref-dev-v0.1.json"}
READ = partial(read_squad, all_answers=True)
RECIPE = Recipe.of("quoref", by_file(READ, FILES, archive="quoref-train-dev-v0.1.zip"))

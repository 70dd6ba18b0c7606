"""SQuAD 1.1, English reading comprehension."""

from __future__ import annotations

from dicelab.corpora.squad import read_squad

from .converters import by_file
from .corpus import Recipe

# The official development set is the test set: the real one was never published.
FILES = {"train": "train-v1.1.json", "test": "dev-v1.1.json"}
RECIPE = Recipe.of("squad11", by_file(read_squad, FILES))

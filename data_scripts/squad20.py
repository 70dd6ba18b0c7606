"""SQuAD 2.0, English reading comprehension with unanswerable questions."""

from __future__ import annotations

from dicelab.corpora.squad import read_squad

from .converters import by_file
from .corpus import Recipe

# The official development set is the test set: the real one was never published.
FILES = {"train": "train-v2.0.json", "test": "dev-v2.0.json"}
RECIPE = Recipe.of("squad20", by_file(read_squad, FILES))

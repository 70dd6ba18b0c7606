"""CMRC 2018, Chinese reading comprehension."""

from __future__ import annotations

from dicelab.corpora.squad import read_squad

from .converters import by_file
from .corpus import Recipe

# The real test set was never published.
NAMES = {"train": "train", "validation": "trial", "test": "dev"}
FILES = {split: f"cmrc2018_{name}.json" for split, name in NAMES.items()}
RECIPE = Recipe.of("cmrc2018", by_file(read_squad, FILES))

"""MRPC, English paraphrases from news."""

from __future__ import annotations

from dicelab.corpora.delimited import read_pairs

from .converters import by_file
from .corpus import Recipe

# A quote in these files is a character like any other.
FILES = {"train": "msr_paraphrase_train.txt", "test": "msr_paraphrase_test.txt"}
RECIPE = Recipe.of("mrpc", by_file(read_pairs, FILES))

"""Penn Treebank, Wall Street Journal: part of speech, from your own copy."""

from __future__ import annotations

from .corpus import Recipe
from .treebanks import by_number

#: A file's first two digits are its section; the sections of each split (Collins, 2002).
SPLITS = {"train": range(1900), "validation": range(1900, 2200), "test": range(2200, 2500)}
RECIPE = Recipe.of("wsj", by_number(r"wsj_(\d{4})\.mrg", "wsj_0001.mrg", SPLITS))

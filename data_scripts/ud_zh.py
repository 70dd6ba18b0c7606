"""Universal Dependencies 1.4 Chinese: the paper's free corpus for part of speech."""

from __future__ import annotations

from dicelab.corpora.conll import read_conllu

from .converters import USUAL, by_file
from .corpus import Recipe

FILES = {split: f"zh-ud-{name}.conllu" for split, name in USUAL.items()}
RECIPE = Recipe.of("ud_zh", by_file(read_conllu, FILES))

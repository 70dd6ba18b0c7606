"""Universal Dependencies English EWT 2.16: part of speech in web text, free to use."""

from __future__ import annotations

from functools import partial

from dicelab.corpora.conll import read_conllu

from .converters import USUAL, by_file
from .corpus import Recipe

# The treebank's own tags (XPOS) are those of the Penn Treebank and a few more.
FILES = {split: f"en_ewt-ud-{name}.conllu" for split, name in USUAL.items()}
RECIPE = Recipe.of("ud_en_ewt", by_file(partial(read_conllu, column="xpos"), FILES))

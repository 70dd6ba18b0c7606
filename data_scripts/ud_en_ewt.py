"""Universal Dependencies English EWT 2.16: part of speech in web text, free to use."""

from __future__ import annotations

from functools import partial

from dicelab.corpora.conllu import read_conllu

from .converters import by_file
from .corpus import Recipe

# The treebank's own tags (XPOS) are those of the Penn Treebank and a few more.
FILES = {
    "train": "en_ewt-ud-train.conllu",
    "validation": "en_ewt-ud-dev.conllu",
    "test": "en_ewt-ud-test.conllu",
}
RECIPE = Recipe.of("ud_en_ewt", by_file(partial(read_conllu, column="xpos"), FILES))

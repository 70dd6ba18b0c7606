"""Universal Dependencies 1.4 Chinese: the paper's free corpus for part of speech."""

from __future__ import annotations

from dicelab.corpora.conllu import read_conllu

from .converters import by_file
from .corpus import Recipe

FILES = {
    "train": "zh-ud-train.conllu",
    "validation": "zh-ud-dev.conllu",
    "test": "zh-ud-test.conllu",
}
RECIPE = Recipe.of("ud_zh", by_file(read_conllu, FILES))

"""CoNLL-2003 English entities, from your own copy: four columns, IOB1 in the original files."""

from __future__ import annotations

from functools import partial

from dicelab.corpora.conll import read_conll

from .converters import by_file
from .corpus import Recipe

FILES = {
    "train": ("eng.train", "train.txt"),
    "validation": ("eng.testa", "valid.txt"),
    "test": ("eng.testb", "test.txt"),
}
RECIPE = Recipe.of("conll03", by_file(partial(read_conll, tags="entities"), FILES))

"""MSRA Chinese entities (SIGHAN 2006), from your own copy, by character."""

from __future__ import annotations

from functools import partial

from dicelab.corpora.conll import read_conll

from .converters import by_file
from .corpus import Recipe

#: Without a dev file a tenth of train, drawn by the seed, as the paper.
FILES = {
    "train": ("msra_train_bio.txt", "msra_train_bio", "train.txt"),
    "test": ("msra_test_bio.txt", "msra_test_bio", "test.txt"),
    "validation": ("msra_dev_bio.txt", "msra_dev_bio", "dev.txt"),
}
READ = partial(read_conll, tags="entities")
RECIPE = Recipe.of("msra", by_file(READ, FILES, optional="validation", drawn="tagging"))

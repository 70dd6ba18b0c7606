"""SST-5, sentiment of English movie reviews in five degrees, from the treebank."""

from __future__ import annotations

from functools import partial

from dicelab.corpora.trees import read_trees

from .converters import by_file
from .corpus import Recipe

FILES = {
    "train": ("trees_train.txt", "train.txt"),
    "validation": ("trees_dev.txt", "dev.txt"),
    "test": ("trees_test.txt", "test.txt"),
}
RECIPE = Recipe.of("sst5", by_file(partial(read_trees, classes=5), FILES))

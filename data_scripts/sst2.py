"""SST-2, sentiment of English movie reviews: the treebank without its neutral sentences."""

from __future__ import annotations

from functools import partial

from dicelab.corpora.trees import read_trees

from .converters import by_file
from .corpus import Recipe
from .sst5 import FILES

RECIPE = Recipe.of("sst2", by_file(partial(read_trees, classes=2), FILES))

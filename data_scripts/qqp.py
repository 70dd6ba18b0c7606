"""QQP, pairs of English questions asked on Quora, in the split of the GLUE benchmark."""

from __future__ import annotations

from functools import partial

from dicelab.corpora.delimited import read_pairs

from .converters import by_file
from .corpus import Recipe

# GLUE's test set has no labels. Some questions hold a line end, which breaks their row into
# fragments; these are left out and counted, as by everybody who reports figures on this corpus.
FILES = {"train": "train.tsv", "test": "dev.tsv"}
READ = partial(read_pairs, lenient=True)
RECIPE = Recipe.of("qqp", by_file(READ, FILES, archive="QQP-clean.zip"))

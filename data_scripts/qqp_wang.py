"""QQP in the split of Wang et al. (2017), balanced; dev and test alone."""

from __future__ import annotations

from functools import partial

from dicelab.corpora.delimited import read_pairs

from .converters import in_halves
from .corpus import Recipe

# In some questions a character has lost its last byte: U+FFFD stands for it.
READ = partial(read_pairs, errors="replace")
RECIPE = Recipe.of("qqp_wang", in_halves(READ, dev="dev.tsv", test="test.tsv"))

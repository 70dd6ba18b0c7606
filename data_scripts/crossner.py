"""CrossNER: entities in five domains of Wikipedia, with a hundred or two sentences to train on."""

from __future__ import annotations

from dicelab.corpora.conll import read_conll

from .converters import USUAL, by_file
from .corpus import Recipe

RECIPES = [
    Recipe.of(
        f"crossner_{domain}",
        by_file(read_conll, {split: f"{domain}_{name}.txt" for split, name in USUAL.items()}),
    )
    for domain in ("ai", "literature", "music", "politics", "science")
]

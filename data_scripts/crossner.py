"""CrossNER: entities in five domains of Wikipedia, with a hundred or two sentences to train on."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.conll import read_conll

from .corpus import Recipe, main

DOMAINS = ("ai", "literature", "music", "politics", "science")
FILES = {"train": "train", "validation": "dev", "test": "test"}


def recipe(domain: str) -> Recipe:
    """The recipe of one domain."""

    def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
        return {
            split: read_conll(raw / f"{domain}_{name}.txt", repairs=repairs)
            for split, name in FILES.items()
        }

    return Recipe.of(f"crossner_{domain}", convert)


RECIPES = [recipe(domain) for domain in DOMAINS]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--domain", choices=DOMAINS, required=True)
    chosen, others = parser.parse_known_args()
    sys.exit(main(recipe(chosen.domain), others))

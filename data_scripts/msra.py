"""MSRA Chinese entities (SIGHAN 2006), from your own copy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.conll import read_conll
from dicelab.corpora.loading import with_missing_splits

from .corpus import Recipe, main
from .licensed import one_of

TRAIN = ("msra_train_bio.txt", "msra_train_bio", "train.txt")
TEST = ("msra_test_bio.txt", "msra_test_bio", "test.txt")
DEV = ("msra_dev_bio.txt", "msra_dev_bio", "dev.txt")


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Characters and tags; without a dev file a tenth of train, drawn by the seed, as the paper."""
    splits = {
        "train": read_conll(one_of(raw, TRAIN), tags="entities", repairs=repairs),
        "test": read_conll(one_of(raw, TEST), tags="entities", repairs=repairs),
    }
    if any((raw / name).is_file() for name in DEV):
        splits["validation"] = read_conll(one_of(raw, DEV), tags="entities", repairs=repairs)
    return with_missing_splits(splits, "tagging", seed)


RECIPE = Recipe.of("msra", convert)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

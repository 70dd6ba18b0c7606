"""A tenth of the Penn Treebank's Wall Street Journal, as NLTK gives it away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.loading import with_missing_splits

from .corpus import Recipe
from .fetch import unpack
from .treebanks import numbered, read_treebank

ARCHIVE = "treebank.zip"


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """The 199 files of combined trees, without splits: a tenth of them for each of the others."""
    folder = unpack(raw / ARCHIVE, raw / "unpacked")
    files = numbered(folder, r"wsj_(\d{4})\.mrg", "wsj_0001.mrg")
    train = read_treebank(files.values(), repairs=repairs)
    return with_missing_splits({"train": train}, "tagging", seed)


RECIPE = Recipe.of("wsj_sample", convert)

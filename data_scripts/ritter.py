"""Ritter's tweets: part of speech in user-generated text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.conll import read_conll
from dicelab.corpora.features import to_dataset
from dicelab.corpora.loading import with_missing_splits

from .corpus import Recipe

FILE = "pos.txt"

#: The file's five slips, whose tags are none of the Penn Treebank's nor of the four for Twitter:
#: word and tag in the file -> the tag that such words have elsewhere in it.
SLIPS = {
    ("please", "VPP"): "VB",
    ("a", "TD"): "DT",
    ("[", "NONE"): "(",
    ("]", "NONE"): ")",
    ('"..', "O"): ":",
}


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """One file of token and tag, without splits."""
    data = read_conll(raw / FILE, tags="plain", repairs=repairs)
    tokens, tags = data["tokens"][:], data["tags"][:]
    pairs = [list(zip(*row, strict=True)) for row in zip(tokens, tags, strict=True)]
    if slips := sum(pair in SLIPS for row in pairs for pair in row):
        repairs["slips of the tag repaired (see SLIPS in data_scripts/ritter.py)"] += slips
    mended = [[SLIPS.get(pair, pair[1]) for pair in row] for row in pairs]
    train = to_dataset({"tokens": tokens, "tags": mended}, task="tagging")
    return with_missing_splits({"train": train}, "tagging", seed)


RECIPE = Recipe.of("ritter", convert)

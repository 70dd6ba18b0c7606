"""SQuAD 1.1, English reading comprehension."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.squad import read_squad

from .corpus import Recipe, main
from .fetch import RemoteFile

BASE = (
    "https://raw.githubusercontent.com/rajpurkar/SQuAD-explorer/"
    "eee5fdbf62f8613a7812b03419e6b29617b74fd1/dataset/"
)


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Train, and the official development set as test: the real test set was never published."""
    return {
        "train": read_squad(raw / "train-v1.1.json", repairs),
        "test": read_squad(raw / "dev-v1.1.json", repairs),
    }


RECIPE = Recipe(
    name="squad11",
    citation="Rajpurkar, Zhang, Lopyrev, Liang (2016), SQuAD: 100,000+ Questions for Machine "
    "Comprehension of Text, EMNLP",
    convert=convert,
    files=(
        RemoteFile("train-v1.1.json", BASE + "train-v1.1.json"),
        RemoteFile("dev-v1.1.json", BASE + "dev-v1.1.json"),
    ),
    published={
        "train": {"questions": 87599, "answerable": 87599},
        "test": {"questions": 10570, "answerable": 10570},
    },
    published_by="the SQuAD 1.1 release",
    note="The official development set, on which papers report, is written as test; a validation "
    "set is drawn from train when the corpus is loaded.",
)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

"""SQuAD 2.0, English reading comprehension with unanswerable questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.squad import read_squad

from .corpus import Recipe, main
from .fetch import RemoteFile
from .squad11 import BASE


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Train, and the official development set as test: the real test set was never published."""
    return {
        "train": read_squad(raw / "train-v2.0.json", repairs),
        "test": read_squad(raw / "dev-v2.0.json", repairs),
    }


RECIPE = Recipe(
    name="squad20",
    citation="Rajpurkar, Jia, Liang (2018), Know What You Don't Know: Unanswerable Questions for "
    "SQuAD, ACL",
    convert=convert,
    files=(
        RemoteFile("train-v2.0.json", BASE + "train-v2.0.json"),
        RemoteFile("dev-v2.0.json", BASE + "dev-v2.0.json"),
    ),
    published={
        "train": {"questions": 130319, "answerable": 86821},
        "test": {"questions": 11873, "answerable": 5928},
    },
    published_by="Rajpurkar et al. (2018), Table 2",
    note="The official development set, on which papers report, is written as test; a validation "
    "set is drawn from train when the corpus is loaded.",
)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

"""MRPC, English paraphrases from news."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.delimited import read_pairs

from .corpus import Recipe, main
from .fetch import RemoteFile

BASE = (
    "https://raw.githubusercontent.com/wasiahmad/paraphrase_identification/"
    "88b208d0d094ab945d2401d9393531be1fec0076/dataset/msr-paraphrase-corpus/"
)
TRAIN, TEST = "msr_paraphrase_train.txt", "msr_paraphrase_test.txt"


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """The two files of the release; a quote in them is a character like any other."""
    files = {"train": TRAIN, "test": TEST}
    return {split: read_pairs(raw / name, repairs, quoting=False) for split, name in files.items()}


RECIPE = Recipe(
    name="mrpc",
    citation="Dolan, Brockett (2005), Automatically Constructing a Corpus of Sentential "
    "Paraphrases, IWP",
    convert=convert,
    files=(
        RemoteFile(
            TRAIN,
            BASE + TRAIN,
            "61a88818ec384d8465297dda1883b469f1b22d442ab90183d13e06233b180591",
        ),
        RemoteFile(
            TEST,
            BASE + TEST,
            "0360d0d3427a0ae14882e2b3a799df0fab6cb5203d5e8ee481949283da62acb6",
        ),
    ),
    published={
        "train": {"pairs": 4076, "positive": 2753},
        "test": {"pairs": 1725, "positive": 1147},
        "all": {"pairs": 5801, "positive": 3900},
    },
    published_by="Dolan and Brockett (2005) and the release's README",
    note="The release has no validation set; one is drawn from train when the corpus is loaded.",
)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

"""QQP in the split of Wang et al. (2017), balanced; dev and test alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.delimited import read_pairs

from .corpus import Recipe, halves, main
from .fetch import RemoteFile

BASE = (
    "https://raw.githubusercontent.com/Deep1994/"
    "Quora-Question-Pairs-dataset-analysis-and-construction/"
    "79a83eeb67f0b7fee10590ef5c841a835f827a27/dataset/"
)


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Half of dev to train on, drawn by the seed, and the rest of it to choose on; test as it is.

    In some questions a character has lost its last byte: U+FFFD stands for it.
    """
    dev, test = (
        read_pairs(raw / f"{name}.tsv", repairs, quoting=False, errors="replace")
        for name in ("dev", "test")
    )
    return {**halves(dev, seed), "test": test}


RECIPE = Recipe(
    name="qqp_wang",
    citation="Iyer, Dandekar, Csernai (2017), First Quora Dataset Release: Question Pairs; split "
    "by Wang, Hamza, Florian (2017), Bilateral Multi-Perspective Matching, IJCAI",
    convert=convert,
    files=(
        RemoteFile(
            "dev.tsv",
            BASE + "dev.tsv",
            "cb30d59e673c54be16f41b3b1d88bf427b78bbb1fc56b399856a1c115bd0cd38",
        ),
        RemoteFile(
            "test.tsv",
            BASE + "test.tsv",
            "98718aa027a05b8acbfe4d48d72fa99eaede120a89c8e70362d9d9bf8f6a39a8",
        ),
    ),
    published={
        "test": {"pairs": 10000, "positive": 5000},
        "all": {"pairs": 20000, "positive": 10000},
    },
    published_by="Wang et al. (2017)",
    note="Not the split of the paper, and not its ratio: half are duplicates.",
)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

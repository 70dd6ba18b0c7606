"""SST-5, sentiment of English movie reviews in five degrees, from the treebank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.trees import read_trees

from .corpus import Recipe, main
from .fetch import RemoteFile
from .licensed import one_of

BASE = (
    "https://raw.githubusercontent.com/prrao87/fine-grained-sentiment/"
    "a4401669eecbe9dda494faf36afe1e6a0b065a38/data/sst/raw_data/"
)
CITATION = (
    "Socher, Perelygin, Wu, Chuang, Manning, Ng, Potts (2013), Recursive Deep Models for Semantic "
    "Compositionality Over a Sentiment Treebank, EMNLP"
)
FILES = (
    RemoteFile(
        "trees_train.txt",
        BASE + "train.txt",
        "e2f3f41b0b1e6d4dddc0effe3bfc2d27ed8928079aa9a03d652311614fc5feb7",
        mirror_names=("train.txt",),
    ),
    RemoteFile(
        "trees_dev.txt",
        BASE + "dev.txt",
        "0e9336aed6e4730e19f58d00a77b3f0297efdb755f7b5e598c98a05e3f97ea40",
        mirror_names=("dev.txt",),
    ),
    RemoteFile(
        "trees_test.txt",
        BASE + "test.txt",
        "6e54806dee95cf80cd918e7dfb3f6770f6df24bf826f289a4d1f709e1c8f6761",
        mirror_names=("test.txt",),
    ),
)


def read(raw: Path, repairs: Counter[str], classes: int) -> Mapping[str, Dataset]:
    """The three splits of the treebank, whole sentences only, with 5 or 2 classes."""
    names = {"train": "train.txt", "validation": "dev.txt", "test": "test.txt"}
    files = {split: one_of(raw, [f"trees_{name}", name]) for split, name in names.items()}
    return {split: read_trees(path, repairs, classes=classes) for split, path in files.items()}


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Labels 0 (very negative) to 4 (very positive)."""
    return read(raw, repairs, classes=5)


RECIPE = Recipe(
    name="sst5",
    citation=CITATION,
    convert=convert,
    files=FILES,
    folders=("sst",),
    published={
        "train": {"sentences": 8544},
        "validation": {"sentences": 1101},
        "test": {"sentences": 2210},
    },
    published_by="Socher et al. (2013)",
)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

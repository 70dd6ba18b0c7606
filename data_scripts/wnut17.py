"""WNUT 2017, emerging and rare entities in user-generated text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.conll import read_conll

from .corpus import Recipe, main
from .fetch import RemoteFile

BASE = (
    "https://raw.githubusercontent.com/leondz/emerging_entities_17/"
    "e52a2d2a71ac1a051ca2d532eef28653c5c02603/"
)
TRAIN, VALIDATION, TEST = "wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """The three files, token and tag; most sentence breaks of train are a lone tab."""
    files = {"train": TRAIN, "validation": VALIDATION, "test": TEST}
    return {split: read_conll(raw / name, repairs=repairs) for split, name in files.items()}


RECIPE = Recipe(
    name="wnut17",
    citation="Derczynski, Nichols, van Erp, Limsopatham (2017), Results of the WNUT2017 Shared "
    "Task on Novel and Emerging Entity Recognition, W-NUT",
    convert=convert,
    files=(
        RemoteFile(
            TRAIN,
            BASE + TRAIN,
            "731820e13f71af324c6b55a1575ec2ce59fbaa2a0806f8f0400b98d56cd6a7a5",
        ),
        RemoteFile(
            VALIDATION,
            BASE + VALIDATION,
            "e053b752b8155113ca66e7db08af5f2f5f43ab993694e4774f1ec5bad42312d8",
        ),
        RemoteFile(
            TEST,
            BASE + TEST,
            "2aa79b764e56ec9264a1b30fdd9b70195bd00ff400b62edd8f399d5f13c178f0",
        ),
    ),
    published={
        "train": {"sentences": 3394, "tokens": 62730, "entities": 1975},
        "validation": {"sentences": 1009, "tokens": 15733, "entities": 836},
        "test": {"sentences": 1287, "tokens": 23394, "entities": 1079},
    },
    published_by="Derczynski et al. (2017)",
)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

"""CMRC 2018, Chinese reading comprehension."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.squad import read_squad

from .corpus import Recipe, main
from .fetch import RemoteFile

BASE = (
    "https://raw.githubusercontent.com/ymcui/cmrc2018/"
    "c0eb1b6ba219847457e6af3180da722bbeb656af/squad-style-data/"
)


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Train, trial as validation, dev as test: the real test set was never published."""
    files = {"train": "train", "validation": "trial", "test": "dev"}
    return {
        split: read_squad(raw / f"cmrc2018_{name}.json", repairs) for split, name in files.items()
    }


RECIPE = Recipe(
    name="cmrc2018",
    citation="Cui, Liu, Che, Xiao, Chen, Ma, Wang, Hu (2019), A Span-Extraction Dataset for "
    "Chinese Machine Reading Comprehension, EMNLP-IJCNLP",
    convert=convert,
    files=(
        RemoteFile("cmrc2018_train.json", BASE + "cmrc2018_train.json"),
        RemoteFile(
            "cmrc2018_trial.json",
            BASE + "cmrc2018_trial.json",
            "f3fae95b57da8e03afb2b57467dd221417060ef4d82db13bf22fc88589f3a6f3",
        ),
        RemoteFile(
            "cmrc2018_dev.json",
            BASE + "cmrc2018_dev.json",
            "e9ff74231f05c230c6fa88b84441ee334d97234cbb610991cd94b82db00c7f1f",
        ),
    ),
    published={
        "train": {"questions": 10142},
        "validation": {"questions": 1002},
        "test": {"questions": 3219},
    },
    published_by="the CMRC 2018 release",
    note="The trial set is written as validation and the development set as test. Answers typed "
    "by annotators that do not stand in the text are left out; each question keeps another.",
)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

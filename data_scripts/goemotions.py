"""GoEmotions: comments with one or more of 27 emotions, or neutral."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.errors import CorpusError
from dicelab.corpora.forms import to_dataset
from dicelab.corpora.text import read_lines

from .corpus import Recipe, main
from .fetch import RemoteFile

BASE = (
    "https://raw.githubusercontent.com/monologg/GoEmotions-pytorch/"
    "b75f9d3a8b76bc1060687925b04ca98a1b8ea66b/data/original/"
)
NAMES = "labels.txt"
FILES = {"train": "train.tsv", "validation": "dev.tsv", "test": "test.tsv"}
SHA256 = {
    "train.tsv": "1c254a142be5c00e80d819b9ae1bbd36d94b2eeb8f4b1271846508d57e57d9c5",
    "dev.tsv": "575489c079c9de1097062a01738f998590d6b7ead66dd1c9fd1d2ba01fd8bc62",
    "test.tsv": "0587b2dd8b27b97352adbfc3fb083d46005c8946657fdc2b1ca8b1cc7f1f8be4",
    NAMES: "45c3ef86782d2a4d7fedcd6d8c111aa0d0e94720689bd164fac94fefb4495a89",
}


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Lines of comment, tab, numbers of labels, tab, id; the fourth file names the labels."""
    names = [name for name in read_lines(raw / NAMES, repairs) if name]
    return {split: _read(raw / file, names, repairs) for split, file in FILES.items()}


def _read(path: Path, names: list[str], repairs: Counter[str]) -> Dataset:
    sentences, labels = [], []
    for number, line in enumerate(read_lines(path, repairs), start=1):
        if not line:
            continue
        fields = line.split("\t")
        numbers = fields[1].split(",") if len(fields) == 3 else []
        if not numbers or not all(n.isdecimal() and int(n) < len(names) for n in numbers):
            problem = f"expected comment, labels from 0 to {len(names) - 1} and id, got {line!r}"
            raise CorpusError.at(path, number, problem)
        sentences.append(fields[0].strip())
        labels.append([names[int(n)] for n in numbers])
    return to_dataset({"sentence": sentences, "labels": labels}, task="labels")


RECIPE = Recipe(
    name="goemotions",
    citation="Demszky, Movshovitz-Attias, Ko, Cowen, Nemade, Ravi (2020), GoEmotions: A Dataset of "
    "Fine-Grained Emotions, ACL",
    convert=convert,
    files=tuple(RemoteFile(name, BASE + name, sha256) for name, sha256 in SHA256.items()),
    published={
        "train": {"sentences": 43410, "kinds": 28},
        "validation": {"sentences": 5426, "kinds": 28},
        "test": {"sentences": 5427, "kinds": 28},
    },
    published_by="the release of Demszky et al. (2020)",
)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

"""Universal Dependencies 1.4 Chinese: the paper's free corpus for part of speech."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.conllu import read_conllu

from .corpus import Recipe, main
from .fetch import RemoteFile

BASE = (
    "https://raw.githubusercontent.com/UniversalDependencies/UD_Chinese-GSD/"
    "1daf680fe41f39e71cfe83311121cbd13f954d2e/"
)
FILES = {
    "train": "zh-ud-train.conllu",
    "validation": "zh-ud-dev.conllu",
    "test": "zh-ud-test.conllu",
}
SHA256 = {
    "train": "94c1ad7f8f7d545169bafbef367852b965ec5eada13d614d8e8b6b9297ee6d0d",
    "validation": "574a2c826fc4207530be65b9cd9d8d9611a9749716ab1e3349ec681b93c7a42f",
    "test": "c5fe2733ca4a118725fc06d6a7dbce9952254a4a174f3bd75e13ab4d504e9970",
}


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Words and universal tags, as the paper's predecessors take them."""
    return {split: read_conllu(raw / name, repairs=repairs) for split, name in FILES.items()}


RECIPE = Recipe(
    name="ud_zh",
    citation="Nivre et al. (2016), Universal Dependencies 1.4, LINDAT/CLARIN",
    convert=convert,
    files=tuple(RemoteFile(name, BASE + name, SHA256[split]) for split, name in FILES.items()),
    folders=("ud_zh_gsd_r1.4",),
    published={
        "train": {"sentences": 3997, "tokens": 98608},
        "validation": {"sentences": 500, "tokens": 12663},
        "test": {"sentences": 500, "tokens": 12012},
        "all": {"sentences": 4997, "tokens": 123283},
    },
    published_by="README.txt of the release (all), an independent count (splits)",
)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

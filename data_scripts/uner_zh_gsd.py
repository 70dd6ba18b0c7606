"""Universal NER, Chinese GSD: entities in Wikipedia, free to use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.conll import UNIVERSAL_NER, read_conll

from .corpus import Recipe, main
from .fetch import RemoteFile

BASE = (
    "https://raw.githubusercontent.com/UniversalNER/UNER_Chinese-GSD/"
    "2a0c196d7a54d41119fd069874e976a58f0d7dad/"
)
FILES = {
    "train": "zh_gsd-ud-train.iob2",
    "validation": "zh_gsd-ud-dev.iob2",
    "test": "zh_gsd-ud-test.iob2",
}
SHA256 = {
    "train": "b9ed49a5abd6b9a74001ed0f08cbd54908129b88a42ecd50ae9cf6cef7c177c1",
    "validation": "0f8d7159545f257548aa4290302fb474c026ee0e1e61b3536ceb858893e3a1f1",
    "test": "6f6ee9bf4e984bb5bcdaa5b88e88cabe245d750128cc424dcb1a1394e47443a2",
}


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Five columns, the token in the second and the tag in the third; comments."""
    return {
        split: read_conll(raw / name, **UNIVERSAL_NER, repairs=repairs)
        for split, name in FILES.items()
    }


RECIPE = Recipe(
    name="uner_zh_gsd",
    citation="Mayhew et al. (2024), Universal NER: A Gold-Standard Multilingual Named Entity "
    "Recognition Benchmark, NAACL",
    convert=convert,
    files=tuple(RemoteFile(name, BASE + name, SHA256[split]) for split, name in FILES.items()),
    published={
        "train": {"sentences": 3997, "tokens": 98616, "entities": 2155 + 2871 + 1110},
        "validation": {"sentences": 500, "tokens": 12663, "entities": 810},
        "test": {"sentences": 500, "tokens": 12012, "entities": 767},
    },
    published_by="the .stats files beside the upstream files",
    note="Not a corpus of the paper: a free stand-in for MSRA and OntoNotes 4.0.",
)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

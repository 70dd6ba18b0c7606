"""Universal Dependencies English EWT 2.16: part of speech in web text, free to use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.conllu import read_conllu

from .corpus import Recipe, main
from .fetch import RemoteFile

BASE = (
    "https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/"
    "4c89b5833a70aa5ed3a00bad2f23f57992cc7df8/"
)
FILES = {
    "train": "en_ewt-ud-train.conllu",
    "validation": "en_ewt-ud-dev.conllu",
    "test": "en_ewt-ud-test.conllu",
}
SHA256 = {
    "train": "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b",
    "validation": "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6",
    "test": "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd",
}


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """The treebank's own tags (XPOS), which are those of the Penn Treebank and a few more."""
    return {
        split: read_conllu(raw / name, column="xpos", repairs=repairs)
        for split, name in FILES.items()
    }


RECIPE = Recipe(
    name="ud_en_ewt",
    citation="Silveira et al. (2014), A Gold Standard Dependency Corpus for English, LREC",
    convert=convert,
    files=tuple(RemoteFile(name, BASE + name, SHA256[split]) for split, name in FILES.items()),
    published={
        "train": {"sentences": 12544, "tokens": 204577},
        "validation": {"sentences": 2001, "tokens": 25147},
        "test": {"sentences": 2077, "tokens": 25094},
        "all": {"tokens": 254818},
    },
    published_by="an independent count of the upstream files",
    note="Not a corpus of the paper: a free stand-in for WSJ. For the universal tags give "
    "dicelab.corpora.load a .conllu file of the raw folder.",
)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

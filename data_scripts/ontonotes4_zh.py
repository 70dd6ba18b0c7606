"""OntoNotes 4.0 Chinese entities, from your own copy."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.errors import CorpusError

from .corpus import Recipe
from .ontonotes_readers import read_names

#: The types kept by Che et al. (2013) and all who take their split.
TYPES = ("PER", "PERSON", "ORG", "LOC", "GPE")
PARALLEL = re.compile(r"(chtb|ectb)_(\d{4})\.name")


def split_of(name: str) -> str:
    """The split of a file: odd numbers of the parallel part are validation, even ones test."""
    match = PARALLEL.fullmatch(name)
    if match:
        number = int(match[2])
        last = {"chtb": range(1, 326), "ectb": range(1001, 1079)}[match[1]]
        if number in last:
            return "validation" if number % 2 else "test"
    return "train"


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Entities of the .name files, by character."""
    files: dict[str, list[Path]] = {"train": [], "validation": [], "test": []}
    for path in sorted(raw.rglob("*.name")):
        files[split_of(path.name)].append(path)
    for split, paths in files.items():
        if not paths:
            raise CorpusError(
                f"expected .name files of the {split} split below {raw}, got none; --help says more"
            )
    return {s: read_names(paths, types=TYPES, repairs=repairs) for s, paths in files.items()}


RECIPE = Recipe.of("ontonotes4_zh", convert)

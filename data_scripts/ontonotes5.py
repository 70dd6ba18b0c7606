"""OntoNotes 5.0 English entities in the CoNLL-2012 split, from your own copy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.errors import CorpusError

from .corpus import Recipe
from .ontonotes_readers import read_conll2012

FOLDERS = {"train": ("train",), "validation": ("development", "dev"), "test": ("test",)}


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Entities of the English files, less the New Testament (pt), which has none annotated."""
    splits = {}
    for split, folders in FOLDERS.items():
        folder = next((raw / name for name in folders if (raw / name).is_dir()), None)
        paths = sorted(folder.rglob("*_conll")) if folder else []
        paths = [path for path in paths if "pt" not in path.relative_to(raw).parts]
        if not paths:
            raise CorpusError(
                f"expected *_conll files below {raw / folders[0]}, got none; --help says more"
            )
        splits[split] = read_conll2012(paths, repairs=repairs)
    return splits


RECIPE = Recipe.of("ontonotes5", convert)

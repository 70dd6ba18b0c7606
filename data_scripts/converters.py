"""From a corpus's raw files to its splits: a reader and file names are all that most need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from datasets import Dataset

from dicelab.corpora.errors import CorpusError
from dicelab.corpora.loading import with_missing_splits

from .corpus import Convert
from .fetch import unpack

#: How most corpora name their splits.
USUAL = {"train": "train", "validation": "dev", "test": "test"}


def by_file(
    read: Callable[..., Dataset],
    files: Mapping[str, str | Sequence[str]],
    *,
    archive: str = "",
    drawn: str = "",
    optional: str = "",
) -> Convert:
    """A converter for a corpus with a file a split.

    Args:
        read: Called as ``read(path, repairs=repairs)``.
        files: By split, the name or the names that its file may have.
        archive: The packed file that holds the others, where it is there.
        drawn: The task, where the splits that are missing are drawn from train by the seed, a tenth
            each. Empty: they are drawn when the corpus is loaded.
        optional: A split that may be missing.
    """
    names = {split: [name] if isinstance(name, str) else name for split, name in files.items()}

    def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
        folder = unpack(raw / archive, raw / "unpacked") if (raw / archive).is_file() else raw
        splits = {
            split: read(one_of(folder, names[split]), repairs=repairs)
            for split in names
            if split != optional or any((folder / name).is_file() for name in names[split])
        }
        return with_missing_splits(splits, drawn, seed) if drawn else splits

    return convert


def in_halves(read: Callable[..., Dataset], *, dev: str, test: str) -> Convert:
    """A converter for a corpus without a training set.

    Half of dev is to train on, drawn by the seed, and the rest to choose on; test is as it is.

    Args:
        read: Called as ``read(path, repairs=repairs)``.
        dev: The name of the development file.
        test: The name of the test file.
    """

    def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
        whole, tested = (read(one_of(raw, [name]), repairs=repairs) for name in (dev, test))
        order = np.random.default_rng(seed).permutation(len(whole))
        first, second = (sorted(part.tolist()) for part in np.split(order, [len(whole) // 2]))
        return {"train": whole.select(first), "validation": whole.select(second), "test": tested}

    return convert


def one_of(folder: Path, names: Sequence[str]) -> Path:
    """The file that has one of these names, the first that is there: in a folder, or below it.

    Raises:
        CorpusError: None of them is there.
    """
    for pattern in ("{}", "**/{}"):
        for name in names:
            for path in sorted(folder.glob(pattern.format(name))):
                if path.is_file():
                    return path
    raise CorpusError(f"expected {' or '.join(names)} in {folder}, got none; --help says more")

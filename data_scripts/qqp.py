"""QQP, pairs of English questions asked on Quora, in the split of the GLUE benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.delimited import read_pairs

from .corpus import Recipe, main
from .fetch import unpack
from .licensed import one_of

ARCHIVE = "QQP-clean.zip"


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Train, and dev as test, for GLUE's test set has no labels.

    Some questions hold a line end, which breaks their row into fragments. The fragments are left
    out and counted, as by everybody who reports figures on this corpus.
    """
    folder = unpack(raw / ARCHIVE, raw / "unpacked") if (raw / ARCHIVE).is_file() else raw
    files = {"train": "train.tsv", "test": "dev.tsv"}
    return {
        split: read_pairs(one_of(folder, [name]), repairs, lenient=True)
        for split, name in files.items()
    }


RECIPE = Recipe.of("qqp", convert)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

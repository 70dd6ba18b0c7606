"""A tenth of the Penn Treebank's Wall Street Journal, as NLTK gives it away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.loading import with_missing_splits

from .corpus import Recipe, main
from .fetch import RemoteFile, unpack
from .licensed import numbered
from .treebanks import read_treebank

ARCHIVE = "treebank.zip"


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """The 199 files of combined trees, without splits: a tenth of them for each of the others."""
    folder = unpack(raw / ARCHIVE, raw / "unpacked")
    files = numbered(folder, r"wsj_(\d{4})\.mrg", "wsj_0001.mrg")
    train = read_treebank(files.values(), repairs=repairs)
    return with_missing_splits({"train": train}, "tagging", seed)


RECIPE = Recipe(
    name="wsj_sample",
    citation="Marcus, Santorini, Marcinkiewicz (1993), Building a Large Annotated Corpus of "
    "English: The Penn Treebank, Computational Linguistics 19(2)",
    convert=convert,
    files=(
        RemoteFile(
            ARCHIVE,
            "https://raw.githubusercontent.com/nltk/nltk_data/"
            "5db857e6f7df11eabb5e5665836db9ec8df07e28/packages/corpora/" + ARCHIVE,
            "9da92d76c3666cfb6cddeaed0f7e86b344cce0f0928a286d439e555f19c37399",
        ),
    ),
    folders=("nltk_treebank",),
    published={"all": {"sentences": 3914, "tokens": 94084}},
    published_by="an independent count, by NLTK's trees, of the same files",
    note="A stand-in for the whole: sections 00 and 01. 80/10/10 by sentence is drawn by --seed.",
)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

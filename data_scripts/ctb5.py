"""Chinese Treebank 5: part of speech, from your own copy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from .corpus import Recipe, main
from .licensed import chosen, numbered, numbers
from .treebanks import read_treebank

#: File numbers of each split (Jiang et al., 2008).
SPLITS = {
    "train": numbers("1-270, 400-931, 1001-1151"),
    "validation": numbers("301-325"),
    "test": numbers("271-300"),
}


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Tagged words of the bracketed files, which are in GB 18030 or, converted, in UTF-8."""
    files = numbered(raw, r"chtb_(\d{3,4})\.fid(?:\.utf8)?", "chtb_001.fid")
    return {
        split: read_treebank(
            chosen(files, ids, split), encodings=("utf-8", "gb18030"), repairs=repairs
        )
        for split, ids in SPLITS.items()
    }


RECIPE = Recipe.of("ctb5", convert)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

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


RECIPE = Recipe(
    name="ctb5",
    citation="Xue, Xia, Chiou, Palmer (2005), The Penn Chinese TreeBank, Natural Language "
    "Engineering 11(2)",
    convert=convert,
    published={
        "train": {"sentences": "18,086", "tokens": "493,930"},
        "validation": {"sentences": "350", "tokens": "6,821"},
        "test": {"sentences": "348", "tokens": "8,008"},
        "all": {"sentences": "18,782", "tokens": "507,222"},
    },
    published_by="Zhang and Clark (2010) for the splits; the paper, appendix A.1, for all",
)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

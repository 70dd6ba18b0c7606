"""Penn Treebank, Wall Street Journal: part of speech, from your own copy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from .corpus import Recipe, main
from .licensed import chosen, numbered
from .treebanks import read_treebank

#: Sections of each split (Collins, 2002).
SECTIONS = {"train": range(0, 19), "validation": range(19, 22), "test": range(22, 25)}


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Tagged words of the combined trees; a file's first two digits are its section."""
    files = numbered(raw, r"wsj_(\d{4})\.mrg", "wsj_0001.mrg")
    return {
        split: read_treebank(
            chosen(files, range(sections[0] * 100, sections[-1] * 100 + 100), split),
            repairs=repairs,
        )
        for split, sections in SECTIONS.items()
    }


RECIPE = Recipe.of("wsj", convert)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

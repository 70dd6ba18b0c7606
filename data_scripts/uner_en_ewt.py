"""Universal NER, English EWT: entities in web text, free to use; dev and test alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.conll import UNIVERSAL_NER, read_conll

from .corpus import Recipe, halves, main
from .fetch import RemoteFile

BASE = (
    "https://raw.githubusercontent.com/UniversalNER/UNER_English-EWT/"
    "8ed072de2fd24022cc62458997fe96a8fe191ea4/"
)
DEV, TEST = "en_ewt-ud-dev.iob2", "en_ewt-ud-test.iob2"


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """Half of dev to train on, drawn by the seed, and the rest to choose on; test as it is."""
    dev, test = (read_conll(raw / name, **UNIVERSAL_NER, repairs=repairs) for name in (DEV, TEST))
    return {**halves(dev, seed), "test": test}


RECIPE = Recipe(
    name="uner_en_ewt",
    citation="Mayhew et al. (2024), Universal NER: A Gold-Standard Multilingual Named Entity "
    "Recognition Benchmark, NAACL",
    convert=convert,
    files=(
        RemoteFile(
            DEV, BASE + DEV, "0cafd881cf31d39897b6d588420fab8fbbe4423d271725c59921ac9dd49c0713"
        ),
        RemoteFile(
            TEST, BASE + TEST, "821ad826d5f503ac03b4edc3fbc2174f21fbb005ec25863caf2051c434616d6e"
        ),
    ),
    published={
        "test": {"sentences": 2077, "entities": 1088},
        "all": {"sentences": 4078, "entities": 966 + 1088},
    },
    published_by="an independent count of the upstream files",
    note="Not a corpus of the paper. Trained on half of dev, chosen on the other half.",
)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))

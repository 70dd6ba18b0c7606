"""Corpora: one registry, readers, the embedded corpora, and counts of imbalance.

``load(name_or_path, task=...)`` is the door to all of them. Names are imported when they are first
used, so that ``import dicelab.corpora`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dicelab.extras import need

need("train", "datasets")

_NAMES = {
    "conll": ("read_conll", "read_conllu", "write_conll"),
    "counting": ("Imbalance", "imbalance", "rebalance"),
    "errors": ("CorpusError",),
    "features": ("FORMS", "to_dataset", "validate"),
    "loading": ("load", "read_file"),
    "registry": ("CORPORA", "EMBEDDED", "REGISTERED", "Corpus", "language_of"),
    "squad": ("read_squad",),
    "delimited": ("read_pairs",),
    "tags": ("spans", "to_iob2"),
    "trees": ("read_trees",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)

"""Corpora: readers, the embedded stand-ins, and counts of imbalance.

``load(name_or_path, task=...)`` is the door to all of them. Names are imported when they are first
used, so that ``import dicebook.corpora`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dicebook.corpora.errors import CorpusError

if TYPE_CHECKING:
    from dicebook.corpora.conll import read_conll, write_conll
    from dicebook.corpora.conllu import read_conllu
    from dicebook.corpora.counting import Imbalance, imbalance
    from dicebook.corpora.forms import FORMS, to_dataset, validate
    from dicebook.corpora.loading import EMBEDDED, REGISTERED, load, read_file
    from dicebook.corpora.pairs import read_pairs
    from dicebook.corpora.sentences import read_sentences
    from dicebook.corpora.squad import read_squad
    from dicebook.corpora.tags import spans, tag_names, to_iob2
    from dicebook.corpora.trees import read_trees

_HOME = {
    "EMBEDDED": "loading",
    "FORMS": "forms",
    "REGISTERED": "loading",
    "Imbalance": "counting",
    "imbalance": "counting",
    "load": "loading",
    "read_conll": "conll",
    "read_conllu": "conllu",
    "read_file": "loading",
    "read_pairs": "pairs",
    "read_sentences": "sentences",
    "read_squad": "squad",
    "read_trees": "trees",
    "spans": "tags",
    "tag_names": "tags",
    "to_dataset": "forms",
    "to_iob2": "tags",
    "validate": "forms",
    "write_conll": "conll",
}

__all__ = [
    "EMBEDDED",
    "FORMS",
    "REGISTERED",
    "CorpusError",
    "Imbalance",
    "imbalance",
    "load",
    "read_conll",
    "read_conllu",
    "read_file",
    "read_pairs",
    "read_sentences",
    "read_squad",
    "read_trees",
    "spans",
    "tag_names",
    "to_dataset",
    "to_iob2",
    "validate",
    "write_conll",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

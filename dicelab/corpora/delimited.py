"""Pairs of sentences as MRPC and QQP come, by the names of their columns, with what was repaired.

Files of one's own are read by :mod:`dicelab.corpora.files`.
"""

from __future__ import annotations

from collections import Counter
from os import PathLike
from typing import Any, Literal

from datasets import Dataset

from dicelab.corpora.cells import short
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.features import to_dataset
from dicelab.corpora.text import read_lines

#: column -> the names under which corpora keep it, in lower case.
PAIRS = {
    "sentence1": ("sentence1", "#1 string", "question1"),
    "sentence2": ("sentence2", "#2 string", "question2"),
    "label": ("label", "quality", "is_duplicate"),
}

#: Keys of ``repairs``.
EMPTY = "pairs with an empty sentence"
FRAGMENTS = "lines left out, for they have not the header's number of columns"


def read_pairs(
    path: str | PathLike[str],
    repairs: Counter[str] | None = None,
    *,
    lenient: bool = False,
    errors: Literal["strict", "replace"] = "strict",
) -> Dataset:
    """Read pairs of sentences from a file with tabs between its columns; quotes are text.

    The columns may stand in any order, among others, under any of the names in :data:`PAIRS`: so
    MRPC (``Quality``, ``#1 String``, ``#2 String``) and QQP (``question1``, ``question2``,
    ``is_duplicate``) are read as they come. Where the first line names none of them, it is a row of
    label, sentence1, sentence2 and an id, as in the split of QQP by Wang et al.

    Args:
        path: The file.
        repairs: What was repaired or left out is added here, by kind.
        lenient: Leave out lines with another number of columns than the first, and keep pairs with
            an empty sentence, as everybody does who reports figures on QQP. Both are counted.
        errors: ``"replace"`` puts U+FFFD for bytes that are not UTF-8, and counts them.

    Returns:
        One row a pair, in the file's order: ``{"sentence1": str, "sentence2": str, "label": int}``.

    Raises:
        CorpusError: With file and line: a wrong number of columns, a label that is none, an empty
            sentence, a file that is empty, not UTF-8, or without the columns.
    """
    repairs = Counter() if repairs is None else repairs
    lines = list(enumerate(read_lines(path, repairs, errors=errors), 1))
    rows = [(number, line.split("\t")) for number, line in lines if line.strip("\r ")]
    if not rows:
        raise CorpusError.at(path, 0, "expected pairs of sentences, got an empty file")
    head = [name.strip().lower() for name in rows[0][1]]
    places = [[n for n, name in enumerate(head) if name in PAIRS[column]] for column in PAIRS]
    if not any(places) and len(head) == 4:
        places = [[1], [2], [0]]
    elif any(len(found) != 1 for found in places):
        accepted = "; ".join(f"{name} (or {', '.join(more[1:])})" for name, more in PAIRS.items())
        problem = f"expected a header with {accepted}, once each; got {short(', '.join(head))}"
        if places[0] and places[1] and not places[2]:
            problem += ". GLUE's test sets have no labels: take its dev set for a test set"
        raise CorpusError.at(path, rows[0][0], problem)
    else:
        rows = rows[1:]
    columns: dict[str, list[Any]] = {name: [] for name in PAIRS}
    for number, fields in rows:
        if len(fields) != len(head):
            problem = f"expected {len(head)} columns, as in the first line, got {len(fields)}"
            if not lenient:
                raise CorpusError.at(path, number, problem)
            repairs[FRAGMENTS] += 1
            continue
        first, second, label = (fields[place] for (place,) in places)
        if not (first.strip() and second.strip()):
            if not lenient:
                raise CorpusError.at(path, number, "expected two sentences, got an empty one")
            repairs[EMPTY] += 1
        if label.strip() not in ("0", "1"):
            raise CorpusError.at(path, number, f"expected as label 0 or 1, got {short(label)!r}")
        for name, value in zip(PAIRS, (first, second, int(label)), strict=True):
            columns[name].append(value)
    if not columns["label"]:
        raise CorpusError.at(path, 0, "expected pairs of sentences, got none")
    return to_dataset(columns, task="pairs")

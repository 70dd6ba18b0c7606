"""Pairs of sentences as MRPC and QQP come, by the names of their columns, with what was repaired.

Files of one's own are read by :mod:`dicelab.corpora.files`.
"""

from __future__ import annotations

from collections import Counter
from os import PathLike
from typing import Any, Literal

from datasets import Dataset

from dicelab.corpora.cells import Table, short, text_of
from dicelab.corpora.containers import read_table
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.features import to_dataset
from dicelab.corpora.labels import plain

#: column -> the names under which corpora keep it, in lower case.
PAIRS = {
    "sentence1": ("sentence1", "#1 string", "question1", "text1", "text_a"),
    "sentence2": ("sentence2", "#2 string", "question2", "text2", "text_b"),
    "label": ("label", "quality", "is_duplicate"),
}

#: Keys of ``repairs``.
EMPTY = "pairs with an empty sentence"
FRAGMENTS = "lines left out, for they have not the header's number of columns"


def read_pairs(
    path: str | PathLike[str],
    repairs: Counter[str] | None = None,
    *,
    quoting: bool | None = None,
    lenient: bool = False,
    errors: Literal["strict", "replace"] = "strict",
) -> Dataset:
    """Read pairs of sentences from a TSV, CSV or JSON-lines file.

    The columns (or keys) may stand in any order, among others, under any of the names in
    :data:`PAIRS`: so MRPC (``Quality``, ``#1 String``, ``#2 String``) and QQP (``question1``,
    ``question2``, ``is_duplicate``) are read as they come. A table without a header must have just
    the three columns sentence1, sentence2 and label, or label, sentence1, sentence2 and an id (the
    split of QQP by Wang et al.).

    Args:
        path: a table as :func:`dicelab.corpora.containers.read_table` reads it.
        repairs: What was repaired or left out is added here, by kind.
        quoting: Whether double quotes enclose the fields (doubled inside). By default as the file
            looks: MRPC's sentences may begin with a quote that nothing closes.
        lenient: Leave out lines of a table with another number of columns than its header, and
            keep pairs with an empty sentence, as everybody does who reports figures on QQP. Both
            are counted. In JSON lines, where ``""`` is no slip, empty sentences are always kept.
        errors: ``"replace"`` puts U+FFFD for bytes that are not UTF-8, and counts them.

    Returns:
        One row a pair, in the file's order: ``{"sentence1": str, "sentence2": str, "label": int}``.

    Raises:
        CorpusError: With file and line: a wrong number of columns, a label that is none, an empty
            sentence in a table, a file that is empty, not UTF-8, or without the columns.
    """
    repairs = Counter() if repairs is None else repairs
    aliases = [alias for several in PAIRS.values() for alias in several]
    table = read_table(
        path, quoting=quoting, header_names=aliases, repairs=repairs, replaced=errors == "replace"
    )
    if table.bad and not lenient:
        raise CorpusError(table.bad[0])
    places = _places(table)
    if table.bad:
        repairs[FRAGMENTS] += len(table.bad)
    columns: dict[str, list[Any]] = {name: [] for name in PAIRS}
    for line, fields in table.rows:
        # Objects of one file may have their own names for one thing.
        held = ([fields[place] for place in several] for several in places)
        first, second, label = (next((v for v in values if v is not None), None) for values in held)
        pair = [
            text_of(table, line, sentence, name, empty=isinstance(sentence, str))
            for sentence, name in ((first, "sentence1"), (second, "sentence2"))
        ]
        if not all(sentence.strip() for sentence in pair):
            if not (lenient or table.objects):
                raise table.error(line, "expected two sentences, got an empty one")
            repairs[EMPTY] += 1
        columns["sentence1"].append(pair[0])
        columns["sentence2"].append(pair[1])
        columns["label"].append(_label(table, line, label))
    if not columns["label"]:
        raise table.error(table.first, "expected pairs of sentences, got none")
    return to_dataset(columns, task="pairs")


def _places(table: Table) -> list[list[int]]:
    """Where the columns stand by the header; in their own order where there is none."""
    if not table.header:
        if len(table.names) == 3:
            return [[0], [1], [2]]
        if len(table.names) == 4 and {str(row[0]) for _, row in table.rows[:9]} <= {"0", "1"}:
            return [[1], [2], [0]]
    lower = [name.strip().lower() for name in table.names]
    places = {
        column: [lower.index(alias) for alias in aliases if alias in lower]
        for column, aliases in PAIRS.items()
    }
    for column, present in places.items():
        if len(present) > 1 and not table.objects:
            raise table.error(table.first, f"expected one column for {column}, got two")
    lacking = [column for column, present in places.items() if not present]
    if lacking:
        head = table.names if table.header or not table.rows else map(str, table.rows[0][1])
        accepted = "; ".join(f"{name} (or {', '.join(names[1:])})" for name, names in PAIRS.items())
        raise table.error(
            table.first,
            f"expected a header with {accepted}; got {short(', '.join(head))}"
            + ". GLUE's test sets have no labels: take its dev set for a test set"
            * (lacking == ["label"]),
        )
    return list(places.values())


def _label(table: Table, line: int, value: object) -> int:
    label = plain(str(value).strip()) if type(value) in (str, int, float) else ""
    if label in ("0", "1"):
        return int(label)
    raise table.error(line, f"expected as label 0 or 1, got {short(repr(value))}")

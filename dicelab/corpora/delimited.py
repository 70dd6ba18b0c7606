"""Pairs of sentences as MRPC and QQP come, by the names of their columns, with what was repaired.

Files of one's own are read by :mod:`dicelab.corpora.files`.
"""

from __future__ import annotations

from collections import Counter
from os import PathLike
from typing import Any, Literal

from datasets import Dataset

from dicelab.corpora.cells import Asked, Table, short, text_of
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
_COLUMN_OF = {alias: column for column, aliases in PAIRS.items() for alias in aliases}

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
    asked = Asked(known=tuple(_COLUMN_OF))
    table = read_table(path, asked, quoting=quoting, repairs=repairs, replaced=errors == "replace")
    if table.bad and not lenient:
        raise CorpusError(table.bad[0])
    if table.bad:
        repairs[FRAGMENTS] += len(table.bad)
    names = _names(table)
    columns: dict[str, list[Any]] = {name: [] for name in PAIRS}
    for line, fields in table.rows:
        # Objects of one file may have their own names for one thing.
        pairs = zip(names, fields, strict=True)
        record = dict(reversed([pair for pair in pairs if pair[1] is not None]))
        for name in ("sentence1", "sentence2"):
            text = record.get(name)
            columns[name].append(text_of(table, line, text, name, empty=isinstance(text, str)))
            if not columns[name][-1].strip() and not (lenient or table.objects):
                raise table.error(line, "expected two sentences, got an empty one")
        if not all(columns[name][-1].strip() for name in ("sentence1", "sentence2")):
            repairs[EMPTY] += 1
        label = record.get("label")
        number = plain(str(label).strip()) if type(label) in (str, int, float) else ""
        if number not in ("0", "1"):
            raise table.error(line, f"expected as label 0 or 1, got {short(repr(label))}")
        columns["label"].append(int(number))
    if not columns["label"]:
        raise table.error(table.first, "expected pairs of sentences, got none")
    return to_dataset(columns, task="pairs")


def _names(table: Table) -> list[str]:
    """What each column is by the header, "" for nothing; by its place where there is no header."""
    if not table.header and len(table.names) == 3:
        return list(PAIRS)
    first = {str(row[0]) for _, row in table.rows[:9]}
    if not table.header and len(table.names) == 4 and first <= {"0", "1"}:
        return ["label", "sentence1", "sentence2", ""]
    names = [_COLUMN_OF.get(name.strip().lower(), "") for name in table.names]
    for name in PAIRS:
        if names.count(name) > 1 and not table.objects:
            raise table.error(table.first, f"expected one column for {name}, got two")
    if lacking := [name for name in PAIRS if name not in names]:
        head = table.names if table.header or not table.rows else map(str, table.rows[0][1])
        accepted = "; ".join(f"{name} (or {', '.join(more[1:])})" for name, more in PAIRS.items())
        raise table.error(
            table.first,
            f"expected a header with {accepted}; got {short(', '.join(head))}"
            + ". GLUE's test sets have no labels: take its dev set for a test set"
            * (lacking == ["label"]),
        )
    return names

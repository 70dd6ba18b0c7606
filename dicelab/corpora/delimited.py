"""The chapters' tables: pairs, sentences and texts with labels, whose classes are numbers.

:mod:`dicelab.corpora.tables` reads them. Here stand the names of the columns and the checks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal

from datasets import Dataset

from dicelab.corpora.columns import MOST_LABELS, parsed, places_of, plain, positions
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.forms import to_dataset
from dicelab.corpora.tables import Table, read_table, short, text_of

#: column -> the names under which corpora keep it, in lower case.
PAIRS = {
    "sentence1": ("sentence1", "#1 string", "question1", "text1", "text_a"),
    "sentence2": ("sentence2", "#2 string", "question2", "text2", "text_b"),
    "label": ("label", "quality", "is_duplicate"),
}
SENTENCES = {
    "sentence": ("sentence", "text", "review"),
    "label": ("label", "sentiment", "polarity", "class"),
}
LABELS = {
    "sentence": ("sentence", "text", "comment", "document"),
    "labels": ("labels", "label", "tags", "topics"),
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
        path: a table as :func:`dicelab.corpora.tables.read_table` reads it.
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
    columns: dict[str, list[Any]] = {name: [] for name in PAIRS}
    read = _read(path, PAIRS, repairs, quoting, lenient, errors)
    for table, line, (first, second, label) in read:
        pair = [
            text_of(table, line, of, name, empty=isinstance(of, str))
            for of, name in ((first, "sentence1"), (second, "sentence2"))
        ]
        if not all(sentence.strip() for sentence in pair):
            if not (lenient or table.objects):
                raise table.error(line, "expected two sentences, got an empty one")
            repairs[EMPTY] += 1
        columns["sentence1"].append(pair[0])
        columns["sentence2"].append(pair[1])
        columns["label"].append(_label(table, line, label, 2))
    if not columns["label"]:
        raise CorpusError.at(path, 0, "expected pairs of sentences, got none")
    return to_dataset(columns, task="pairs")


def read_sentences(path: str | PathLike[str], repairs: Counter[str] | None = None) -> Dataset:
    """Read labelled sentences from a TSV, CSV or JSON-lines file.

    Args:
        path: As for :func:`read_pairs`; the columns go by the names in :data:`SENTENCES`. A table
            without a header must have just the two columns sentence and label.
        repairs: What was repaired is added here, by kind.

    Returns:
        One row a sentence, in the file's order: ``{"sentence": str, "label": int}``.

    Raises:
        CorpusError: As by :func:`read_pairs`.
    """
    repairs = Counter() if repairs is None else repairs
    columns: dict[str, list[Any]] = {name: [] for name in SENTENCES}
    for table, line, (value, label) in _read(path, SENTENCES, repairs):
        columns["sentence"].append(text_of(table, line, value, "sentence"))
        columns["label"].append(_label(table, line, label, MOST_LABELS))
    if not columns["label"]:
        raise CorpusError.at(path, 0, "expected sentences, got none")
    return to_dataset(columns, task="sentences")


def read_labels(path: str | PathLike[str], repairs: Counter[str] | None = None) -> Dataset:
    """Read sentences with any number of labels from a TSV, CSV or JSON-lines file.

    Args:
        path: As for :func:`read_pairs`; the columns go by the names in :data:`LABELS`. In a table
            the labels stand in one field with commas between them, in JSON lines they are a list;
            an empty field or list says that the sentence has none. A table without a header must
            have just the two columns.
        repairs: What was repaired is added here, by kind.

    Returns:
        One row a sentence, in the file's order: ``{"sentence": str, "labels": list[str]}``.

    Raises:
        CorpusError: As by :func:`read_pairs`.
    """
    repairs = Counter() if repairs is None else repairs
    columns: dict[str, list[Any]] = {name: [] for name in LABELS}
    rows = list(_read(path, LABELS, repairs))
    hot = positions([parsed(found) for _, _, (_, found) in rows], "label")
    for table, line, (value, found) in rows:
        columns["sentence"].append(text_of(table, line, value, "sentence"))
        told = places_of(table, line, found, hot) if hot else _labels(table, line, found)
        columns["labels"].append(told)
    if not columns["labels"]:
        raise CorpusError.at(path, 0, "expected sentences with their labels, got none")
    return to_dataset(columns, task="labels")


def _labels(table: Table, line: int, value: object) -> list[str]:
    value = parsed(value)
    names = value.split(",") if isinstance(value, str) and value.strip() else value or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise table.error(line, f"expected a list of labels, got {value!r}")
    names = [name.strip() for name in names]
    if not all(names) or len(set(names)) < len(names):
        problem = f"expected labels that differ, none of them empty, got {', '.join(names)!r}"
        raise table.error(line, problem)
    return names


def _read(
    path: str | PathLike[str],
    columns: Mapping[str, Sequence[str]],
    repairs: Counter[str],
    quoting: bool | None = None,
    lenient: bool = False,
    errors: Literal["strict", "replace"] = "strict",
) -> Iterator[tuple[Table, int, list[Any]]]:
    """The table and the line of each row, and its values in the order of ``columns``."""
    wanted = [alias for several in columns.values() for alias in several]
    table = read_table(
        path, quoting=quoting, wanted=wanted, repairs=repairs, replaced=errors == "replace"
    )
    for problem in table.bad[:1]:
        if not lenient:
            raise CorpusError(problem)
    places = _places(table, columns)
    if table.bad:
        repairs[FRAGMENTS] += len(table.bad)
    if not table.rows and not table.objects:
        raise table.error(table.first, "expected rows after the header, got none")
    for line, fields in table.rows:
        # Objects of one file may have their own names for one thing.
        held = ([fields[place] for place in several] for several in places)
        yield table, line, [next((v for v in of if v is not None), None) for of in held]


def _places(table: Table, columns: Mapping[str, Sequence[str]]) -> list[list[int]]:
    """Where the wanted columns stand by the header; in their own order where there is none."""
    many = len(columns)
    if not table.header:
        if len(table.names) == many:
            return [[place] for place in range(many)]
        label_first = many == 3 and len(table.names) == 4
        if label_first and {str(row[0]) for _, row in table.rows[:9]} <= {"0", "1"}:
            return [[1], [2], [0]]
    lower = [name.strip().lower() for name in table.names]
    found: dict[str, list[int]] = {}
    for column, aliases in columns.items():
        present = [lower.index(alias) for alias in aliases if alias in lower]
        if len(present) > 1 and not table.objects:
            raise table.error(table.first, f"expected one column for {column}, got two")
        if present:
            found[column] = present
    if len(found) < many:
        unlabelled = set(columns) - set(found) == {"label"}
        head = table.names if table.header or not table.rows else map(str, table.rows[0][1])
        raise table.error(
            table.first,
            f"expected a header with {_accepted(columns)}; got {short(', '.join(head))}"
            + "; dicebook fit takes columns of any name"
            + ". GLUE's test sets have no labels: take its dev set for a test set" * unlabelled,
        )
    return list(found.values())


def _accepted(columns: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{column} (or {', '.join(columns[column][1:])})" for column in columns)


def _label(table: Table, line: int, value: object, limit: int) -> int:
    told = plain(str(value).strip()) if type(value) in (str, int, float) else ""
    if told.isascii() and told.isdigit() and len(told) < 9 and int(told) < limit:
        return int(told)
    expected = "0 or 1" if limit == 2 else f"an integer from 0 to {limit - 1}"
    raise table.error(
        line,
        f"expected as label {expected}, got {short(repr(value))}; dicebook fit takes labels that "
        "are words, and columns of any name (--text, --label)",
    )

"""Pairs of sentences and single sentences with a label, from tables: MRPC, QQP, and your own.

The csv module and json read them, line by line, so that every error can name its line.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from datasets import Dataset

from dicelab.corpora.errors import CorpusError
from dicelab.corpora.forms import to_dataset
from dicelab.corpora.text import read_lines

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

#: A label is smaller than this: a year or an id in the label's column is a mistake to tell.
MOST_LABELS = 1000

#: Keys of ``repairs``.
EMPTY = "pairs with an empty sentence"
FRAGMENTS = "lines left out, for they have not the header's number of columns"
BLANK = "blank lines skipped"

_Columns = Mapping[str, Sequence[str]]
_Rows = list[tuple[int, list[str]]]


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
        path: ``.jsonl``, ``.csv``, or anything else for a tab-separated file. UTF-8.
        repairs: What was repaired or left out is added here, by kind.
        quoting: Whether double quotes enclose the fields (doubled inside). By default in ``.csv``
            alone: MRPC's sentences may begin with a quote that nothing closes.
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
    keep_empty = lenient or Path(path).suffix.lower() == ".jsonl"
    columns: dict[str, list[Any]] = {name: [] for name in PAIRS}
    for line, (first, second, label) in _read(path, PAIRS, repairs, quoting, lenient, errors):
        pair = _text(path, line, "sentence1", first), _text(path, line, "sentence2", second)
        if not all(sentence.strip() for sentence in pair):
            if not keep_empty:
                raise CorpusError.at(path, line, "expected two sentences, got an empty one")
            repairs[EMPTY] += 1
        columns["sentence1"].append(pair[0])
        columns["sentence2"].append(pair[1])
        columns["label"].append(_label(path, line, label, 2, PAIRS))
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
    for line, (value, label) in _read(path, SENTENCES, repairs):
        columns["sentence"].append(_sentence(path, line, value))
        columns["label"].append(_label(path, line, label, MOST_LABELS, SENTENCES))
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
    for line, (value, found) in _read(path, LABELS, repairs):
        columns["sentence"].append(_sentence(path, line, value))
        columns["labels"].append(_labels(path, line, found))
    if not columns["labels"]:
        raise CorpusError.at(path, 0, "expected sentences with their labels, got none")
    return to_dataset(columns, task="labels")


def _sentence(path: str | PathLike[str], line: int, value: object) -> str:
    sentence = _text(path, line, "sentence", value)
    if not sentence.strip():
        raise CorpusError.at(path, line, "expected a sentence, got an empty one")
    return sentence


def _labels(path: str | PathLike[str], line: int, value: object) -> list[str]:
    names = value.split(",") if isinstance(value, str) and value.strip() else value or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CorpusError.at(path, line, f"expected a list of labels, got {value!r}")
    names = [name.strip() for name in names]
    if not all(names) or len(set(names)) < len(names):
        problem = f"expected labels that differ, none of them empty, got {', '.join(names)!r}"
        raise CorpusError.at(path, line, problem)
    return names


def _read(
    path: str | PathLike[str],
    columns: _Columns,
    repairs: Counter[str],
    quoting: bool | None = None,
    lenient: bool = False,
    errors: Literal["strict", "replace"] = "strict",
) -> Iterator[tuple[int, list[Any]]]:
    """The line number of each row, and its values in the order of ``columns``."""
    suffix = Path(path).suffix.lower()
    lines = read_lines(path, repairs, errors=errors)
    if not any(lines):
        raise CorpusError.at(path, 0, f"expected rows of {', '.join(columns)}, got an empty file")
    if suffix == ".jsonl":
        yield from _json_rows(path, lines, columns, repairs)
        return
    separator = "," if suffix == ".csv" else "\t"
    rows = [(number, line.split(separator)) for number, line in enumerate(lines, 1)]
    if quoting or (quoting is None and suffix == ".csv"):
        rows = _quoted(path, lines, separator)
    first, names = rows[0]
    places = _header(path, first, names, columns)
    if places is not None:
        rows = rows[1:]
        if not rows:
            raise CorpusError.at(path, first, "expected rows after the header, got none")
    elif len(names) == len(columns) + 1:
        places = [1, 2, 0]
    for line, fields in rows:
        if len(fields) == len(names):
            yield line, [fields[i] for i in places or range(len(columns))]
        elif fields in ([], [""]):
            repairs[BLANK] += 1
        elif lenient:
            repairs[FRAGMENTS] += 1
        else:
            problem = f"expected {len(names)} columns, as in line {first}, got {len(fields)}"
            raise CorpusError.at(path, line, problem)


def _quoted(path: str | PathLike[str], lines: list[str], separator: str) -> _Rows:
    reader = csv.reader((line + "\n" for line in lines), delimiter=separator, strict=True)
    rows, line = [], 1
    try:
        for fields in reader:
            rows.append((line, fields))
            line = reader.line_num + 1
    except csv.Error as error:
        raise CorpusError.at(path, line, f"expected quoted fields, got: {error}") from None
    return rows


def _header(
    path: str | PathLike[str], line: int, names: list[str], columns: _Columns
) -> list[int] | None:
    """Where the wanted columns stand by the header; None if the first line is no header."""
    aliases = {alias: column for column, several in columns.items() for alias in several}
    found: dict[str, int] = {}
    for place, name in enumerate(names):
        column = aliases.get(name.strip().lower())
        if column in found:
            raise CorpusError.at(path, line, f"expected one column for {column}, got two")
        if column is not None:
            found[column] = place
    label_first = len(columns) == 3 and len(names) == 4 and names[0] in ("0", "1")
    if not found and (len(names) == len(columns) or label_first):
        return None
    if len(found) < len(columns):
        wanted = _accepted(columns)
        unlabelled = set(columns) - set(found) == {"label"}
        raise CorpusError.at(
            path,
            line,
            f"expected a header with {wanted}; got {_shortened(', '.join(names))}"
            + ". GLUE's test sets have no labels: take its dev set for a test set" * unlabelled,
        )
    return [found[column] for column in columns]


def _accepted(columns: _Columns) -> str:
    return "; ".join(f"{column} (or {', '.join(columns[column][1:])})" for column in columns)


def _json_rows(
    path: str | PathLike[str], lines: list[str], columns: _Columns, repairs: Counter[str]
) -> Iterator[tuple[int, list[Any]]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            repairs[BLANK] += 1
            continue
        try:
            row = json.loads(line)
            if "\\u" in line:  # half of a surrogate pair, written as an escape, is no character
                json.dumps(row, ensure_ascii=False).encode()
        except (RecursionError, ValueError) as error:
            reason = "a lone surrogate" if isinstance(error, UnicodeError) else str(error)
            raise CorpusError.at(path, number, f"expected a JSON object, got {reason}") from None
        if type(row) is not dict:
            raise CorpusError.at(path, number, f"expected a JSON object, got {_shortened(line)}")
        by_name = {key.strip().lower(): value for key, value in row.items()}
        values = []
        for aliases in columns.values():
            present = [alias for alias in aliases if alias in by_name]
            if len(present) != 1:
                problem = f"expected one key of {', '.join(aliases)}, got {_shortened(line)}"
                raise CorpusError.at(path, number, problem)
            values.append(by_name[present[0]])
        yield number, values


def _text(path: str | PathLike[str], line: int, column: str, value: object) -> str:
    if type(value) is not str:
        raise CorpusError.at(path, line, f"expected text as {column}, got {value!r}")
    return value


def _label(
    path: str | PathLike[str], line: int, value: object, limit: int, columns: _Columns
) -> int:
    if type(value) is int and 0 <= value < limit:
        return value
    shown = value.strip() if type(value) is str else ""
    if shown.isascii() and shown.isdigit() and len(shown) < 9 and int(shown) < limit:
        return int(shown)
    expected = "0 or 1" if limit == 2 else f"an integer from 0 to {limit - 1}"
    problem = f"expected as label {expected}, got {_shortened(repr(value))}"
    if line == 1:  # a header with names of its own has been taken for a row
        problem += (
            f"; a header would have the names {_accepted(columns)}; dicebook fit takes any "
            "(--text, --label), and labels that are words"
        )
    raise CorpusError.at(path, line, problem)


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."

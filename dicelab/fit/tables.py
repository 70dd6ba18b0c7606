"""Tables of any make: which column is the text, which the label, and the line of every row.

A chapter's reader (:mod:`dicelab.corpora.delimited`) wants the columns of its corpora and classes
as numbers. Here both are the reader's own, by option, by header, or by what the columns hold.
"""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dicelab.corpora.errors import CorpusError
from dicelab.corpora.text import read_lines

TEXTS = (
    *("text", "sentence", "review", "comment", "content", "message", "tweet", "body"),
    *("utterance", "question", "headline", "title", "abstract", "description"),
)
PAIRS = (
    *(("sentence1", "sentence2"), ("#1 string", "#2 string"), ("question1", "question2")),
    *(("text1", "text2"), ("text_a", "text_b"), ("premise", "hypothesis"), ("query", "passage")),
    *(("question", "answer"), ("question", "sentence")),
)
LABELS = (
    *("label", "labels", "class", "category", "target", "sentiment", "polarity", "intent"),
    *("quality", "is_duplicate", "gold_label", "emotion", "topic", "rating", "stars"),
)
#: Between several labels in one cell.
SEPARATORS = ("|", ";", ",")
#: More labels than this are an id or a number to predict, which no classifier can.
MOST_LABELS = 1000
#: Rows by which columns are guessed.
LOOK = 2000


@dataclass(frozen=True)
class Table:
    """A table as it was read.

    Attributes:
        path: its file, for messages.
        names: of the columns; ``"1"``, ``"2"``, ... where there is no header.
        rows: the line of each row, from 1, and its values.
        bad: what was wrong with other rows, as messages with file and line.
    """

    path: str
    names: list[str]
    rows: list[tuple[int, list[Any]]]
    bad: list[str]


@dataclass(frozen=True)
class Columns:
    """Which columns a task reads.

    Attributes:
        texts: one, or two of a pair.
        labels: one, or several with yes or no each; none where a table is only to be predicted.
        notes: what was guessed, in sentences.
    """

    texts: list[str]
    labels: list[str]
    notes: list[str]


def read_table(
    path: str | Path, *, delimiter: str | None = None, wanted: Sequence[str] = ()
) -> Table:
    """Read a table from TSV, CSV, JSON lines or parquet.

    Args:
        path: ``.jsonl``, ``.parquet``, ``.csv`` (quoted), or anything else for columns with a
            delimiter.
        delimiter: between columns; None takes the one that the first line has.
        wanted: names that were asked for; they tell that the first line is a header.

    Raises:
        CorpusError: with file and line: nothing to read, broken quotes, no UTF-8, two columns of
            one name.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _parquet(path)
    lines = read_lines(path)
    if not any(line.strip() for line in lines):
        raise CorpusError.at(path, 0, "expected rows of text and label, got an empty file")
    if suffix in (".jsonl", ".ndjson"):
        return _json_lines(path, lines)
    return _columns(path, lines, delimiter, wanted)


def from_dataset(name: str, rows: Any) -> Table:
    """A split of a ``datasets`` data set; numbers of classes become their names."""
    features = rows.features
    names = list(rows.column_names)
    of_class = {n: features[n].names for n in names if hasattr(features[n], "names")}
    values = zip(*(rows[n][:] for n in names), strict=True)
    table = [
        (
            number,
            [
                of_class[n][v] if n in of_class and type(v) is int and v >= 0 else v
                for n, v in zip(names, row, strict=True)
            ],
        )
        for number, row in enumerate(values, 1)
    ]
    return Table(name, names, table, [])


def _parquet(path: Path) -> Table:
    import pyarrow
    from pyarrow import parquet

    try:
        found = parquet.read_table(path)
    except (OSError, pyarrow.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise CorpusError.at(path, 0, f"expected a parquet file; {reason}") from None
    _no_twins(path, 0, found.column_names)
    rows = [(n, list(row.values())) for n, row in enumerate(found.to_pylist(), 1)]
    return Table(str(path), list(found.column_names), rows, [])


def _json_lines(path: Path, lines: list[str]) -> Table:
    names: dict[str, None] = {}
    parsed: list[tuple[int, dict[str, Any]]] = []
    bad = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (RecursionError, ValueError) as error:
            bad.append(f"{path}:{number}: expected a JSON object, got {error}")
            continue
        if type(row) is not dict:
            bad.append(f"{path}:{number}: expected a JSON object, got {_short(line)}")
            continue
        names.update(dict.fromkeys(row))
        parsed.append((number, row))
    rows = [(number, [row.get(name) for name in names]) for number, row in parsed]
    return Table(str(path), list(names), rows, bad)


def _columns(path: Path, lines: list[str], delimiter: str | None, wanted: Sequence[str]) -> Table:
    first = next(line for line in lines if line.strip())
    if delimiter is None:
        usual = ",;\t|" if path.suffix.lower() == ".csv" else "\t,;|"
        delimiter = next((sign for sign in usual if sign in first), "\t")
    if delimiter == "\t" and path.suffix.lower() != ".csv":
        split = [(n, line.split("\t")) for n, line in enumerate(lines, 1) if line.strip()]
    else:
        split = _quoted(path, lines, delimiter)
    start, head = split[0]
    width = len(head)
    bad, rows = [], []
    for number, fields in split:
        if len(fields) == width:
            rows.append((number, list(fields)))
        else:
            bad.append(
                f"{path}:{number}: expected {width} columns, as in line {start}, got {len(fields)}"
            )
    names = [name.strip() for name in head]
    if _is_header(names, [fields for _, fields in rows[1 : LOOK + 1]], wanted):
        _no_twins(path, start, names)
        return Table(str(path), names, rows[1:], bad)
    return Table(str(path), [str(n) for n in range(1, width + 1)], rows, bad)


def _quoted(path: Path, lines: list[str], delimiter: str) -> list[tuple[int, list[str]]]:
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter, strict=True)
    rows, line = [], 1
    try:
        for fields in reader:
            if fields:
                rows.append((line, fields))
            line = reader.line_num + 1
    except csv.Error as error:
        raise CorpusError.at(path, line, f"expected quoted fields, got: {error}") from None
    return rows


def _no_twins(path: Path, line: int, names: Sequence[str]) -> None:
    twins = [name for name, count in Counter(names).items() if count > 1 and name]
    if twins:
        raise CorpusError.at(path, line, f"expected one column {twins[0]!r}, got two of that name")


def _is_header(names: list[str], rows: list[list[str]], wanted: Sequence[str]) -> bool:
    lower = {name.lower() for name in names}
    pairs = {name for pair in PAIRS for name in pair}
    if lower & {name.lower() for name in wanted} or lower & {*TEXTS, *LABELS, *pairs}:
        return True
    if not rows:
        return False
    for place, name in enumerate(names):
        column = [row[place].strip() for row in rows]
        if name in column and len(set(column)) <= len(column) / 2:
            return False  # the first line's label is one of the labels
    return all(name and len(name) <= 40 and not _is_number(name) for name in names)


def choose(
    table: Table,
    *,
    text: str | None = None,
    text2: str | None = None,
    label: str | None = None,
    task: str | None = None,
    labelled: bool = True,
) -> Columns:
    """Which columns are the text (or the two texts) and the label.

    Args:
        table: what was read.
        text: a name or a number from 1; None looks at the header, then at what the columns hold.
        text2: of a pair's second text.
        label: of the label, or of several yes-or-no labels, separated by commas.
        task: what was asked for, if anything.
        labelled: whether a label is needed.

    Raises:
        CorpusError: naming the columns that there are, and the options that say which is which.
    """
    notes: list[str] = []
    names = {name.lower(): name for name in reversed(table.names)}
    labels = [_asked(table, one, "--label") for one in label.split(",")] if label else []
    if labelled and not labels:
        by_name = [names[alias] for alias in LABELS if alias in names]
        labels = by_name[:1] or _few_values(table)
        if labels:
            how = "by its name" if by_name else "by what it holds"
            notes.append(f"The label is column {labels[0]!r}, {how} (--label).")
    texts = [
        _asked(table, one, option)
        for one, option in ((text, "--text"), (text2, "--text2"))
        if one is not None
    ]
    if text is None:
        free = [n for n in table.names if n not in labels and n not in texts]
        texts = [*_texts_by_name(free, task), *texts][:2] or _long_columns(table, free)
        if task in ("sentences", "labels") and len(texts) > 1:
            texts = []
        if texts:
            shown = " and ".join(map(repr, texts))
            columns = "columns" if len(texts) > 1 else "column"
            notes.append(f"The text is {columns} {shown} (--text).")
    if not texts or (labelled and not labels) or len(texts) > 2:
        lacking = "text" if not texts or len(texts) > 2 else "label"
        asked = "--text, and --text2 for pairs" if lacking == "text" else "--label"
        raise CorpusError(
            f"{table.path}: expected to tell which column is the {lacking}; the columns are "
            f"{', '.join(map(repr, table.names))}. Say it with {asked} (a name or a number from 1)"
        )
    if task == "pairs" and len(texts) == 1:
        raise CorpusError(
            f"{table.path}: expected two columns of text for pairs, got {texts[0]!r} alone; say "
            f"the other with --text2. The columns are {', '.join(map(repr, table.names))}"
        )
    return Columns(texts, labels, notes)


def _asked(table: Table, wanted: str, option: str) -> str:
    for name in table.names:
        if name == wanted or name.lower() == wanted.strip().lower():
            return name
    if wanted.isdigit() and 0 < int(wanted) <= len(table.names):
        return table.names[int(wanted) - 1]
    raise CorpusError(
        f"{table.path}: {option}: expected one of the columns "
        f"{', '.join(map(repr, table.names))}, got {wanted!r}"
    )


def _texts_by_name(free: Sequence[str], task: str | None) -> list[str]:
    names = {name.lower(): name for name in free}
    if task in (None, "pairs"):
        for pair in PAIRS:
            if all(name in names for name in pair):
                return [names[name] for name in pair]
    return [names[alias] for alias in TEXTS if alias in names][:1]


def _values(table: Table, name: str) -> list[str]:
    place = table.names.index(name)
    return [str(row[place]).strip() for _, row in table.rows[:LOOK]]


def _few_values(table: Table) -> list[str]:
    found = []
    for name in table.names:
        values = _values(table, name)
        distinct = set(values)
        short = sum(map(len, distinct)) <= 40 * len(distinct)
        if 2 <= len(distinct) <= max(2, min(MOST_LABELS, len(values) // 3)) and short:
            found.append(name)
    return found if len(found) == 1 else []


def _long_columns(table: Table, free: Sequence[str]) -> list[str]:
    found = []
    for name in free:
        values = _values(table, name)
        words = sum(len(value.split()) for value in values)
        characters = sum(map(len, values))
        if values and (words >= 2 * len(values) or characters >= 15 * len(values)):
            found.append(name)
    return found if len(found) <= 2 else []


def text_of(table: Table, line: int, value: Any, column: str) -> str:
    """A cell as a text.

    Raises:
        CorpusError: it is empty, missing or no text.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        raise CorpusError.at(table.path, line, f"expected text in column {column!r}, got none")
    if not isinstance(value, str):
        raise CorpusError.at(
            table.path, line, f"expected text in column {column!r}, got {_short(repr(value))}"
        )
    if not value.strip():
        raise CorpusError.at(table.path, line, f"expected text in column {column!r}, got none")
    if "\0" in value:
        raise CorpusError.at(table.path, line, f"expected text in column {column!r}, got a NUL")
    return value


def label_of(table: Table, line: int, value: Any, column: str) -> str:
    """A cell as a label: a text, a whole number or yes or no.

    Raises:
        CorpusError: it is empty, missing or anything else.
    """
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        value = int(value)
    if isinstance(value, bool | int):
        return str(value).lower()
    if isinstance(value, str) and value.strip() and value.strip().lower() != "nan":
        return value.strip()
    missing = value is None or value == "" or str(value).strip().lower() in ("", "nan")
    got = "none" if missing else _short(repr(value))
    raise CorpusError.at(table.path, line, f"expected a label in column {column!r}, got {got}")


def separator_of(cells: Sequence[Any]) -> str | None:
    """The sign between several labels in one cell; None where each cell holds one label."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    for sign in SEPARATORS:
        several = [cell for cell in texts if sign in cell]
        if not several:
            continue
        atoms = Counter(atom.strip() for cell in texts for atom in cell.split(sign))
        in_several = {atom.strip() for cell in several for atom in cell.split(sign)}
        recur = sum(atoms[atom] > 1 for atom in in_several)
        if recur >= 0.8 * len(in_several) and len(atoms) < len(set(texts)):
            return sign
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."

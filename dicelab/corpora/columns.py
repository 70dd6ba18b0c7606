"""Which columns of a table are the text, the label and the split."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from dicelab.corpora.cells import (
    LABELS,
    LOOK,
    PAIRS,
    SPLIT_COLUMNS,
    TEXTS,
    Asked,
    Table,
    is_missing,
    is_number,
    is_object,
    parsed,
    short,
)
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.labels import MOST_LABELS, NO, YES, plain, values_of
from dicelab.corpora.registry import split_of

_DATE = re.compile(r"\b\d{1,2}:\d\d\b|\b\d{4}-\d\d?-\d\d?\b|\b\d\d?[./]\d\d?[./]\d{2,4}\b")
_ADDRESS = re.compile(r"(https?://|www\.)\S+")


class Columns(NamedTuple):
    """The columns of one text or two, those of the label, and notes on what was guessed."""

    texts: list[str]
    labels: list[str]
    notes: list[str]


def choose(table: Table, asked: Asked, *, labelled: bool = True) -> Columns:
    """Which columns are the text (or the two texts) and the label, if one is needed.

    What was not asked for follows from the header, then from what the columns hold; where these
    leave it open, the error names the columns, and the options that say which is which.
    """
    notes: list[str] = []
    sample = replace(table, rows=table.rows[:LOOK])
    labels = [asked_for(table, n, "--label") for n in asked.label.split(",")] if asked.label else []
    options = ((asked.text, "--text"), (asked.text2, "--text2"))
    texts = [asked_for(table, column, option) for column, option in options if column is not None]
    # What holds objects or nothing is neither text nor label, whatever its name.
    held = {n: [v for v in sample.column(n) if not is_missing(v)] for n in table.names}
    usable = [name for name, cells in held.items() if not all(map(is_object, cells))]
    empty = [name for name, cells in held.items() if not cells]
    if labelled and not labels:
        labels = _labels(sample, [n for n in usable if n and n not in texts], notes)
        labels = labels or _named(empty, LABELS)[:1]
    if asked.text is None:
        free = [n for n in usable if n not in labels and n not in texts]
        texts = [*_texts_by_name(free, asked.task), *texts][:2] or _long_columns(sample, free)
        texts = texts or _texts_by_name(empty, asked.task)
        if asked.task in ("sentences", "labels") and len(texts) > 1:
            texts = []
        if texts:
            columns = "columns" if len(texts) > 1 else "column"
            notes.append(f"The text is {columns} {' and '.join(map(repr, texts))} (--text).")
    if labelled and len(table.names) == 1 and len(texts) + len(labels) < 2:
        first = short(values_of(sample, table.names[0])[0], 60) if table.rows else "none"
        way = "; put a tab between them, or say with --delimiter what stands between"
        raise CorpusError(
            f"{table.path}: expected a text and a label in each row, got one column: {first!r}"
            + way * (not table.objects)
        )
    listing = short(", ".join(map(repr, table.names)), 400)
    if not texts or (labelled and not labels) or len(texts) > 2:
        lacking = "text" if not texts or len(texts) > 2 else "label"
        option = "--text, and --text2 for pairs" if lacking == "text" else "--label"
        objects = [n for n in table.names if table.objects and n not in {*usable, *empty}]
        raise CorpusError(
            f"{table.path}: expected to tell which column is the {lacking}; the columns are "
            f"{listing}. Say it with {option} (a name or a number from 1)"
            + "".join(_of_objects(sample, name) for name in objects[:1])
        )
    if asked.task == "pairs" and len(texts) == 1:
        raise CorpusError(
            f"{table.path}: expected two columns of text for pairs, got {texts[0]!r} alone; say "
            f"the other with --text2. The columns are {listing}"
        )
    return Columns(texts, labels, notes)


def _of_objects(sample: Table, name: str) -> str:
    """What is to be done with a column of objects that no form explains."""
    held = next(parsed(value) for value in sample.column(name) if not is_missing(value))
    lines = ", lines=True" if "a line" in sample.form else ""
    first = held[0] if type(held) is list and held else held
    keys = (
        [key for key, value in first.items() if type(value) is str] if type(first) is dict else []
    )
    if first is not held and keys:
        way = (
            f"frame['label'] = ['|'.join(o[{keys[0]!r}] for o in cell) for cell in frame[{name!r}]]"
        )
    else:
        way = "frame = pandas.json_normalize(frame.to_dict('records'))"
    return (
        f". Column {name!r} holds {short(str(held), 60)}: neither a label nor a span with a start, "
        f"an end and a label. In pandas: frame = pandas.read_json(FILE{lines}); {way}; "
        "frame.to_csv('rows.csv', index=False)"
    )


def asked_for(table: Table, column: str, option: str) -> str:
    """The column of a name, or of a number from 1; an error where there is none."""
    if found := table.named(column):
        return found
    raise CorpusError(
        f"{table.path}: {option}: expected one of the columns "
        f"{short(', '.join(map(repr, table.names)), 400)}, got {column!r}"
    )


def _named(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """Names that are known ones, in the order of these."""
    lower = {name.lower(): name for name in reversed(names)}
    return [lower[alias] for alias in known if alias in lower]


def _texts_by_name(free: Sequence[str], task: str | None) -> list[str]:
    pairs = (_named(free, pair) for pair in PAIRS if task in (None, "pairs"))
    return next((pair for pair in pairs if len(pair) == 2), _named(free, TEXTS)[:1])


def _labels(table: Table, free: Sequence[str], notes: list[str]) -> list[str]:
    """The column of the label, or those of yes or no, by their names or by what they hold."""
    by_name = _named(free, LABELS)
    values = {name: values_of(table, name) for name in free}
    for name in free if not by_name else ():
        fractions = {v for v in values[name] if re.fullmatch(r"-?\d+[.,]\d*[1-9]\d*", v)}
        if len(fractions) > 10 and re.search(r"score|similarity|relatedness", name.lower()):
            raise CorpusError(
                f"{table.path}: expected classes, got numbers with fractions in column {name!r}; "
                "make classes of them, such as low and high, or say another label with --label"
            )
    # A column called label whose values are all different is an id.
    recurring = [n for n in by_name if len({*values[n]}) <= max(2, 0.5 * len(values[n]))]
    by_name = recurring or by_name
    few = [name for name in free if _are_few(values[name])]
    several = [name for name in free if _are_yes_or_no(values[name])] if not by_name else []
    # A column of other classes beside those of yes and no is as good a label.
    several = several if len(several) > 1 and {*few} <= {*several} else []
    labels = by_name[:1] or several or (few if len(few) == 1 else [])
    listing = ", ".join(map(repr, labels))
    if len(labels) > 1:
        notes.append(f"The labels are the columns {listing}, yes or no each (--label).")
    elif labels:
        how = "by its name" if by_name else "by what it holds"
        notes.append(f"The label is column {listing}, {how} (--label).")
    return labels


def _are_yes_or_no(cells: Sequence[str]) -> bool:
    values = {plain(value).lower() for value in cells} - {""}
    return values <= {*YES, *NO} and len(values & {*NO}) == 1


def _are_few(cells: Sequence[str]) -> bool:
    distinct = {*cells}
    brief = sum(map(len, distinct)) <= 40 * len(distinct)
    return brief and 2 <= len(distinct) <= max(2, min(MOST_LABELS, len(cells) // 3))


def _is_no_text(value: str) -> bool:
    """Whether a cell is a date, a time or an address on the web."""
    return bool((len(value) <= 40 and _DATE.search(value)) or _ADDRESS.fullmatch(value))


def _long_columns(table: Table, free: Sequence[str]) -> list[str]:
    held = {name: [value for value in values_of(table, name) if value] for name in free}
    names = []
    for name, values in held.items():
        words = sum(len(value.split()) for value in values)
        # In Chinese and its like, a long text may have no space.
        unspaced = sum(len(value) for value in values if not value.isascii())
        long = values and (words >= 2 * len(values) or unspaced >= 15 * len(values))
        if long and sum(map(_is_no_text, values)) <= 0.9 * len(values):
            names.append(name)
    if not names:  # short texts, as in Chinese, differ from row to row and are no numbers
        names = [
            name
            for name, values in held.items()
            if len({*values}) > 0.3 * len(values) > 0
            and not any(value.isascii() or is_number(value) for value in values)
        ]
    if not names and len(free) == 1 and len(table.rows) > (len(table.names) > 1):
        names = list(free)
    return names if len(names) <= 2 else []


def by_split(table: Table) -> tuple[dict[str, Table], str]:
    """The parts of a table with a column that says train, dev or test, and that column's name."""
    for place, name in enumerate(table.names):
        cells = ["" if is_missing(v) else str(v).strip() for v in table.column(name)]
        splits = {value: split_of(f"{value}.x") for value in {*cells} - {""}}
        known = name.lower() in SPLIT_COLUMNS or not table.header
        if (
            not known
            or len(splits) > 12
            or None in splits.values()
            or "train" not in splits.values()
        ):
            continue
        parts: dict[str, list[tuple[int, list[Any]]]] = {}
        problem = f"expected a split in column {name!r}, got none"
        bad = [
            str(table.error(row[0], problem))
            for row, v in zip(table.rows, cells, strict=True)
            if not v
        ]
        for (line, row), value in zip(table.rows, cells, strict=True):
            if value:
                parts.setdefault(str(splits[value]), []).append(
                    (line, row[:place] + row[place + 1 :])
                )
        names = table.names[:place] + table.names[place + 1 :]
        tables = {
            kind: replace(table, names=names, rows=rows, bad=[]) for kind, rows in parts.items()
        }
        tables["train"].bad.extend([*table.bad, *bad])
        return tables, name
    return {"train": table}, ""

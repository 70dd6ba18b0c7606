"""A table as it was read, what was asked about it, and its cells as texts and labels."""

from __future__ import annotations

import ast
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dicelab.corpora.errors import FACTS, CorpusError
from dicelab.corpora.text import odd_character, short

NAMES = FACTS["names"]
TEXTS, PAIRS, LABELS, SPLIT_COLUMNS = (NAMES[n] for n in ("texts", "pairs", "labels", "splits"))
#: Rows by which a file is judged.
LOOK = 2000
JSON = (".json", ".jsonl", ".ndjson")
#: Endings of files that hold rows with names and never a token a line.
OF_ROWS = (*JSON, ".parquet", ".arrow", ".feather", ".xlsx")


@dataclass(frozen=True)
class Asked:
    """What the reader of a file was told about it; None where nothing was.

    Attributes:
        task: ``"tagging"``, ``"sentences"``, ``"pairs"`` or ``"labels"``.
        text: the column of the text, or of the tokens.
        text2: the column of a pair's second text.
        label: the column of the label or the tags; several by commas are yes or no each.
        label_separator: the sign between several labels in one cell.
        encoding: encoding of the file.
        delimiter: delimiter between columns.
        header: whether the first line names the columns.
        skip_bad: leave rows out that cannot be read.
        labelled: whether labels are wanted; not so of a file that is to be predicted.
        known: columns of the file that a model was trained on; they tell a header.
    """

    task: str | None = None
    text: str | None = None
    text2: str | None = None
    label: str | None = None
    label_separator: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    skip_bad: bool = False
    labelled: bool = True
    known: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The names that were asked for."""
        labels = self.label.split(",") if self.label else []
        return [name for name in (self.text, self.text2, *labels) if name]


NOTHING_ASKED = Asked()


@dataclass(frozen=True)
class Table:
    """A table as it was read.

    Attributes:
        path: its file, for messages.
        names: names of the columns; ``"1"``, ``"2"``, ... where there is no header.
        rows: the line of each row, from 1, and its values.
        bad: what was wrong with other rows, as messages with file and line.
        form: what was decided about the file: encoding, form, header.
        header: whether the names come from the file.
        objects: whether values have types, as those of JSON and parquet do.
        tagged: whether the columns are ``tokens`` and ``tags`` in IOB2, or plain tags.
        notes: what was left out or changed, with its count, in sentences.
    """

    path: str
    names: list[str]
    rows: list[tuple[int, list[Any]]]
    bad: list[str] = field(default_factory=list)
    form: str = ""
    header: bool = True
    objects: bool = False
    tagged: bool = False
    notes: list[str] = field(default_factory=list)

    def column(self, name: str) -> list[Any]:
        """The values of a column."""
        place = self.names.index(name)
        return [row[place] for _, row in self.rows]

    def named(self, column: str | None) -> str:
        """The column of a name in any case, or of a number from 1; "" where there is none."""
        lower = {name.lower(): name for name in reversed(self.names)}
        numbers = {str(n): name for n, name in enumerate(self.names, 1)}
        column = (column or "").strip()
        return lower.get(column.lower(), numbers.get(column, "")) if column else ""

    def error(self, line: int, problem: str) -> CorpusError:
        """An error about one of its rows."""
        return CorpusError.at(self.path, line, problem)


def no_twins(path: Path, line: int, names: Sequence[str]) -> None:
    """Refuse two columns of one name."""
    twins = [name for name, count in Counter(names).items() if count > 1 and name]
    if twins:
        raise CorpusError.at(
            path, line, f"expected one column {twins[0]!r}, got two of that name; rename one"
        )


def is_number(text: str) -> bool:
    """Whether a cell is a number."""
    return re.fullmatch(r"\s*[-+]?\d+([.,]\d+)?(e[-+]?\d+)?\s*", text, re.IGNORECASE) is not None


def is_missing(value: Any) -> bool:
    """Whether a cell holds nothing."""
    if isinstance(value, str):
        return value.strip() in ("", "nan", "NaN", "NAN")
    return value is None or (isinstance(value, float) and math.isnan(value))


def text_of(table: Table, line: int, value: Any, column: str, *, empty: bool = False) -> str:
    """A cell as a text, which may be empty where that is allowed; else an error."""
    if isinstance(value, str) and (value.strip() or empty):
        if odd := odd_character(value):
            raise table.error(line, f"expected text in column {column!r}, got {odd}")
        return value
    if empty and is_missing(value):
        return ""
    got = "none" if is_missing(value) else short(repr(value))
    raise table.error(line, f"expected text in column {column!r}, got {got}")


def label_of(table: Table, line: int, value: Any, column: str) -> str:
    """A cell as a label: a text, a whole number or yes or no; else an error."""
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        value = int(value)
    if isinstance(value, bool | int):
        return str(value).lower()
    if isinstance(value, str) and not is_missing(value):
        if odd := odd_character(value):
            raise table.error(line, f"expected a label in column {column!r}, got {odd}")
        return value.strip()
    got = "none" if is_missing(value) else short(repr(value))
    raise table.error(line, f"expected a label in column {column!r}, got {got}")


def parsed(value: Any) -> Any:
    """A cell whose text is a list, or an object with a list, as that list."""
    if isinstance(value, str):
        text = value.strip()
        if text[:1] + text[-1:] in ("[]", "{}", "()"):
            for load in (json.loads, ast.literal_eval):
                try:
                    value = load(text)
                    break
                except (RecursionError, ValueError, SyntaxError, MemoryError):
                    continue
            else:
                inner = text[1:-1].split()
                # As pandas writes an array of numpy: [1 0 0].
                if text[0] == "[" and len(inner) > 1 and all(map(is_number, inner)):
                    value = [float(number) for number in inner]
    if isinstance(value, dict) and list(value) == ["choices"]:
        value = value["choices"]
    if isinstance(value, set | frozenset | tuple):
        value = sorted(value) if isinstance(value, set | frozenset) else list(value)
    return value


def is_object(value: Any) -> bool:
    """Whether a cell is an object, or a list of objects or of nothing: neither text nor label."""
    value = parsed(value)
    if type(value) is list:
        return all(type(entry) in (dict, list) for entry in value)
    return type(value) is dict

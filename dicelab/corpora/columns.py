"""Which columns of a table are the text, the label and the split, and how a label is read."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dicelab.corpora.cells import (
    LABELS,
    LOOK,
    PAIRS,
    SPLIT_COLUMNS,
    TEXTS,
    Table,
    is_missing,
    is_number,
    label_of,
    short,
)
from dicelab.corpora.classes import MOST_LABELS
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.registry import split_of

#: Between several labels in one cell.
SEPARATORS = ("|", ";", ",", "#")
YES, NO = ("1", "true", "yes"), ("0", "false", "no")
NOTHING = ("none", "n/a", "na", "null", "#n/a", "<na>", "-")


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

    @property
    def columns(self) -> list[str]:
        """The names that were asked for."""
        labels = self.label.split(",") if self.label else []
        return [name for name in (self.text, self.text2, *labels) if name]


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


def choose(table: Table, asked: Asked, *, labelled: bool = True) -> Columns:
    """Which columns are the text (or the two texts) and the label.

    Args:
        table: what was read.
        asked: names or numbers from 1; what is None follows from the header, then from what the
            columns hold.
        labelled: whether a label is needed.

    Raises:
        CorpusError: naming the columns that there are, and the options that say which is which.
    """
    notes: list[str] = []
    names = {name.lower(): name for name in reversed(table.names)}
    sample = replace(table, rows=table.rows[:LOOK])
    labels = [asked_for(table, n, "--label") for n in asked.label.split(",")] if asked.label else []
    texts = [
        asked_for(table, column, option)
        for column, option in ((asked.text, "--text"), (asked.text2, "--text2"))
        if column is not None
    ]
    free = [name for name in table.names if name and name not in texts and name not in labels]
    if labelled and not labels:
        by_name = [names[alias] for alias in LABELS if alias in names and names[alias] in free]
        scored = not by_name or by_name[0].lower() == "genre"
        if scored and (quantity := _quantity(sample, free)):
            raise CorpusError(
                f"{table.path}: expected classes, got numbers with fractions in column "
                f"{quantity!r}; make classes of them, such as low and high, or say another label "
                "with --label"
            )
        # A column called label whose values are all different is an id.
        by_name = [n for n in by_name if _recur(sample, n)] or by_name
        few = _few_values(sample, free)
        several = _yes_or_no_columns(sample, free) if not by_name else []
        # A column of other classes beside those of yes and no is as good a label.
        several = several if set(few) <= set(several) else []
        labels = by_name[:1] or several or (few if len(few) == 1 else [])
        if labels:
            how = "by its name" if by_name else "by what it holds"
            listing = ", ".join(map(repr, labels))
            notes.append(
                f"The label is column {listing}, {how} (--label)."
                if len(labels) == 1
                else f"The labels are the columns {listing}, yes or no each (--label)."
            )
    if asked.text is None:
        free = [n for n in table.names if n not in labels and n not in texts]
        texts = [*_texts_by_name(free, asked.task), *texts][:2] or _long_columns(sample, free)
        if asked.task in ("sentences", "labels") and len(texts) > 1:
            texts = []
        if texts:
            listing = " and ".join(map(repr, texts))
            columns = "columns" if len(texts) > 1 else "column"
            notes.append(f"The text is {columns} {listing} (--text).")
    if labelled and len(table.names) == 1 and len(texts) + len(labels) < 2:
        first = short(_values(sample, table.names[0])[0], 60) if table.rows else "none"
        way = "; put a tab between them, or say with --delimiter what stands between"
        raise CorpusError(
            f"{table.path}: expected a text and a label in each row, got one column: {first!r}"
            + way * (not table.objects)
        )
    if not texts or (labelled and not labels) or len(texts) > 2:
        lacking = "text" if not texts or len(texts) > 2 else "label"
        option = "--text, and --text2 for pairs" if lacking == "text" else "--label"
        listing = short(", ".join(map(repr, table.names)), 400)
        raise CorpusError(
            f"{table.path}: expected to tell which column is the {lacking}; the columns are "
            f"{listing}. Say it with {option} (a name or a number from 1)"
        )
    if asked.task == "pairs" and len(texts) == 1:
        raise CorpusError(
            f"{table.path}: expected two columns of text for pairs, got {texts[0]!r} alone; say "
            f"the other with --text2. The columns are {', '.join(map(repr, table.names))}"
        )
    return Columns(texts, labels, notes)


def asked_for(table: Table, column: str, option: str) -> str:
    """The column of a name, or of a number from 1.

    Raises:
        CorpusError: there is none.
    """
    for name in table.names:
        if name == column or name.lower() == column.strip().lower():
            return name
    if column.isdigit() and 0 < int(column) <= len(table.names):
        return table.names[int(column) - 1]
    raise CorpusError(
        f"{table.path}: {option}: expected one of the columns "
        f"{short(', '.join(map(repr, table.names)), 400)}, got {column!r}"
    )


def _texts_by_name(free: Sequence[str], task: str | None) -> list[str]:
    names = {name.lower(): name for name in free}
    if task in (None, "pairs"):
        for pair in PAIRS:
            if all(name in names for name in pair):
                return [names[name] for name in pair]
    return [names[alias] for alias in TEXTS if alias in names][:1]


def _values(table: Table, name: str) -> list[str]:
    return ["" if value is None else str(value).strip() for value in table.column(name)]


def _recur(table: Table, name: str) -> bool:
    values = _values(table, name)
    return len(set(values)) <= max(2, 0.5 * len(values))


def _yes_or_no_columns(table: Table, free: Sequence[str]) -> list[str]:
    names = []
    for name in free:
        values = {plain(value).lower() for value in _values(table, name)} - {""}
        binary = values <= {*YES, *NO} and len(values & {*NO}) == 1
        # Or the name of the label where the row has it, and NONE where it has not.
        named = len(values & {*NOTHING}) == 1 and len(values) <= 20 and len(table.rows) > 40
        if values and (binary or named):
            names.append(name)
    return names if len(names) > 1 else []


def _quantity(table: Table, free: Sequence[str]) -> str | None:
    """A column that is named as a score and holds numbers with fractions."""
    for name in free:
        values = [value for value in _values(table, name) if value]
        fractions = [value for value in values if re.fullmatch(r"-?\d+[.,]\d*[1-9]\d*", value)]
        named = re.search(r"score|similarity|relatedness|rating", name.lower())
        if named and all(map(is_number, values)) and len(set(fractions)) > 10:
            return name
    return None


def _few_values(table: Table, free: Sequence[str]) -> list[str]:
    names = []
    for name in free:
        values = _values(table, name)
        distinct = set(values)
        brief = sum(map(len, distinct)) <= 40 * len(distinct)
        if 2 <= len(distinct) <= max(2, min(MOST_LABELS, len(values) // 3)) and brief:
            names.append(name)
    return names


_DATE = re.compile(r"\b\d{1,2}:\d\d\b|\b\d{4}-\d\d?-\d\d?\b|\b\d\d?[./]\d\d?[./]\d{2,4}\b")


def _is_no_text(value: str) -> bool:
    """Whether a cell is a date, a time or an address on the web."""
    dated = len(value) <= 40 and _DATE.search(value) is not None
    return dated or re.fullmatch(r"(https?://|www\.)\S+", value) is not None


def _long_columns(table: Table, free: Sequence[str]) -> list[str]:
    names = []
    for name in free:
        values = [value for value in _values(table, name) if value]
        if not values or sum(map(_is_no_text, values)) > 0.9 * len(values):
            continue
        words = sum(len(value.split()) for value in values)
        # In Chinese and its like, a long text may have no space.
        unspaced = sum(len(value) for value in values if not value.isascii())
        if words >= 2 * len(values) or unspaced >= 15 * len(values):
            names.append(name)
    if not names and len(free) == 1 and table.rows:
        names = list(free)
    return names if len(names) <= 2 else []


# -- splits ------------------------------------------------------------------------------------


def by_split(table: Table) -> tuple[dict[str, Table], str]:
    """The parts of a table with a column that says train, dev or test, and that column's name."""
    for name in table.names:
        values = [str(value).strip() for value in table.column(name) if not is_missing(value)]
        known = name.lower() in SPLIT_COLUMNS or not table.header
        if not values or not known:
            continue
        kinds = {value: split_of(f"{value}.x") for value in set(values)}
        if len(kinds) > 12 or None in kinds.values() or "train" not in kinds.values():
            continue
        place = table.names.index(name)
        names = [n for n in table.names if n != name]
        parts: dict[str, list[tuple[int, list[Any]]]] = {}
        bad = list(table.bad)
        for line, row in table.rows:
            kind = kinds.get(str(row[place]).strip())
            if kind is None:
                bad.append(f"{table.path}:{line}: expected a split in column {name!r}, got none")
                continue
            parts.setdefault(kind, []).append((line, row[:place] + row[place + 1 :]))
        tables = {
            kind: replace(table, names=names, rows=rows, bad=bad if kind == "train" else [])
            for kind, rows in parts.items()
        }
        return tables, name
    return {"train": table}, ""


# -- labels ------------------------------------------------------------------------------------

Reader = Callable[[Table, int, list[Any]], Any]


def plain(label: str) -> str:
    """A whole number without the .0 that pandas adds where a column has holes, or Excel's ,0."""
    return re.sub(r"^(-?\d+)(\.0+|,0)$", r"\1", label)


def label_reader(table: Table, columns: Columns, asked: Asked) -> tuple[Reader, list[str]]:
    """How the label of a row is read, one name or a list of names, and notes about it."""
    if len(columns.labels) > 1:
        return _of_columns(table, columns.labels), []
    (name,) = columns.labels
    cells = [parsed(value) for value in table.column(name)]
    held = [cell for cell in cells if not is_missing(cell)]
    lists = any(type(cell) is list for cell in held)
    sign = asked.label_separator
    if asked.task in (None, "labels") and sign is None and not lists:
        sign = separator_of(held, sure=asked.task == "labels")
    hot = positions(cells, name)
    if hot:
        note = f"The labels {hot[0]} to {hot[-1]} are the places of lists of 0 and 1."
        return lambda table, line, values: places_of(table, line, values[0], hot), [note]
    if lists and asked.task is None and all(type(c) is list and len(c) == 1 for c in held):
        of_one, notes = _one_label([cell[0] for cell in held], name)
        note = f"Each list in column {name!r} has one label: one class a row (--task labels)."

        def of_only(table: Table, line: int, values: list[Any]) -> str:
            cell = parsed(values[0])
            if type(cell) is not list or len(cell) != 1:
                raise table.error(line, f"expected a list of one label, got {short(str(cell))}")
            return str(of_one(table, line, cell))

        return of_only, [*notes, note]
    if lists or sign is not None or asked.task == "labels":

        def of_list(table: Table, line: int, values: list[Any]) -> list[str]:
            cell = parsed(values[0])
            if asked.task == "labels" and (cell is None or cell == ""):
                return []
            if isinstance(cell, str):
                cell = [part for part in cell.split(sign) if part.strip()] if sign else [cell]
            if cell is None or (cell != [] and not isinstance(cell, list)):
                cell = [label_of(table, line, cell, name)]
            return list(dict.fromkeys(label_of(table, line, label, name) for label in cell))

        return of_list, []
    return _one_label(cells, name)


_BITS = ("0", "1", "true", "false")


def positions(cells: Sequence[Any], name: str) -> list[str]:
    """Names of the labels whose places lists of 0 and 1 have; none where cells are not such."""
    held = [cell for cell in cells if not is_missing(cell)]
    width = {len(cell) if type(cell) is list else 0 for cell in held}
    if len(width) != 1 or min(width) < 2:
        return []
    flat = {plain(str(bit)).lower() for cell in held for bit in cell}
    if not flat <= {*_BITS} or len(flat) < 2:
        return []
    return [f"{name}_{n + 1}" for n in range(min(width))]


def places_of(table: Table, line: int, value: Any, names: Sequence[str]) -> list[str]:
    """The labels whose places in a list hold 1.

    Raises:
        CorpusError: the cell is no list of as many 0 and 1.
    """
    cell = parsed(value)
    bits = [plain(str(bit)).lower() for bit in cell] if type(cell) is list else []
    if len(bits) != len(names) or not set(bits) <= {*_BITS}:
        raise table.error(line, f"expected {len(names)} times 0 or 1, got {short(str(cell))}")
    return [name for name, bit in zip(names, bits, strict=True) if bit in ("1", "true")]


def _one_label(cells: list[Any], name: str) -> tuple[Reader, list[str]]:
    texts = [cell.strip() for cell in cells if isinstance(cell, str) and not is_missing(cell)]
    numbers = sum(map(is_number, texts))
    missing = {t for t in texts if t.lower() in NOTHING} if numbers > 0 else set()
    numeric = numbers + sum(t in missing for t in texts) == len(texts)
    missing = missing if numeric else set()
    disagreed = name.lower() == "gold_label"  # SNLI's sign for no majority of the annotators
    whole = numeric and all(re.fullmatch(r"-?\d+(\.0+|,0)?", t) for t in texts if t not in missing)
    spellings: dict[str, Counter[str]] = {}
    for text in texts:
        spellings.setdefault(text.casefold(), Counter())[text] += 1
    usual = {key: counts.most_common(1)[0][0] for key, counts in spellings.items()}
    notes = [
        f"The labels {', '.join(map(repr, sorted(counts)))} differ in case alone: all are read as "
        f"{usual[key]!r}."
        for key, counts in spellings.items()
        if len(counts) > 1
    ]

    def of_one(table: Table, line: int, values: list[Any]) -> str:
        value = values[0]
        if disagreed and value == "-":
            raise table.error(line, f"expected a label in column {name!r}, got '-' for none")
        if isinstance(value, str) and value.strip() in missing:
            raise table.error(
                line,
                f"expected a number in column {name!r} as in other rows, got {value.strip()!r}",
            )
        label = label_of(table, line, value, name)
        if whole:
            return plain(label)
        return usual.get(label.casefold(), label)

    return of_one, notes


def _of_columns(table: Table, labels: Sequence[str]) -> Reader:
    named = {
        name
        for name in labels
        if not {plain(v).lower() for v in _values(table, name)} <= {*YES, *NO, ""}
        and {v.lower() for v in _values(table, name)} & {*NOTHING, ""}
    }

    def of_columns(table: Table, line: int, values: list[Any]) -> list[str]:
        row_labels = []
        for name, value in zip(labels, values, strict=True):
            if name in named and is_missing(value):
                continue
            cell = plain(label_of(table, line, value, name))
            if name in named and not is_number(cell):
                # The label's own name where the row has it, as in NONE, late, NONE.
                if cell.lower() not in NOTHING:
                    row_labels.append(cell)
                continue
            if cell.lower() not in (*YES, *NO):
                raise table.error(line, f"expected 0 or 1 in column {name!r}, got {cell!r}")
            if cell.lower() in YES:
                row_labels.append(name)
        return list(dict.fromkeys(row_labels))

    return of_columns


def separator_of(cells: Iterable[Any], *, sure: bool = False) -> str | None:
    """The sign between several labels in one cell; None where each cell holds one label.

    Args:
        cells: cells of the label's column.
        sure: whether cells are known to hold several labels, so that there may be as many
            different cells as labels.
    """
    texts = [cell for cell in cells if isinstance(cell, str)]
    for sign in SEPARATORS:
        several = [cell for cell in texts if sign in cell]
        if not several:
            continue
        atoms = Counter(atom.strip() for cell in texts for atom in cell.split(sign))
        in_several = {atom.strip() for cell in several for atom in cell.split(sign)}
        if "" in in_several:
            continue
        recur = sum(atoms[atom] > 1 for atom in in_several)
        decimals = sign == "," and all(map(is_number, texts))
        if recur >= 0.8 * len(in_several) and len(atoms) < len(set(texts)) + sure and not decimals:
            return sign
    return None


# -- cells -------------------------------------------------------------------------------------


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

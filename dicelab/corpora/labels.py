"""How the label of a row is read, the order of classes, and which of two is the positive one."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dicelab.corpora.cells import (
    NAMES,
    Asked,
    Table,
    is_missing,
    is_number,
    label_of,
    parsed,
    short,
)
from dicelab.corpora.errors import CorpusError

#: Between several labels in one cell.
SEPARATORS = ("|", ";", ",", "#")
YES, NO = ("1", "true", "yes"), ("0", "false", "no")
NOTHING = ("none", "n/a", "na", "null", "#n/a", "<na>", "-")
#: More labels than this are an id or a number to predict, which no classifier can.
MOST_LABELS = 1000
_BITS = {"0", "1", "true", "false"}

Reader = Callable[[Table, int, list[Any]], Any]


def plain(label: str) -> str:
    """A whole number without the .0 that pandas adds where a column has holes, or Excel's ,0."""
    return re.sub(r"^(-?\d+)(\.0+|,0)$", r"\1", label)


def label_reader(table: Table, columns: Sequence[str], asked: Asked) -> tuple[Reader, list[str]]:
    """How the label of a row is read, one name or a list of names, and notes about it."""
    if len(columns) > 1:
        return lambda table, line, values: _of_columns(table, line, values, columns), []
    (name,) = columns
    held = [cell for cell in map(parsed, table.column(name)) if not is_missing(cell)]
    lists = any(type(cell) is list for cell in held)
    sign = asked.label_separator
    if asked.task in (None, "labels") and sign is None and not lists:
        sign = separator_of(held, sure=asked.task == "labels")
    if hot := positions(held, name):
        note = f"The labels {hot[0]} to {hot[-1]} are the places of lists of 0 and 1."
        return lambda table, line, values: places_of(table, line, values[0], hot), [note]

    def parts_of(cell: Any) -> list[Any]:
        if isinstance(cell, str) and sign:
            return [part for part in cell.split(sign) if part.strip()]
        return cell if type(cell) is list else [cell]

    flat = [part for cell in held for part in parts_of(cell)]
    single = asked.task is None and all(type(cell) is list and len(cell) == 1 for cell in held)
    if (lists and not single) or sign is not None or asked.task == "labels":
        usual, notes = alike(part for part in flat if isinstance(part, str))

        def of_list(table: Table, line: int, values: list[Any]) -> list[str]:
            cell = parsed(values[0])
            if asked.task == "labels" and (cell is None or cell == ""):
                return []
            labels = [label_of(table, line, part, name) for part in parts_of(cell)]
            return list(dict.fromkeys(usual.get(key_of(label), label) for label in labels))

        return of_list, notes
    of_one, notes = _one_label(flat, name)
    if lists:
        notes.append(f"Each list of column {name!r} has one label: a class a row (--task labels).")

    def of_only(table: Table, line: int, values: list[Any]) -> str:
        parts = parts_of(parsed(values[0])) if lists else values
        if len(parts) != 1:
            raise table.error(line, f"expected a list of one label, got {short(str(parts))}")
        return of_one(table, line, parts[0])

    return of_only, notes


def positions(held: Sequence[Any], name: str) -> list[str]:
    """Names of the labels whose places lists of 0 and 1 have; none where cells are not such."""
    if held and all(type(c) is str and re.fullmatch("[01]{2,}", c) for c in held):
        padded = any(cell.startswith("0") for cell in held)
        held = [list(cell) for cell in held] if padded else []
    width = {len(cell) if type(cell) is list else 0 for cell in held}
    if len(width) != 1 or min(width) < 2:
        return []
    flat = {plain(str(bit)).lower() for cell in held for bit in cell}
    return [f"{name}_{n + 1}" for n in range(min(width))] if flat <= _BITS and flat - {*NO} else []


def places_of(table: Table, line: int, value: Any, names: Sequence[str]) -> list[str]:
    """The labels whose places in a list hold 1."""
    cell = parsed(value)
    bits = [plain(str(bit)).lower() for bit in cell] if type(cell) in (list, str) else []
    if len(bits) != len(names) or not {*bits} <= _BITS:
        raise table.error(line, f"expected {len(names)} times 0 or 1, got {short(str(cell))}")
    return [name for name, bit in zip(names, bits, strict=True) if bit in ("1", "true")]


def _one_label(cells: list[Any], name: str) -> tuple[Callable[[Table, int, Any], str], list[str]]:
    texts = [cell.strip() for cell in cells if isinstance(cell, str) and not is_missing(cell)]
    numbers = [text for text in texts if is_number(text)]
    missing = {text for text in texts if text.lower() in NOTHING} if numbers else set()
    numeric = len(numbers) + sum(text in missing for text in texts) == len(texts)
    missing = missing if numeric else set()
    if name.lower() == "gold_label":
        missing.add("-")  # SNLI's sign for no majority of the annotators
    whole = numeric and all(re.fullmatch(r"-?\d+(\.0+|,0)?", text) for text in numbers)
    usual, notes = alike([] if whole else texts)
    if "nan" in usual:
        notes.append(f"{usual['nan']!r} is read as a class; leave cells without a label empty.")
    named = re.search(r"rating|stars?$|score|grade", name.lower())
    values = [plain(str(cell).strip()) for cell in cells if not is_missing(cell)]
    said = all(re.fullmatch(r"\d+(\.\d+)? ?(/|out of|of|stars?) ?\d*", value) for value in values)
    if 2 < len({*values}) <= 20 and (said or (named and numeric)):
        notes.append(
            f"The labels of {name!r} look like steps of a scale. They are taken as classes without "
            "an order: an error by one step counts as much as one by four."
        )

    def of_one(table: Table, line: int, value: Any) -> str:
        if isinstance(value, str) and value.strip() in missing:
            kind = "a number" if numeric else "a label"
            problem = f"expected {kind} in column {name!r} as in other rows, got {value.strip()!r}"
            raise table.error(line, problem)
        label = label_of(table, line, value, name)
        return plain(label) if whole else usual.get(key_of(label), label)

    return of_one, notes


def key_of(label: str) -> str:
    """What labels that look alike have in common: no case, no signs without a width, one form."""
    text = unicodedata.normalize("NFKC", label)
    return "".join(c for c in text if unicodedata.category(c) != "Cf").strip().casefold()


def alike(labels: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """The usual spelling of each label by :func:`key_of`, and notes on those that look alike."""
    spellings: dict[str, Counter[str]] = {}
    for label in labels:
        if not is_missing(label):
            spellings.setdefault(key_of(label), Counter())[label.strip()] += 1
    notes = []
    usual = {}
    for key, counts in spellings.items():
        usual[key] = max(counts, key=lambda label: (_is_plain(label), counts[label]))
        if len(counts) > 1:
            # In quotes, with escapes for what one cannot see.
            shown = (repr(n) if _is_plain(n) else ascii(n) for n in sorted(counts))
            how = "differ in case alone" if len({*map(str.casefold, counts)}) == 1 else "look alike"
            notes.append(f"The labels {', '.join(shown)} {how}: all are read as {usual[key]!r}.")
    return usual, notes


def _is_plain(label: str) -> bool:
    normal = unicodedata.is_normalized("NFC", label)
    return normal and all(unicodedata.category(c) != "Cf" for c in label)


def _of_columns(table: Table, line: int, values: list[Any], labels: Sequence[str]) -> list[str]:
    """The columns of a row that say yes."""
    said = []
    for name, value in zip(labels, values, strict=True):
        cell = plain(label_of(table, line, value, name)).lower()
        if cell not in (*YES, *NO):
            raise table.error(line, f"expected 0 or 1 in column {name!r}, got {cell!r}")
        said += [name] if cell in YES else []
    return said


def separator_of(cells: Iterable[Any], *, sure: bool = False) -> str | None:
    """The sign between several labels in one cell; None where each cell holds one label.

    Where it is ``sure`` that they hold several, there may be as many different cells as labels.
    """
    texts = [cell for cell in cells if isinstance(cell, str)]
    for sign in SEPARATORS:
        several = [cell for cell in texts if sign in cell]
        atoms = Counter(atom.strip() for cell in texts for atom in cell.split(sign))
        in_several = {atom.strip() for cell in several for atom in cell.split(sign)}
        recur = sum(atoms[atom] > 1 for atom in in_several)
        decimals = sign == "," and all(map(is_number, texts))
        if not several or "" in in_several or decimals:
            continue
        if recur >= 0.8 * len(in_several) and len(atoms) < len({*texts}) + sure:
            return sign
    return None


def values_of(table: Table, name: str) -> list[str]:
    """The cells of a column as text without spaces around, "" for none."""
    return ["" if value is None else str(value).strip() for value in table.column(name)]


# -- the classes of all rows ---------------------------------------------------------------------


def in_order(labels: Mapping[str, int]) -> list[str]:
    """Names of classes by the alphabet, or by value where all are whole numbers."""
    numbers = all(label.lstrip("-").isdecimal() and label.isascii() for label in labels)
    return sorted(labels, key=lambda label: (int(label) if numbers else 0, label))


def negative_first(
    labels: Sequence[str], counts: Mapping[str, int], asked: str | None, notes: list[str]
) -> list[str]:
    """Two classes, the positive one last: that which was asked for, is named so, or is rarer."""
    if asked is not None and asked not in labels:
        raise CorpusError(f"--positive: expected {labels[0]!r} or {labels[1]!r}, got {asked!r}")
    usual = [label for label in labels if label.lower() in NAMES["positives"]]
    # Of 1 and 2 either may be the one that is looked for.
    by_name = len(usual) == 1 and ("0" in labels or not all(map(str.isdecimal, labels)))
    positive = asked or (usual[0] if by_name else min(labels, key=lambda label: counts[label]))
    if asked is None:
        why = "by its name" if by_name else "the rarer of the two"
        notes.append(f"The positive class is {positive!r}, {why} (--positive).")
    return sorted(labels, key=lambda label: label == positive)


def numbered(
    rows: Mapping[str, list[dict[str, Any]]], positive: str | None, notes: list[str]
) -> tuple[list[str], list[str]]:
    """Put numbers in place of the names in ``label``, in all splits.

    Args:
        rows: by split, with ``train``; they are changed.
        positive: the positive one of two classes; None for :func:`negative_first` to find.
        notes: takes sentences about classes.

    Returns:
        The names of train's classes, by number, and the names that train lacks, whose numbers
        follow.

    Raises:
        CorpusError: a positive class is asked for that is not one of two.
    """
    counts = Counter(row["label"] for row in rows["train"])
    labels = in_order(counts)
    if len(labels) == 2:
        labels = negative_first(labels, counts, positive, notes)
    elif len(labels) > 2 and positive is not None:
        raise CorpusError(
            f"--positive: expected two classes, got {len(labels)}: {', '.join(labels[:8])}"
        )
    elif set(labels) <= {"0", "1"}:
        labels = ["0", "1"]
    unseen: set[str] = set()
    for name, part in rows.items():
        of_part = Counter(row["label"] for row in part if row["label"] not in labels)
        note_unseen(name, of_part, "row", notes)
        unseen |= {*of_part}
    index = {label: number for number, label in enumerate([*labels, *sorted(unseen)])}
    for row in (row for part in rows.values() for row in part):
        row["label"] = index[row["label"]]
    return labels, sorted(unseen)


def note_unseen(split: str, unseen: Mapping[str, int], what: str, notes: list[str]) -> None:
    """Say that a split has labels that train lacks, if it has."""
    listing = ", ".join(f"{label!r} ({n})" for label, n in list(unseen.items())[:8])
    if listing:
        notes.append(
            f"Train has no {what} labelled {listing}, but {split} has: a model cannot say it, so "
            "each counts as an error."
        )

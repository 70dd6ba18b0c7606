"""A table in JSON: a list of objects, an object a line, columns, or rows under some key."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

from dicelab.corpora.cells import Table, short
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.registry import split_of


def read_json(path: Path, text: str, *, must: bool) -> Table | None:
    """A list of objects, an object a line, or columns; None where it is no JSON."""
    lines = text.split("\n")
    first = next(line for line in lines if line.strip()).strip()
    if not must and first[0] not in "[{":
        return None
    whole = _loaded(text)
    if type(whole) is list and whole and all(type(row) in (dict, list) for row in whole):
        return _of_objects(path, list(enumerate(whole, 1)), [], "a JSON list")
    if type(whole) is dict and (inner := _inner(whole)) is not None:
        return _of_objects(path, list(enumerate(inner, 1)), [], "JSON")
    if type(whole) is list:
        if not must:
            return None
        raise CorpusError.at(
            path, 0, f"expected a JSON list of objects or an object a line, got {short(first)}"
        )
    if type(_loaded(first)) in (dict, list):
        return _json_lines(path, lines)
    objects = _one_after_another(text) if whole is None and first[0] == "{" else []
    if objects:
        return _of_objects(path, objects, [], "JSON objects")
    if type(whole) is dict:
        return _of_objects(path, [(1, whole)], [], "a JSON object")
    if not must:
        return None
    return _json_lines(path, lines)


def _one_after_another(text: str) -> list[tuple[int, Any]]:
    """Objects of several lines each, one after another; none where they are not JSON."""
    decoder, place, rows = json.JSONDecoder(), 0, []
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        try:
            row, end = decoder.raw_decode(text, place)
        except (RecursionError, ValueError):
            return []
        rows.append((text.count("\n", 0, place) + 1, row))
        place = end
    return rows


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (RecursionError, ValueError):
        return None


def _inner(whole: dict[str, Any]) -> list[Any] | None:
    """The rows of an object: pandas' orientations, splits, or a list under some key."""
    values = list(whole.values())
    if len(values) == 1 and type(values[0]) is dict:
        return _inner(values[0])
    if set(whole) >= {"columns", "data"} and type(whole["columns"]) is list:
        return [dict(zip(whole["columns"], row, strict=False)) for row in whole["data"]]
    lists = {k: v for k, v in whole.items() if type(v) is list and v}
    objects = {k: v for k, v in lists.items() if all(type(row) is dict for row in v)}
    if objects and all(split_of(f"{name}.x") for name in objects):
        return [{"split": name, **row} for name, rows in objects.items() for row in rows]
    if objects:
        return max(objects.values(), key=len)
    pairs = [v for v in lists.values() if all(type(row) is list and len(row) > 1 for row in v)]
    if len(pairs) == 1 and set(
        map(type, chain(*(v for v in lists.values() if v is not pairs[0])))
    ) == {str}:
        return pairs[0]  # names of classes beside the rows
    named = {split_of(f"{name}.x") for name in whole}
    rows_of_lists = all(type(row) is list for rows in lists.values() for row in rows)
    if "train" in named and None not in named and len(lists) == len(whole) and rows_of_lists:
        return [
            {"split": name, **{str(n): cell for n, cell in enumerate(row, 1)}}
            for name, rows in lists.items()
            for row in rows
        ]
    if values and all(type(v) is dict for v in values) and len({tuple(v) for v in values}) == 1:
        keys = list(values[0])
        if all(key.isdigit() for key in keys):
            return [{name: column[key] for name, column in whole.items()} for key in keys]
        return values
    if len(lists) == len(whole) > 1 and len({len(v) for v in values}) == 1:
        return [dict(zip(whole, row, strict=True)) for row in zip(*values, strict=True)]
    deeper = [rows for v in values if type(v) is dict and (rows := _inner(v)) is not None]
    return deeper[0] if len(deeper) == 1 and not lists else None


def _json_lines(path: Path, lines: list[str]) -> Table:
    parsed: list[tuple[int, Any]] = []
    bad = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (RecursionError, ValueError) as error:
            bad.append(f"{path}:{number}: expected a JSON object, got {error}")
            continue
        of_kind = type(row) is dict or (type(row) is list and len(row) > 1)
        if not of_kind or (parsed and type(row) is not type(parsed[0][1])):
            bad.append(f"{path}:{number}: expected a JSON object, got {short(line)}")
        else:
            parsed.append((number, row))
    return _of_objects(path, parsed, bad, "a JSON object a line")


def _of_objects(path: Path, parsed: list[tuple[int, Any]], bad: list[str], form: str) -> Table:
    named = parsed and type(parsed[0][1]) is dict
    names: list[str]
    if named:
        bad += [
            f"{path}:{n}: expected a JSON object, got {short(json.dumps(row))}"
            for n, row in parsed
            if type(row) is not dict
        ]
        parsed = [(n, row) for n, row in parsed if type(row) is dict]
        names = list(dict.fromkeys(name for _, row in parsed for name in row))
        rows = [(n, [row.get(name) for name in names]) for n, row in parsed]
    else:
        width = max((len(row) for _, row in parsed), default=0)
        names = [str(n + 1) for n in range(width)]
        rows = [(n, [*row, *[None] * (width - len(row))]) for n, row in parsed]
    return Table(str(path), names, rows, bad, form, bool(named), True)

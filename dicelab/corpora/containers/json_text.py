"""A table in JSON: a list of objects, an object a line, columns, or rows under some key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dicelab.corpora.cells import Table, short
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.registry import split_of


def read_json(path: Path, text: str, *, must: bool) -> Table | None:
    """A list of objects, an object a line, or columns; None for what is and must be no JSON."""
    lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    first = lines[0][1].strip()
    if not must and first[0] not in "[{":
        return None
    whole = _loaded(text)
    if type(whole) is list:
        if whole and all(type(row) in (dict, list) for row in whole):
            return _of_objects(path, list(enumerate(whole, 1)), "a JSON list")
        if must:
            problem = "expected a JSON list of objects or an object a line, got"
            raise CorpusError.at(path, 0, f"{problem} {short(first)}")
        return None
    if type(whole) is dict and (inner := _inner(whole)) is not None:
        return _of_objects(path, list(enumerate(inner, 1)), "JSON")
    if type(whole) is dict and len(lines) > 1:
        return _of_objects(path, [(1, whole)], "a JSON object")
    must = must or first == "{" or type(_loaded(first)) in (dict, list)
    rows = [(number, _loaded(line)) for number, line in lines]
    return _of_objects(path, rows, "a JSON object a line", dict(lines)) if must else None


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (RecursionError, ValueError):
        return None


def _inner(whole: dict[str, Any]) -> list[Any] | None:
    """The rows of an object: splits, pandas' columns, or a list under some key."""
    values = list(whole.values())
    if len(values) == 1 and type(values[0]) is dict:
        return _inner(values[0])
    lists = {name: rows for name, rows in whole.items() if type(rows) is list and rows}
    types = {name: {*map(type, rows)} for name, rows in lists.items()}
    objects = {name: rows for name, rows in lists.items() if types[name] == {dict}}
    splits = objects or lists
    named = {split_of(f"{name}.x") for name in (splits if objects else whole)}
    lists_alone = "train" in named and all(types[name] == {list} for name in lists)
    if None not in named and (objects or lists_alone):
        return [
            {"split": name, **(row if objects else {str(n): v for n, v in enumerate(row, 1)})}
            for name, rows in splits.items()
            for row in rows
        ]
    if objects:
        return max(objects.values(), key=len)
    pairs = [name for name in lists if all(type(r) is list and len(r) > 1 for r in lists[name])]
    if len(pairs) == 1 and [types[name] for name in lists if name not in pairs] == [{str}]:
        return lists[pairs[0]]  # names of classes beside the rows
    columns = all(type(v) is dict for v in values) and len({tuple(v) for v in values}) == 1
    if columns and all(map(str.isdigit, values[0])):
        return [
            dict(zip(whole, row, strict=True))
            for row in zip(*(v.values() for v in values), strict=True)
        ]
    if len(lists) == len(whole) > 1 and len({len(v) for v in values}) == 1:
        return [dict(zip(whole, row, strict=True)) for row in zip(*values, strict=True)]
    deeper = [rows for v in values if type(v) is dict and (rows := _inner(v)) is not None]
    return deeper[0] if len(deeper) == 1 and not lists else None


def _of_objects(
    path: Path, parsed: list[tuple[int, Any]], form: str, raw: dict[int, str] | None = None
) -> Table:
    kind = next((type(row) for _, row in parsed if type(row) in (dict, list)), dict)
    rows = [(n, row) for n, row in parsed if type(row) is kind and (kind is dict or len(row) > 1)]
    way = "; write each object in one line, or all of them in one list"
    bad = []
    for n, row in parsed:
        if type(row) is not kind or (kind is list and len(row) < 2):
            got = short((raw or {}).get(n) or json.dumps(row))
            bad.append(f"{path}:{n}: expected a JSON object, got {got}{way * (got == '{')}")
    if not rows and bad:
        raise CorpusError(bad[0])
    if kind is list:
        rows = [(n, {str(place): v for place, v in enumerate(row, 1)}) for n, row in rows]
    names = list(dict.fromkeys(name for _, row in rows for name in row))
    cells = [(n, [row.get(name) for name in names]) for n, row in rows]
    return Table(str(path), names, cells, bad, form, kind is dict, True)

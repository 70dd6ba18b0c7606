"""An export of Label Studio: tasks with data and annotations, each of which has results.

Example: ``{"data": {"text": "late"},
"annotations": [{"result": [{"value": {"choices": ["bad"]}}]}]}``
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dicelab.corpora.cells import Asked, Table, is_missing
from dicelab.corpora.forms.sample import Rows, Sample, each_row


def witness(sample: Sample) -> tuple[str, ...] | None:
    """Annotations with a result that has a value; or data alone, where no labels are wanted."""
    if not {"data", "annotations"} <= set(sample.table.names):
        return None
    values = [value for cell in sample.cells("annotations") for value in _values(cell)]
    bare = not sample.asked.labelled and sample.are("data", lambda v: type(v) is dict)
    return ("data", "annotations") if values or bare else None


def _made(cell: Any) -> list[dict[str, Any]]:
    """The annotations of a task that were not cancelled."""
    made = [one for one in (cell if type(cell) is list else []) if type(one) is dict]
    return [one for one in made if not one.get("was_cancelled")]


def _values(cell: Any) -> list[dict[str, Any]]:
    """What the first annotation of a task says."""
    results = [result for one in _made(cell)[:1] for result in one.get("result") or []]
    return [r["value"] for r in results if type(r) is dict and type(r.get("value")) is dict]


def read(table: Table, proof: tuple[str, ...], asked: Asked) -> Table:
    """Texts with their spans or choices, by the first annotation that was not cancelled."""
    several = 0

    def make(line: int, record: dict[str, Any]) -> list[Any]:
        nonlocal several
        data = record["data"] if type(record["data"]) is dict else {}
        texts = [value for value in data.values() if isinstance(value, str)]
        text = data.get("text", texts[0] if len(texts) == 1 else None)
        made = _made(record["annotations"])
        if text is None or (not made and asked.labelled):
            lacking = "an annotation" if text is not None else "one text"
            raise table.error(line, f"expected {lacking}, got none")
        several += len(made) > 1
        values = _values(made)
        marked = [v for v in values if {"start", "end", "labels"} <= set(v) and v["labels"]]
        spans = [{"start": v["start"], "end": v["end"], "label": v["labels"]} for v in marked]
        return [text, spans or [choice for v in values for choice in v.get("choices", [])]]

    rows, bad = each_row(table, make)
    spans = any(type(entry) is dict for _, (_, label) in rows for entry in label)
    names = ["text", "spans" if spans else "label"]
    notes = list(table.notes)
    if several:
        notes.append(f"{several:,} texts have several annotations, of which the first is taken.")
    rows = rows if spans else lists_alike(rows)
    form = f"{table.form}, an export of Label Studio"
    return replace(table, names=names, rows=rows, bad=bad, form=form, notes=notes)


def lists_alike(rows: Rows) -> Rows:
    """Rows of a text and its labels: a name each, or where one row has several, lists in all."""
    single = all(type(label) is not list or len(label) == 1 for _, (_, label) in rows)
    made = []
    for line, (text, label) in rows:
        names = label if type(label) is list else [] if is_missing(label) else [label]
        made.append((line, [text, names[0] if single and names else names]))
    return made

"""An export of Label Studio: tasks with data and annotations, each of which has results.

Example: ``{"data": {"text": "late"},
"annotations": [{"result": [{"value": {"choices": ["bad"]}}]}]}``
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dicelab.corpora.cells import Asked, Table, is_missing
from dicelab.corpora.forms.sample import Sample


def witness(sample: Sample) -> tuple[str, ...] | None:
    """A row whose annotations hold a result with a value."""
    names = sample.table.names
    if "data" not in names or "annotations" not in names:
        return None
    results = [
        result
        for cell in sample.cells("annotations")
        for made in (cell if type(cell) is list else [])
        if type(made) is dict
        for result in made.get("result") or []
    ]
    proved = any(type(result) is dict and type(result.get("value")) is dict for result in results)
    return ("data", "annotations") if proved or _bare(sample) else None


def _bare(sample: Sample) -> bool:
    """Whether tasks are only to be predicted, so that nobody has annotated them."""
    return not sample.asked.labelled and sample.are("data", lambda v: type(v) is dict)


def read(table: Table, proof: tuple[str, ...], asked: Asked) -> Table:
    """Texts with their spans or choices, by the first annotation that was not cancelled."""
    bad = list(table.bad)
    rows: list[tuple[int, list[Any]]] = []
    marked = False
    several = 0
    for line, row in table.rows:
        record = dict(zip(table.names, row, strict=True))
        data = record["data"] if type(record["data"]) is dict else {}
        texts = [value for value in data.values() if isinstance(value, str)]
        text = data.get("text", texts[0] if len(texts) == 1 else None)
        made = [
            a for a in record["annotations"] or [] if type(a) is dict and not a.get("was_cancelled")
        ]
        if text is None or (not made and asked.labelled):
            lacking = "an annotation" if text is not None else "one text"
            bad.append(f"{table.path}:{line}: expected {lacking}, got none")
            continue
        several += len(made) > 1
        values = [r.get("value") or {} for a in made[:1] for r in a.get("result") or []]
        choices = [choice for value in values for choice in value.get("choices", [])]
        spans = [
            {"start": value["start"], "end": value["end"], "label": value["labels"]}
            for value in values
            if {"start", "end", "labels"} <= set(value) and value["labels"]
        ]
        marked = marked or bool(spans)
        rows.append((line, [text, spans or choices]))
    if not marked:
        rows = lists_alike(rows)
    notes = list(table.notes)
    if several:
        notes.append(f"{several:,} texts have several annotations, of which the first is taken.")
    names = ["text", "spans" if marked else "label"]
    form = f"{table.form}, an export of Label Studio"
    return replace(table, names=names, rows=rows, bad=bad, form=form, notes=notes)


def lists_alike(rows: list[tuple[int, list[Any]]]) -> list[tuple[int, list[Any]]]:
    """Rows of a text and its labels: a name each, or where one row has several, lists in all."""
    single = all(type(label) is not list or len(label) == 1 for _, (_, label) in rows)
    made = []
    for line, (text, label) in rows:
        names = label if type(label) is list else [] if is_missing(label) else [label]
        made.append((line, [text, names[0] if single and names else names]))
    return made

"""Labels in objects: a yes or no for each label, or an object that names it.

Examples: ``{"text": "late", "cats": {"BAD": 1, "GOOD": 0}}``, as spaCy has them, and
``{"text": "late", "label": {"name": "bad", "id": 1}}``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from dicelab.corpora.cells import LABELS, Asked, Table, is_missing, is_object, parsed
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.forms.sample import Sample, each_row
from dicelab.corpora.forms.spans import span_of
from dicelab.corpora.forms.studio import lists_alike

_KEYS = ("label", "name", "displayName", "class-name", "category", "value")
_COLUMNS = (*LABELS, "cats", "annotations", "classificationannotation", "classificationannotations")


def witness(sample: Sample) -> tuple[str, ...] | None:
    """Objects with 0 or 1 for each name, or with one name, where several of these names recur.

    A column of labels that are no objects goes first.
    """
    asked = sample.asked
    if asked.task not in (None, "sentences", "labels") or not asked.labelled:
        return None
    plain = (n for n in sample.labels if n.lower() in LABELS and not asked.label)
    if any(sample.are(name, lambda v: not is_object(v)) for name in plain):
        return None
    for name in sample.labels:
        usual = asked.label or name.lower() in _COLUMNS
        if usual and sample.are(name, lambda v: _names(v) is not None):
            found = Counter(label for cell in sample.held(name) for label in _names(cell) or [])
            if len(found) > 1 and max(found.values()) > 1:
                return (name,)
    return None


def _names(cell: Any) -> list[str] | None:
    """The labels that an object names, or each of a list; None for anything else."""
    if type(cell) is dict and len(cell) > 1 and all(v in (0, 1) for v in cell.values()):
        return [name for name, yes in cell.items() if yes]
    names = []
    for entry in cell if type(cell) is list else [cell]:
        if type(entry) is not dict or span_of(entry):
            return None
        held = [entry[key] for key in _KEYS if type(entry.get(key)) is str]
        if len(held) != 1:
            return None
        names += held
    return names


def read(table: Table, proof: tuple[str, ...], asked: Asked) -> Table:
    """The column with the names of each row's labels; a row without such an object is bad."""
    (column,) = proof

    def make(line: int, record: dict[str, Any]) -> list[Any]:
        cell = parsed(record[column])
        names = [] if is_missing(cell) else _names(cell)
        if names is None:
            raise table.error(line, f"expected an object with a label, got {cell}")
        return [record, names]

    made, bad = each_row(table, make)
    if not made:
        raise CorpusError(bad[0])
    rows = [
        (line, list({**record, column: label}.values()))
        for line, (record, label) in lists_alike(made)
    ]
    form = f"{table.form}, labels in the objects of column {column!r}"
    new = column if asked.label or "label" in table.names else "label"
    names = [new if name == column else name for name in table.names]
    return replace(table, names=names, rows=rows, bad=bad, form=form, objects=True)

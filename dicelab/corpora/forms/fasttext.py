"""fastText's lines: labels in front of the text.

Example: ``__label__bad the parcel came late``
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from dicelab.corpora.cells import Asked, Table
from dicelab.corpora.forms.sample import Sample
from dicelab.corpora.forms.studio import lists_alike


def witness(sample: Sample) -> tuple[str, ...] | None:
    """Lines that all begin with ``__label__``."""
    lines = [" ".join(map(str, row)) for _, row in sample.table.rows]
    filled = [line for line in lines if line.strip()]
    proved = not sample.table.header and filled
    return () if proved and all(line.startswith("__label__") for line in filled) else None


def read(table: Table, proof: tuple[str, ...], asked: Asked) -> Table:
    """A text and its label, or its labels where a line has several."""
    rows: list[tuple[int, list[Any]]] = []
    for number, row in table.rows:
        line = " ".join(map(str, row))
        labels = re.match(r"(?:__label__\S+[\s,]*)*", line)
        end = labels.end() if labels else 0
        names = re.findall(r"__label__([^\s,]+)", line[:end])
        rows.append((number, [line[end:].strip(), names]))
    form = table.form.replace(", no header (--header)", "") + ", fastText's __label__"
    return replace(table, names=["text", "label"], rows=lists_alike(rows), form=form, objects=True)

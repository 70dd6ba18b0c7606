"""fastText's lines: labels in front of the text.

Example: ``__label__bad the parcel came late``
"""

from __future__ import annotations

import re
from dataclasses import replace

from dicelab.corpora.cells import Asked, Table
from dicelab.corpora.forms.sample import Sample
from dicelab.corpora.forms.studio import lists_alike


def witness(sample: Sample) -> tuple[str, ...] | None:
    """Lines that all begin with ``__label__``."""
    first = [str(row[0]) for _, row in sample.table.rows if "".join(map(str, row)).strip()]
    proved = first and not sample.table.header
    return () if proved and all(cell.startswith("__label__") for cell in first) else None


def read(table: Table, proof: tuple[str, ...], asked: Asked) -> Table:
    """A text and its label, or its labels where a line has several."""
    rows = []
    for number, row in table.rows:
        labels, text = re.fullmatch(r"((?:__label__\S+[\s,]*)*)(.*)", " ".join(row), re.S).groups()  # type: ignore[union-attr]
        rows.append((number, [text.strip(), re.findall(r"__label__([^\s,]+)", labels)]))
    form = table.form.replace(", no header (--header)", "") + ", fastText's __label__"
    return replace(table, names=["text", "label"], rows=lists_alike(rows), form=form, objects=True)

"""An export of Prodigy: each row has its user's answer.

Example: ``{"text": "late", "accept": ["bad"], "answer": "accept"}``
"""

from __future__ import annotations

from dataclasses import replace

from dicelab.corpora.cells import Asked, Table
from dicelab.corpora.forms.sample import Sample


def witness(sample: Sample) -> tuple[str, ...] | None:
    """Answers that are all accept, reject or ignore, beside spans, choices or a label."""
    names = sample.table.names
    if "answer" not in names or not {"spans", "accept", "label"} & set(names):
        return None
    proved = sample.are("answer", lambda v: v in ("accept", "reject", "ignore"))
    return ("answer",) if proved else None


def read(table: Table, proof: tuple[str, ...], asked: Asked) -> Table:
    """The rows that the user accepted; his choices are the label.

    A rejected row of the only label there is belongs to the class that is not this label.
    """
    names = ["label" if name == "accept" else name for name in table.names]
    answer = names.index("answer")
    place = names.index("label") if "label" in names else answer
    binary = "label" in table.names and not {"accept", "spans"} & set(table.names)
    binary = binary and len({*map(str, table.column("label"))}) == 1
    rows = []
    for line, row in table.rows:
        said = row[answer]
        if said == "reject" and binary:
            row = [*row[:place], f"not {row[place]}", *row[place + 1 :]]
        if said == "accept" or (said == "reject" and binary) or not asked.labelled:
            rows.append((line, row[:answer] + row[answer + 1 :]))
    notes = list(table.notes)
    if left := len(table.rows) - len(rows):
        notes.append(f"{left:,} rows that Prodigy's user did not accept are left out.")
    names.remove("answer")
    form = f"{table.form}, an export of Prodigy"
    return replace(table, names=names, rows=rows, form=form, notes=notes)

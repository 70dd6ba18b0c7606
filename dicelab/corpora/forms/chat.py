"""Chats with one question and its answer, which is the label.

Example: ``{"messages": [{"role": "user", "content": "late"},
{"role": "assistant", "content": "bad"}]}``
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dicelab.corpora.cells import Asked, Table, parsed
from dicelab.corpora.forms.sample import Sample


def witness(sample: Sample) -> tuple[str, ...] | None:
    """Messages of roles, one of the user, and one of the assistant where labels are wanted."""
    for name in sample.table.names:
        if sample.asked.label is None and sample.are(
            name, lambda v: _turns(v, sample.asked.labelled) is not None
        ):
            return (name,)
    return None


def _turns(cell: Any, labelled: bool) -> tuple[str, str] | None:
    said: dict[str, list[Any]] = {}
    for turn in cell if type(cell) is list else []:
        if type(turn) is dict and {"role", "content"} <= set(turn):
            said.setdefault(str(turn["role"]), []).append(turn["content"])
    user, assistant = said.get("user", []), said.get("assistant", [] if labelled else [""])
    if len(user) != 1 or len(assistant) != 1 or not all(type(t) is str for t in user + assistant):
        return None
    return user[0], assistant[0]


def read(table: Table, proof: tuple[str, ...], asked: Asked) -> Table:
    """What the user says, and the answer as the label; a chat of other turns is bad."""
    place = table.names.index(proof[0])
    bad = list(table.bad)
    rows: list[tuple[int, list[Any]]] = []
    for line, row in table.rows:
        turns = _turns(parsed(row[place]), asked.labelled)
        if turns is None:
            bad.append(str(table.error(line, "expected a chat of one question and its answer")))
        else:
            rows.append((line, list(turns)))
    form = f"{table.form}, chats of a question and its answer, without the system's message"
    return replace(table, names=["text", "label"], rows=rows, bad=bad, form=form)

"""Questions with answers in a text, in SQuAD's form or its kin: for chapter 10, and no task here.

Example: ``{"context": "Ana ran.", "question": "Who?",
"answers": {"text": ["Ana"], "answer_start": [0]}}``
"""

from __future__ import annotations

from typing import Any

from dicelab.corpora.cells import Asked, Table
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.forms.sample import Sample


def witness(sample: Sample) -> tuple[str, ...] | None:
    """Paragraphs with questions, or answers with their places."""
    if sample.asked.task is not None or sample.asked.label is not None:
        return None
    names = set(sample.table.names)
    if names == {"version", "data"} and len(sample.table.rows) == 1:
        return ("data",)
    for name, keys in (
        ("paragraphs", {"qas"}),
        ("qas", {"question"}),
        ("answers", {"answer_start"}),
    ):
        if name in names and any(_holds(cell, keys) for cell in sample.cells(name)):
            return (name,)
    return None


def _holds(cell: Any, keys: set[str]) -> bool:
    entries = cell if type(cell) is list else [cell]
    return any(type(entry) is dict and keys <= set(entry) for entry in entries)


def read(table: Table, proof: tuple[str, ...], asked: Asked) -> Table:
    """Say how to train on questions.

    Raises:
        CorpusError: always.
    """
    raise CorpusError(
        f"{table.path}: questions with answers in a text; train on them with chapter 10: "
        f"papermill notebooks/10_reading.ipynb out.ipynb -p corpus {table.path}"
    )

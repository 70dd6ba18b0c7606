"""Forms that are recognised and not read: each is refused with the lines that convert it.

Questions with answers in a text are for chapter 10. Chats, and spans by tokens as GLiNER has them,
are rare; whether the latter's ends belong to the span, their rows do not say.
"""

from __future__ import annotations

from typing import Any

from dicelab.corpora.cells import Asked, Table, parsed
from dicelab.corpora.errors import REFUSED, CorpusError
from dicelab.corpora.forms.lists import tokens_columns
from dicelab.corpora.forms.sample import Sample
from dicelab.corpora.forms.spans import entries_of, span_of


def witness(sample: Sample) -> tuple[str, ...] | None:
    """Paragraphs with questions, answers with their places, turns of roles, spans of tokens."""
    table, asked = sample.table, sample.asked
    for name in table.names if asked.label is None else ():
        if asked.text is None and sample.are(name, lambda v: _holds(v, {"role", "content"})):
            return (name,)
        keys = {"paragraphs": {"qas"}, "qas": {"question"}, "answers": {"answer_start"}}.get(name)
        questions = keys and any(_holds(cell, keys) for cell in sample.cells(name))
        whole = {*table.names} == {"version", "data"} and len(table.rows) == 1
        if asked.task is None and (questions or whole):
            return (name,)
    for tokens in tokens_columns(sample)[:1] if sample.tagging and asked.labelled else ():
        for name in (n for n in sample.labels if n != tokens):
            spans = [span_of(entry) for cell in sample.cells(name) for entry in entries_of(cell)]
            if spans and all(spans):
                return name, tokens
    return None


def _holds(cell: Any, keys: set[str]) -> bool:
    entries = cell if type(cell) is list else [cell]
    return any(type(entry) is dict and keys <= set(entry) for entry in entries)


def read(table: Table, proof: tuple[str, ...], asked: Asked) -> Table:
    """Say how to convert the file.

    Raises:
        CorpusError: always.
    """
    turns = any(_holds(parsed(cell), {"role", "content"}) for cell in table.column(proof[0]))
    sentence = REFUSED["token_spans" if len(proof) > 1 else "chats" if turns else "questions"]
    lines = ", lines=True" if "a line" in table.form else ""
    raise CorpusError(f"{table.path}: {sentence.format(*proof, lines=lines, path=table.path)}")

"""What a form's witness looks at, and what the readers of forms share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from dicelab.corpora.cells import LOOK, Asked, Table, is_missing, parsed
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.tags import normalise_tags, scheme_of, to_iob2
from dicelab.corpora.text import odd_character

#: The line of each row, and what was made of it.
Rows = list[tuple[int, list[Any]]]


class Sample:
    """The first rows of a table, with the columns that were asked for in front of all others.

    Where a column is asked for, no other one may take its part.
    """

    def __init__(self, table: Table, asked: Asked) -> None:
        self.table = replace(table, rows=table.rows[:LOOK])
        self.asked = asked
        self.cells = cache(self._cells)
        label, text = table.named(asked.label), table.named(asked.text)
        self.labels = [label] * bool(label)
        self.texts = [text] * bool(text)
        if asked.label is None:
            self.labels = [n for n in table.names if n != text]
        if asked.text is None:
            others = (n for n in table.names if n != label)
            self.texts = sorted(others, key=lambda name: name not in asked.known)
        self.tagging = asked.task in (None, "tagging")

    def _cells(self, name: str) -> list[Any]:
        return [parsed(value) for value in self.table.column(name)]

    def held(self, name: str) -> list[Any]:
        """The cells of a column that hold something, with lists and objects parsed."""
        return [value for value in self.cells(name) if not is_missing(value)]

    def are(self, name: str, test: Callable[[Any], bool]) -> bool:
        """Whether a column has cells, nine in ten of which pass a test."""
        held = self.held(name)
        return bool(held) and sum(map(test, held)) > 0.9 * len(held)


def first(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """Names with the usual ones in front: of two columns that prove a form one has to be taken."""
    places = {name: place for place, name in enumerate(known)}
    return sorted(names, key=lambda name: places.get(name.lower(), len(known)))


def each_row(
    table: Table, make: Callable[[int, dict[str, Any]], list[Any] | None]
) -> tuple[Rows, list[str]]:
    """What is made of each row's line and cells, and what was wrong with rows that make an error.

    A row of which None is made is left out.
    """
    rows, bad = [], list(table.bad)
    for line, values in table.rows:
        try:
            made = make(line, dict(zip(table.names, values, strict=True)))
        except CorpusError as error:
            bad.append(str(error))
            continue
        if made is not None:
            rows.append((line, made))
    return rows, bad


def tagged_table(
    table: Table, how: str, rows: Rows, bad: Sequence[str], notes: Counter[str] | None = None
) -> Table:
    """Words and tags as a table of ``tokens`` and ``tags`` in IOB2.

    ``how`` says how they stand there, ``bad`` what was wrong with other rows, and ``notes`` what
    was left out or changed, by kind.
    """
    odd = {
        line: found
        for line, (tokens, tags) in rows
        if (found := next(filter(None, map(odd_character, (*tokens, *tags))), ""))
    }
    bad = [*bad, *(str(table.error(line, f"expected text, got {o}")) for line, o in odd.items())]
    rows = [row for row in rows if row[0] not in odd]
    tags_of, change = normalise_tags([tags for _, (_, tags) in rows])
    if scheme_of(tags_of) != "plain":
        tags_of = [to_iob2(tags) for tags in tags_of]
    made = [(n, [cells[0], tags]) for (n, cells), tags in zip(rows, tags_of, strict=True)]
    form = "; ".join([f"{table.form}: {how}", *[change] * bool(change)])
    said = [*table.notes, *(f"{n:,} {note}." for note, n in (notes or {}).items())]
    names = ["tokens", "tags"]
    return replace(table, names=names, rows=made, bad=list(bad), form=form, tagged=True, notes=said)

"""What a form's witness looks at: the first rows, and the columns that it may take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from dicelab.corpora.cells import LOOK, Asked, Table, is_missing, parsed
from dicelab.corpora.tags import respelt, scheme_of, to_iob2
from dicelab.corpora.text import odd_character

#: The line of each row, its words and their tags.
Tagged = list[tuple[int, list[list[str]]]]


class Sample:
    """The first rows of a table, with the columns that were asked for in front of all others.

    Args:
        table: what was read.
        asked: what was said about it. Where a column is asked for, no other one may take its part.
    """

    def __init__(self, table: Table, asked: Asked) -> None:
        self.table = replace(table, rows=table.rows[:LOOK])
        self.asked = asked
        self.cells = cache(self._cells)
        names = table.names
        label, text = self._column(asked.label), self._column(asked.text)
        self.labels: list[str] = [label] if label else []
        self.texts: list[str] = [text] if text else []
        if asked.label is None:
            self.labels = [n for n in names if n != text]
        if asked.text is None:
            self.texts = [n for n in names if n != label]
        self.tagging = asked.task in (None, "tagging")

    def _column(self, asked: str | None) -> str:
        names = self.table.names
        for name in names:
            if asked is not None and name.lower() == asked.strip().lower():
                return name
        numbered = (asked or "").isdecimal() and 0 < int(asked or 0) <= len(names)
        return names[int(asked or 0) - 1] if numbered else ""

    def _cells(self, name: str) -> list[Any]:
        return [parsed(value) for value in self.table.column(name)]

    def raw(self, name: str) -> list[Any]:
        """The cells of a column as they are."""
        return self.table.column(name)

    def held(self, name: str) -> list[Any]:
        """The cells of a column that hold something, with lists and objects parsed."""
        return [value for value in self.cells(name) if not is_missing(value)]

    def are(self, name: str, test: Callable[[Any], bool], *, raw: bool = False) -> bool:
        """Whether a column has cells, nine in ten of which pass a test."""
        held = self.held(name)
        if raw:
            held = [value for value in self.raw(name) if not is_missing(value)]
        return bool(held) and sum(map(test, held)) > 0.9 * len(held)


def first(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """Names with the usual ones in front: of two columns that prove a form one has to be taken."""
    places = {name: place for place, name in enumerate(known)}
    return sorted(names, key=lambda name: places.get(name.lower(), len(known)))


def tagged_table(
    table: Table, how: str, rows: Tagged, bad: Sequence[str] = (), notes: Counter[str] | None = None
) -> Table:
    """Words and tags as a table of ``tokens`` and ``tags`` in IOB2.

    Args:
        table: from which they come.
        how: how they stand there, in words.
        rows: the words and tags of each row.
        bad: what was wrong with other rows.
        notes: what was left out or changed, by kind.

    Raises:
        CorpusError: the tags are of no scheme.
    """
    all_bad = [*table.bad, *bad]
    for line, (tokens, tags) in rows:
        if odd := next(filter(None, map(odd_character, (*tokens, *tags))), ""):
            all_bad.append(f"{table.path}:{line}: expected text, got {odd}")
    prefix = f"{table.path}:"
    broken = {int(line.removeprefix(prefix).split(":")[0]) for line in all_bad}
    rows = [row for row in rows if row[0] not in broken]
    tags_of, respelling = respelt([tags for _, (_, tags) in rows])
    if scheme_of(tags_of) != "plain":
        tags_of = [to_iob2(tags) for tags in tags_of]
    made = [(n, [cells[0], tags]) for (n, cells), tags in zip(rows, tags_of, strict=True)]
    form = "; ".join([f"{table.form}: {how}", *[respelling] * bool(respelling)])
    said = [f"{n:,} {note}." for note, n in (notes or {}).items()]
    return replace(
        table,
        names=["tokens", "tags"],
        rows=made,
        bad=all_bad,
        form=form,
        tagged=True,
        notes=[*table.notes, *said],
    )

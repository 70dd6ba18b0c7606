"""The corpora: what is drawn from, and the test part.

A yes or no is a row with one tag, ``B-yes`` or ``O``: strict entity F1 is then the F1 of the
positive class, and one path serves both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from studies import raw

YES, NO = ["B-yes"], ["O"]


@dataclass(frozen=True)
class Row:
    """A sentence with its tags, or one or two texts with one tag."""

    texts: list[str]
    tags: list[str]


Parts = tuple[list[Row], list[Row]]  # what is drawn from, and the test part


def _tagged(name: str) -> Parts:
    pool, test = (
        [Row(row["tokens"], row["tags"]) for row in raw.tagged(name, parts)]
        for parts in (("train", "dev"), ("test",))
    )
    return pool, test


def _mrpc() -> Parts:
    """The rarer class, no paraphrase, is the positive one."""
    pool, test = (
        [
            Row([row["sentence1"], row["sentence2"]], NO if row["label"] else YES)
            for row in raw.mrpc(part)
        ]
        for part in ("train", "test")
    )
    return pool, test


def _emotion(label: str) -> Parts:
    """Tested on dev and test together, since the rarest label has six examples in test."""
    pool, test = (
        [Row([row["sentence"]], YES if label in row["labels"] else NO) for row in rows]
        for rows in (raw.goemotions("train"), raw.goemotions("dev") + raw.goemotions("test"))
    )
    return pool, test


# The form of each, "tags", "text" or "pair", and what reads it.
CORPORA: dict[str, tuple[str, Callable[[], Parts]]] = {
    "crossner_politics": ("tags", partial(_tagged, "crossner_politics")),
    "goemotions_fear": ("text", partial(_emotion, "fear")),
    "wnut17": ("tags", partial(_tagged, "wnut17")),
    "mrpc": ("pair", _mrpc),
}

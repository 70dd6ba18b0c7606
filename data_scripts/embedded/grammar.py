"""Templates with slots: the small grammar that all embedded corpora are written in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from data_scripts.embedded.draw import Draw

Labelled = list[tuple[str, str]]
"""A sentence or a piece of one: pairs of token and label."""

_SLOT = re.compile(r"\{(\w+)\}")


def words(text: str) -> tuple[str, ...]:
    """Words that are written with spaces between them."""
    return tuple(text.split())


def _words(text: str) -> Labelled:
    return [(token, "O") for token in text.split()]


class Grammar:
    """Fills the slots of a template.

    A template is text with slots, such as ``"{PER} went to {LOC} {when} ."``. A slot is either a
    rule (one of its templates is drawn and filled in its turn) or a leaf.

    Args:
        rules: for each slot, the templates that may fill it.
        leaf: called for a slot that is no rule; returns its labelled tokens.
        text: called for the plain text between slots; returns its labelled tokens. The default
            splits at white space and labels every token ``"O"``.
    """

    def __init__(
        self,
        rules: Mapping[str, Sequence[str]],
        leaf: Callable[[str], Labelled],
        text: Callable[[str], Labelled] = _words,
    ) -> None:
        self._rules = rules
        self._leaf = leaf
        self._text = text

    def fill(self, template: str, draw: Draw) -> Labelled:
        """Return the labelled tokens of a template with all its slots filled.

        Args:
            template: the template; an empty one gives no token.
            draw: where the choices come from.
        """
        filled: Labelled = []
        for i, piece in enumerate(_SLOT.split(template)):
            if i % 2 == 0:
                filled += self._text(piece)
            elif piece in self._rules:
                filled += self.fill(draw.pick(self._rules[piece]), draw)
            else:
                filled += self._leaf(piece)
        return filled


def text_of(filled: Labelled, language: str) -> str:
    """Return the tokens as text: English with spaces and a capital, Chinese without."""
    if language != "en":
        return "".join(token for token, _ in filled)
    text = " ".join(token for token, _ in filled)
    return text[0].upper() + text[1:]

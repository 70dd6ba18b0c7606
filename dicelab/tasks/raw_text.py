"""Raw sentences as words, and entities found in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dicelab.corpora.tags import Span
from dicelab.corpora.text import WORD


@dataclass(frozen=True)
class Entity:
    """An entity in a text.

    Attributes:
        type: its type, such as ``"PER"``.
        text: its words as they stand in the text.
        start: its first character.
        end: the character after its last.
    """

    type: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Sentence:
    """A sentence and its words.

    Attributes:
        text: the sentence; where only words were given, these joined by spaces.
        words: its words.
        offsets: the first character of each word, and the one after its last.
    """

    text: str
    words: list[str]
    offsets: list[tuple[int, int]]

    @classmethod
    def of(cls, sentence: str | Sequence[str]) -> Sentence:
        """A sentence from a string or from its words.

        Args:
            sentence: a string is split at white space and around punctuation, Chinese into
                characters. Give the words where your corpus is split in another way.

        Raises:
            ValueError: if a word is empty.
        """
        if isinstance(sentence, str):
            matches = list(WORD.finditer(sentence))
            return cls(sentence, [m.group() for m in matches], [m.span() for m in matches])
        words = list(sentence)
        if not all(isinstance(word, str) and word for word in words):
            raise ValueError(f"expected words, got {words!r}")
        offsets, start = [], 0
        for word in words:
            offsets.append((start, start + len(word)))
            start += len(word) + 1
        return cls(" ".join(words), words, offsets)

    def entities(self, spans: Iterable[Span]) -> list[Entity]:
        """Spans of words as entities of the text."""
        entities = []
        for span in spans:
            start, end = self.offsets[span.start][0], self.offsets[span.end - 1][1]
            entities.append(Entity(span.type, self.text[start:end], start, end))
        return entities


def sentences_of(
    texts: str | Sequence[str | Sequence[str]],
) -> list[Sentence]:
    """Sentences from one string, or from a list of strings or of lists of words."""
    return [Sentence.of(text) for text in ([texts] if isinstance(texts, str) else texts)]

"""Sentences longer than a model reads at once, in overlapping windows of whole words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from transformers import BatchEncoding, PreTrainedTokenizerBase


def windows(lengths: Sequence[int], room: int) -> list[tuple[int, int]]:
    """The windows of a sentence: as many words as fit, of which the next window repeats a few.

    Args:
        lengths: sub-words of each word.
        room: sub-words that a window holds, at least 1. A longer word has a window of its own.

    Returns:
        The first word of each window and the one after its last. Neighbours share the words that
        fit into a quarter of the room.

    Raises:
        ValueError: if there is no room.
    """
    if room < 1:
        raise ValueError(f"max_length: expected room for at least one sub-word; {1 - room} too few")
    bounds, start, n = [], 0, len(lengths)
    while True:
        stop, used = start, 0
        while stop < n and (stop == start or used + lengths[stop] <= room):
            used += lengths[stop]
            stop += 1
        bounds.append((start, stop))
        if stop == n:
            return bounds
        # The next window must hold a new word, too.
        shared = min(room // 4, room - lengths[stop])
        following = stop
        while following - 1 > start and lengths[following - 1] <= shared:
            following -= 1
            shared -= lengths[following]
        start = following


def owned(bounds: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Which words each window answers for: of those shared by two, each takes the nearer half."""
    middles = [(start + stop + 1) // 2 for (_, stop), (start, _) in pairwise(bounds)]
    return list(pairwise([bounds[0][0], *middles, bounds[-1][1]]))


def word_lengths(tokenizer: PreTrainedTokenizerBase, words: Sequence[str]) -> list[int]:
    """How many sub-words each word has."""
    encoded = tokenizer(
        list(words), is_split_into_words=True, add_special_tokens=False, verbose=False
    )
    counts = Counter(encoded.word_ids())
    return [counts[word] for word in range(len(words))]


class Piece(NamedTuple):
    """A row that is a sentence, or one of its windows.

    Attributes:
        sentence: the number of the sentence.
        first_word: the first of the words that this row answers for.
        first_subword: the position of each of these words in the row, -1 where none holds it; of
            the row that begins a sentence, of all its words, with -1 for those of later windows.
    """

    sentence: int
    first_word: int
    first_subword: list[int]

    def held(self, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The words that this row holds, and where.

        Args:
            starts: the number of each sentence's first word among the words of all.

        Returns:
            Their numbers among the words of all, and the positions of their first sub-words.
        """
        positions = np.array(self.first_subword, dtype=np.int64)
        words = np.flatnonzero(positions >= 0)
        return starts[self.sentence] + self.first_word + words, positions[words]


def pieces(
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[Sequence[str]],
    max_length: int,
    *,
    windowed: bool = True,
) -> tuple[BatchEncoding, list[Piece]]:
    """Sentences as rows of sub-words, a window each of those that are too long for one.

    Args:
        tokenizer: a fast tokenizer.
        sentences: their words.
        max_length: sub-words a row, special tokens included.
        windowed: False cuts a longer sentence off.

    Returns:
        The encoded rows, and what each of them is.

    Raises:
        ValueError: if ``max_length`` leaves no room for a word.
    """

    def tokenized(rows: list[list[str]]) -> Any:
        return tokenizer(rows, is_split_into_words=True, truncation=True, max_length=max_length)

    encoded = tokenized([list(words) for words in sentences])
    room = max_length - tokenizer.num_special_tokens_to_add()
    ranges = []  # the sentence, the words that are read, those that are answered for
    for number, (words, encoding) in enumerate(zip(sentences, encoded.encodings, strict=True)):
        read = [(0, len(words))]
        if windowed and encoding.overflowing:
            read = windows(word_lengths(tokenizer, words), room)
        ranges += [(number, *both) for both in zip(read, owned(read), strict=True)]
    if len(ranges) > len(sentences):
        encoded = tokenized([list(sentences[n][start:stop]) for n, (start, stop), _ in ranges])
    rows = []
    for row, (number, (start, _), (first, last)) in enumerate(ranges):
        places = [-1] * ((last if first else len(sentences[number])) - first)
        for position, word in enumerate(encoded.word_ids(row)):
            place = -1 if word is None else start + word - first
            if 0 <= place < last - first and places[place] == -1:
                places[place] = position
        rows.append(Piece(number, first, places))
    return encoded, rows

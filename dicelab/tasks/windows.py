"""Sentences longer than a model reads at once, in overlapping windows of whole words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from transformers import PreTrainedTokenizerBase


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

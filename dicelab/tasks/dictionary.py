"""Taggers that learn nothing but a dictionary: what a word or an entity was in training."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from datasets import Dataset

from dicelab.corpora.tags import spans


def commonest_tag(train: Dataset) -> str:
    """The most frequent tag of some rows of ``tags``."""
    return Counter(chain.from_iterable(train["tags"][:])).most_common(1)[0][0]


def tags_by_dictionary(train: Dataset, split: Dataset) -> list[list[str]]:
    """Each word has the tag that it has most often in train, an unknown one the commonest of all.

    Args:
        train: rows of ``tokens`` and ``tags``, one plain tag a word.
        split: rows of ``tokens``.

    Returns:
        The tags of each row of ``split``.
    """
    rows = zip(train["tokens"][:], train["tags"][:], strict=True)
    usual = _most_frequent(chain.from_iterable(zip(*row, strict=True) for row in rows))
    default = commonest_tag(train)
    return [[usual.get(token, default) for token in tokens] for tokens in split["tokens"][:]]


def entities_by_dictionary(
    train: Dataset, split: Dataset, *, default: str = "O", longest: int | None = None
) -> list[list[str]]:
    """Each stretch of words that is an entity somewhere in train is one, the longest first.

    Args:
        train: rows of ``tokens`` and ``tags``.
        split: rows of ``tokens``.
        default: the tag of a word of no entity.
        longest: words of the longest stretch that is looked up; None for no bound.

    Returns:
        IOB2 tags of each row of ``split``; an entity has the type that it has most often in train.
    """
    known = _most_frequent(
        (tuple(tokens[span.start : span.end]), span.type)
        for tokens, tags in zip(train["tokens"][:], train["tags"][:], strict=True)
        for span in spans(tags)
    )
    widest = max(map(len, known), default=0)
    widest = widest if longest is None else min(widest, longest)
    return [_matched(tokens, known, widest, default) for tokens in split["tokens"][:]]


def _most_frequent(pairs: Iterable[tuple[Any, str]]) -> dict[Any, str]:
    counts: defaultdict[Any, Counter[str]] = defaultdict(Counter)
    for key, value in pairs:
        counts[key][value] += 1
    return {key: values.most_common(1)[0][0] for key, values in counts.items()}


def _matched(
    tokens: Sequence[str], known: Mapping[tuple[str, ...], str], widest: int, default: str
) -> list[str]:
    tags: list[str] = []
    while (start := len(tags)) < len(tokens):
        for size in range(min(widest, len(tokens) - start), 0, -1):
            kind = known.get(tuple(tokens[start : start + size]))
            if kind is not None:
                tags += [f"B-{kind}", *[f"I-{kind}"] * (size - 1)]
                break
        else:
            tags.append(default)
    return tags

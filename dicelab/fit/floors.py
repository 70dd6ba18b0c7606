"""Answers that learn next to nothing: what a model must beat to be worth its while."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from datasets import Dataset

from dicelab.corpora.tags import spans
from dicelab.fit.problems import Problem, Tagging
from dicelab.metrics.counts import Counts


def floors(problem: Problem) -> dict[str, Counts]:
    """Counts on the test split of answers that anybody has for nothing.

    Args:
        problem: encoded.

    Returns:
        By name counts ``[rows, kinds]``: the most frequent class for all; always yes, for two
        classes; for tags a dictionary of what train has.
    """
    test = problem.splits["test"]
    found = {}
    if isinstance(problem, Tagging):
        found["a dictionary of train"] = problem.counts(test, _dictionary(problem, test))
        if not problem.entities:
            most = int(np.bincount(problem.gold(problem.data.splits["train"])).argmax())
            found[f"{problem.labels[most]} for every word"] = problem.counts(
                test, np.full_like(problem.gold(test), most)
            )
        return found
    gold = problem.gold(test)
    if problem.data.task == "labels":
        found["every label for each row"] = problem.counts(test, np.ones_like(gold))
    elif problem.data.binary:
        found["always yes"] = problem.counts(test, np.ones_like(gold))
    else:
        most = int(problem.class_counts().argmax())
        found[f"{problem.labels[most]!r} for all"] = problem.counts(test, np.full_like(gold, most))
    return found


def _dictionary(problem: Tagging, split: Any) -> np.ndarray:
    """Each stretch of words that train has as an entity is one; else each word's usual tag."""
    train = problem.data.splits["train"]
    said: list[str] = []
    if not problem.entities:
        seen: dict[str, Counter[str]] = {}
        for tokens, tags in zip(train["tokens"][:], train["tags"][:], strict=True):
            for token, tag in zip(tokens, tags, strict=True):
                seen.setdefault(token, Counter())[tag] += 1
        most = Counter(tag for tags in train["tags"][:] for tag in tags).most_common(1)[0][0]
        usual = {token: tags.most_common(1)[0][0] for token, tags in seen.items()}
        said = [usual.get(token, most) for tokens in split["tokens"][:] for token in tokens]
    else:
        said = [tag for tags in entities_by_dictionary(train, split) for tag in tags]
    index = {tag: number for number, tag in enumerate(problem.tags)}
    return np.array([index.get(tag, 0) for tag in said])


def entities_by_dictionary(train: Dataset, split: Dataset) -> list[list[str]]:
    """Each stretch of words that is an entity somewhere in train is one, the longest first.

    Args:
        train: rows of ``tokens`` and ``tags``.
        split: rows of ``tokens``.

    Returns:
        IOB2 tags of each row of ``split``; an entity has the type that it has most often in train.
    """
    kinds: dict[tuple[str, ...], Counter[str]] = {}
    for tokens, tags in zip(train["tokens"][:], train["tags"][:], strict=True):
        for span in spans(tags):
            kinds.setdefault(tuple(tokens[span.start : span.end]), Counter())[span.type] += 1
    longest = max(map(len, kinds), default=0)
    known = {name: kind.most_common(1)[0][0] for name, kind in kinds.items()}
    return [_longest_matches(tokens, known, longest) for tokens in split["tokens"][:]]


def _longest_matches(
    tokens: list[str], known: dict[tuple[str, ...], str], longest: int
) -> list[str]:
    tags, start = ["O"] * len(tokens), 0
    while start < len(tokens):
        for size in range(min(longest, len(tokens) - start), 0, -1):
            kind = known.get(tuple(tokens[start : start + size]))
            if kind is not None:
                tags[start : start + size] = [f"B-{kind}", *[f"I-{kind}"] * (size - 1)]
                start += size - 1
                break
        start += 1
    return tags

"""Answers that learn next to nothing: what a model must beat to be worth its while."""

from __future__ import annotations

from typing import Any

import numpy as np

from dicelab.fit.problems import Problem, Tagging
from dicelab.metrics.counts import Counts
from dicelab.tasks.dictionary import entities_by_dictionary, tags_by_dictionary


def floors(problem: Problem) -> dict[str, Counts]:
    """Counts on the test split of answers that anybody has for nothing.

    Args:
        problem: encoded.

    Returns:
        By name counts ``[rows, kinds]``: the most frequent class for all; always yes, for two
        classes; for tags a dictionary of what train has.
    """
    test = problem.splits["test"]
    counts = {}
    if isinstance(problem, Tagging):
        counts["a dictionary of train"] = problem.counts(test, _dictionary(problem, test))
        if not problem.entities:
            most = int(np.bincount(problem.gold(problem.data.splits["train"])).argmax())
            counts[f"{problem.labels[most]} for every word"] = problem.counts(
                test, np.full_like(problem.gold(test), most)
            )
        return counts
    gold = problem.gold(test)
    if problem.data.task == "labels":
        counts["every label for each row"] = problem.counts(test, np.ones_like(gold))
    elif problem.data.binary:
        counts["always yes"] = problem.counts(test, np.ones_like(gold))
    else:
        most = int(problem.class_counts().argmax())
        counts[f"{problem.labels[most]!r} for all"] = problem.counts(test, np.full_like(gold, most))
    return counts


def _dictionary(problem: Tagging, split: Any) -> np.ndarray:
    by_dictionary = entities_by_dictionary if problem.entities else tags_by_dictionary
    index = {tag: number for number, tag in enumerate(problem.tags)}
    rows = by_dictionary(problem.data.splits["train"], split)
    return np.array([index.get(tag, 0) for row in rows for tag in row])

"""Answers that learn next to nothing: what a model must beat to be worth its while."""

from __future__ import annotations

from typing import Any

import numpy as np

from dicelab.fit.problems import Problem, Tagging
from dicelab.metrics.counts import Counts
from dicelab.tasks.baselines import entities_by_dictionary, tags_by_dictionary


def floors(problem: Problem) -> dict[str, Counts]:
    """Counts on the test split of answers that anybody has for nothing.

    Args:
        problem: encoded.

    Returns:
        By name counts ``[rows, classes]``: the most frequent class for all; always yes, for two
        classes; for tags a dictionary of what train has.
    """
    test, tagging = problem.splits["test"], isinstance(problem, Tagging)
    gold = problem.gold(test)
    answers = {}
    if isinstance(problem, Tagging):
        answers["a dictionary of train"] = _dictionary(problem, test)
    if problem.data.task == "labels":
        answers["every label for each row"] = np.ones_like(gold)
    elif problem.data.binary:
        answers["always yes"] = np.ones_like(gold)
    elif not (isinstance(problem, Tagging) and problem.entities):
        most = int(np.bincount(problem.gold(problem.data.splits["train"])).argmax())
        label = problem.labels[most]
        name = f"{label} for every word" if tagging else f"{label!r} for all"
        answers[name] = np.full_like(gold, most)
    return {name: problem.counts(test, answer) for name, answer in answers.items()}


def _dictionary(problem: Tagging, split: Any) -> np.ndarray:
    by_dictionary = entities_by_dictionary if problem.entities else tags_by_dictionary
    index = {tag: number for number, tag in enumerate(problem.tags)}
    rows = by_dictionary(problem.data.splits["train"], split)
    return np.array([index.get(tag, 0) for row in rows for tag in row])

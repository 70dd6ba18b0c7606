"""Answers that learn next to nothing: what a model must beat to be worth its while."""

from __future__ import annotations

import numpy as np

from dicelab.fit.problems import Problem, Tagging
from dicelab.metrics.counts import Counts
from dicelab.tasks.baselines import entities_by_dictionary, tags_by_dictionary


def baselines(problem: Problem) -> dict[str, Counts]:
    """Counts on the test split of answers that anybody has for nothing.

    Args:
        problem: encoded.

    Returns:
        By name counts ``[rows, classes]``: the most frequent class for all; always yes, for two
        classes; for tags a dictionary of what train has.
    """
    train, test, answers = problem.data.splits["train"], problem.splits["test"], {}
    gold, entities = problem.gold(test), isinstance(problem, Tagging) and problem.entities
    if isinstance(problem, Tagging):
        index = {tag: number for number, tag in enumerate(problem.tags)}
        tags = (entities_by_dictionary if entities else tags_by_dictionary)(train, test)
        said = [index.get(tag, 0) for row in tags for tag in row]
        answers["a dictionary of train"] = np.array(said)
    if problem.data.task == "labels":
        answers["every label for each row"] = np.ones_like(gold)
    elif problem.data.binary:
        answers["always yes"] = np.ones_like(gold)
    elif not entities:
        most = int(np.bincount(problem.gold(train)).argmax())
        label = problem.labels[most]
        tagging = isinstance(problem, Tagging)
        name = f"{label} for every word" if tagging else f"{label!r} for all"
        answers[name] = np.full_like(gold, most)
    return {name: problem.counts(test, answer) for name, answer in answers.items()}

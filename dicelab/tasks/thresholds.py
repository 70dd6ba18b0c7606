"""Choosing a threshold on the validation split: the baseline that every loss is held against.

The thresholds that can be tried, and the choice among them, are those of :mod:`dicebook.decision`;
here they meet the lab's counts and goals. A task has candidates and what each of them scores;
:func:`best` chooses. Where every decision has one score of its own, :func:`best_f1` and
:func:`best_threshold` try all. Where there are too few labels to tune on, :func:`plug_in` asks the
model's own probabilities, and :func:`calibrated_plug_in` calibrates them first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from dicebook import decision
from dicelab.metrics.counts import Counts
from dicelab.metrics.goal import Goal


def best(tried: Sequence[float] | np.ndarray, values: Sequence[float] | np.ndarray) -> float:
    """The candidate with the highest value; of equals the one nearest to 0, the usual threshold.

    Args:
        tried: the candidates, at least one.
        values: what each of them reaches on the validation split, never on the test split.
    """
    return float(decision.nearest_to_0(_tensor(tried), _tensor(values)))


def counts_above(
    scores: Sequence[float] | np.ndarray, right: Sequence[int] | np.ndarray, actual: float
) -> tuple[np.ndarray, Counts]:
    """All thresholds that part some scores differently, and for each the counts of what is above.

    Args:
        scores: any order, at least one. Shape ``[n]``.
        right: whether, or with which probability, each of them is rightly positive. Shape ``[n]``.
        actual: how many positives there are to find.
    """
    tried = decision.candidates(_tensor(scores), _tensor(right))
    thresholds, hits, predicted = (part.numpy() for part in tried)
    return thresholds, Counts(hits, predicted, np.full(len(thresholds), actual))


def best_f1(
    scores: Sequence[float] | np.ndarray, right: Sequence[int] | np.ndarray, gold: int
) -> float:
    """The threshold above which deciding for positive has the best F1.

    Args:
        scores: one for every decision, such as log-odds. Shape ``[n]``; none gives 0.
        right: whether positive is right. Shape ``[n]``, of 0 and 1.
        gold: how many positives there are to find; more than ``right`` holds where some have no
            score.
    """
    if not len(scores):
        return 0.0
    tried, counts = counts_above(scores, right, gold)
    return best(tried, counts.f1)


def best_threshold(margins: np.ndarray, gold: np.ndarray, goal: Goal) -> float:
    """The threshold of a binary decision with the best score, nearest to 0 among equals.

    Args:
        margins: log-odds of the positive class. Shape ``[n]``.
        gold: 1 for positive. Shape ``[n]``.
        goal: over the negative and the positive class, or over the positive one alone where its
            focus is ``(0,)``.
    """
    tried, positive = counts_above(margins, gold, int(gold.sum()))
    if goal.focus == (0,):
        return best(tried, goal.value(positive[:, None]))
    n = len(gold)
    true_negative = n - positive.predicted - positive.actual + positive.true_positive
    negative = Counts(true_negative, n - positive.predicted, n - positive.actual)
    return best(tried, goal.value(Counts.stack([negative, positive], axis=1)))


def plug_in(log_odds: Sequence[float] | np.ndarray, beta: float = 1.0) -> float:
    """The threshold whose F-beta is the largest if the model's probabilities are right.

    It needs no labels, so it can be set on the very examples that are to be decided. Of the ``k``
    likeliest decisions it takes the ``k`` with the largest ``(1 + beta**2) * sum(p of these) / (k +
    beta**2 * sum of all p)``, which is F-beta with expected counts in the place of counts (Lewis,
    1995).

    Args:
        log_odds: those of every decision. Shape ``[n]``; none gives 0.
        beta: 1 for F1.
    """
    if not len(log_odds):
        return 0.0
    p = _tensor(log_odds).sigmoid().numpy()
    tried, counts = counts_above(log_odds, p, float(p.sum()))
    return best(tried, counts.fbeta(beta))


def calibrated_plug_in(margins: np.ndarray, gold: np.ndarray, beta: float = 1.0) -> float:
    """The threshold with the largest *expected* F-beta by calibrated probabilities.

    A logistic curve over the margins makes probabilities of them. It has two numbers, where the
    best threshold would follow every single positive.

    Args:
        margins: log-odds of the positive class on the validation split. Shape ``[n]``.
        gold: 1 for positive. Shape ``[n]``.
        beta: 1 for F1.
    """
    p = decision.calibrated_probabilities(_tensor(margins), _tensor(gold)).numpy()
    tried, counts = counts_above(margins, p, float(p.sum()))
    return best(tried, counts.fbeta(beta))


def _tensor(values: Any) -> torch.Tensor:
    """A copy, because torch takes no array of numpy that is reversed or read-only."""
    return torch.from_numpy(np.array(values, dtype=np.float64, order="C"))

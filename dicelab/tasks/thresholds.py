"""Choosing a threshold on the validation split: the baseline that every loss is held against.

A task has candidates and what each of them scores; :func:`best` chooses. Where every decision has
one score of its own, the candidates need no grid: :func:`cuts` are all that differ, and
:func:`best_f1` and :func:`best_cut` try them all. Where there are too few labels to tune on,
:func:`plug_in` asks the model's own probabilities, and :func:`plug_in_cut` calibrates them first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.linear_model import LogisticRegression

from dicelab.metrics.counts import Counts
from dicelab.metrics.goal import Goal


def best(tried: Sequence[float] | np.ndarray, values: Sequence[float] | np.ndarray) -> float:
    """The candidate with the highest value; of equals the one nearest to 0, the usual threshold.

    Args:
        tried: the candidates, at least one.
        values: what each of them reaches on the validation split, never on the test split.
    """
    tried, values = np.asarray(tried, dtype=np.float64), np.asarray(values)
    equals = tried[values == values.max()]
    return float(equals[np.abs(equals).argmin()])


def cuts(scores: Sequence[float] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All thresholds that part some scores differently.

    Args:
        scores: any order, at least one.

    Returns:
        The thresholds, ascending: one below all scores, one half-way between each two neighbours
        that differ, one above all. And how many scores lie below each.
    """
    distinct, counts = np.unique(np.asarray(scores, dtype=np.float64), return_counts=True)
    between = (distinct[1:] + distinct[:-1]) / 2
    thresholds = np.concatenate([[distinct[0] - 1], between, [distinct[-1] + 1]])
    return thresholds, np.concatenate([[0], np.cumsum(counts)])


def best_f1(
    scores: Sequence[float] | np.ndarray, right: Sequence[int] | np.ndarray, gold: int
) -> float:
    """The threshold above which saying yes has the best F1.

    Args:
        scores: one for every decision, such as log-odds. Shape ``[n]``; none gives 0.
        right: whether yes is right. Shape ``[n]``, of 0 and 1.
        gold: how many yes there are to find; more than ``right`` holds where some have no score.
    """
    if not len(scores):
        return 0.0
    tried, counts = _counts_above(scores, right, gold)
    return best(tried, counts.f1)


def best_cut(margins: np.ndarray, gold: np.ndarray, goal: Goal) -> float:
    """The threshold of a yes-or-no decision with the best score, nearest to 0 among equals.

    Args:
        margins: log-odds of yes. Shape ``[n]``.
        gold: 1 for yes. Shape ``[n]``.
        goal: over the classes no and yes, or over yes alone where its focus is ``(0,)``.
    """
    tried, yes = _counts_above(margins, gold, int(gold.sum()))
    if goal.focus == (0,):
        return best(tried, goal.value(yes[:, None]))
    n = len(gold)
    true_negative = n - yes.predicted - yes.actual + yes.true_positive
    no = Counts(true_negative, n - yes.predicted, n - yes.actual)
    return best(tried, goal.value(Counts.stack([no, yes], axis=1)))


def _counts_above(
    scores: Sequence[float] | np.ndarray, right: Sequence[int] | np.ndarray, actual: int
) -> tuple[np.ndarray, Counts]:
    """All thresholds, and for each the counts where yes is said of what lies above it."""
    tried, below = cuts(scores)
    hits = np.concatenate([[0], np.cumsum(np.asarray(right)[np.argsort(scores, kind="stable")])])
    predicted = len(scores) - below
    return tried, Counts(hits[-1] - hits[below], predicted, np.full_like(predicted, actual))


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
    ordered = np.sort(np.asarray(log_odds, dtype=np.float64))[::-1]
    if not len(ordered):
        return 0.0
    p = 1 / (1 + np.exp(-ordered.clip(-500, 500)))
    predicted = np.arange(1, len(p) + 1)
    score = (1 + beta**2) * np.cumsum(p) / (predicted + beta**2 * p.sum())
    score[:-1][ordered[1:] == ordered[:-1]] = -1  # equal log-odds are decided alike
    last = int(score.argmax())
    below = ordered[last + 1] if last + 1 < len(ordered) else ordered[last] - 1
    return float((ordered[last] + below) / 2)


def plug_in_cut(margins: np.ndarray, gold: np.ndarray, beta: float = 1.0) -> float:
    """The threshold with the largest *expected* F-beta by the model's calibrated probabilities.

    A logistic curve over the margins makes probabilities of them first: two numbers are fitted
    where the best threshold would follow every single positive. Then :func:`plug_in` chooses.

    Args:
        margins: log-odds of yes on the validation split. Shape ``[n]``.
        gold: 1 for yes. Shape ``[n]``.
        beta: 1 for F1.
    """
    if len(set(gold.tolist())) < 2:
        return best_cut(margins, gold, Goal("fbeta", (0,), beta))
    scale = float(margins.std()) or 1.0
    curve = LogisticRegression().fit(margins[:, None] / scale, gold)
    slope, start = float(curve.coef_[0, 0]) / scale, float(curve.intercept_[0])
    if slope <= 0:  # the margins say nothing, and then yes to all has the best F-beta
        return float(margins.min()) - 1
    return (plug_in(slope * margins + start, beta) - start) / slope

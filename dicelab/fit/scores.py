"""One way to count, whatever the task: what was right, said and there, by row and class.

From these three numbers follow F1, its kin and accuracy, the table by class and the bootstrap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from dicelab.tasks import thresholds

RIGHT, SAID, THERE = range(3)
#: With fewer positives in validation the best threshold there is mostly luck.
FEW = 30
RESAMPLES = 2000


@dataclass(frozen=True)
class Goal:
    """What a decision is good for.

    Attributes:
        metric: ``"f1"``, ``"macro-f1"``, ``"accuracy"`` or ``"fbeta"``.
        focus: the classes that F1 counts, together.
        beta: of F-beta.
        at_recall: the recall that must be reached; then precision is the score.
        at_precision: the precision that must be reached; then recall is the score.
        macro: the classes over which macro F1 is the mean; None for all.
        absent: what a class counts in macro F1 that is neither said nor there: False leaves it out,
            as scikit-learn does where a row has one class; True counts it 0, as scikit-learn does
            where a row has several.
    """

    metric: str
    focus: tuple[int, ...]
    beta: float = 1.0
    at_recall: float | None = None
    at_precision: float | None = None
    macro: tuple[int, ...] | None = None
    absent: bool = False

    @property
    def name(self) -> str:
        """In words, for tables."""
        if self.at_recall is not None:
            return f"precision at recall {self.at_recall:g}"
        if self.at_precision is not None:
            return f"recall at precision {self.at_precision:g}"
        names = {"f1": "F1", "macro-f1": "macro F1", "fbeta": f"F{self.beta:g}"}
        return names.get(self.metric, self.metric)

    def value(self, counts: np.ndarray) -> np.ndarray:
        """The score, in percent. What must be reached and is not costs more than 100.

        Args:
            counts: shape ``[..., classes, 3]``, summed over rows.
        """
        if self.at_recall is not None or self.at_precision is not None:
            precision, recall = precision_recall(counts[..., list(self.focus), :].sum(-2))
            wanted, other, least = (
                (recall, precision, self.at_recall)
                if self.at_recall is not None
                else (precision, recall, self.at_precision)
            )
            return 100 * np.where(wanted >= least, other, wanted - 2)
        return self.plain(counts)

    def plain(self, counts: np.ndarray) -> np.ndarray:
        """The score by the metric alone, without what must be reached, in percent."""
        if self.metric == "macro-f1":
            counts = counts if self.macro is None else counts[..., list(self.macro), :]
            if self.absent:
                return 100 * fbeta(counts).mean(-1)
            held = counts[..., SAID] + counts[..., THERE] > 0
            return 100 * (fbeta(counts) * held).sum(-1) / np.maximum(held.sum(-1), 1)
        focus = range(counts.shape[-2]) if self.metric == "accuracy" else self.focus
        beta = self.beta if self.metric == "fbeta" else 1.0
        return 100 * fbeta(counts[..., list(focus), :].sum(-2), beta)


def fbeta(counts: np.ndarray, beta: float = 1.0) -> np.ndarray:
    """F-beta of counts ``[..., 3]``; 0 where nothing is said and nothing there."""
    b = beta**2
    below = counts[..., SAID] + b * counts[..., THERE]
    return (1 + b) * counts[..., RIGHT] / np.maximum(below, 1e-9)


def precision_recall(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Precision (1 where nothing is said) and recall of counts ``[..., 3]``."""
    right, said, there = (counts[..., i] for i in range(3))
    precision = np.where(said > 0, right / np.maximum(said, 1), 1.0)
    return precision, right / np.maximum(there, 1)


def one_label(gold: np.ndarray, said: np.ndarray, classes: int) -> np.ndarray:
    """Counts ``[rows, classes, 3]`` of one class a row."""
    of_gold, of_said = (np.eye(classes, dtype=np.int32)[labels] for labels in (gold, said))
    return np.stack([of_gold * of_said, of_said, of_gold], -1)


def several_labels(gold: np.ndarray, said: np.ndarray) -> np.ndarray:
    """Counts ``[rows, labels, 3]`` of yes and no for each label; both ``[rows, labels]``."""
    gold, said = gold.astype(np.int32), said.astype(np.int32)
    return np.stack([gold * said, said, gold], -1)


def entity_counts(
    gold: np.ndarray,
    said: np.ndarray,
    rows: np.ndarray,
    tags: Sequence[str],
    kinds: Sequence[str],
    total: int,
) -> np.ndarray:
    """Counts of entities by strict IOB2: an ``I-`` that continues nothing starts none.

    Args:
        gold: numbers of tags, one a word of all sentences, shape ``[words]``.
        said: those predicted.
        rows: the sentence of each word.
        tags: what the numbers mean.
        kinds: the types of entities, in the order of the counts.
        total: how many sentences there are.

    Returns:
        Shape ``[total, kinds, 3]``.
    """
    kind_of = np.array([kinds.index(tag[2:]) if tag[2:] else -1 for tag in tags])
    begins = np.array([tag.startswith("B-") for tag in tags])
    inside = np.array([tag.startswith("I-") for tag in tags])
    new = np.concatenate([[True], rows[1:] != rows[:-1]]) if len(rows) else np.zeros(0, bool)

    def found(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        kind = kind_of[labels]
        same = np.concatenate([[False], kind[1:] == kind[:-1]]) if len(kind) else new
        breaks = ~(inside[labels] & same & ~new)
        starts = np.flatnonzero(breaks)
        ends = np.append(starts[1:], len(labels))
        opened = begins[labels[starts]]
        end_of = np.zeros(len(labels), dtype=np.int64)
        end_of[starts[opened]] = ends[opened]
        return end_of, kind

    (end_gold, kind_gold), (end_said, kind_said) = found(gold), found(said)
    right = (end_gold > 0) & (end_gold == end_said) & (kind_gold == kind_said)
    counts = np.zeros((total, len(kinds), 3), dtype=np.int32)
    for place, (where, kind) in enumerate(
        ((right, kind_gold), (end_said > 0, kind_said), (end_gold > 0, kind_gold))
    ):
        np.add.at(counts[..., place], (rows[where], kind[where]), 1)
    return counts


def best_cut(margins: np.ndarray, gold: np.ndarray, goal: Goal) -> float:
    """The threshold of a yes-or-no decision with the best score, nearest to 0 among equals.

    Args:
        margins: log-odds of yes, shape ``[rows]``.
        gold: 1 for yes.
        goal: over the classes no and yes, or over yes alone where its focus is ``(0,)``.
    """
    tried, below = thresholds.cuts(margins)
    order = np.argsort(margins, kind="stable")
    hits = np.concatenate([[0], np.cumsum(gold[order])])
    n, there = len(gold), int(gold.sum())
    right, said = there - hits[below], n - below
    yes = np.stack([right, said, np.full_like(said, there)], -1)
    no = np.stack([n - said - there + right, n - said, np.full_like(said, n - there)], -1)
    counts = yes[:, None] if goal.focus == (0,) else np.stack([no, yes], 1)
    return thresholds.best(tried, goal.value(counts))


def plug_in_cut(margins: np.ndarray, gold: np.ndarray, beta: float = 1.0) -> float:
    """The threshold with the largest *expected* F-beta by the model's own probabilities.

    A logistic curve over the margins makes probabilities of them first: two numbers are fitted
    where the best threshold would follow every single positive. Then
    :func:`dicelab.tasks.thresholds.plug_in` chooses.

    Args:
        margins: log-odds of yes on validation.
        gold: 1 for yes.
        beta: of F-beta.
    """
    if len(set(gold.tolist())) < 2:
        return best_cut(margins, gold, Goal("fbeta", (0,), beta))
    scale = float(margins.std()) or 1.0
    curve = LogisticRegression().fit(margins[:, None] / scale, gold)
    slope, start = float(curve.coef_[0, 0]) / scale, float(curve.intercept_[0])
    if slope <= 0:  # the margins say nothing, and then yes to all has the best F-beta
        return float(margins.min()) - 1
    return (thresholds.plug_in(slope * margins + start, beta) - start) / slope


def calibrated(scores: np.ndarray, gold: np.ndarray) -> dict[str, Any]:
    """One slope for all logits and a shift for each, by which the likelihood is largest.

    Both are drawn to 1 and 0 where there are few rows.

    Args:
        scores: logits, shape ``[rows, labels]``.
        gold: the class of each row, shape ``[rows]``; or yes and no, shape ``[rows, labels]``.

    Returns:
        ``scale`` and ``shift``; the probabilities are the softmax of ``scale * logits + shift``,
        or of yes and no the logistic function of it.
    """
    several = gold.ndim == 2
    known = np.ones(len(gold), bool) if several else gold < scores.shape[1]
    s = np.clip(scores[known].astype(np.float64), -50, 50)
    right = gold[known].astype(float) if several else np.eye(s.shape[1])[gold[known]]
    n = max(1, len(s))

    def cost(x: np.ndarray) -> tuple[float, np.ndarray]:
        z = x[0] * s + x[1:]
        if several:
            p, loss = expit(z), np.logaddexp(0, z) - right * z
        else:
            p, loss = softmax(z, axis=-1), -right * log_softmax(z, axis=-1)
        off = x - start
        slope = np.concatenate([[((p - right) * s).sum()], (p - right).sum(0)])
        return (loss.sum() + off @ off / 2) / n, (slope + off) / n

    start = np.eye(1, 1 + s.shape[1])[0]
    bounds = [(0.01, None), *[(None, None)] * s.shape[1]]
    found = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return {"scale": float(found[0]), "shift": found[1:].tolist()}


@dataclass(frozen=True)
class Interval:
    """A score in percent, with its 95% interval over rows.

    Attributes:
        value: of the rows as they are.
        low: of the interval.
        high: of the same.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.1f} [{self.low:.1f}, {self.high:.1f}]"


def interval(
    counts: np.ndarray,
    value: Callable[[np.ndarray], np.ndarray],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Interval:
    """The bootstrap interval of a score over test rows.

    Args:
        counts: shape ``[rows, classes, 3]``.
        value: from summed counts to the score, such as ``Goal.plain``.
        seed: of the resampling.
        resamples: how often.
    """
    rng = np.random.default_rng(seed)
    rows = len(counts)
    flat = counts.reshape(rows, -1).astype(np.float64)
    found = np.empty(resamples)
    for start in range(0, resamples, 100):
        many = min(100, resamples - start)
        weights = rng.multinomial(rows, np.full(rows, 1 / rows), size=many).astype(np.float64)
        found[start : start + many] = value((weights @ flat).reshape(many, *counts.shape[1:]))
    low, high = np.quantile(found, [0.025, 0.975])
    return Interval(float(value(counts.sum(0))), float(low), float(high))


@dataclass(frozen=True)
class Difference:
    """How far one arm is ahead of another, in points.

    Attributes:
        mean: over seeds, on the test rows as they are.
        low: of the 95% interval over seeds and rows.
        high: of the same.
        visible: a difference so large would have been seen four times in five.
    """

    mean: float
    low: float
    high: float
    visible: float


def difference(
    first: Sequence[np.ndarray],
    second: Sequence[np.ndarray],
    value: Callable[[np.ndarray], np.ndarray],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Difference:
    """A paired bootstrap over seeds and test rows.

    Each resample draws rows (the same for both arms and all seeds) and seeds (pairs of runs).

    Args:
        first: counts ``[rows, classes, 3]`` of one arm, one array a seed.
        second: of the other, with the same seeds in the same order.
        value: from summed counts to the score, such as ``Goal.plain``.
        seed: of the resampling.
        resamples: how often.
    """
    rng = np.random.default_rng(seed)
    arms = [np.stack(arm) for arm in (first, second)]  # [seeds, rows, classes, 3]
    seeds, rows = arms[0].shape[:2]
    flat = [arm.reshape(seeds, rows, -1).astype(np.float64) for arm in arms]
    found = np.empty(resamples)
    for start in range(0, resamples, 100):
        many = min(100, resamples - start)
        weights = rng.multinomial(rows, np.full(rows, 1 / rows), size=many).astype(np.float64)
        of_seeds = [value((weights @ one).reshape(seeds, many, *arms[0].shape[2:])) for one in flat]
        drawn = rng.integers(seeds, size=(many, seeds))
        gaps = of_seeds[0] - of_seeds[1]
        found[start : start + many] = gaps[drawn.T, np.arange(many)].mean(0)
    observed = float(np.mean(value(arms[0].sum(1)) - value(arms[1].sum(1))))
    low, high = np.quantile(found, [0.025, 0.975])
    visible = float((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * found.std())
    return Difference(observed, float(low), float(high), visible)

"""How sure a score, a mean over runs, or a difference between two arms is.

One place for the 95% intervals of chapters, records and ``fit``. Rows are many, so the bootstrap
resamples them. Runs are few, and a bootstrap of few runs is too narrow (of two or three, a nominal
95% covers 48 to 87%), so their scatter gets the quantile of Student's t. Where a score is 0 or 100
the bootstrap has no width, so there the interval is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dicelab.metrics.counts import Counts
from dicelab.metrics.goal import Goal

RESAMPLES = 2000
CHUNK = 100  # resamples at a time, for the memory
# What the rows explain of the runs' scatter is in the interval already. If all of it is taken off,
# two runs cover 91%; see tests/metrics/test_intervals.py.
EXPLAINED = 0.75
Value = Callable[[Counts], np.ndarray]  # from summed counts to a score, such as ``Goal.plain``


@dataclass(frozen=True)
class Interval:
    """A score in percent, with its 95% interval over rows.

    Attributes:
        value: The score of the rows as they are.
        low: The interval's lower end.
        high: The interval's upper end.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.1f} [{self.low:.1f}, {self.high:.1f}]"


@dataclass(frozen=True)
class Difference:
    """How far one arm is ahead of another, in points.

    Attributes:
        mean: The mean over runs, on the test rows as they are.
        low: The lower end of the 95% interval over runs and rows.
        high: Its upper end.
        error: The standard error that a normal interval of this width would have.
        visible: A difference so large would have been significant four times in five.
    """

    mean: float
    low: float
    high: float
    error: float
    visible: float


@dataclass(frozen=True)
class OverRuns:
    """A mean over runs with a confidence interval, all in the unit of the values."""

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        """With one decimal, see `text`."""
        return self.text(1)

    def text(self, decimals: int) -> str:
        """The mean alone where one seed gives no interval; an end of -0.0 is below zero."""
        d = decimals
        ends = f" [{self.low:.{d}f}, {self.high:.{d}f}]" if self.n > 1 else ""
        return f"{self.mean:z.{d}f}{ends}"


def over_runs(values: Sequence[float], confidence: float = 0.95) -> OverRuns:
    """The mean over runs with Student's t interval.

    Args:
        values: one score a run. With a single one the interval is unbounded.
        confidence: coverage of the interval.

    Raises:
        ValueError: if ``values`` is empty or holds a NaN.
    """
    array = np.asarray(values, dtype=float)
    if array.size == 0 or np.isnan(array).any():
        raise ValueError(f"expected at least one number and no NaN, got {list(values)}")
    mean = float(array.mean())
    if array.size == 1:
        return OverRuns(mean, float("-inf"), float("inf"), 1)
    half = stats.t.ppf((1 + confidence) / 2, array.size - 1) * array.std(ddof=1)
    half /= np.sqrt(array.size)
    return OverRuns(mean, mean - half, mean + half, array.size)


def weights(rng: np.random.Generator, size: int, resamples: int) -> np.ndarray:
    """How often each of ``size`` things is in each resample. Shape ``[resamples, size]``."""
    return rng.multinomial(size, np.full(size, 1 / size), resamples).astype(np.float64)


def bounds(drawn: np.ndarray) -> tuple[float, float]:
    """The 95% interval of what was drawn, by percentiles."""
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def over_rows(
    counts: Counts,
    value: Value,
    signs: Sequence[float] = (1,),
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> np.ndarray:
    """The sum of the terms for each run, in resamples of the rows, which all terms and runs share.

    Args:
        counts: Of shape ``[terms, runs, rows, ...]``. A row may be a block of neighbouring ones.
        value: From counts ``[..., terms, runs, ...]``, summed over rows, to scores ``[..., terms,
            runs]``.
        signs: The factor of each term: ``(1, -1)`` for a difference.
        resamples: How many are drawn.
        seed: Seed of the drawing.

    Returns:
        Shape ``[resamples, runs]``.
    """
    rng, rows = np.random.default_rng(seed), counts.predicted.shape[2]
    chunks = (min(CHUNK, resamples - start) for start in range(0, resamples, CHUNK))
    scores = [value(counts.resampled(weights(rng, rows, many), axis=2)) for many in chunks]
    return np.tensordot(np.concatenate(scores), signs, (1, 0))


def paired(
    counts: Counts,
    value: Value,
    signs: Sequence[float] = (1, -1),
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Difference:
    """A sum of terms, a mean over paired runs, with an interval over runs and rows.

    The rows' part is the percentile interval of a bootstrap. The runs' part is ``t s / sqrt(R)``
    with ``R - 1`` degrees of freedom, after most of what the rows explain of the variance ``s²``
    between runs is taken off. The squares of both are added. With one run, the interval is over
    rows alone.

    Args:
        counts: As in :func:`over_rows`.
        value: As there.
        signs: As there.
        resamples: As there.
        seed: As there.
    """
    drawn = over_rows(counts, value, signs, resamples=resamples, seed=seed)
    of_runs = np.tensordot(value(counts.sum(2)), signs, (0, 0))
    mean, runs = float(of_runs.mean()), len(of_runs)
    low, high = bounds(drawn.mean(1))
    excess = 0.0
    if runs > 1:
        cover = np.cov(drawn.T)
        alone = (np.trace(cover) - (cover.sum() - np.trace(cover)) / (runs - 1)) / runs
        excess = max(0.0, of_runs.var(ddof=1) - EXPLAINED * max(0.0, alone)) / runs
    half = stats.t.ppf(0.975, max(runs - 1, 1)) * excess**0.5
    low, high = (mean - np.hypot(mean - low, half), mean + np.hypot(high - mean, half))
    error = float(high - low) / 2 / stats.norm.ppf(0.975)
    visible = float((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * error)
    return Difference(mean, float(low), float(high), error, visible)


def difference(
    first: Sequence[Counts],
    second: Sequence[Counts],
    value: Value,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Difference:
    """One arm minus another, see :func:`paired`; rows are the same for both arms and all runs.

    Args:
        first: Counts ``[rows, classes]`` of one arm, one a run.
        second: Those of the other, with the same seeds in the same order.
        value: From summed counts to the score.
        seed: Seed of the resampling.
        resamples: How many are drawn.
    """
    arms = Counts.stack([Counts.stack(first), Counts.stack(second)])  # [2, runs, rows, classes]
    return paired(arms, value, resamples=resamples, seed=seed)


def interval(counts: Counts, goal: Goal, *, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """A score by the metric of a goal, with its interval over test rows.

    It is that of the bootstrap. A score of 0 or 100 has the exact one of :func:`exact`.

    Args:
        counts: Of shape ``[rows, classes]``.
        goal: What is scored; a precision or recall that must be reached does not count.
        seed: Seed of the resampling.
        resamples: How many are drawn.
    """
    score = float(goal.plain(counts.sum(0)))
    if score in (0.0, 100.0):
        return Interval(score, *exact(counts.sum(0), goal))
    drawn = over_rows(counts[None, None], goal.plain, resamples=resamples, seed=seed)
    return Interval(score, *bounds(drawn[:, 0]))


def exact(counts: Counts, goal: Goal) -> tuple[float, float]:
    """The 95% interval of a score of 0 or 100.

    Of ``n`` positives that are all found, recall is at least ``0.025 ** (1 / n)`` (Clopper and
    Pearson, 1934): 40% for 4 of 4. Precision has the same bound by the positives that are
    predicted, and the score has that of both. At 0 either is at most one minus that.

    Args:
        counts: Of shape ``[classes]``, summed over rows.
        goal: What is scored; its score of these counts is 0 or 100.
    """
    best = float(goal.plain(counts)) == 100
    if goal.metric == "macro-f1":
        counts = counts if goal.macro is None else counts[list(goal.macro)]
        counts = counts[counts.predicted + counts.actual > 0]
    else:
        counts = counts.sum(-1) if goal.metric == "accuracy" else goal.focused(counts)
    least = [0.025 ** (1 / np.maximum(n, 1)) * (n > 0) for n in (counts.actual, counts.predicted)]
    recall, precision = least if best else [1 - share for share in least]
    square = goal.beta**2 if goal.metric == "fbeta" else 1.0
    score = (1 + square) * precision * recall / np.maximum(square * precision + recall, 1e-9)
    end = 100 * float(np.mean(score))
    return (end, 100.0) if best else (0.0, end)

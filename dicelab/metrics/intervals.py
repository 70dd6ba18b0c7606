"""How sure a score or a difference is: a bootstrap over test rows, and over runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dicelab.metrics.counts import Counts

RESAMPLES = 2000
CHUNK = 100  # resamples at a time, for the memory
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
        visible: A difference so large would have been significant four times in five.
    """

    mean: float
    low: float
    high: float
    visible: float


def weights(rng: np.random.Generator, size: int, resamples: int) -> np.ndarray:
    """How often each of ``size`` things is in each resample. Shape ``[resamples, size]``."""
    return rng.multinomial(size, np.full(size, 1 / size), resamples).astype(np.float64)


def bounds(drawn: np.ndarray) -> tuple[float, float]:
    """The 95% interval of what was drawn, by percentiles."""
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def two_way_bootstrap(
    counts: Counts,
    value: Value,
    signs: Sequence[float] = (1,),
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> np.ndarray:
    """Draw test rows, and runs, with replacement, the same for every term.

    Args:
        counts: Of shape ``[terms, runs, rows, ...]``. A row may be a block of neighbouring ones.
        value: From counts ``[..., terms, runs, ...]``, summed over rows, to scores ``[..., terms,
            runs]``.
        signs: The factor of each term: ``(1, -1)`` for a difference.
        resamples: How many are drawn.
        seed: Seed of the drawing.

    Returns:
        The sum of the terms, a mean over runs, in each resample. Shape ``[resamples]``.
    """
    rng = np.random.default_rng(seed)
    runs, rows = counts.predicted.shape[1:3]
    chunks = (min(CHUNK, resamples - start) for start in range(0, resamples, CHUNK))
    of_runs = over_rows(counts, value, signs, (weights(rng, rows, many) for many in chunks))
    return np.asarray((of_runs * weights(rng, runs, resamples) / runs).sum(1))


def over_rows(
    counts: Counts, value: Value, signs: Sequence[float], of_rows: Iterable[np.ndarray]
) -> np.ndarray:
    """The sum of the terms for each run, in given resamples of the rows.

    Args:
        counts: As in :func:`two_way_bootstrap`.
        value: As there.
        signs: As there.
        of_rows: How often each row is in a resample, as parts of shape ``[some, rows]``.

    Returns:
        Shape ``[resamples, runs]``.
    """
    scores = [value(counts.resampled(part, axis=2)) for part in of_rows]
    return np.tensordot(np.concatenate(scores), signs, (1, 0))


def interval(
    counts: Counts, value: Value, *, seed: int = 0, resamples: int = RESAMPLES
) -> Interval:
    """The bootstrap interval of a score over test rows.

    Args:
        counts: Of shape ``[rows, classes]``.
        value: From summed counts to the score.
        seed: Seed of the resampling.
        resamples: How many are drawn.
    """
    drawn = two_way_bootstrap(counts[None, None], value, resamples=resamples, seed=seed)
    return Interval(float(value(counts.sum(0))), *bounds(drawn))


def difference(
    first: Sequence[Counts],
    second: Sequence[Counts],
    value: Value,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Difference:
    """A paired bootstrap over runs and test rows.

    Each resample draws rows (the same for both arms and all runs) and pairs of runs.

    Args:
        first: Counts ``[rows, classes]`` of one arm, one a run.
        second: Those of the other, with the same seeds in the same order.
        value: From summed counts to the score.
        seed: Seed of the resampling.
        resamples: How many are drawn.
    """
    arms = Counts.stack([Counts.stack(first), Counts.stack(second)])  # [2, runs, rows, classes]
    scores = value(arms.sum(2))
    drawn = two_way_bootstrap(arms, value, (1, -1), resamples=resamples, seed=seed)
    visible = float((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * drawn.std())
    return Difference(float((scores[0] - scores[1]).mean()), *bounds(drawn), visible)

"""Statistics that several analyses share: F1 from counts, a bootstrap, power, corrections, fits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize, stats

from dicelab.metrics.counts import Counts

Record = dict[str, Any]
CHECKPOINTS = (30, 60, 120, 240, 480, 960)  # the steps at which a head is scored by default
MARGIN = 0.5  # points of F1 within which two arms are held to be equivalent
RESAMPLES = 4000


def read(path: Path) -> list[Record]:
    """The records of a file; none if there is no file.

    A last line without its end is a run that was killed while it wrote: it is left out.
    """
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def f1(true_positive: np.ndarray, predicted: np.ndarray, gold: np.ndarray | float) -> np.ndarray:
    """F1 in percent of three counts."""
    return percent_f1(Counts(true_positive, predicted, gold))


def percent_f1(counts: Counts) -> np.ndarray:
    """F1 in percent; 0 where nothing is found."""
    return np.asarray(100 * counts.f1)


def detectable(error: float, df: float, power: float = 0.8) -> float:
    """The difference that a two-sided t test at 0.05 finds with that power.

    Args:
        error: The standard error of the mean.
        df: Degrees of freedom.
        power: Share of repetitions that find it.
    """
    return float(error * _detectable(df, power)) if error else 0.0


@cache
def _detectable(df: float, power: float) -> float:
    """For a standard error of 1."""
    bound = stats.t.ppf(0.975, df)

    def excess_power(shift: float) -> float:
        # Not cdf(-bound, df, shift), which is NaN for one degree of freedom.
        sides = stats.nct.sf(bound, df, shift) + stats.nct.sf(bound, df, -shift)
        return float(sides - power)

    return float(optimize.brentq(excess_power, 0.0, 2 * bound + 3))


def holm(p: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given."""
    order = np.argsort(p)
    steps = np.asarray(p)[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return [float(x) for x in adjusted]


def equivalence(mean: float, error: float, df: float, margin: float = MARGIN) -> float:
    """The p-value of two one-sided t tests that a mean lies within ``±margin``."""
    return float(stats.t.sf((margin - abs(mean)) / error, df))


def expected_best(scores: Sequence[float]) -> np.ndarray:
    """The expected best score of 1 to n trials drawn from n (Dodge et al., 2019)."""
    ordered, n = np.sort(scores), len(scores)
    rank = np.arange(n + 1) / n
    return np.array([ordered @ np.diff(rank**budget) for budget in range(1, n + 1)])


Fit = tuple[np.ndarray, np.ndarray, float, float]


def restricted(d: np.ndarray, design: np.ndarray, v: np.ndarray) -> Fit:
    """Generalised least squares of ``d = design @ b + noise`` with a known covariance.

    Args:
        d: ``[n]``.
        design: ``[n, k]``.
        v: ``[n, n]``, the covariance of the noise.

    Returns:
        ``b``; its covariance; the weighted sum of squares that is left; and the restricted
        log-likelihood, up to a constant.
    """
    inverse = np.linalg.inv(v)
    cover = np.linalg.inv(design.T @ inverse @ design)
    b = cover @ design.T @ inverse @ d
    rest = float((d - design @ b) @ inverse @ (d - design @ b))
    likelihood = (np.linalg.slogdet(cover)[1] - np.linalg.slogdet(v)[1] - rest) / 2
    return b, cover, rest, float(likelihood)

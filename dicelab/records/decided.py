"""What the records of runs say that are decided in several ways, as the study of spans keeps them.

Such a record holds for each way of deciding how many entities were found and how many predicted,
by block of neighbouring test sentences: enough for an interval over draws and test sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dicelab.metrics.counts import Counts
from dicelab.metrics.intervals import bounds, over_rows
from dicelab.records.analysis import f1


class DrawEffect(NamedTuple):
    """A mean difference in points of F1 with its 95% interval, and how many draws it is of."""

    mean: float
    low: float
    high: float
    draws: int


def effect(
    records: Sequence[dict[str, Any]],
    name: str,
    arm: tuple[str, str],
    baseline: tuple[str, str],
    resamples: int = 2_000,
) -> DrawEffect:
    """F1 of a remedy minus that of another, with an interval over draws and test sentences.

    A bootstrap that resamples the draws, each with its own search, and the blocks of neighbouring
    test sentences; both remedies see the same resample.

    Args:
        records: those of one study; only those of draws that have both remedies count.
        name: the corpus.
        arm: a remedy and how it decides.
        baseline: the one that is taken off.
        resamples: how many the bootstrap draws.

    Raises:
        ValueError: no draw has both remedies.
    """
    by_run: dict[tuple[str, int], Any] = {
        (r["parameters"]["loss"], r["parameters"]["seed"]): r["metrics"]
        for r in records
        if r["parameters"]["corpus"] == name
    }
    seeds = sorted(s for name_of, s in by_run if name_of == arm[0] and (baseline[0], s) in by_run)
    if not seeds:
        raise ValueError(f"{name}: expected draws with {arm[0]} and {baseline[0]}, got none")
    counts = Counts(
        *(
            np.array([[part(by_run[loss, s], way) for s in seeds] for loss, way in (arm, baseline)])
            for part in (
                lambda metrics, way: metrics[way]["found"],
                lambda metrics, way: metrics[way]["predicted"],
                lambda metrics, way: metrics["gold"],
            )
        )
    )  # [2, draws, blocks]
    missed = np.array([by_run[arm[0], s]["missed"] for s in seeds])

    def points(summed: Counts) -> np.ndarray:
        true_positive, predicted = summed.true_positive, summed.predicted
        return f1(true_positive, predicted, summed.actual + missed)

    # Draws and blocks by turns, as they were drawn for the numbers that pages print.
    rng = np.random.default_rng(0)
    drawn = np.empty((resamples, len(seeds)))
    rows = np.empty((resamples, counts.predicted.shape[2]))
    for place in range(resamples):
        for times in (drawn[place], rows[place]):
            times[:] = np.bincount(rng.integers(0, len(times), len(times)), minlength=len(times))
    gaps = (over_rows(counts, points, (1, -1), [rows]) * drawn / len(seeds)).sum(1)
    means = points(counts.sum(2)).mean(1)
    return DrawEffect(float(means[0] - means[1]), *bounds(gaps), len(seeds))

"""What the records of runs say that are decided in several ways, as the study of spans keeps them.

Such a record holds for each way of deciding how many entities were found and how many predicted,
by block of neighbouring test sentences: enough for an interval over draws and test sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dicelab.metrics.counts import Counts
from dicelab.metrics.intervals import paired
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
) -> DrawEffect:
    """F1 of a remedy minus that of another, with an interval over draws and test sentences.

    Each draw has its own search; test sentences are resampled in blocks of neighbouring ones, see
    :func:`dicelab.metrics.intervals.paired`.

    Args:
        records: those of one study; only those of draws that have both remedies count.
        name: the corpus.
        arm: a remedy and how it decides.
        baseline: the one that is taken off.

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

    found = paired(counts, points)
    return DrawEffect(found.mean, found.low, found.high, len(seeds))

"""What the records of runs say that are decided in several ways, as the study of spans keeps them.

Such a record holds for each way of deciding how many entities were found and how many predicted,
by block of neighbouring test sentences: enough for an interval over draws and test sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Effect(NamedTuple):
    """A mean difference in points of F1 with its 95% interval, and how many draws it is of."""

    mean: float
    low: float
    high: float
    draws: int


def effect(
    records: Sequence[dict[str, Any]],
    name: str,
    one: tuple[str, str],
    other: tuple[str, str],
    resamples: int = 2_000,
) -> Effect:
    """F1 of a remedy minus that of another, with an interval over draws and test sentences.

    A bootstrap that resamples the draws, each with its own search, and the blocks of neighbouring
    test sentences; both remedies see the same resample.

    Args:
        records: of one study; only those of draws that have both remedies count.
        name: the corpus.
        one: a remedy and how it decides.
        other: the one that is taken off.
        resamples: of the bootstrap.

    Raises:
        ValueError: no draw has both remedies.
    """
    of: dict[tuple[str, int], Any] = {
        (r["parameters"]["loss"], r["parameters"]["seed"]): r["metrics"]
        for r in records
        if r["parameters"]["corpus"] == name
    }
    seeds = sorted(s for arm, s in of if arm == one[0] and (other[0], s) in of)
    if not seeds:
        raise ValueError(f"{name}: expected draws with {one[0]} and {other[0]}, got none")
    counts = np.array(
        [
            [
                [of[arm, s][way]["found"], of[arm, s][way]["predicted"], of[arm, s]["gold"]]
                for s in seeds
            ]
            for arm, way in (one, other)
        ],
        dtype=float,
    )  # [2, draws, 3, blocks]
    missed = np.array([of[one[0], s]["missed"] for s in seeds], dtype=float)

    def points(rows: np.ndarray, blocks: np.ndarray) -> float:
        found, said, gold = counts[:, rows][..., blocks].sum(-1).transpose(2, 0, 1)
        both = 200 * found / (said + gold + missed[rows])
        return float((both[0] - both[1]).mean())

    rng = np.random.default_rng(0)
    n, m = len(seeds), int(counts.shape[-1])
    drawn = [points(rng.integers(0, n, n), rng.integers(0, m, m)) for _ in range(resamples)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Effect(points(np.arange(n), np.arange(m)), float(low), float(high), n)

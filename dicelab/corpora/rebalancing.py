"""The same corpus with another ratio of negatives to positives."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
from datasets import Dataset

from dicelab.corpora.counting import by_row
from dicelab.corpora.errors import CorpusError


def rebalance(
    dataset: Dataset,
    ratio: float,
    *,
    task: str,
    size: int | None = None,
    positive: Collection[str] | None = None,
    seed: int = 0,
) -> Dataset:
    """Leave rows out, until there are so many negatives for each positive.

    What is negative and positive is what :func:`~dicelab.corpora.counting.imbalance` counts. Rows
    are left out whole and at random, and only rows of the side that there is too much of: pairs and
    sentences of one label, until the ratio is exact up to rounding; in tagging, sentences with more
    (or fewer) negative tokens for each positive than ``ratio``; in reading, questions, whose words
    count once for each question (those without an answer are negatives alone). There the last row
    left out decides how near the ratio comes: within the length of one row.

    The text of the rows is not touched, so a corpus of tagging changes with its ratio in other ways
    too: with few negatives it keeps its dense sentences, with many its empty ones.

    Args:
        dataset: One split, in the form of the task.
        ratio: Negatives for each positive, above 0.
        task: ``"tagging"``, ``"reading"``, ``"pairs"`` or ``"sentences"``.
        size: Rows of the result, drawn at random and in equal share from either side, so that sets
            of several ratios are of one size; by default all that the ratio leaves.
        positive: For tagging, the tags that count as positive; by default all but ``O``.
        seed: Of every draw.

    Returns:
        Rows of ``dataset``, in their order.

    Raises:
        CorpusError: Leaving rows out does not lead within a factor of two of the ratio, or leaves
            fewer than ``size`` rows; or see :func:`~dicelab.corpora.counting.imbalance`.
    """
    if not (isinstance(ratio, int | float) and 0 < ratio < math.inf):
        raise CorpusError(f"ratio: expected negatives for each positive, above 0, got {ratio!r}")
    counts = np.array(by_row(dataset, task=task, positive=positive), dtype=float).reshape(-1, 2)
    excess = counts[:, 0] - ratio * counts[:, 1]  # negatives beyond the ratio, row by row
    too_much = excess > 0 if excess.sum() > 0 else excess < 0
    draw = np.random.default_rng(seed)
    order = draw.permutation(np.flatnonzero(too_much))
    # Of a random order the first so many rows are left out, after which the rest is nearest to the
    # ratio; of either side something stays.
    rest = counts.sum(0) - np.concatenate([np.zeros((1, 2)), counts[order].cumsum(0)])
    far = np.where(rest.min(1) > 0, np.abs(rest[:, 0] - ratio * rest[:, 1]), np.inf)
    out = int(far.argmin())
    negative, positives = rest[out]
    if not ratio / 2 <= negative / max(positives, 1e-9) <= 2 * ratio:
        have, had = rest[0]
        raise CorpusError(
            f"ratio: expected one that rows of {have:,.0f} negatives and {had:,.0f} positives can "
            f"have, got {ratio:g}"
        )
    rows = np.setdiff1d(np.arange(len(counts)), order[:out])
    if size is not None:
        if not 0 < size <= len(rows):
            raise CorpusError(
                f"size: expected 1 to {len(rows):,} rows at a ratio of {ratio:g}, got {size!r}"
            )
        sides = [rows[excess[rows] <= 0], rows[excess[rows] > 0]]
        first = round(size * len(sides[0]) / len(rows))
        shares = (first, size - first)
        drawn = [draw.choice(s, n, replace=False) for s, n in zip(sides, shares, strict=True)]
        rows = np.sort(np.concatenate(drawn))
    return dataset.select(rows)

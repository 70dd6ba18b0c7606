"""What the first protocol leaves open: searches that end at an edge, their luck, other models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from dicelab.records.analysis import (
    CHECKPOINTS,
    ONE_SOURCE,
    Effect,
    Evidence,
    Pooled,
    pool,
)

# The five domains of CrossNER as one source.
_CROSSNER = {
    f"crossner_{domain}": "crossner"
    for domain in ("ai", "literature", "music", "politics", "science")
}


def at_last_checkpoint(runs: Evidence, arm: str, tasks: Iterable[str]) -> tuple[int, int]:
    """How many tuned finals of an arm choose the last checkpoint, and how many there are."""
    steps = [
        final["validation"]["tuned"]["steps"]
        for task in tasks
        for final in runs.finals[task, arm, "tuned"].values()
    ]
    return sum(step == CHECKPOINTS[-1] for step in steps), len(steps)


def late_gain(runs: Evidence, arm: str, tasks: Iterable[str]) -> float:
    """Points of validation F1, tuned, between the last two checkpoints: the mean over finals."""
    curves = [curve for task in tasks for curve in runs.curves(task, arm)]
    return float(np.mean([curve[-1] - curve[-2] for curve in curves]))


def winner_above_finals(runs: Evidence, arm: str, tasks: Iterable[str]) -> float:
    """How far the winner of a search stands above its own final runs, on validation, tuned.

    Returns:
        Points of F1, the mean over tasks: the optimism of the best of several trials.
    """
    above = []
    for task in tasks:
        finals = runs.finals[task, arm, "tuned"].values()
        best = max(trial["validation"]["tuned"]["f1"] for trial in runs.search[task, arm])
        above.append(best - np.mean([final["validation"]["tuned"]["f1"] for final in finals]))
    return float(np.mean(above))


def mean_over(effects: Iterable[Effect]) -> Pooled | None:
    """The model over tasks without its slope: the plain mean, for few tasks or one stratum."""
    return pool([replace(effect, imbalance=10.0) for effect in effects])


def other_models(effects: Sequence[Effect]) -> dict[str, Pooled | None]:
    """One contrast under the protocol's model, and under four others."""
    return {
        "as in the protocol": pool(effects),
        "UNER and EWT one source": pool(effects, sources=ONE_SOURCE),
        "eight sources, a task effect": pool(effects, sources=_CROSSNER | ONE_SOURCE, task=True),
        "without SQuAD": pool([e for e in effects if e.corpus != "squad11"]),
        "nine negatives or more per positive": mean_over(e for e in effects if e.imbalance >= 9),
    }

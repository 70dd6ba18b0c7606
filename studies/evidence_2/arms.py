"""The arms of Stage A2, their trials, and the three ways of deciding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from dicelab.records.analysis import f1
from studies.evidence.heads import (
    Arm,
    Trial,
    _adjusted,
    _cross_entropy,
    _focal,
    _log_uniform,
    _uniform,
    _weighted,
)
from studies.evidence.scores import Gold, best_threshold

TRIALS = 16
LOW_RATE, HIGH_RATE = 3e-4, 3e-2
CHECKPOINTS = (30, 60, 120, 240, 480, 960, 1920, 3840)
WAYS = ("argmax", "tuned", "plug_in")


def _dice(alpha: float) -> Callable[..., Tensor]:
    """``DiceLoss``, or with ``alpha`` ``SelfAdjustingDiceLoss``, over ``classes`` that are there.

    ``classes`` are all but in yes-or-no tasks, where they are class 1 alone.
    """

    def loss(x: Tensor, y: Tensor, value: Tensor, prior: Tensor, classes: slice) -> Tensor:
        p, y = x.softmax(-1)[..., classes], y[..., classes]
        q = (1 - p).clamp_min(1e-6) ** alpha * p if alpha else p
        over, under = 2 * (q * y).sum(1) + value, (q * q).sum(1) + y.sum(1) + value
        return _mean_of_those_there(1 - over / under, y)

    return loss


def _mean_of_those_there(each: Tensor, y: Tensor) -> Tensor:
    if y.shape[-1] == 1:
        return each.mean(-1)
    there = (y.sum(1) > 0).float()
    return (each * there).sum(-1) / there.sum(-1)


def _dice_of_both(x: Tensor, y: Tensor, value: Tensor, prior: Tensor, classes: slice) -> Tensor:
    return _dice(0.0)(x, y, value, prior, slice(None))


def _tversky(x: Tensor, y: Tensor, value: Tensor, prior: Tensor, classes: slice) -> Tensor:
    """``TverskyLoss``: ``value`` is the weight of false negatives, 1 - ``value`` of the others."""
    p, y = x.softmax(-1)[..., classes], y[..., classes]
    hits, missed = (p * y).sum(1), ((1 - p) ** 2 * y).sum(1)
    cost = (1 - value) * (p * p * (1 - y)).sum(1) + value * missed
    return _mean_of_those_there(1 - (hits + 1) / (hits + cost + 1), y)


ARMS: dict[str, Arm] = {
    "ce_start": Arm(_cross_entropy, start=True),
    "dice": Arm(_dice(0.0), _log_uniform(0.1, 10.0)),
    "ce": Arm(_cross_entropy),
    "wce": Arm(_weighted, _uniform(0.1, 1.0)),
    "logit_adjustment": Arm(_adjusted, _uniform(0.25, 1.5)),
}
# The extension of the protocol: forms of loss that had not been run from the log prior.
EXTENSION: dict[str, Arm] = {
    "dice_start": Arm(_dice(0.0), _log_uniform(0.1, 10.0), start=True),
    "dice_both": Arm(_dice_of_both, _log_uniform(0.1, 10.0), start=True, binary_only=True),
    "focal_start": Arm(_focal, _uniform(0.5, 4.0), start=True),
    "dsc_start": Arm(_dice(0.1), _log_uniform(0.1, 10.0), start=True),
    "tversky_start": Arm(_tversky, _uniform(0.3, 0.9), start=True),
}
EVERY = ARMS | EXTENSION


def trials_of(arm: str, search: int) -> list[Trial]:
    """The trials of a search: a Latin hypercube, so that each sixteenth of a range is tried once.

    Learning rate and dropout are the same for every arm.

    Args:
        arm: One of ``EVERY``.
        search: Its number; another search has other trials.
    """
    return hypercube(EVERY[arm].sample, search, (LOW_RATE, HIGH_RATE))


def hypercube(
    sample: Callable[[float], float], search: int, rates: tuple[float, float]
) -> list[Trial]:
    """The trials of a search for an arm's parameter and a range of learning rates."""
    rng = np.random.default_rng([41, search])
    cells = np.stack([rng.permutation(TRIALS) for _ in range(3)], axis=1)
    u = (cells + rng.random((TRIALS, 3))) / TRIALS
    rate, dropout = _log_uniform(*rates), _uniform(0.0, 0.5)
    return [
        Trial(round(rate(a), 6), round(dropout(b), 3), round(sample(c), 4))
        for a, b, c in u.tolist()
    ]


def plug_in(logits: np.ndarray) -> float:
    """The threshold on the margin that the model itself holds to be best for F1; no labels.

    If the ``k`` rows of the largest margins are called, the expected F1 is about twice the expected
    hits over ``k`` and the expected positives, both by the model's own probabilities.

    Args:
        logits: ``[N, C]``; class 0 is the negative one.
    """
    x = logits.astype(np.float64)
    p = np.exp(x - x.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    margin = x[:, 1:].max(1) - x[:, 0]
    order = np.argsort(-margin, kind="stable")
    hits = p[:, 1:].max(1)[order].cumsum()
    value = 2 * hits / (np.arange(1, len(x) + 1) + (1 - p[:, 0]).sum())
    at, ordered = int(value.argmax()), margin[order]
    if at + 1 == len(ordered):
        return float(ordered[at] - 1)
    return float((ordered[at] + ordered[at + 1]) / 2)


class Half:
    """One half of validation: its gold entities, and the logits at every checkpoint."""

    def __init__(self, gold: Gold, logits: list[np.ndarray]) -> None:
        self.gold = gold
        self.logits = logits

    def counts(self, checkpoint: int, threshold: float) -> np.ndarray:
        """Found, predicted and gold entities."""
        found, predicted = self.gold.counts(self.logits[checkpoint], np.array([threshold]))
        return np.array([found[0], predicted[0], self.gold.entities])


def decide(
    one: Half, two: Half, checkpoints: Sequence[int] | None = None
) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """Steps from the first half; the threshold from the second, or from neither's labels.

    Args:
        one: The first half.
        two: The second half.
        checkpoints: Steps at which both have logits; ``CHECKPOINTS`` if None.

    Returns:
        For each way the F1 on both halves, which chooses the trial, the steps and the threshold;
        and the F1 of the first half at every checkpoint.
    """
    steps = CHECKPOINTS if checkpoints is None else checkpoints
    at_zero = [0.0] * len(steps)
    own = [plug_in(logits) for logits in one.logits]
    curve = {
        how: [float(f1(*one.counts(i, t))) for i, t in enumerate(thresholds)]
        for how, thresholds in (("argmax", at_zero), ("plug_in", own))
    }
    curve["tuned"] = [best_threshold(one.gold, logits)[1] for logits in one.logits]
    picks = {}
    for how in WAYS:
        at = int(np.argmax(curve[how]))
        threshold = 0.0
        if how == "tuned":
            threshold = best_threshold(two.gold, two.logits[at])[0]
        elif how == "plug_in":
            threshold = plug_in(np.concatenate([one.logits[at], two.logits[at]]))
        value = float(f1(*(one.counts(at, threshold) + two.counts(at, threshold))))
        picks[how] = {
            "f1": round(value, 3),
            "steps": steps[at],
            "threshold": round(threshold, 5),
        }
    return picks, {how: [round(v, 1) for v in curve[how]] for how in WAYS}

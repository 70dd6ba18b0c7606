"""Logits as probabilities that are right as often as they say, and the best sum of two models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import expit, log_softmax, softmax


def log_loss(scores: np.ndarray, gold: np.ndarray) -> float:
    """The mean of minus the log probability of what is gold; arguments as in :func:`calibrated`."""
    s = scores.astype(np.float64)
    if gold.ndim == 2:
        return float((np.logaddexp(0, s) - gold * s).mean())
    known = gold < s.shape[1]
    return float(-log_softmax(s, axis=-1)[known, gold[known]].mean()) if known.any() else 0.0


def calibrated(scores: np.ndarray, gold: np.ndarray) -> dict[str, Any]:
    """One slope for all logits and a shift for each, by which the likelihood is largest.

    Args:
        scores: logits, shape ``[rows, labels]``.
        gold: the class of each row, shape ``[rows]``; or yes and no, shape ``[rows, labels]``.

    Returns:
        ``scale`` and ``shift``, as :func:`probabilities` takes them.
    """
    slopes, shift = stacked([scores], gold)
    return {"scale": float(slopes[0]), "shift": shift.tolist()}


def probabilities(scores: np.ndarray, fitted: Mapping[str, Any], *, several: bool) -> np.ndarray:
    """The calibrated probabilities of logits without a threshold. Shape ``[rows, labels]``.

    Args:
        scores: the logits.
        fitted: what :func:`calibrated` returned.
        several: whether each label is a decision of its own.
    """
    margins = fitted.get("scale", 1.0) * scores + np.asarray(fitted.get("shift", 0.0))
    return np.asarray(expit(margins) if several else softmax(margins, axis=-1))


def stacked(parts: Sequence[np.ndarray], gold: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A slope for the logits of each model and a shift for each label, of the largest likelihood.

    Where there are few rows, they are drawn to the mean of the models and to 0.

    Args:
        parts: the logits of each model, shape ``[rows, labels]``.
        gold: as in :func:`calibrated`; a class that no logit stands for does not count.

    Returns:
        Slopes ``[models]`` and shifts ``[labels]``.
    """
    from scipy.optimize import minimize

    several, many, labels = gold.ndim == 2, len(parts), parts[0].shape[1]
    known = np.ones(len(gold), bool) if several else gold < labels
    s = np.clip(np.stack([part[known].astype(np.float64) for part in parts]), -50, 50)
    right = gold[known].astype(float) if several else np.eye(labels)[gold[known]]
    n = max(1, len(right))

    def cost(x: np.ndarray) -> tuple[float, np.ndarray]:
        z = np.tensordot(x[:many], s, 1) + x[many:]
        if several:
            p, loss = expit(z), np.logaddexp(0, z) - right * z
        else:
            p, loss = softmax(z, axis=-1), -right * log_softmax(z, axis=-1)
        off = x - start
        slope = np.concatenate([(s * (p - right)).sum((1, 2)), (p - right).sum(0)])
        return (loss.sum() + off @ off / 2) / n, (slope + off) / n

    start = np.concatenate([np.full(many, 1 / many), np.zeros(labels)])
    bounds = [(0.01 / many, None)] * many + [(None, None)] * labels
    best = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return best[:many], best[many:]

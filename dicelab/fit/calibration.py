"""Logits as probabilities that are right as often as they say."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
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

    Both are drawn to 1 and 0 where there are few rows.

    Args:
        scores: logits, shape ``[rows, labels]``.
        gold: the class of each row, shape ``[rows]``; or yes and no, shape ``[rows, labels]``.

    Returns:
        ``scale`` and ``shift``; the probabilities are the softmax of ``scale * logits + shift``,
        or of yes and no the logistic function of it.
    """
    several = gold.ndim == 2
    known = np.ones(len(gold), bool) if several else gold < scores.shape[1]
    s = np.clip(scores[known].astype(np.float64), -50, 50)
    right = gold[known].astype(float) if several else np.eye(s.shape[1])[gold[known]]
    n = max(1, len(s))

    def cost(x: np.ndarray) -> tuple[float, np.ndarray]:
        z = x[0] * s + x[1:]
        if several:
            p, loss = expit(z), np.logaddexp(0, z) - right * z
        else:
            p, loss = softmax(z, axis=-1), -right * log_softmax(z, axis=-1)
        off = x - start
        slope = np.concatenate([[((p - right) * s).sum()], (p - right).sum(0)])
        return (loss.sum() + off @ off / 2) / n, (slope + off) / n

    start = np.eye(1, 1 + s.shape[1])[0]
    bounds = [(0.01, None), *[(None, None)] * s.shape[1]]
    best = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return {"scale": float(best[0]), "shift": best[1:].tolist()}

"""The paper's formulas, one element at a time in plain Python, to compare the losses with."""

from __future__ import annotations

import math
from collections.abc import Sequence

Rows = Sequence[Sequence[float]]


def softmax(logits: Sequence[float]) -> list[float]:
    """Probabilities of one example."""
    top = max(logits)
    exps = [math.exp(x - top) for x in logits]
    return [e / math.fsum(exps) for e in exps]


def one_vs_rest(logits: Rows, labels: Sequence[int]) -> list[tuple[list[float], list[float]]]:
    """For each class, p and y of every example."""
    probabilities = [softmax(row) for row in logits]
    return [
        ([p[c] for p in probabilities], [float(label == c) for label in labels])
        for c in range(len(logits[0]))
    ]


def equation_1(
    logits: Rows, labels: Sequence[int], weights: Sequence[float] | None = None
) -> float:
    """Cross entropy; with weights, Equation 2."""
    total = 0.0
    for row, label in zip(logits, labels, strict=True):
        a = 1.0 if weights is None else weights[label]
        total -= a * math.log(softmax(row)[label])
    return total / len(labels)


def equation_7(p: Sequence[float], y: Sequence[float], gamma: float) -> float:
    """Squared dice, example level."""
    terms = [1 - (2 * a * b + gamma) / (a**2 + b**2 + gamma) for a, b in zip(p, y, strict=True)]
    return math.fsum(terms) / len(terms)


def one_minus_equation_6(p: Sequence[float], y: Sequence[float], gamma: float) -> float:
    """Linear dice, example level."""
    terms = [1 - (2 * a * b + gamma) / (a + b + gamma) for a, b in zip(p, y, strict=True)]
    return math.fsum(terms) / len(terms)


def equation_8(p: Sequence[float], y: Sequence[float], gamma: float, power: int = 2) -> float:
    """Dice at set level; ``power=1`` is the linear form."""
    overlap = math.fsum(a * b for a, b in zip(p, y, strict=True))
    below = math.fsum(a**power for a in p) + math.fsum(b**power for b in y)
    return 1 - (2 * overlap + gamma) / (below + gamma)


def one_minus_equation_9(
    p: Sequence[float], y: Sequence[float], gamma: float, fp: float, fn: float
) -> float:
    """Tversky at set level."""
    pairs = list(zip(p, y, strict=True))
    tp = math.fsum(a * b for a, b in pairs)
    false_positives = math.fsum(a * (1 - b) for a, b in pairs)
    false_negatives = math.fsum((1 - a) * b for a, b in pairs)
    return 1 - (tp + gamma) / (tp + fp * false_positives + fn * false_negatives + gamma)


def equation_10(
    p: Sequence[float], y: Sequence[float], gamma: float, fp: float, fn: float
) -> float:
    """Tversky at example level."""
    terms = []
    for a, b in zip(p, y, strict=True):
        below = a * b + fp * a * (1 - b) + fn * (1 - a) * b + gamma
        terms.append(1 - (a * b + gamma) / below)
    return math.fsum(terms) / len(terms)


def decay(p: Sequence[float], alpha: float) -> list[float]:
    """(1 - p)^alpha p, to put in place of p: Equation 12 from 6, its set level from 8."""
    return [(1 - a) ** alpha * a for a in p]

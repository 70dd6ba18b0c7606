"""Losses for many yes-or-no decisions, and the search that every one of them gets.

Heads of one draw are stacked along a first axis ``K`` and trained together on the same batches;
each has its own learning rate, dropout, start and value of its loss's one parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

#: (logits [K, N, C], gold [N, C], value [K, 1, 1], log prior [C]) to losses [K].
StackedLoss = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Arm:
    """A remedy.

    Attributes:
        loss: the loss of a stack.
        sample: from a uniform number to a value of the one parameter.
        start: where the output bias starts: ``"zero"``, ``"prior"`` (the log-odds of each label
            in the training set), or ``"either"``, which the search decides.
        warm: so many of the first steps are cross entropy, as where a trained model is tuned.
    """

    loss: StackedLoss
    sample: Callable[[float], float] = lambda u: 0.0
    start: str = "either"
    warm: int = 0


def uniform(low: float, high: float) -> Callable[[float], float]:
    """Numbers from ``low`` to ``high``, all alike."""
    return lambda u: float(low + (high - low) * u)


def log_uniform(low: float, high: float) -> Callable[[float], float]:
    """Numbers from ``low`` to ``high``, all powers alike."""
    return lambda u: float(low * (high / low) ** u)


def cross_entropy(x: Tensor, y: Tensor, value: Tensor, prior: Tensor) -> Tensor:
    """Binary cross entropy, averaged over all decisions."""
    return (F.softplus(x) - x * y).mean((1, 2))


def weighted(x: Tensor, y: Tensor, value: Tensor, prior: Tensor) -> Tensor:
    """A positive of a label with the log-odds ``prior`` counts ``exp(-value * prior)`` times."""
    weight = 1 + y * ((-value * prior).exp() - 1)
    return (weight * (F.softplus(x) - x * y)).mean((1, 2))


def adjusted(x: Tensor, y: Tensor, value: Tensor, prior: Tensor) -> Tensor:
    """Logit adjustment: ``value`` times the prior is added in training alone."""
    return cross_entropy(x + value * prior, y, value, prior)


def focal(x: Tensor, y: Tensor, value: Tensor, prior: Tensor, alpha: float | None = None) -> Tensor:
    """Focal loss with the exponent ``value``; a positive weighs α, a negative 1 - α."""
    wrong = torch.sigmoid(torch.where(y == 1, -x, x)).clamp_min(1e-7)
    weight = 1.0 if alpha is None else torch.where(y == 1, alpha, 1 - alpha)
    return (weight * wrong**value * (F.softplus(x) - x * y)).mean((1, 2))


def retina(x: Tensor, y: Tensor, value: Tensor, prior: Tensor) -> Tensor:
    """Focal loss with the published α = 0.25 and γ = 2."""
    return focal(x, y, torch.full_like(value, 2.0), prior, alpha=0.25)


def element_dice(x: Tensor, y: Tensor, value: Tensor, prior: Tensor) -> Tensor:
    """Self-adjusting dice, each decision a set of its own, with γ = 1 and ε = 1e-6.

    It has the form and the defaults that the option "dice" of GLiNER 0.2.29 has.
    """
    p = x.sigmoid()
    q = (1 - p) * p
    return (1 - (2 * q * y + 1e-6) / (q + y + 1e-6)).mean((1, 2))


def dice(axes: tuple[int, ...], alpha: float = 0.0) -> StackedLoss:
    """Set-level dice with squared denominators and the smoothing ``value``.

    Args:
        axes: which make up a set: ``(1, 2)`` all decisions of the batch, ``(1,)`` those of a label.
        alpha: the exponent of the self-adjusting factor, 0 for none.
    """

    def loss(x: Tensor, y: Tensor, value: Tensor, prior: Tensor) -> Tensor:
        p = x.sigmoid()
        q = (1 - p).clamp_min(1e-6) ** alpha * p if alpha else p
        smooth = value.reshape(-1, *(1 for _ in range(2 - len(axes))))
        over, under = 2 * (q * y).sum(axes), (q * q).sum(axes) + (y * y).sum([a - 1 for a in axes])
        result = 1 - (over + smooth) / (under + smooth)
        return result.flatten(1).mean(1) if result.ndim > 1 else result

    return loss


def sampled(x: Tensor, y: Tensor, value: Tensor, prior: Tensor) -> Tensor:
    """Cross entropy over the positives and about ``value`` negatives, drawn anew, for each."""
    share = (value * y.sum() / (1 - y).sum()).clamp(max=1.0)
    included = torch.rand(y.shape, generator=_NEGATIVES) < share
    weight = torch.where(y == 1, 1.0, included.float())
    return (weight * (F.softplus(x) - x * y)).sum((1, 2)) / weight.sum((1, 2)).clamp_min(1)


_NEGATIVES = torch.Generator()


@dataclass(frozen=True)
class Trial:
    """What is searched for: learning rate, dropout, start, and the loss's one parameter."""

    learning_rate: float
    dropout: float
    start: str
    value: float

    @classmethod
    def random(cls, arm: Arm, draw: int, number: int) -> Trial:
        """The trial of that number; learning rate and dropout are the same for every arm."""
        u = np.random.default_rng([41, draw, number]).random(3)
        rate, dropout = log_uniform(1e-3, 3e-2)(u[0]), uniform(0.0, 0.5)(u[1])
        start = ("zero", "prior")[number % 2] if arm.start == "either" else arm.start
        return cls(round(rate, 6), round(dropout, 3), start, round(arm.sample(u[2]), 4))


def seeded(seed: int) -> None:
    """Start the stream of sampled negatives anew: a run must not depend on the one before."""
    _NEGATIVES.manual_seed(seed)


def log_prior(gold: Tensor) -> Tensor:
    """Log-odds ``[C]`` of each label of ``[N, C]``, half a positive and half a negative added."""
    positive = gold.sum(0) + 0.5
    return (positive / (len(gold) + 1 - positive)).log()

"""The arms, and heads trained many at a time.

Heads of one task and arm are stacked along a first axis ``K`` and trained together; each has its
own initialisation, batches, dropout, learning rate and value of the arm's parameter. A head in a
stack ends as it does alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from dicelab.records.analysis import CHECKPOINTS

HIDDEN, BATCH, WARM_UP, WARM_START = 64, 256, 20, 60
EPSILON, DECAY = 1e-8, 0.01


@dataclass(frozen=True)
class Arm:
    """A remedy: a loss or a sample.

    Attributes:
        loss: ``(logits [K, B, C], one-hot gold [K, B, C], value [K, 1], log prior [K, 1, C],
            classes)`` to losses ``[K]``; ``classes`` are those a dice or Tversky loss means over.
        sample: From uniform numbers to values of the arm's one parameter.
        warm: Whether the first ``WARM_START`` steps are cross entropy.
        start: Whether the biases of the output start at the log prior.
        binary_only: Whether the arm is for yes-or-no tasks alone.
    """

    loss: Callable[..., Tensor]
    sample: Callable[[float], float] = lambda u: 0.0
    warm: bool = False
    start: bool = False
    binary_only: bool = False


def _uniform(low: float, high: float) -> Callable[[float], float]:
    return lambda u: float(low + (high - low) * u)


def _log_uniform(low: float, high: float) -> Callable[[float], float]:
    return lambda u: float(low * (high / low) ** u)


def _cross_entropy(x: Tensor, y: Tensor, value: Tensor, prior: Tensor, classes: slice) -> Tensor:
    return -(x.log_softmax(-1) * y).sum(-1).mean(-1)


def _adjusted(x: Tensor, y: Tensor, value: Tensor, prior: Tensor, classes: slice) -> Tensor:
    return _cross_entropy(x + value.unsqueeze(-1) * prior, y, value, prior, classes)


def _weighted(x: Tensor, y: Tensor, value: Tensor, prior: Tensor, classes: slice) -> Tensor:
    weight = (value.unsqueeze(-1) * (prior.amax(-1, keepdim=True) - prior)).exp()
    return -(x.log_softmax(-1) * y * weight).sum(-1).mean(-1)


def _focal(x: Tensor, y: Tensor, value: Tensor, prior: Tensor, classes: slice) -> Tensor:
    log_p = (x.log_softmax(-1) * y).sum(-1)
    return -((-torch.expm1(log_p)).clamp_min(1e-6) ** value * log_p).mean(-1)


def _dice(alpha: float) -> Callable[..., Tensor]:
    def loss(x: Tensor, y: Tensor, value: Tensor, prior: Tensor, classes: slice) -> Tensor:
        p = x.softmax(-1)
        q = (1 - p).clamp_min(1e-6) ** alpha * p if alpha else p
        q, y = q[..., classes], y[..., classes]
        over, under = 2 * (q * y).sum(1) + value, (q * q).sum(1) + y.sum(1) + value
        return (1 - over / under).mean(-1)

    return loss


def _tversky(x: Tensor, y: Tensor, value: Tensor, prior: Tensor, classes: slice) -> Tensor:
    """``value`` is the price of a false negative, and one less it that of a false positive."""
    p, y = x.softmax(-1)[..., classes], y[..., classes]
    hit = (p * y).sum(1)
    cost = (1 - value) * (p.sum(1) - hit) + value * (y.sum(1) - hit)
    return (1 - (hit + 1) / (hit + cost + 1)).mean(-1)


ARMS: dict[str, Arm] = {
    "ce": Arm(_cross_entropy),
    "ce_prior": Arm(_cross_entropy, _uniform(0.25, 1.5)),
    "logit_adjustment": Arm(_adjusted, _uniform(0.25, 1.5)),
    "wce": Arm(_weighted, _uniform(0.1, 1.0)),
    "focal": Arm(_focal, _uniform(0.5, 4.0)),
    "dice": Arm(_dice(0.0), _log_uniform(0.1, 10.0)),
    "dsc": Arm(_dice(0.1), _log_uniform(0.1, 10.0)),
    "tversky": Arm(_tversky, _uniform(0.3, 0.9), warm=True),
    "negative_sampling": Arm(_cross_entropy, _log_uniform(1.0, 10.0), binary_only=True),
}


@dataclass(frozen=True)
class Trial:
    """A choice of what is tuned: learning rate, dropout, and the arm's one parameter."""

    learning_rate: float
    dropout: float
    value: float

    @classmethod
    def random(cls, arm: str, number: int) -> Trial:
        """The trial of that number; learning rate and dropout are the same for every arm."""
        u = np.random.default_rng([29, number]).random(3)
        rate, dropout = _log_uniform(3e-4, 3e-2)(u[0]), _uniform(0.0, 0.5)(u[1])
        return cls(round(rate, 6), round(dropout, 3), round(ARMS[arm].sample(u[2]), 4))


State = tuple[Tensor, Tensor, Tensor, Tensor]  # [K, D, H], [K, 1, H], [K, H, C], [K, 1, C]


def train(
    arm: str | Arm,
    trials: Sequence[Trial],
    seeds: Sequence[int],
    features: Tensor,
    labels: np.ndarray,
    rows: Sequence[np.ndarray],
    classes: int,
    checkpoints: Sequence[int] = CHECKPOINTS,
) -> list[State]:
    """Train a stack of heads with AdamW: a short warm-up, then a constant learning rate.

    So every checkpoint is a whole run of its length, and the number of steps is tuned for nothing.

    Args:
        arm: The name of one of ``ARMS``, or an arm.
        trials: ``K`` of them.
        seeds: ``K`` of them; initialisation, order and dropout are the same for every arm.
        features: ``[N, D]`` float32.
        labels: ``[N]`` int64.
        rows: Of each head, its training rows.
        classes: ``C``; with two, dice and Tversky losses are those of class 1 alone.
        checkpoints: Numbers of steps, ascending.

    Returns:
        The stack at each of the checkpoints.
    """
    spec = ARMS[arm] if isinstance(arm, str) else arm
    streams = [torch.Generator().manual_seed(seed) for seed in seeds]
    rows = [
        _sampled(trial, r, labels, seed) if arm == "negative_sampling" else r
        for trial, r, seed in zip(trials, rows, seeds, strict=True)
    ]
    last = checkpoints[-1]
    order = torch.stack([_order(r, s, last) for r, s in zip(rows, seeds, strict=True)])
    prior = torch.stack([log_prior(labels[r], classes) for r in rows]).unsqueeze(1)
    state = _initial(streams, features.shape[1], classes)
    if spec.start:
        state = (*state[:3], prior.clone())
    of_head = [[t.learning_rate, 1 - t.dropout, t.value] for t in trials]
    rate, keep, value = torch.tensor(of_head, dtype=torch.float32).view(-1, 3, 1, 1).unbind(1)
    value = value.squeeze(1)
    gold = torch.from_numpy(labels)
    only = slice(1, None) if classes == 2 else slice(None)
    first, second = ([torch.zeros_like(p) for p in state] for _ in range(2))
    kept = []
    for step in range(1, last + 1):
        index = order[:, step - 1]
        live = [p.detach().requires_grad_() for p in state]
        mask = torch.stack([torch.rand(BATCH, HIDDEN, generator=g) for g in streams])
        hidden = torch.baddbmm(live[1], features[index], live[0]).relu() * (mask < keep) / keep
        logits = torch.baddbmm(live[3], hidden, live[2])
        one_hot = F.one_hot(gold[index], classes).float()
        loss = _cross_entropy if spec.warm and step <= WARM_START else spec.loss
        slopes = torch.autograd.grad(loss(logits, one_hot, value, prior, only).sum(), live)
        now = rate * min(1.0, step / WARM_UP)
        state = adamw(state, slopes, first, second, now, step)
        if step in checkpoints:
            kept.append(state)
    return kept


def logits_of(state: State, head: int, features: Tensor) -> np.ndarray:
    """Logits ``[N, C]`` of one head of a stack."""
    w, b, v, c = (part[head] for part in state)
    logits: np.ndarray = ((features @ w + b).relu() @ v + c).numpy()
    return logits


def log_prior(labels: np.ndarray, classes: int) -> Tensor:
    """Log shares of the classes, ``[C]``, with half an example added to each."""
    counts = torch.from_numpy(np.bincount(labels, minlength=classes) + 0.5)
    return (counts / counts.sum()).log().float()


def adamw(
    state: Sequence[Tensor],
    slopes: Sequence[Tensor],
    first: list[Tensor],
    second: list[Tensor],
    rate: Tensor,
    step: int,
) -> State:
    """One step of ``torch.optim.AdamW`` with a learning rate for each head, ``[K, 1, 1]``."""
    moved = []
    for p, g, m, v in zip(state, slopes, first, second, strict=True):
        m.lerp_(g, 0.1)
        v.mul_(0.999).addcmul_(g, g, value=0.001)
        size = (v / (1 - 0.999**step)).sqrt_().add_(EPSILON)
        moved.append(p * (1 - rate * DECAY) - rate / (1 - 0.9**step) * m / size)
    return tuple(moved)  # type: ignore[return-value]


def _initial(streams: Sequence[torch.Generator], width: int, classes: int) -> State:
    def drawn(*shape: int, fan: int) -> Tensor:
        return torch.stack([(torch.rand(shape, generator=g) * 2 - 1) / fan**0.5 for g in streams])

    return (
        drawn(width, HIDDEN, fan=width),
        drawn(1, HIDDEN, fan=width),
        drawn(HIDDEN, classes, fan=HIDDEN),
        drawn(1, classes, fan=HIDDEN),
    )


def _order(rows: np.ndarray, seed: int, steps: int) -> Tensor:
    """Rows of every step, ``[steps, BATCH]``: one shuffled pass after the other."""
    rng, need = np.random.default_rng([31, seed]), steps * BATCH
    passes = [rng.permutation(rows) for _ in range(-(-need // len(rows)))]
    return torch.from_numpy(np.concatenate(passes)[:need].reshape(-1, BATCH))


def _sampled(trial: Trial, rows: np.ndarray, labels: np.ndarray, seed: int) -> np.ndarray:
    """At most ``value`` negatives for each positive."""
    negative = rows[labels[rows] == 0]
    most = round(trial.value * (len(rows) - len(negative)))
    kept = np.random.default_rng([37, seed]).permutation(negative)[:most]
    return np.sort(np.concatenate([rows[labels[rows] > 0], kept]))

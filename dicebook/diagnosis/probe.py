"""A loss under test with a batch, and the batches that are made from it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

MANY = 256  # rows of the batches that the checks build
SURE = 8.0  # a margin that is sure, p = 0.9997, but not saturated


class LossRaised(Exception):
    """The loss under test raised, or returned something that is no scalar tensor."""


@dataclass(frozen=True)
class Probe:
    """A loss with a batch of rows: at least ``MANY``, none ignored."""

    loss: Callable[..., Tensor]
    logits: Tensor
    targets: Tensor
    common: int  # the most frequent class
    rare: int  # the least frequent one that is there
    ignore_index: int | None
    ignores: bool  # whether the batch holds that label
    seeded: bool = False  # whether the loss draws random numbers, the same ones in each call then

    @classmethod
    def of(
        cls, loss: Callable[..., Tensor], logits: Tensor, targets: Tensor, ignore_index: int | None
    ) -> Probe:
        if not isinstance(logits, Tensor) or not logits.is_floating_point():
            raise TypeError(f"logits must be a floating tensor; got {_kind(logits)}")
        if not isinstance(targets, Tensor):
            raise TypeError(f"targets must be a tensor; got {_kind(targets)}")
        binary = logits.shape == targets.shape
        if not binary and logits.shape[:-1] != targets.shape:
            raise ValueError(
                f"expected targets {list(logits.shape[:-1])} (class indices) or "
                f"{list(logits.shape)} (0/1) for logits {list(logits.shape)}; "
                f"got {list(targets.shape)}"
            )
        x = logits.detach().float().reshape(-1, *([] if binary else [logits.shape[-1]]))
        y = targets.detach().reshape(-1)
        valid = y != ignore_index if ignore_index is not None else torch.ones_like(y).bool()
        x, y = x[valid], y[valid]
        labels, counts = y.unique(return_counts=True)
        if len(labels) < 2:
            raise ValueError(f"expected targets of two classes or more; got {labels.tolist()}")
        if binary and not set(labels.tolist()) <= {0, 1}:
            raise ValueError(f"expected 0/1 targets for a binary loss; got {labels.tolist()}")
        copies = math.ceil(MANY / len(y))
        common, rare = (int(labels[i]) for i in (counts.argmax(), counts.argmin()))
        if common == rare:
            common, rare = int(labels[0]), int(labels[-1])
        return cls(
            loss,
            repeat(x, copies),
            repeat(y, copies),
            common,
            rare,
            ignore_index,
            not bool(valid.all()),
        )

    @property
    def binary(self) -> bool:
        return self.logits.ndim == 1

    @property
    def classes(self) -> int:
        return 2 if self.binary else self.logits.shape[-1]

    def value(self, x: Tensor, y: Tensor, *mask: Tensor) -> float:
        """The loss of a batch."""
        with torch.no_grad():
            return float(self._scalar(x, y, *mask))

    def value_and_gradient(self, x: Tensor, y: Tensor, *mask: Tensor) -> tuple[float, Tensor]:
        """The loss of a batch and its gradient; zeros where none flows."""
        leaf = x.detach().clone().requires_grad_()
        value = self._scalar(leaf, y, *mask)
        if not value.requires_grad:
            return float(value), torch.zeros_like(leaf)
        try:
            (gradient,) = torch.autograd.grad(value, leaf, allow_unused=True)
        except Exception as error:
            raise LossRaised(f"{type(error).__name__} in backward: {error}") from error
        return float(value.detach()), torch.zeros_like(leaf) if gradient is None else gradient

    def _scalar(self, x: Tensor, y: Tensor, *mask: Tensor) -> Tensor:
        seed = torch.random.fork_rng() if self.seeded else contextlib.nullcontext()
        try:
            with seed:
                if self.seeded:
                    torch.manual_seed(0)
                value = self.loss(x, y, mask=mask[0]) if mask else self.loss(x, y)
        except Exception as error:
            raise LossRaised(f"{type(error).__name__}: {first_line(error)}") from error
        if not isinstance(value, Tensor) or value.numel() != 1:
            got = list(value.shape) if isinstance(value, Tensor) else _kind(value)
            raise LossRaised(f"nothing, but returned {got} instead of a scalar tensor")
        return value

    def predicting(self, classes: Tensor, margin: float) -> Tensor:
        """Logits that predict these classes by a margin over all others together."""
        if self.binary:
            return margin * (2 * classes.to(self.logits) - 1)
        logits = self.logits.new_zeros(len(classes), self.classes)
        gold = classes.long().unsqueeze(-1)
        return logits.scatter_(-1, gold, margin + math.log(self.classes - 1))

    def others(self, classes: Tensor) -> Tensor:
        """A wrong class for each, among those that are there."""
        wrong = torch.full_like(classes, self.common)
        return torch.where(classes == self.common, torch.full_like(classes, self.rare), wrong)

    def right_and_wrong(self, margin: float) -> tuple[Tensor, Tensor]:
        """Logits that get every row right, and every row wrong."""
        y = self.targets
        return self.predicting(y, margin), self.predicting(self.others(y), margin)

    def span(self) -> float:
        """What all wrong costs more than all right, both sure."""
        right, wrong = self.right_and_wrong(SURE)
        return self.value(wrong, self.targets) - self.value(right, self.targets)


def every_third(targets: Tensor) -> Tensor:
    """A bool mask that takes rows of every class and leaves rows of every class."""
    order = targets.argsort(stable=True)
    chosen = torch.zeros_like(targets, dtype=torch.bool)
    chosen[order[::3]] = True
    return chosen


def repeat(tensor: Tensor, copies: int) -> Tensor:
    return tensor.repeat(copies, *[1] * (tensor.ndim - 1))


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:120]


def _kind(value: object) -> str:
    return str(value.dtype) if isinstance(value, Tensor) else type(value).__name__

"""The three sums a class, straight from the logits, with a gradient in closed form.

This is the loop that costs time: everything after it works on three numbers a class. Left to
autograd it would keep five or six tensors of the logits' size alive. Here none is kept but the
logits: the backward pass takes the softmax again, which class-major is the cheaper part.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dicebook.losses.one_vs_rest import (
    Parts,
    logits_gradient,
    self_adjusted,
    self_adjusted_sigmoid,
    sigmoid_slope,
    slopes,
    softmax_parts,
)

Sums = tuple[Tensor, Tensor, Tensor]


def class_sums(
    logits: Tensor, target: Tensor, kept: Tensor | None, *, alpha: float, squared: bool
) -> Sums:
    """The sums ``Σ q·y``, ``Σ q`` and ``Σ y`` over examples, for ``q = (1 − p)^alpha · p``.

    Args:
        logits: ``[N, C]``, any floating dtype.
        target: ``[N]`` int64 class indices in ``0..C-1``, or class probabilities ``[N, C]``.
        kept: None or ``[N]`` bool: the examples that count. Whatever the others hold is not read.
        alpha: The decay exponent.
        squared: Whether the last two sums are of squares.

    Returns:
        The three, ``[C]`` each, float32 or float64; the first two differentiable in ``logits``.
    """
    if logits.shape[-1] == 2:
        # A softmax of two logits is a sigmoid of their difference: one column instead of two.
        x0, x1 = logits.unbind(-1)
        y0, y1 = (1 - target, target) if target.ndim == 1 else target.unbind(-1)
        margin = x1 - x0
        negative = binary_sums(-margin, y0, kept, alpha=alpha, squared=squared)
        positive = binary_sums(margin, y1, kept, alpha=alpha, squared=squared)
        overlap, predicted, actual = map(torch.cat, zip(negative, positive, strict=True))
        return overlap, predicted, actual
    sums: Sums = _ClassSums.apply(logits, target, kept, alpha, squared)
    return sums


def binary_sums(
    logits: Tensor, target: Tensor, kept: Tensor | None, *, alpha: float, squared: bool
) -> Sums:
    """The same sums for the positive class of a binary classifier.

    Args:
        logits: ``[N]``.
        target: ``[N]``, between 0 and 1, floating.
        kept: As in `class_sums`.
        alpha: As in `class_sums`.
        squared: As in `class_sums`.

    Returns:
        The three, ``[1]`` each.
    """
    sums: Sums = _BinarySums.apply(logits, target, kept, alpha, squared)
    return sums


class _ClassSums(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(
        logits: Tensor, target: Tensor, kept: Tensor | None, alpha: float, squared: bool
    ) -> Sums:
        # Nothing else holds the parts, so that the softmax can go as soon as q is there.
        q = self_adjusted(softmax_parts(logits, kept, alpha), alpha)
        if kept is not None:
            q = q.masked_fill_(~kept, 0.0)
        if target.ndim == 1:
            gold = q.gather(0, target.unsqueeze(0)).squeeze(0)
            overlap = _sum_by_class(gold, target, q.shape[0])
            ones = torch.ones_like(gold) if kept is None else kept
            actual = _sum_by_class(ones, target, q.shape[0])
        else:
            y = target.t() if kept is None else target.t() * kept
            overlap = (q * y).sum(dim=1)
            actual = (y * y if squared else y).sum(dim=1)
        predicted = (q.mul_(q) if squared else q).sum(dim=1)
        return overlap.to(q.dtype), predicted, actual.to(q.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Sums) -> None:
        logits, target, kept, ctx.alpha, ctx.squared = inputs
        ctx.save_for_backward(logits, target, kept)
        ctx.mark_non_differentiable(output[2])

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, overlap: Tensor, predicted: Tensor, _: Tensor
    ) -> tuple[Tensor | None, ...]:
        logits, target, kept = ctx.saved_tensors
        parts = softmax_parts(logits, kept, ctx.alpha)
        gradient = _through_sums(parts, overlap, predicted, target, kept, ctx.alpha, ctx.squared)
        return gradient.t().to(logits.dtype), None, None, None, None


def _through_sums(
    parts: Parts,
    overlap: Tensor,
    predicted: Tensor,
    target: Tensor,
    kept: Tensor | None,
    alpha: float,
    squared: bool,
) -> Tensor:
    """From the gradients of the first two sums, ``[C]``, to that of the logits, ``[C, N]``."""
    row = target.unsqueeze(0) if target.ndim == 1 else None
    y = target.t()
    grad_top = None
    if parts.top is not None and parts.margin is not None:
        at_top = predicted[parts.top]
        if squared:
            at_top = at_top * 2 * self_adjusted_sigmoid(parts.margin, alpha)
        gold_top = parts.top == row if row is not None else y.gather(0, parts.top)
        grad_top = (at_top + overlap[parts.top] * gold_top).mul_(sigmoid_slope(parts.margin, alpha))
    by_class = slopes(parts, alpha)
    if row is not None:
        gold = by_class.gather(0, row).mul_(overlap[row])
    else:
        gold = by_class * y * overlap.unsqueeze(1)
    if squared:
        by_class = by_class.mul_(self_adjusted(parts, alpha)).mul_(2)
    by_class = by_class.mul_(predicted.unsqueeze(1))
    by_class = by_class.add_(gold) if row is None else by_class.scatter_add_(0, row, gold)
    if kept is not None:
        by_class = by_class.masked_fill_(~kept, 0.0)
        grad_top = None if grad_top is None else grad_top.masked_fill_(~kept, 0.0)
    return logits_gradient(parts, by_class, grad_top)


class _BinarySums(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(
        logits: Tensor, target: Tensor, kept: Tensor | None, alpha: float, squared: bool
    ) -> Sums:
        q = self_adjusted_sigmoid(_in_full(logits, kept), alpha)
        y = target
        if kept is not None:
            q, y = q.masked_fill_(~kept, 0.0), target * kept
        # One after the other, so that only one square is alive.
        predicted = (q.square() if squared else q).sum(0, keepdim=True)
        actual = (y.square() if squared else y).sum(0, keepdim=True)
        return q.mul_(y).sum(0, keepdim=True), predicted, actual.to(q.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Sums) -> None:
        logits, target, kept, ctx.alpha, ctx.squared = inputs
        ctx.save_for_backward(logits, target, kept)
        ctx.mark_non_differentiable(output[2])

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, overlap: Tensor, predicted: Tensor, _: Tensor
    ) -> tuple[Tensor | None, ...]:
        logits, target, kept = ctx.saved_tensors
        x = _in_full(logits, kept)
        p = torch.sigmoid(x)
        q = self_adjusted_sigmoid(x, ctx.alpha, p)
        by_example = target * overlap
        if ctx.squared:
            by_example = by_example.addcmul_(q, 2 * predicted)
        else:
            by_example = by_example.add_(predicted)
        # dq/dx = q (1 - (1 + alpha) p), in the place of q, which nothing else holds.
        result = q.addcmul_(q, p, value=-(1 + ctx.alpha)).mul_(by_example)
        if kept is not None:
            result = result.masked_fill_(~kept, 0.0)
        return result.to(logits.dtype), None, None, None, None


def _in_full(logits: Tensor, kept: Tensor | None) -> Tensor:
    x = logits if logits.dtype == torch.float64 else logits.float()
    return x if kept is None else x.masked_fill(~kept, 0.0)


def _sum_by_class(values: Tensor, target: Tensor, classes: int) -> Tensor:
    # In float64: adding ones to a float32 one by one stops at 2^24.
    zeros = torch.zeros(classes, dtype=torch.float64, device=values.device)
    return zeros.index_add(0, target, values.double())


# torch asks for the signature at every call, which costs as much as a sum of a thousand numbers.
for _function in (_ClassSums, _BinarySums):
    setattr(_function.forward, "__signature__", inspect.signature(_function.forward))  # noqa: B010

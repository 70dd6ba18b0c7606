"""The three sums a class, straight from the logits, with a gradient in closed form.

This is the loop that costs time: everything after it works on three numbers a class. Left to
autograd it would keep five or six tensors of the logits' size alive. Here the probabilities alone
are kept, and only one more tensor of their size is alive beside them.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dicebook.losses.margin_sums import Sums, of_both_sums, two_class_sums
from dicebook.losses.one_vs_rest import (
    Parts,
    logits_gradient,
    self_adjusted,
    self_adjusted_sigmoid,
    sigmoid_slope,
    slopes,
    softmax_parts,
)


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
        return two_class_sums(logits, target, kept, alpha=alpha, squared=squared)
    overlap, predicted, actual = _ClassSums.apply(logits, target, kept, alpha, squared)[:3]
    return overlap, predicted, actual


class _ClassSums(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(
        logits: Tensor, target: Tensor, kept: Tensor | None, alpha: float, squared: bool
    ) -> tuple[Tensor, ...]:
        parts = softmax_parts(logits, kept, alpha)
        q = self_adjusted(parts, alpha)
        if kept is not None:
            q = q.masked_fill(~kept, 0.0)
        gold = q.gather(0, target.unsqueeze(0))[0] if target.ndim == 1 else q * target.t()
        if squared:
            q = q * q if q is parts.share else q.mul_(q)
        predicted = q.sum(dim=1)
        del q  # its memory serves the sums below
        if target.ndim == 1:
            ones = torch.ones_like(gold) if kept is None else kept
            overlap, actual = (_sum_by_class(x, target, len(predicted)) for x in (gold, ones))
        else:
            y = target.t() if kept is None else target.t() * kept
            overlap, actual = gold.sum(dim=1), (y * y if squared else y).sum(dim=1)
        dtype = predicted.dtype
        # What a custom function keeps for its backward pass has to be among its outputs.
        return overlap.to(dtype), predicted, actual.to(dtype), *parts.tensors()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        logits, target, kept, ctx.alpha, ctx.squared = inputs
        ctx.dtype = logits.dtype
        ctx.save_for_backward(target, kept, *output[3:])
        ctx.mark_non_differentiable(*output[2:])
        ctx.set_materialize_grads(False)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
        target, kept, *parts = ctx.saved_tensors
        overlap, predicted = of_both_sums(gradients, parts[0].new_zeros(len(parts[0])))
        gradient = _through_sums(
            Parts(*parts), overlap, predicted, target, kept, ctx.alpha, ctx.squared
        )
        return gradient.t().to(ctx.dtype), None, None, None, None


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
            at_top = 2 * at_top * self_adjusted_sigmoid(parts.margin, alpha)
        gold_top = parts.top == row if row is not None else y.gather(0, parts.top)
        grad_top = (at_top + overlap[parts.top] * gold_top).mul_(sigmoid_slope(parts.margin, alpha))
    by_class = slopes(parts, alpha)
    if row is not None:
        gold = by_class.gather(0, row).mul_(overlap.index_select(0, target))
    else:
        gold = by_class * y * overlap.unsqueeze(1)
    if squared:
        by_class = by_class.mul_(self_adjusted(parts, alpha))
        predicted = 2 * predicted
    by_class = by_class.mul_(predicted.unsqueeze(1))
    by_class = by_class.add_(gold) if row is None else by_class.scatter_add_(0, row, gold)
    if kept is not None:
        by_class = by_class.masked_fill_(~kept, 0.0)
        grad_top = None if grad_top is None else grad_top.masked_fill_(~kept, 0.0)
    return logits_gradient(parts, by_class, grad_top)


def _sum_by_class(values: Tensor, target: Tensor, classes: int) -> Tensor:
    # In float64: adding ones to a float32 one by one stops at 2^24.
    zeros = torch.zeros(classes, dtype=torch.float64, device=values.device)
    return zeros.index_add(0, target, values.double())


# As in `dicebook.losses.margin_sums`.
setattr(_ClassSums.forward, "__signature__", inspect.signature(_ClassSums.forward))  # noqa: B010

"""The sums over every class of a softmax, each class against the rest.

With alpha 0 or 1, ``q`` and its slope are polynomials of the probabilities, and these are kept for
the backward pass. Another exponent needs the split softmax of `dicebook.losses.one_vs_rest`, which
is larger; that is taken again.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dicebook.losses.block_sums import Form, Sums, block_sums
from dicebook.losses.margin_sums import two_class_sums
from dicebook.losses.one_vs_rest import (
    Split,
    class_major,
    logits_gradient,
    self_adjusted,
    split_softmax,
)


def class_sums(
    logits: Tensor, target: Tensor, kept: Tensor | None, *, alpha: float, squared: bool
) -> Sums:
    """The sums ``Σ q·y`` and ``Σ q`` over examples, for ``q = (1 − p)^alpha · p``.

    Args:
        logits: ``[N, C]``, any floating dtype.
        target: ``[N]`` int64 class indices in ``0..C-1``, or class probabilities ``[N, C]``; 0
            where ``kept`` is False.
        kept: None or ``[N]`` bool: the examples that count. Whatever the logits of the others hold
            is not read.
        alpha: The decay exponent.
        squared: Whether the second sum is of squares.

    Returns:
        Both, ``[C]`` each, float32 or float64, differentiable in ``logits``.
    """
    if logits.shape[-1] == 2:
        return two_class_sums(logits, target, kept, alpha=alpha, squared=squared)
    form = _Whole(alpha, squared) if alpha in (0, 1) else _Powers(alpha, squared)
    return block_sums(form, logits, target, kept)


def gold_sums(target: Tensor, kept: Tensor | None, classes: int, *, squared: bool) -> Tensor:
    """The sums ``Σ y`` over examples, or ``Σ y²``.

    Args:
        target: ``[N]`` int64 class indices, or floating targets ``[N, C]`` or (binary) ``[N]``; 0
            where ``kept`` is False.
        kept: None or ``[N]`` bool: the examples that count.
        classes: ``C``; 1 if binary.
        squared: Whether to sum squares.

    Returns:
        ``[C]``, of the target's dtype.
    """
    if target.is_floating_point():
        return (target * target if squared else target).sum(0, keepdim=target.ndim == 1)
    if classes == 2:
        of_1 = target.sum()
        rows = len(target) if kept is None else kept.sum()
        return torch.stack([rows - of_1, of_1])
    zeros = target.new_zeros(classes)
    ones = target.new_ones(()).expand_as(target) if kept is None else kept.to(target.dtype)
    return zeros.index_add(0, target, ones)


class _Whole(Form):
    """Alpha 0 and 1; the basis is ``p``, ``[C, N]``."""

    keeps_basis = True

    def basis(self, logits: Tensor, kept: Tensor | None) -> Tensor:
        p = torch.softmax(class_major(logits), dim=0)
        return p if kept is None else p.masked_fill(~kept, 0.0)

    def sums(self, p: Tensor, target: Tensor) -> Sums:
        if self.alpha == 0:
            return _sums(p, target, self.squared)
        return _sums(torch.addcmul(p, p, p, value=-1), target, self.squared, overwrite=True)

    def gradient(self, p: Tensor, target: Tensor, overlap: Tensor, predicted: Tensor) -> Tensor:
        grad = p * predicted.unsqueeze(1)
        if self.squared:
            grad = grad.mul_(p)
            if self.alpha == 1:
                grad = grad.addcmul_(grad, p, value=-1)
        grad = _add_gold(grad, p, target, overlap)
        if self.alpha == 1:
            grad = grad.addcmul_(grad, p, value=-2)
        return grad.addcmul_(p, grad.sum(dim=0, keepdim=True), value=-1).t()


class _Powers(Form):
    """Any alpha; the basis is the split softmax."""

    blocks = 4

    def basis(self, logits: Tensor, kept: Tensor | None) -> Split:
        return split_softmax(logits, kept)

    def sums(self, split: Split, target: Tensor) -> Sums:
        q = self_adjusted(split, split.rest(), self.alpha)
        return _sums(q, target, self.squared, overwrite=True)

    def gradient(self, split: Split, target: Tensor, overlap: Tensor, predicted: Tensor) -> Tensor:
        rest = split.rest()
        q = self_adjusted(split, rest, self.alpha)
        grad = q * predicted.unsqueeze(1)
        if self.squared:
            grad = grad.mul_(q)
        grad = _add_gold(grad, q, target, overlap)
        del q
        return logits_gradient(split, rest, grad, self.alpha).t()


def _sums(q: Tensor, target: Tensor, squared: bool, *, overwrite: bool = False) -> Sums:
    gold = q * target.t() if target.ndim == 2 else q.gather(0, target.unsqueeze(0))[0]
    if squared:
        q = q.mul_(q) if overwrite else q * q
    predicted = q.sum(dim=1)
    del q  # its memory serves the sum below
    if target.ndim == 2:
        return gold.sum(dim=1), predicted
    # One by one, and so in float64: in float32 the ten millionth number hardly counts.
    zeros = torch.zeros(len(predicted), dtype=torch.float64, device=predicted.device)
    return zeros.index_add(0, target, gold.double()).to(predicted.dtype), predicted


def _add_gold(grad: Tensor, q: Tensor, target: Tensor, overlap: Tensor) -> Tensor:
    """Add ``q·y`` times the gradient of its sum to ``grad``."""
    if target.ndim == 2:
        return grad.addcmul_(q * overlap.unsqueeze(1), target.t())
    row = target.unsqueeze(0)
    return grad.scatter_add_(0, row, q.gather(0, row).mul_(overlap.index_select(0, target)))

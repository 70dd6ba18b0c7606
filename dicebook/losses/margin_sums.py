r"""The sums over one class against the rest, from its margin.

The logit of a binary classifier is the margin of its positive class, and the difference of two
logits that of either class: a softmax of two is a sigmoid. So one column of numbers does here what
`dicebook.losses.class_sums` does with a column a class. The gradient is in closed form here too,

    dq/dm = q · (1 − (1 + α) p),    q = (1 − p)^α · p,    p = σ(m).

A row that does not count has the margin −∞: its ``p`` is 0, and with it all that follows.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dicebook.losses.block_sums import Form, Sums, block_sums
from dicebook.losses.one_vs_rest import decay
from dicebook.losses.rows import precision


def binary_sums(
    logits: Tensor, target: Tensor, kept: Tensor | None, *, alpha: float, squared: bool
) -> Sums:
    """The sums ``Σ q·y`` and ``Σ q`` for the positive class of a binary classifier.

    Args:
        logits: ``[N]``, any floating dtype.
        target: ``[N]``, between 0 and 1, floating; 0 where ``kept`` is False.
        kept: None or ``[N]`` bool: the examples that count. Whatever the logits of the others hold
            is not read.
        alpha: The decay exponent.
        squared: Whether the second sum is of squares.

    Returns:
        Both, ``[1]`` each, float32 or float64, differentiable in ``logits``.
    """
    form = _Binary(alpha, squared) if alpha in (0, 1) else _BinaryPowers(alpha, squared)
    return block_sums(form, logits, target, kept)


def two_class_sums(
    logits: Tensor, target: Tensor, kept: Tensor | None, *, alpha: float, squared: bool
) -> Sums:
    """The same sums for each class of two.

    Args:
        logits: ``[N, 2]``.
        target: ``[N]`` int64 class indices, or class probabilities ``[N, 2]``.
        kept: As in `binary_sums`.
        alpha: As in `binary_sums`.
        squared: As in `binary_sums`.

    Returns:
        Both, ``[2]`` each.
    """
    form = (_TwoClasses if alpha in (0, 1) else _TwoClassPowers)(alpha, squared)
    return block_sums(form, logits, target, kept)


class _Binary(Form):
    """The positive class alone; the basis is its ``p``, which alpha 0 and 1 need nothing beside."""

    keeps_basis = True

    def basis(self, logits: Tensor, kept: Tensor | None) -> Tensor:
        return torch.sigmoid(_margin(logits, kept))

    def sums(self, p: Tensor, target: Tensor) -> Sums:
        return _sums(p, None, target, self.alpha, self.squared)

    def gradient(self, p: Tensor, target: Tensor, overlap: Tensor, predicted: Tensor) -> Tensor:
        return _gradient(p, None, target, overlap, predicted, self.alpha, self.squared)


class _BinaryPowers(Form):
    """The same for any alpha; the basis is ``p`` and ``q``."""

    blocks = 4

    def basis(self, logits: Tensor, kept: Tensor | None) -> tuple[Tensor, Tensor | None]:
        return _p_and_q(_margin(logits, kept), self.alpha)

    def sums(self, basis: tuple[Tensor, Tensor | None], target: Tensor) -> Sums:
        return _sums(*basis, target, self.alpha, self.squared)

    def gradient(
        self,
        basis: tuple[Tensor, Tensor | None],
        target: Tensor,
        overlap: Tensor,
        predicted: Tensor,
    ) -> Tensor:
        return _gradient(*basis, target, overlap, predicted, self.alpha, self.squared)


class _TwoClasses(Form):
    """Both classes, alpha 0 and 1; the basis are the logits and which rows count."""

    def basis(self, logits: Tensor, kept: Tensor | None) -> tuple[Tensor, Tensor | None]:
        return logits.to(precision(logits)), kept

    def sums(self, basis: tuple[Tensor, Tensor | None], target: Tensor) -> Sums:
        (overlap_0, predicted_0), (overlap_1, predicted_1) = (
            _sums(*self._of_class(label, *basis, target), self.alpha, self.squared)
            for label in (0, 1)
        )
        return torch.cat([overlap_0, overlap_1]), torch.cat([predicted_0, predicted_1])

    def gradient(
        self,
        basis: tuple[Tensor, Tensor | None],
        target: Tensor,
        overlap: Tensor,
        predicted: Tensor,
    ) -> Tensor:
        of_0, of_1 = (
            _gradient(
                *self._of_class(label, *basis, target),
                overlap[label],
                predicted[label],
                self.alpha,
                self.squared,
            )
            for label in (0, 1)
        )
        signs = torch.arange(-1, 2, 2, dtype=of_1.dtype, device=of_1.device)
        return of_1.sub_(of_0).unsqueeze(-1) * signs

    def _of_class(
        self, label: int, x: Tensor, kept: Tensor | None, target: Tensor
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        margin = _margin(x[:, label] - x[:, 1 - label], kept)
        y = (target == label).to(x.dtype) if target.ndim == 1 else target[:, label]
        return *_p_and_q(margin, self.alpha), y


class _TwoClassPowers(_TwoClasses):
    """The same for any alpha."""

    blocks = 4


def _margin(logits: Tensor, kept: Tensor | None) -> Tensor:
    margin = logits.to(precision(logits))
    return margin if kept is None else margin.masked_fill(~kept, -torch.inf)


def _p_and_q(margin: Tensor, alpha: float) -> tuple[Tensor, Tensor | None]:
    """``p`` and, unless it follows from ``p`` without loss, ``q``."""
    p = torch.sigmoid(margin)
    return p, None if alpha in (0, 1) else decay(margin, alpha).mul_(p)


def _self_adjusted(p: Tensor, q: Tensor | None, alpha: float) -> Tensor:
    if q is not None:
        return q
    return p if alpha == 0 else torch.addcmul(p, p, p, value=-1)


def _sums(p: Tensor, q: Tensor | None, y: Tensor, alpha: float, squared: bool) -> Sums:
    q = _self_adjusted(p, q, alpha)
    predicted = (q * q if squared else q).sum(0, keepdim=True)
    gold = q * y if q is p else q.mul_(y)
    return gold.sum(0, keepdim=True), predicted


def _gradient(
    p: Tensor,
    q: Tensor | None,
    y: Tensor,
    overlap: Tensor,
    predicted: Tensor,
    alpha: float,
    squared: bool,
) -> Tensor:
    """From the gradients of both sums to that of the margin, ``[N]``."""
    gradient = y * overlap
    if squared:
        gradient = gradient.addcmul_(_self_adjusted(p, q, alpha), predicted)
    else:
        gradient = gradient.add_(predicted)
    gradient = gradient.mul_(p if q is None else q)
    if alpha == 1:
        gradient = gradient.addcmul_(gradient, p, value=-1)
    return gradient.addcmul_(gradient, p, value=-(1 + alpha))

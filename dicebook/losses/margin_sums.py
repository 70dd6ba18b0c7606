r"""The three sums of one class against the rest, from its margin.

The logit of a binary classifier is the margin of its positive class, and the difference of two
logits that of either class: a softmax of two is a sigmoid. So one column of numbers does here what
`dicebook.losses.class_sums` does with a column a class. The gradient is in closed form here too,

    dq/dm = q · (1 − (1 + α) p),    q = (1 − p)^α · p,    p = σ(m).
"""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

Sums = tuple[Tensor, Tensor, Tensor]


def binary_sums(
    logits: Tensor, target: Tensor, kept: Tensor | None, *, alpha: float, squared: bool
) -> Sums:
    """The sums ``Σ q·y``, ``Σ q`` and ``Σ y`` for the positive class of a binary classifier.

    Args:
        logits: ``[N]``, any floating dtype.
        target: ``[N]``, between 0 and 1, floating.
        kept: None or ``[N]`` bool: the examples that count. Whatever the others hold is not read.
        alpha: The decay exponent.
        squared: Whether the last two sums are of squares.

    Returns:
        The three, ``[1]`` each, float32 or float64; the first two differentiable in ``logits``.
    """
    overlap, predicted, actual, _ = _BinarySums.apply(logits, target, kept, alpha, squared)
    return overlap, predicted, actual


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
        The three, ``[2]`` each.
    """
    sums: Sums = _TwoClassSums.apply(logits, target, kept, alpha, squared)
    return sums


class _BinarySums(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(
        logits: Tensor, target: Tensor, kept: Tensor | None, alpha: float, squared: bool
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        side = _side(logits, target, kept, alpha)
        # What a custom function keeps for its backward pass has to be among its outputs.
        return *_sums(side, kept, alpha, squared), side.p

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        logits, target, kept, ctx.alpha, ctx.squared = inputs
        ctx.save_for_backward(logits, target, kept, output[3])
        ctx.mark_non_differentiable(*output[2:])
        ctx.set_materialize_grads(False)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
        logits, target, kept, p = ctx.saved_tensors
        side = _Side(p, target, _decay(logits, kept, ctx.alpha))
        of_sums = of_both_sums(gradients, p.new_zeros(1))
        gradient = _through_sums(side, kept, *of_sums, alpha=ctx.alpha, squared=ctx.squared)
        return gradient.to(logits.dtype), None, None, None, None


class _TwoClassSums(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(
        logits: Tensor, target: Tensor, kept: Tensor | None, alpha: float, squared: bool
    ) -> Sums:
        sums = [
            _sums(_side_of_class(label, logits, target, kept, alpha), kept, alpha, squared)
            for label in (0, 1)
        ]
        overlap, predicted, actual = map(torch.cat, zip(*sums, strict=True))
        return overlap, predicted, actual

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Sums) -> None:
        logits, target, kept, ctx.alpha, ctx.squared = inputs
        ctx.save_for_backward(logits, target, kept)
        ctx.mark_non_differentiable(output[2])
        ctx.set_materialize_grads(False)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
        logits, target, kept = ctx.saved_tensors
        zeros = _in_full(logits.new_zeros(2), None)
        overlap, predicted = (x.unbind(0) for x in of_both_sums(gradients, zeros))
        of_0, of_1 = (
            _through_sums(
                _side_of_class(label, logits, target, kept, ctx.alpha),
                kept,
                overlap[label],
                predicted[label],
                alpha=ctx.alpha,
                squared=ctx.squared,
            )
            for label in (0, 1)
        )
        # The margin of class 1 is x_1 - x_0.
        signs = torch.arange(-1, 2, 2, dtype=of_1.dtype, device=of_1.device)
        gradient = of_1.sub_(of_0).unsqueeze(-1) * signs
        return gradient.to(logits.dtype), None, None, None, None


class _Side(NamedTuple):
    """One class against the rest: its probability, its target, and ``(1 − p)^alpha``, ``[N]`` each.

    For ``alpha`` 0 and 1 the last is None: there it follows from ``p`` without loss.
    """

    p: Tensor
    target: Tensor
    decay: Tensor | None


def _side(margin: Tensor, target: Tensor, kept: Tensor | None, alpha: float) -> _Side:
    return _Side(torch.sigmoid(_in_full(margin, kept)), target, _decay(margin, kept, alpha))


def _side_of_class(
    label: int, logits: Tensor, target: Tensor, kept: Tensor | None, alpha: float
) -> _Side:
    x = _in_full(logits, None)
    margin = x[:, label] - x[:, 1 - label]
    y = (target == label).to(x.dtype) if target.ndim == 1 else target[:, label]
    return _side(margin, y, kept, alpha)


def _decay(margin: Tensor, kept: Tensor | None, alpha: float) -> Tensor | None:
    if alpha in (0, 1):
        return None
    # 1 - p would be 0 from a margin of 17 on; its logarithm is not. Above the threshold softplus
    # is the identity, which from 40 on is exact in float64.
    return F.softplus(_in_full(margin, kept), threshold=40).mul_(-alpha).exp_()


def _in_full(logits: Tensor, kept: Tensor | None) -> Tensor:
    x = logits if logits.dtype == torch.float64 else logits.float()
    return x if kept is None else x.masked_fill(~kept, 0.0)


def _sums(side: _Side, kept: Tensor | None, alpha: float, squared: bool) -> Sums:
    q, y = _self_adjusted(side, alpha), side.target
    if kept is not None:
        q, y = q.masked_fill(~kept, 0.0), y * kept
    predicted = (q * q if squared else q).sum(0, keepdim=True)
    actual = (y * y if squared else y).sum(0, keepdim=True)
    gold = q * y if q is side.p else q.mul_(y)
    return gold.sum(0, keepdim=True), predicted, actual.to(q.dtype)


def _self_adjusted(side: _Side, alpha: float) -> Tensor:
    if side.decay is not None:
        return side.p * side.decay
    return side.p if alpha == 0 else torch.addcmul(side.p, side.p, side.p, value=-1)


def _through_sums(
    side: _Side,
    kept: Tensor | None,
    overlap: Tensor,
    predicted: Tensor,
    *,
    alpha: float,
    squared: bool,
) -> Tensor:
    """From the gradients of the first two sums to that of the margin, ``[N]``."""
    gradient = side.target * overlap
    if squared:
        gradient = gradient.addcmul_(_self_adjusted(side, alpha), 2 * predicted)
    else:
        gradient = gradient.add_(predicted)
    gradient = gradient.mul_(side.p)
    if side.decay is not None:
        gradient = gradient.mul_(side.decay)
    elif alpha == 1:
        gradient = gradient.addcmul_(gradient, side.p, value=-1)
    gradient = gradient.addcmul_(gradient, side.p, value=-(1 + alpha))
    return gradient if kept is None else gradient.masked_fill_(~kept, 0.0)


def of_both_sums(gradients: tuple[Tensor | None, ...], unused: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of the first two outputs, ``unused`` for one that has none.

    Left to autograd, the zeros would come for the probabilities among the outputs too.
    """
    overlap, predicted = gradients[:2]
    return unused if overlap is None else overlap, unused if predicted is None else predicted


# torch asks for the signature at every call, which costs as much as a sum of a thousand numbers.
for _function in (_BinarySums, _TwoClassSums):
    setattr(_function.forward, "__signature__", inspect.signature(_function.forward))  # noqa: B010

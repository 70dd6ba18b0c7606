r"""One class against the rest: ``(1 − p)^α · p`` and its gradient, without cancellation.

The dice family looks at one class at a time. The softmax probability of class ``c`` is a sigmoid of
its margin over all other classes,

    p_c = σ(m_c),    1 − p_c = σ(−m_c),    m_c = x_c − log Σ_{j≠c} exp(x_j).

Taken as ``1 - p``, the second is exactly 0 in float32 once the margin passes 17, and the derivative
of its power is then infinite for ``0 < α < 1``. Only the top class can get there: every other has
``p ≤ ½``. So the softmax is split in two parts that never cancel: the margin of the top class, and
the others' exponentials among themselves. With α 0 or 1 nothing is raised to a power, and ``p``
itself is enough.

Tensors are class-major, ``[C, N]``: a softmax over few classes is several times faster along the
first dimension than along the last, because the inner loop then runs over the examples.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from dicebook.losses.rows import precision


class Split(NamedTuple):
    """A softmax with its top class split off.

    Attributes:
        share: ``[C, N]``, each class's share of what the top class leaves; 0 for the top class.
        left: ``[1, N]``, what the top class leaves, ``1 − p_top``.
        top: ``[1, N]`` int64, the top class.
        margin: ``[1, N]``, the top class's margin over the rest.
    """

    share: Tensor
    left: Tensor
    top: Tensor
    margin: Tensor

    def rest(self) -> Tensor:
        """``1 − p``, a new ``[C, N]``; 1 for the top class, which has no share."""
        return torch.mul(self.share, -self.left).add_(1)


def class_major(logits: Tensor) -> Tensor:
    """Turn ``[N, C]`` into a new, contiguous ``[C, N]`` of float32, or float64 if it is that."""
    x = logits.t()
    zeros = torch.zeros_like(x, dtype=precision(x), memory_format=torch.contiguous_format)
    return zeros.add_(x)  # twice as fast as copying a transposed tensor


def split_softmax(logits: Tensor, kept: Tensor | None) -> Split:
    """Take the softmax of every example, its top class split off.

    Args:
        logits: ``[N, C]``, ``C`` at least 2.
        kept: None or ``[N]`` bool; whatever the logits of the others, every ``p`` of theirs is 0.
    """
    z = class_major(logits)
    highest, top = z.max(dim=0, keepdim=True)
    z = z.scatter_(0, top, -torch.inf)
    second = z.amax(dim=0, keepdim=True).clamp_(min=torch.finfo(z.dtype).min)
    share = z.sub_(second).exp_()
    if kept is not None:
        share = share.masked_fill(~kept, 0.0)
    # Logits of -inf in every class but the top leave nothing to share out.
    total = share.sum(dim=0, keepdim=True).clamp_(min=torch.finfo(z.dtype).tiny)
    margin = highest - second - total.log()
    if kept is not None:
        margin = margin.masked_fill(~kept, -torch.inf)
    return Split(share.div_(total), torch.sigmoid(-margin), top, margin)


def self_adjusted(split: Split, rest: Tensor, alpha: float) -> Tensor:
    """``(1 − p)^alpha · p`` of every class, a new ``[C, N]``; ``rest`` is ``split.rest()``."""
    q = rest.pow(alpha).mul_(split.share).mul_(split.left)
    return q.scatter_(0, split.top, self_adjusted_sigmoid(split.margin, alpha))


def logits_gradient(split: Split, rest: Tensor, grad: Tensor, alpha: float) -> Tensor:
    r"""From the gradient of ``q = (1 − p)^alpha · p`` to that of the logits, ``[C, N]``.

    A softmax turns ``v_c = p_c · dL/dp_c`` into ``dL/dx_j = v_j − p_j Σ_c v_c``, where
    ``p · dq/dp = q · (1 + α − α / (1 − p))``. The last is infinite for a sure top class. That one
    enters through its margin instead: ``dq/dm = q · ((1 + α)(1 − p) − α)``, and ``dm/dx`` is 1 for
    itself and minus their share of the rest for the others.

    Args:
        split: From `split_softmax`.
        rest: ``split.rest()``; overwritten.
        grad: ``[C, N]``, ``q · dL/dq``; overwritten.
        alpha: The exponent.
    """
    of_top = ((1 + alpha) * split.left).sub_(alpha).mul_(grad.gather(0, split.top))
    grad = grad.mul_(rest.reciprocal_().mul_(-alpha).add_(1 + alpha)).scatter_(0, split.top, 0.0)
    total = grad.sum(dim=0, keepdim=True)
    grad = grad.addcmul_(split.share, of_top.addcmul(total, split.left), value=-1)
    return grad.scatter_(0, split.top, of_top.addcmul_(total, split.left - 1))


def decay(margin: Tensor, alpha: float) -> Tensor:
    """``(1 − p)^alpha`` for ``p = sigmoid(margin)``, of the margin's shape."""
    # 1 - p would be 0 from a margin of 17 on; its logarithm is not. Above the threshold softplus
    # is the identity, which from 40 on is exact in float64.
    return F.softplus(margin, threshold=40).mul_(-alpha).exp_()


def self_adjusted_sigmoid(margin: Tensor, alpha: float) -> Tensor:
    """``(1 − p)^alpha · p`` for ``p = sigmoid(margin)``, differentiable.

    Args:
        margin: Any shape, float32 or float64; the logit of a binary classifier is one.
        alpha: The exponent.

    Returns:
        The margin's shape.
    """
    p = torch.sigmoid(margin)
    if alpha == 0:
        return p
    return torch.addcmul(p, p, p, value=-1) if alpha == 1 else p * decay(margin, alpha)


def self_adjusted_softmax(logits: Tensor, alpha: float) -> Tensor:
    """``(1 − p)^alpha · p`` for ``p = softmax(logits)``, differentiable.

    Args:
        logits: ``[N, C]``, float32 or float64, ``C`` at least 2.
        alpha: The exponent; 0 gives ``p`` itself.

    Returns:
        ``[N, C]``.
    """
    if alpha not in (0, 1):
        q: Tensor = _SelfAdjustedSoftmax.apply(logits, alpha)
        return q
    p = torch.softmax(logits, dim=-1)
    return p if alpha == 0 else torch.addcmul(p, p, p, value=-1)


class _SelfAdjustedSoftmax(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(logits: Tensor, alpha: float) -> Tensor:
        split = split_softmax(logits, None)
        return self_adjusted(split, split.rest(), alpha).t()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        logits, ctx.alpha = inputs
        ctx.save_for_backward(logits)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (logits,) = ctx.saved_tensors
        split = split_softmax(logits, None)
        rest = split.rest()
        grad = self_adjusted(split, rest, ctx.alpha) * grad.t()
        return logits_gradient(split, rest, grad, ctx.alpha).t(), None

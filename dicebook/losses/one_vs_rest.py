r"""One class against the rest: ``(1 − p)^α · p`` and its gradient, without cancellation.

The dice family looks at one class at a time. The softmax probability of class ``c`` is a sigmoid of
its margin over all other classes,

    p_c = σ(m_c),    1 − p_c = σ(−m_c),    m_c = x_c − log Σ_{j≠c} exp(x_j).

Taken as ``1 - p``, the second is exactly 0 in float32 once the margin passes 17, and the derivative
of its power is then infinite for ``0 < α < 1``. Only the top class can get there: every other has
``p ≤ ½``. So for these exponents the softmax is kept as two parts that never cancel: the margin of
the top class, and each other class's *share* of what the top class leaves,
``share_j = p_j / (1 − p_top)``. Other exponents need only ``p``.

Tensors are class-major, ``[C, N]``: a softmax over few classes is several times faster along the
first dimension than along the last, because the inner loop then runs over the examples.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable


class Parts(NamedTuple):
    """A softmax, split so that ``(1 − p)^alpha`` does not cancel, or whole where it need not be.

    Attributes:
        share: ``[C, N]``, each class's share of what the top class leaves, 0 for the top class;
            whole: the probabilities.
        top: ``[1, N]`` int64, the top class; whole: None.
        margin: ``[1, N]``, the top class's margin over the rest; whole: None.
    """

    share: Tensor
    top: Tensor | None = None
    margin: Tensor | None = None

    def tensors(self) -> tuple[Tensor, ...]:
        """The parts that are there; `Parts` takes them back."""
        return tuple(part for part in self if part is not None)


def softmax_parts(logits: Tensor, kept: Tensor | None, alpha: float) -> Parts:
    """Take the softmax of every example, split if the exponent asks for it.

    Args:
        logits: ``[N, C]``, ``C`` at least 2.
        kept: None or ``[N]`` bool; examples that are not kept are taken as all zeros, whatever
            their logits.
        alpha: The exponent; between 0 and 1 the derivative of ``(1 − p)^alpha`` is unbounded.
    """
    dtype = logits.dtype if logits.dtype == torch.float64 else torch.float32
    z = logits.t().to(dtype).clone(memory_format=torch.contiguous_format)
    if kept is not None:
        z = z.masked_fill_(~kept, 0.0)
    if not 0 < alpha < 1:
        return Parts(torch.softmax(z, dim=0))
    highest, top = z.max(dim=0, keepdim=True)
    z = z.scatter_(0, top, -torch.inf)
    second = z.amax(dim=0, keepdim=True).clamp_(min=torch.finfo(dtype).min)
    share = z.sub_(second).exp_()
    total = share.sum(dim=0, keepdim=True)
    # Logits of -inf in every class but the top leave nothing to share out.
    share = share.div_(total.clamp(min=torch.finfo(dtype).tiny))
    return Parts(share, top, highest - second - total.log())


def probabilities(parts: Parts) -> Tensor:
    """``p``, ``[C, N]``, with 0 in place of a top class that is split off."""
    if parts.margin is None:
        return parts.share
    return parts.share * torch.sigmoid(-parts.margin)


def self_adjusted(parts: Parts, alpha: float) -> Tensor:
    """``(1 − p)^alpha · p`` of every class, ``[C, N]``; for alpha = 0 the parts' own tensor."""
    q = probabilities(parts)
    if alpha == 1:
        q = torch.addcmul(q, q, q, value=-1)
    elif alpha != 0:
        q = (1 - q).pow_(alpha).mul_(q)
    if parts.top is None or parts.margin is None:
        return q
    return q.scatter_(0, parts.top, self_adjusted_sigmoid(parts.margin, alpha))


def slopes(parts: Parts, alpha: float) -> Tensor:
    """``p · dq/dp`` of ``q = (1 − p)^alpha · p``, a new ``[C, N]``, 0 for a top class split off."""
    p = probabilities(parts)
    if alpha == 0:
        return p.clone()
    if alpha == 1:
        return torch.addcmul(p, p, p, value=-2)
    slope = (1 - p).pow_(alpha - 1).mul_(p)
    return slope.addcmul_(slope, p, value=-(1 + alpha))


def logits_gradient(parts: Parts, grad: Tensor, grad_top: Tensor | None) -> Tensor:
    r"""Through the softmax to the logits, ``[C, N]``.

    A softmax turns ``v_c = p_c · dL/dp_c`` into ``dL/dx_j = v_j − p_j Σ_c v_c``. A top class that
    is split off enters through its margin ``m``: ``dm/dx`` is 1 for itself and ``−share_j`` for the
    others.

    Args:
        parts: From `softmax_parts`.
        grad: ``[C, N]``, ``p · dL/dp`` with 0 for a top class split off; overwritten.
        grad_top: ``[1, N]``, ``dL/dm`` of the top class, or None if it is not split off.
    """
    total = grad.sum(dim=0, keepdim=True)
    if parts.top is None or parts.margin is None or grad_top is None:
        return grad.addcmul_(parts.share, total, value=-1)
    rest = torch.sigmoid(-parts.margin)
    grad = grad.addcmul_(parts.share, total * rest + grad_top, value=-1)
    return grad.scatter_(0, parts.top, grad_top - total * torch.sigmoid(parts.margin))


def self_adjusted_sigmoid(margin: Tensor, alpha: float, p: Tensor | None = None) -> Tensor:
    """``(1 − p)^alpha · p`` for ``p = sigmoid(margin)``; a binary logit is a margin.

    Args:
        margin: Any shape, float32 or float64.
        alpha: The exponent.
        p: ``sigmoid(margin)`` where it is at hand.

    Returns:
        The margin's shape; with alpha = 0 it is ``p`` itself.
    """
    p = torch.sigmoid(margin) if p is None else p
    if alpha == 0:
        return p
    if alpha == 1:
        return torch.addcmul(p, p, p, value=-1)
    # 1 - p would be 0 from a margin of 17 on, its logarithm is not.
    return p * F.logsigmoid(-margin).mul_(alpha).exp()


def sigmoid_slope(margin: Tensor, alpha: float) -> Tensor:
    """The derivative of `self_adjusted_sigmoid`, ``q (1 − p − alpha · p)``."""
    p = torch.sigmoid(margin)
    q = self_adjusted_sigmoid(margin, alpha, p)
    return torch.sigmoid(-margin).sub_(p, alpha=alpha).mul_(q)


def self_adjusted_softmax(logits: Tensor, alpha: float) -> Tensor:
    """``(1 − p)^alpha · p`` for ``p = softmax(logits)``, differentiable.

    Args:
        logits: ``[N, C]``, float32 or float64, ``C`` at least 2.
        alpha: The exponent; 0 gives ``p`` itself.

    Returns:
        ``[N, C]``.
    """
    if alpha == 0:
        return torch.softmax(logits, dim=-1)
    q: Tensor = _SelfAdjustedSoftmax.apply(logits, alpha)
    return q


class _SelfAdjustedSoftmax(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(logits: Tensor, alpha: float) -> Tensor:
        return self_adjusted(softmax_parts(logits, None, alpha), alpha).t()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        logits, ctx.alpha = inputs
        ctx.save_for_backward(logits)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (logits,) = ctx.saved_tensors
        parts = softmax_parts(logits, None, ctx.alpha)
        grad = grad.t()
        grad_top = None
        if parts.top is not None and parts.margin is not None:
            grad_top = sigmoid_slope(parts.margin, ctx.alpha) * grad.gather(0, parts.top)
        return logits_gradient(parts, slopes(parts, ctx.alpha) * grad, grad_top).t(), None

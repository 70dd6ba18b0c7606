"""Section 3 of the paper: each equation once, in the paper's notation.

Tensors are class-major, ``[C, N]``: one row a class, one column an example, unless rows ``[N, C]``
are said. A binary problem has the positive class alone, ``C = 1``. Probabilities come as
logarithms, or through margins, wherever a power or a logarithm of ``1 − p`` is taken and p may be
near 1: in float32 ``1 − p`` is 0 as soon as a margin passes 17, and the derivative of its power is
then infinite.

Options, masks and means are not here; they are in `dicebook.losses.functional`.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def probabilities(x: Tensor) -> Tensor:
    """p of each class: the softmax of the logits ``[C, N]``; of one row, the sigmoid."""
    return torch.sigmoid(x) if x.shape[0] == 1 else softmax_of_rows(x.t()).t()


def margins(x: Tensor) -> Tensor:
    r"""m of each class, ``x_c − log Σ_{j≠c} exp x_j``, so that ``p = σ(m)`` and ``1 − p = σ(−m)``.

    The sum over the others is ``(1 − p_c) Σ_j exp x_j``, which cancels only for p above one half.
    At most one class is there, and its others are summed anew. The logit of a binary classifier is
    its margin already.

    Args:
        x: Finite logits, ``[C, N]``.
    """
    if x.shape[0] == 1:
        return x
    top = x.argmax(dim=0, keepdim=True)
    others_of_top = x.scatter(0, top, torch.finfo(x.dtype).min).logsumexp(dim=0, keepdim=True)
    p = torch.softmax(x, dim=0).scatter(0, top, 0.0)
    others = x.logsumexp(dim=0, keepdim=True) + torch.log1p(-p)
    return x - others.scatter(0, top, others_of_top)


def cross_entropy(log_p: Tensor, y: Tensor | float, a: Tensor | float = 1.0) -> Tensor:
    """Equation 1 for each example, ``−Σ_j y_j log p_j``; with class weights a, Equation 2."""
    return -(a * y * log_p).sum(dim=0)


def focal(m: Tensor, gamma: float) -> Tensor:
    """Table 2's FL for each example, ``−(1 − p)^γ log p``, of the margins ``−m`` of its class."""
    return torch.exp(gamma * F.logsigmoid(m)) * F.softplus(m, threshold=50)


def dice_coefficient(overlap: Tensor, predicted: Tensor, actual: Tensor, gamma: float) -> Tensor:
    """``(2·overlap + γ) / (predicted + actual + γ)``, of an example or of a set; 1 where it is 0/0.

    One minus it is the dice loss. With ``p·y``, ``p`` and ``y`` of one example it is Equation 5
    (γ = 0) and 6, with ``p²`` and ``y²`` Equation 7; with their sums over a set Equation 8, and for
    hard predictions and γ = 0 Equations 3 and 4, F1.
    """
    return _ratio(2 * overlap + gamma, predicted + actual + gamma, gamma)


def dice_coefficient_of_mean(overlap: Tensor, mean: Tensor, gamma: float) -> Tensor:
    """`dice_coefficient`, halved above and below, with the mean of predicted and actual.

    It is one operation shorter, and costs no digit.
    """
    return _ratio(overlap + gamma / 2, mean + gamma / 2, gamma / 2)


def tversky_index(
    TP: Tensor, FP: Tensor, FN: Tensor, gamma: float, alpha: float, beta: float
) -> Tensor:
    """``(TP + γ) / (TP + α·FP + β·FN + γ)``, Equations 9 (of a set) and 10; 1 where it is 0/0.

    With ``p·y``, ``p·(1 − y)`` and ``(1 − p)·y`` of one example it is Equation 10, with their sums
    over a set Equation 9.
    """
    return _ratio(TP + gamma, TP + alpha * FP + beta * FN + gamma, gamma)


def self_adjusted(m: Tensor, alpha: float) -> Tensor:
    """``q = (1 − p)^α · p``, which Equation 12 puts in the place of p (there α = 1)."""
    return torch.exp(F.logsigmoid(m) + alpha * F.logsigmoid(-m))


def self_adjusted_of_classes(x: Tensor, alpha: float, *, near: bool = False) -> Tensor:
    """`self_adjusted` of every class, of the logits ``[C, N]``, in few operations.

    Only a class with p above one half, of which an example has one at most, needs care: for the
    others ``1 − p`` does not cancel.

    Args:
        x: Finite logits, ``[C, N]``.
        alpha: The decay exponent.
        near: Whether no two logits of an example differ by more than 60, so that no p is 0.
    """
    p = probabilities(x)
    large = p.detach().round()  # 1 or 0
    of_others = p * (1 - large)
    if near:
        log_rest = torch.log(of_others.sum(0))
    else:
        # log σ(−m), the margin from the odds of the others to the best of them. Half the largest
        # number is beyond what stands for a logit of −inf.
        others = x.sub(large, alpha=torch.finfo(x.dtype).max / 2)
        best = others.detach().amax(0)
        m = torch.log(torch.exp(others - best).sum(0)) + best - (large * x).sum(0)
        log_rest = F.logsigmoid(m)
    return p * torch.exp(alpha * (torch.log(1 - of_others) + large * log_rest))


def self_adjusted_of_rows(x: Tensor, alpha: float) -> Tensor:
    """`self_adjusted` of every class, of rows ``[N, C]``: faster on a CPU if classes are many.

    The margin is that of a row's largest class. The others share ``σ(−m)`` by their odds.
    """
    top = x.detach().max(-1, keepdim=True).indices
    others = x.scatter(-1, top, torch.finfo(x.dtype).min)
    best = others.detach().amax(-1, keepdim=True)
    odds = torch.exp(others - best)
    total = odds.sum(-1, keepdim=True)
    m = x.gather(-1, top) - best - torch.log(total)
    p = odds * (torch.sigmoid(-m) / total)
    q = p * torch.log(1 - p).mul_(alpha).exp_()
    return q.scatter(-1, top, self_adjusted(m, alpha))


def margins_against(x: Tensor, gold: Tensor, minus_x_of_gold: Tensor) -> Tensor:
    """``−m`` of the gold class of each row, ``[N]``, as `margins`, of the logits ``[N, C]``.

    Args:
        x: Finite logits, ``[N, C]``.
        gold: The index of the gold class, ``[N]``.
        minus_x_of_gold: Minus its logit, ``[N]``.
    """
    others = x.scatter(-1, gold.unsqueeze(-1), torch.finfo(x.dtype).min)
    best = others.detach().amax(-1)
    return torch.log(torch.exp(others - best.unsqueeze(-1)).sum(-1)) + best + minus_x_of_gold


#: With fewer classes, torch does not vectorise the softmax of rows on a CPU, but that of columns.
MANY = 16


def softmax_of_rows(x: Tensor, *, log: bool = False) -> Tensor:
    """The softmax of rows ``[N, C]``, or its logarithm."""
    softmax = torch.log_softmax if log else torch.softmax
    if x.device.type == "cpu" and x.shape[-1] < MANY and not torch.compiler.is_compiling():
        return softmax(x.t().contiguous(), 0).t()
    return softmax(x, -1)


def _ratio(above: Tensor, below: Tensor, gamma: float) -> Tensor:
    # Below the normal numbers a quotient has no digits, and its derivative overflows.
    tiny = torch.finfo(below.dtype).tiny
    if gamma >= tiny:
        return above / below
    empty = below < tiny
    return (above / below.masked_fill(empty, 1.0)).masked_fill(empty, 1.0)

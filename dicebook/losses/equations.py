"""Section 3 of the paper: each equation once, in the paper's notation.

Tensors are class-major, ``[C, N]``: one row a class, one column an example. A binary problem has
the positive class alone, ``C = 1``. Probabilities come as logarithms, or through margins, wherever
a power or a logarithm of ``1 − p`` is taken and p may be near 1: in float32 ``1 − p`` is 0 as soon
as a margin passes 17, and the derivative of its power is then infinite.

Options, masks and means are not here; they are in `dicebook.losses.functional`.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def probabilities(x: Tensor) -> Tensor:
    """p of each class: the softmax of the logits ``[C, N]``; of one row, the sigmoid."""
    return torch.sigmoid(x) if x.shape[0] == 1 else torch.softmax(x, dim=0)


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


def margin_of(x: Tensor, y: Tensor) -> Tensor:
    """m of one class of each example, ``[N]``, which is 1 in y where the others are 0."""
    others = x.masked_fill(y > 0, torch.finfo(x.dtype).min).logsumexp(dim=0)
    return (x * y).sum(dim=0) - others


def cross_entropy(log_p: Tensor, y: Tensor, a: Tensor | float = 1.0) -> Tensor:
    """Equation 1 for each example, ``−Σ_j y_j log p_j``; with class weights a, Equation 2."""
    return -(a * y * log_p.masked_fill(y == 0, 0.0)).sum(dim=0)  # 0 · log 0 is 0


def focal(m: Tensor, gamma: float) -> Tensor:
    """Table 2's FL for each example, ``−(1 − p)^γ log p``, of the margin m of its class."""
    # 1 − p is σ(−m), and −log p is log(1 + exp(−m)), which torch calls softplus(−m).
    return torch.exp(gamma * F.logsigmoid(-m)) * F.softplus(-m, threshold=50)


def dice_coefficient(overlap: Tensor, predicted: Tensor, actual: Tensor, gamma: float) -> Tensor:
    """``(2·overlap + γ) / (predicted + actual + γ)``, of an example or of a set; 1 where it is 0/0.

    One minus it is the dice loss. With ``p·y``, ``p`` and ``y`` of one example it is Equation 5
    (γ = 0) and 6, with ``p²`` and ``y²`` Equation 7; with their sums over a set Equation 8, and for
    hard predictions and γ = 0 Equations 3 and 4, F1.
    """
    return _ratio(2 * overlap + gamma, predicted + actual + gamma, gamma)


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


def _ratio(above: Tensor, below: Tensor, gamma: float) -> Tensor:
    # Below the normal numbers a quotient has no digits, and its derivative overflows.
    tiny = torch.finfo(below.dtype).tiny
    if gamma >= tiny:
        return above / below
    empty = below < tiny
    return (above / below.masked_fill(empty, 1.0)).masked_fill(empty, 1.0)

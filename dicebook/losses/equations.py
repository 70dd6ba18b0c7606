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


def margin_of(x: Tensor, label: Tensor) -> Tensor:
    """m of one class a row: of the logits ``[N, C]`` that of ``label``, both ``[N, 1]``."""
    return _margin_and_odds(x, label)[0]


def _margin_and_odds(x: Tensor, label: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    # The odds of the others are to the best of them, and 0 for the label; the third is their sum.
    others = _put(x, label, torch.finfo(x.dtype).min)
    best = others.detach().amax(-1, keepdim=True)
    odds = torch.exp(others - best)
    total = odds.sum(-1, keepdim=True)
    return x.gather(-1, label) - best - torch.log(total), odds, total


def cross_entropy(log_p: Tensor, y: Tensor | float, a: Tensor | float = 1.0) -> Tensor:
    """Equation 1 for each example, ``−Σ_j y_j log p_j``; with class weights a, Equation 2."""
    return -(a * y * log_p).sum(dim=0)


def focal(
    log_p: Tensor, log_rest: Tensor, y: Tensor | float, gamma: float, a: Tensor | float
) -> Tensor:
    """Table 2's FL, ``−Σ_j a_j y_j (1 − p_j)^γ log p_j``, with the y_j that is missing there."""
    return -(a * y * torch.exp(gamma * log_rest) * log_p).sum(dim=0)


def dice_coefficient(overlap: Tensor, predicted: Tensor, actual: Tensor, gamma: float) -> Tensor:
    """``(2·overlap + γ) / (predicted + actual + γ)``, of an example or of a set; 1 where it is 0/0.

    One minus it is the dice loss. With ``p·y``, ``p`` and ``y`` of one example it is Equation 5
    (γ = 0) and 6, with ``p²`` and ``y²`` Equation 7; with their sums over a set Equation 8, and for
    hard predictions and γ = 0 Equations 3 and 4, F1.
    """
    return _ratio(2 * overlap + gamma, predicted + actual + gamma)


def tversky_index(
    TP: Tensor, FP: Tensor, FN: Tensor, gamma: float, alpha: float, beta: float
) -> Tensor:
    """``(TP + γ) / (TP + α·FP + β·FN + γ)``, Equations 9 (of a set) and 10; 1 where it is 0/0.

    With ``p·y``, ``p·(1 − y)`` and ``(1 − p)·y`` of one example it is Equation 10, with their sums
    over a set Equation 9.
    """
    return _ratio(TP + gamma, TP + alpha * FP + beta * FN + gamma)


def self_adjusted(m: Tensor, alpha: float) -> Tensor:
    """``q = (1 − p)^α · p``, which Equation 12 puts in the place of p (there α = 1)."""
    return torch.exp(F.logsigmoid(m) + alpha * F.logsigmoid(-m))


def self_adjusted_of_rows(x: Tensor, alpha: float) -> Tensor:
    """q of every class from logits of rows, ``[N, C]``.

    Only a row's largest class may have p above one half, where ``1 − p`` cancels: its q is that of
    its margin m. The others share ``σ(−m)`` by their odds.
    """
    top = x.detach().max(-1, keepdim=True).indices
    m, odds, total = _margin_and_odds(x, top)
    p = odds * (torch.sigmoid(-m) / total)
    q = p * torch.log(1 - p).mul_(alpha).exp_()
    return _put(q, top, self_adjusted(m, alpha))


def _put(x: Tensor, place: Tensor, value: Tensor | float) -> Tensor:
    # A scatter is faster by itself, and torch.compile makes a kernel of its own of it.
    if not torch.compiler.is_compiling():
        return x.scatter(-1, place, value)
    return torch.where(place == torch.arange(x.shape[-1], device=x.device), value, x)


def _ratio(above: Tensor, below: Tensor) -> Tensor:
    # Below the normal numbers a quotient has no digits, and its derivative overflows.
    empty = below < torch.finfo(below.dtype).tiny
    return (above / below.masked_fill(empty, 1.0)).masked_fill(empty, 1.0)

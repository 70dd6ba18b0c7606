r"""Three sums a class, from which every set-level loss follows.

Dice, Tversky and self-adjusting dice at set level all need the same three numbers for a class:
how much predicted mass falls on its gold examples, how much is predicted at all, and how much is
gold. They are sums over examples, so those of two batches add up, while their losses do not: the
dice loss of a batch is *not* the mean of the dice losses of its halves. That is why the sums are a
value of their own here. Add them over micro-batches or processes first, take the loss last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
import torch.distributed as dist
from torch import Tensor

from dicebook.losses.class_sums import class_sums, gold_sums
from dicebook.losses.hard_negatives import keep_hard_negatives
from dicebook.losses.margin_sums import binary_sums
from dicebook.losses.one_vs_rest import self_adjusted_sigmoid, self_adjusted_softmax
from dicebook.losses.rows import Rows, binary_rows, multi_class_rows
from dicebook.losses.validation import check_classes, check_options, check_weight

Group = dist.ProcessGroup | Literal["world"] | None


@dataclass(frozen=True)
class DiceStatistics:
    """The sums of a set of examples, a class each; a value that can be added and all-reduced.

    Attributes:
        overlap: ``Σ q·y``, predicted mass on gold examples, ``[C]`` (binary: ``[1]``).
        predicted: ``Σ q`` (squared form: ``Σ q²``), ``[C]``.
        actual: ``Σ y`` (squared form: ``Σ y²``), ``[C]``.
    """

    overlap: Tensor
    predicted: Tensor
    actual: Tensor

    def __add__(self, other: DiceStatistics) -> DiceStatistics:
        """The statistics of both sets of examples together."""
        if not isinstance(other, DiceStatistics):
            return NotImplemented
        return DiceStatistics(
            self.overlap + other.overlap,
            self.predicted + other.predicted,
            self.actual + other.actual,
        )

    def __radd__(self, other: object) -> DiceStatistics:
        """Lets the builtin ``sum`` start from 0."""
        return self if other == 0 else NotImplemented

    def stack(self) -> Tensor:
        """The three sums as one tensor ``[3, C]``."""
        return torch.stack([self.overlap, self.predicted, self.actual])

    @classmethod
    def unstack(cls, sums: Tensor) -> DiceStatistics:
        """The inverse of `stack`."""
        return cls(*sums.unbind(0))

    def all_reduce(self, group: Group = "world", *, gradients: str = "mean") -> DiceStatistics:
        """The statistics of all processes together, differentiable in this process's share.

        Every process must call it. The forward communicates three numbers a class, the backward
        nothing: every process holds the same total, hence the same derivative of the loss with
        respect to it.

        Args:
            group: A process group, or ``"world"`` for the default one; None changes nothing.
            gradients: What the trainer does with the parameters' gradients of the processes.
                ``"mean"``: it averages them (DistributedDataParallel, FSDP, DeepSpeed); the
                backward multiplies by the number of processes to cancel that. ``"sum"``: it adds
                them, and nothing is multiplied.

        Returns:
            The total statistics.

        Raises:
            ValueError: ``gradients`` is neither ``"mean"`` nor ``"sum"``.
        """
        check_options(gradients=gradients)
        if group is None:
            return self
        actual_group = None if group == "world" else group
        size = dist.get_world_size(actual_group)
        local = self.stack()
        total = local.detach().clone()
        dist.all_reduce(total, group=actual_group)
        # The value of the total, the gradient of the local share.
        factor = size if gradients == "mean" else 1
        return DiceStatistics.unstack(total + factor * (local - local.detach()))

    def loss(
        self,
        *,
        smooth: float = 1.0,
        fp_weight: float | None = None,
        fn_weight: float | None = None,
        weight: Tensor | None = None,
        classes: Sequence[int] | None = None,
        absent: str = "keep",
        reduction: str = "mean",
    ) -> Tensor:
        """The set-level loss: dice (Equation 8), or Tversky if both its weights are given (9).

        Args:
            smooth: γ, added above and below the fraction line. With 0, a class with neither
                predicted nor gold mass costs 0.
            fp_weight: Tversky's α, the cost of a false positive; None for dice.
            fn_weight: Tversky's β, the cost of a false negative; None for dice.
            weight: None or ``[C]``: weights of the mean over classes.
            classes: The classes that count; None for all.
            absent: What becomes of a class without gold mass: ``"keep"`` it, so that its false
                positives cost something, or ``"skip"`` it.
            reduction: ``"mean"`` over classes, ``"sum"`` over classes, or ``"none"``.

        Returns:
            A scalar, or with ``"none"`` one loss for each class that counts.

        Raises:
            ValueError: An option out of range, or only one of the Tversky weights given.
        """
        check_options(smooth=smooth, absent=absent, reduction=reduction)
        if (fp_weight is None) != (fn_weight is None):
            raise ValueError("give both fp_weight and fn_weight (Tversky) or neither (dice)")
        if fp_weight is None or fn_weight is None:
            loss = dice_formula(self.overlap, self.predicted, self.actual, smooth)
        else:
            check_options(fp_weight=fp_weight, fn_weight=fn_weight)
            loss = tversky_formula(
                self.overlap, self.predicted, self.actual, smooth, fp_weight, fn_weight
            )
        present = None if absent == "keep" else self.actual > 0
        return average_over_classes(loss, weight, classes, present, reduction)


def dice_formula(overlap: Tensor, predicted: Tensor, actual: Tensor, smooth: float) -> Tensor:
    """``1 − (2·overlap + γ) / (predicted + actual + γ)``, elementwise; 0 where it is 0/0."""
    # The smoothing goes to what has no gradient: fewer nodes for the backward pass.
    return _one_minus_ratio(overlap + smooth / 2, predicted + (actual + smooth), smooth, times=2)


def tversky_formula(
    overlap: Tensor,
    predicted: Tensor,
    actual: Tensor,
    smooth: float,
    fp_weight: float,
    fn_weight: float,
) -> Tensor:
    """``1 − (TP + γ) / (TP + α·FP + β·FN + γ)``, elementwise; 0 where it is 0/0."""
    false_positives = predicted - overlap
    false_negatives = actual - overlap
    errors = fp_weight * false_positives + fn_weight * false_negatives
    return _one_minus_ratio(overlap + smooth, overlap + errors + smooth, smooth)


def _one_minus_ratio(
    numerator: Tensor, denominator: Tensor, smooth: float, times: float = 1
) -> Tensor:
    # Not as errors over mass: that gradient would cancel where the loss is near 1.
    one = torch.ones_like(denominator)
    if smooth > 0:
        return torch.addcdiv(one, numerator, denominator, value=-times)
    empty = denominator == 0
    loss = torch.addcdiv(one, numerator, torch.where(empty, one, denominator), value=-times)
    return torch.where(empty, torch.zeros_like(loss), loss)


def average_over_classes(
    loss: Tensor,
    weight: Tensor | None,
    classes: Sequence[int] | None,
    present: Tensor | None,
    reduction: str,
) -> Tensor:
    """Reduce the last dimension, the classes, of ``loss``.

    Args:
        loss: ``[..., C]``.
        weight: None or ``[C]``.
        classes: The classes that count; None for all.
        present: None or ``[C]`` bool: which classes are not to be skipped.
        reduction: ``"mean"``, weighted; ``"sum"``, weighted; ``"none"``.

    Returns:
        ``[...]``; with ``"none"`` ``[..., len(classes)]``.
    """
    check_classes(classes, loss.shape[-1])
    check_weight(weight, loss.shape[-1])
    if classes is not None:
        index = torch.as_tensor(classes, device=loss.device)
        loss = loss.index_select(-1, index)
        weight = None if weight is None else weight.to(loss.device).index_select(0, index)
        present = None if present is None else present.index_select(0, index)
    if weight is None and present is None:
        if reduction == "none":
            return loss
        return loss.squeeze(-1) if loss.shape[-1] == 1 else getattr(loss, reduction)(-1)
    share = loss.new_ones(loss.shape[-1]) if weight is None else weight.to(loss)
    if present is not None:
        share = share * present
    weighted = loss * share
    if reduction == "none":
        return weighted
    total = weighted.sum(-1)
    if reduction == "sum":
        return total
    shares = share.sum()
    return total / torch.where(shares == 0, torch.ones_like(shares), shares)


def statistics_of_rows(
    rows: Rows, *, alpha: float, squared: bool, ohem_ratio: float | None
) -> DiceStatistics:
    """The statistics of a checked batch (see `dice_statistics` and `binary_dice_statistics`)."""
    if ohem_ratio is None:
        sums = class_sums if rows.logits.ndim == 2 else binary_sums
        overlap, predicted = sums(rows.logits, rows.target, rows.kept, alpha=alpha, squared=squared)
        actual = gold_sums(rows.target, rows.kept, len(overlap), squared=squared)
        return DiceStatistics(overlap, predicted, actual.to(overlap.dtype))
    q, y = elements(rows, alpha=alpha)
    # Hardness is p itself: q falls again where the model is most wrong.
    scores = rows.cleaned().detach()
    scores = scores.softmax(-1) if scores.ndim == 2 else scores
    kept = keep_hard_negatives(scores, y, rows.kept, ohem_ratio)
    q, y = torch.where(kept, q, 0.0), torch.where(kept, y, 0.0)
    if q.ndim == 1:
        q, y = q.unsqueeze(-1), y.unsqueeze(-1)
    overlap = (q * y).sum(0)
    if squared:
        return DiceStatistics(overlap, (q * q).sum(0), (y * y).sum(0))
    return DiceStatistics(overlap, q.sum(0), y.sum(0))


def elements(rows: Rows, *, alpha: float) -> tuple[Tensor, Tensor]:
    """What the sums run over: ``q = (1 − p)^alpha · p`` and the targets.

    Args:
        rows: ``N`` rows, multi-class or binary.
        alpha: The decay exponent.

    Returns:
        ``q`` and ``y``, both ``[N, C]`` (binary ``[N]``).
    """
    logits = rows.cleaned()
    if logits.ndim == 1:
        return self_adjusted_sigmoid(logits, alpha), rows.target
    q = self_adjusted_softmax(logits, alpha)
    y = rows.target
    if y.ndim == 1:
        y = (y.unsqueeze(-1) == torch.arange(q.shape[-1], device=y.device)).to(q.dtype)
    return q, y


def dice_statistics(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    *,
    alpha: float = 0.0,
    squared: bool = False,
    ignore_index: int = -100,
    ohem_ratio: float | None = None,
) -> DiceStatistics:
    """The set-level statistics of a multi-class batch, each class against the rest.

    Args:
        input: Logits ``[..., C]``, any floating dtype; computed in float32 or float64.
        target: Class indices ``[...]``, or class probabilities ``[..., C]`` (soft targets).
        mask: None or ``[...]``: examples with 0 or False do not count.
        alpha: The decay exponent of ``q = (1 − p)^alpha · p``; 0 for dice and Tversky.
        squared: Whether ``predicted`` and ``actual`` sum squares (Equations 7 and 8).
        ignore_index: Examples with this class index do not count.
        ohem_ratio: None, or at most how many negatives count for each positive of a class, hardest
            (highest probability) first.

    Returns:
        The statistics, ``[C]`` each.

    Raises:
        TypeError: A dtype that is not taken.
        ValueError: Shapes that do not belong together, an option out of range, or a label outside
            ``0..C-1``.
    """
    check_options(alpha=alpha, ohem_ratio=ohem_ratio)
    rows = multi_class_rows(input, target, mask, ignore_index, soft=ohem_ratio is None)
    return statistics_of_rows(rows, alpha=alpha, squared=squared, ohem_ratio=ohem_ratio)


def binary_dice_statistics(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    *,
    alpha: float = 0.0,
    squared: bool = False,
    ignore_index: int = -100,
    ohem_ratio: float | None = None,
) -> DiceStatistics:
    """The set-level statistics of a binary batch, of the positive class alone.

    Args:
        input: Logits ``[...]`` of the positive class.
        target: ``[...]``, 0/1 or anything between (soft targets), any dtype.
        mask: None or ``[...]``: examples with 0 or False do not count.
        alpha: As in `dice_statistics`.
        squared: As in `dice_statistics`.
        ignore_index: Examples with this target do not count.
        ohem_ratio: As in `dice_statistics`.

    Returns:
        The statistics, ``[1]`` each.

    Raises:
        TypeError: A dtype that is not taken.
        ValueError: Shapes that do not belong together, an option out of range, or a target outside
            0..1.
    """
    check_options(alpha=alpha, ohem_ratio=ohem_ratio)
    rows = binary_rows(input, target, mask, ignore_index, soft=ohem_ratio is None)
    return statistics_of_rows(rows, alpha=alpha, squared=squared, ohem_ratio=ohem_ratio)

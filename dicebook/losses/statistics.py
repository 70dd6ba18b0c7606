r"""Three sums a class, from which every loss of the dice family follows.

Dice, Tversky and self-adjusting dice all need the same three numbers of a class: how much predicted
mass falls on its gold examples, how much is predicted at all, and how much is gold. (A fourth tells
squared false positives from squared false negatives.) Example level and set level differ by one
`sum`. The sums of two batches add up while their losses do not: the dice loss of a batch is *not*
the mean of the dice losses of its halves. That is why the sums are a value of their own. Add them
over micro-batches or processes first, take the loss last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor

from dicebook.losses import batch as batches
from dicebook.losses import equations
from dicebook.losses.batch import (
    Batch,
    Classes,
    Weight,
    check_classes,
    check_options,
    class_weights,
)

Group = dist.ProcessGroup | Literal["world"] | None


@dataclass(frozen=True)
class DiceStatistics:
    """The numbers of each class; a value that can be added and all-reduced.

    Attributes:
        overlap: ``Σ q·y``, predicted mass on gold examples, ``[C]`` (binary: ``[1]``). Before
            `sum`, one number an example: ``[C, N]``.
        predicted: ``Σ q`` (squared form: ``Σ q²``), of the same shape.
        actual: ``Σ y`` (squared form: ``Σ y²``), of the same shape.
        tversky_shift: What lies between the squared errors of Tversky and the three sums, of the
            same shape: ``Σ y·(y − q)·(1 + q − y)``, for hard targets ``Σ q·(1 − q)`` of the gold
            examples. False positives ``Σ q²·(1 − y)`` are ``predicted − overlap + tversky_shift``,
            misses ``Σ (1 − q)²·y`` are ``actual − overlap − tversky_shift``. None, in the linear
            form, is 0.

    Example:
        >>> logits = torch.zeros(3, 2)
        >>> first = dice_statistics(logits, torch.tensor([0, 0, 1]))
        >>> other = dice_statistics(logits, torch.tensor([1, 1, 1]))
        >>> (first + other).actual
        tensor([2., 4.])
    """

    overlap: Tensor
    predicted: Tensor
    actual: Tensor
    tversky_shift: Tensor | None = None

    def sum(self, weight: Tensor | None = None) -> DiceStatistics:
        """From one number an example to those of the set, ``[C, N]`` to ``[C]``.

        Args:
            weight: ``[N]`` or ``[C, N]``: an example of weight 2 counts as two such examples.
        """
        numbers, dtype = self._numbers(), self.overlap.dtype
        if weight is not None:
            numbers = [number * weight for number in numbers]
        return DiceStatistics(*(number.sum(-1, dtype=dtype) for number in numbers))

    def __add__(self, other: DiceStatistics) -> DiceStatistics:
        """The statistics of both sets of examples together."""
        if not isinstance(other, DiceStatistics):
            return NotImplemented
        pairs = zip(self._numbers(), other._numbers(), strict=True)
        return DiceStatistics(*(a + b for a, b in pairs))

    def __radd__(self, other: object) -> DiceStatistics:
        """Lets the builtin ``sum`` start from 0."""
        return self if other == 0 else NotImplemented

    def soft_scores(self) -> dict[str, Tensor]:
        """Soft precision, recall and F1 of each class, ``[C]``, for logging; 0 where it is 0/0.

        Raises:
            ValueError: The statistics are of the squared form; collect them with ``squared=False``.
        """
        if self.tversky_shift is not None:
            raise ValueError("soft scores need statistics of squared=False; got squares")
        overlap, predicted, actual = (number.detach() for number in self._numbers())
        totals = {"precision": predicted, "recall": actual, "f1": (predicted + actual) / 2}
        return {name: overlap / total.where(total > 0, 1.0) for name, total in totals.items()}

    def stack(self) -> Tensor:
        """The sums as one tensor, ``[3, C]`` (with ``tversky_shift`` ``[4, C]``)."""
        return torch.stack(self._numbers())

    @classmethod
    def unstack(cls, sums: Tensor) -> DiceStatistics:
        """The inverse of `stack`."""
        return cls(*sums.unbind(0))

    def all_reduce(self, group: Group = "world") -> DiceStatistics:
        """The statistics of all processes together, differentiable in this process's share.

        Every process must call it. The forward communicates these numbers, the backward
        nothing: every process holds the same total, hence the same derivative of the loss with
        respect to it.

        Args:
            group: A process group, or ``"world"`` for the default one; None changes nothing. A
                trainer averages the parameters' gradients of its processes
                (DistributedDataParallel, FSDP, DeepSpeed), so the backward multiplies by their
                number to cancel that.
        """
        if group is None:
            return self
        actual_group = None if group == "world" else group
        local = self.stack()
        total = local.detach().clone()
        dist.all_reduce(total, group=actual_group)
        # The value of the total, the gradient of the local share.
        share = dist.get_world_size(actual_group) * (local - local.detach())
        return DiceStatistics.unstack(total + share)

    def loss(
        self,
        *,
        smooth: float = 1.0,
        fp_weight: float | None = None,
        fn_weight: float | None = None,
        weight: Weight = None,
        classes: Classes = None,
        absent: str | None = None,
        average: str | None = None,
        reduction: str = "mean",
    ) -> Tensor:
        """The set-level loss: dice (Equation 8), or Tversky if both its weights are given (9).

        Args:
            smooth, weight, classes, absent, reduction: As in `dicebook.losses.functional`.
            average: ``"macro"`` or ``"micro"`` if the classes are labels of which several may hold.
            fp_weight: Tversky's α, the cost of a false positive; None for dice.
            fn_weight: Tversky's β, the cost of a false negative; None for dice.

        Returns:
            A scalar, or with ``"none"`` one loss for each class that counts.

        Raises:
            ValueError: An option out of range, or only one of the Tversky weights given.
        """
        check_options(smooth=smooth, absent=absent, reduction=reduction)
        if average is not None:
            check_options(average=average, weight=weight, absent=absent, reduction=reduction)
            absent = absent or "skip"
        prices: dict[str, Any] = {"fp_weight": fp_weight, "fn_weight": fn_weight}
        if average == "micro":
            sums = [number.sum(-1, keepdim=True) for number in self._numbers()]
            return DiceStatistics(*sums).loss(smooth=smooth, **prices)
        loss = self.loss_of_each(smooth=smooth, **prices)
        if absent is None:
            absent = "skip" if len(self.actual) > 1 and classes is None else "keep"
        present = self.actual.sign() if absent == "skip" else None
        return average_over_classes(loss, weight, classes, present, reduction)

    def loss_of_each(
        self, *, smooth: float = 1.0, fp_weight: float | None = None, fn_weight: float | None = None
    ) -> Tensor:
        """The loss of each class (before `sum`: of each class and example), of the sums' shape.

        Options and errors are those of `loss`.
        """
        check_options(smooth=smooth)
        overlap, predicted, actual = self.overlap, self.predicted, self.actual
        if fp_weight is None and fn_weight is None:
            return 1 - equations.dice_coefficient(overlap, predicted, actual, smooth)
        if fp_weight is None or fn_weight is None:
            raise ValueError("give both fp_weight and fn_weight (Tversky) or neither (dice)")
        check_options(fp_weight=fp_weight, fn_weight=fn_weight)
        FP, FN = predicted - overlap, actual - overlap
        if self.tversky_shift is not None:
            FP, FN = FP + self.tversky_shift, FN - self.tversky_shift
        return 1 - equations.tversky_index(overlap, FP, FN, smooth, fp_weight, fn_weight)

    def _numbers(self) -> list[Tensor]:
        numbers = (self.overlap, self.predicted, self.actual, self.tversky_shift)
        return [tensor for tensor in numbers if tensor is not None]


def average_over_classes(
    loss: Tensor,
    weight: Weight,
    classes: Classes,
    present: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Reduce the classes of ``[C]`` or ``[C, N]``; the mean is 0 where no class counts.

    Args:
        loss, weight, classes, reduction: As in `DiceStatistics.loss`.
        present: None or ``[C]``: 1 for the classes that count, 0 for those that are skipped.
    """
    check_classes(classes, loss.shape[0])
    share = loss.new_ones(loss.shape[0]) if present is None else present
    if (weights := class_weights(weight, loss.shape[0])) is not None:
        share = share * weights.to(loss)
    if classes is not None:
        index = torch.as_tensor(classes).to(loss.device)
        loss, share = loss.index_select(0, index), share.index_select(0, index)
    loss = loss * share.reshape(-1, *[1] * (loss.ndim - 1))
    if reduction != "mean":
        return loss if reduction == "none" else loss.sum(0)
    total = share.sum()
    return loss.sum(0) / total.masked_fill(total == 0, 1.0)


def of_examples(
    batch: Batch, alpha: float, squared: bool, ohem_ratio: float | None
) -> DiceStatistics:
    """The numbers of each class and example, ``[C, N]``; 0 where an example does not count.

    Options are those of `dice_statistics`.
    """
    x, y, dropped = batch.logits, batch.target, batch.dropped
    # A binary logit is its margin already. Of classes, margins are for 1 − p and for ranks.
    m = equations.margins(x) if batch.exclusive and (alpha > 0 or ohem_ratio is not None) else x
    if alpha > 0:
        q = equations.self_adjusted(m, alpha)
    else:
        q = equations.probabilities(x) if batch.exclusive else torch.sigmoid(x)
    if ohem_ratio is not None:
        dropped = ~hardest(m, y, dropped, ohem_ratio)
        y = y.masked_fill(dropped, 0.0)
    if dropped is not None:
        q = q.masked_fill(dropped, 0.0)
    overlap = q * y
    if not squared:
        return DiceStatistics(overlap, q, y)
    return DiceStatistics(overlap, q * q, y * y, y * (y - q) * (q + (1 - y)))


def hardest(m: Tensor, y: Tensor, dropped: Tensor | None, ratio: float) -> Tensor:
    """Online hard example mining: which examples count, ``[C, N]`` bool.

    For each class all positives count, and of the negatives at most ``ratio`` for each positive,
    rounded down: those with the highest margin m. A class without a positive keeps none. Margins
    rank as p does, without the ties of probabilities that have rounded to 1.
    """
    positive, negative = y > 0, y == 0
    if dropped is not None:
        positive, negative = positive & ~dropped, negative & ~dropped
    hardness = m.detach().masked_fill(~negative, -torch.inf)
    rank = hardness.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
    allowed = (positive.sum(-1, keepdim=True) * ratio).floor()
    return positive | (negative & (rank < allowed))


def set_statistics(
    batch: Batch, alpha: float, squared: bool, ohem_ratio: float | None
) -> DiceStatistics:
    """The statistics of a checked batch, ``[C]``."""
    check_options(alpha=alpha, ohem_ratio=ohem_ratio)
    if ohem_ratio is not None and batch.weight is not None:
        raise ValueError("ohem_ratio counts examples; got sample_weight beside it")
    return of_examples(batch, alpha, squared, ohem_ratio).sum(batch.weight)


def dice_statistics(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    sample_weight: Tensor | None = None,
    *,
    alpha: float = 0.0,
    squared: bool = False,
    ignore_index: int = -100,
    ohem_ratio: float | None = None,
) -> DiceStatistics:
    """The set-level statistics of a multi-class batch, each class against the rest.

    Arguments and errors are those of the losses, see `dicebook.losses.functional`.

    Args:
        alpha: The decay exponent of ``q = (1 − p)^alpha · p``; 0 for dice and Tversky.
        squared: Whether ``predicted`` and ``actual`` (Equations 7 and 8) and Tversky's errors sum
            squares.

    Returns:
        The statistics, ``[C]`` each.

    Example:
        >>> target = torch.tensor([0, 0, 1])
        >>> dice_statistics(torch.zeros(3, 2), target).actual
        tensor([2., 1.])
    """
    arguments = (input, target, mask, sample_weight, ignore_index)
    batch = batches.multi_class(*arguments, soft=ohem_ratio is None)
    return set_statistics(batch, alpha, squared, ohem_ratio)


def binary_dice_statistics(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    sample_weight: Tensor | None = None,
    *,
    alpha: float = 0.0,
    squared: bool = False,
    ignore_index: int = -100,
    ohem_ratio: float | None = None,
) -> DiceStatistics:
    """As `dice_statistics`, with one logit an example; of the positive class alone, ``[1]``.

    Example:
        >>> target = torch.tensor([0, 0, 1])
        >>> binary_dice_statistics(torch.zeros(3), target).actual
        tensor([1.])
    """
    arguments = (input, target, mask, sample_weight, ignore_index)
    batch = batches.decisions(*arguments, soft=ohem_ratio is None)
    return set_statistics(batch, alpha, squared, ohem_ratio)

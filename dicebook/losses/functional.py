r"""The losses as functions, in the manner of ``torch.nn.functional``.

Every function is called with ``(input, target, mask=None)`` and keyword options, flattens whatever
leading dimensions there are, computes in float32 (float64 stays) and gives a loss that is 0, and
still attached to the graph, where no example counts. A form that begins with ``binary_`` takes one
logit an example, that of the positive class; one that begins with ``multi_label_`` takes one logit
for each label that an example may have.

``input``
    Logits, any floating dtype: ``[..., C]``; binary ``[...]``; multi-label ``[..., L]``.
``target``
    Class indices ``[...]``, or (but not for focal) class probabilities ``[..., C]``, soft targets;
    binary and multi-label of the input's shape: 0/1, or anything between, any dtype.
``mask``
    None or ``[...]``: examples with 0 or False do not count. Multi-label also ``[..., L]``: the
    labels that are unknown for an example do not count.
``ignore_index``
    Examples with this target do not count; −100.
``reduction``
    ``"mean"``; ``"sum"``: over examples, in the dice family at set level over classes; ``"none"``:
    one loss an example ``[...]``, at set level one a class, ``[C]`` or ``[len(classes)]``.
``weight``
    None or ``[C]``, a list or tensor. Cross entropy and focal: the weight of each class (binary:
    ``[2]``, of the negative and the positive class); the mean divides by the *number* of examples,
    as the equations do, where ``torch.nn.CrossEntropyLoss`` divides by the sum of their weights.
    The ``alpha`` of torchvision's focal loss is ``weight=[1 - alpha, alpha]`` here.
    Dice family: the weights of the mean over classes.
``label_smoothing``
    The share of each target that all classes have in equal parts, from 0 to 1, as in
    ``torch.nn.CrossEntropyLoss``; cross entropy alone. For any other loss give soft targets.
``counts``
    How often each class occurs in training, ``[C]``, or its share; all positive.
``tau``
    How much of the log-prior is added, at least 0; 0 is cross entropy.
``gamma``
    The focusing exponent of focal loss; 2 as in Lin et al. (2017); 0 is cross entropy.
``smooth``
    γ; 1, as in the paper. At example level the gradient of an easy negative is ``1/γ``; at set
    level γ matters only for classes with few examples in the batch, which it keeps from jumping
    between 0 and 1. With 0, an empty class costs 0.
``squared``
    Whether the denominator sums squares (Equations 7 and 8), the default, since linear denominators
    often leave a model with the majority class from a standing start.
``alpha``
    The decay exponent of self-adjusting dice; see there.
``fp_weight``
    Tversky's α, the price of a false positive; higher favours precision.
``fn_weight``
    Tversky's β, the price of a false negative; higher favours recall.
``level``
    ``"set"``, the default: one loss of the sums over all examples; only this form approximates 1 −
    F1. ``"example"``: the mean of one loss an example; for hard predictions the dice loss is then
    the error rate over ``1 + γ``.
``average``
    Multi-label: ``"macro"``, the mean of one loss a label, which approximates 1 − macro F1; or
    ``"micro"``, one loss of the decisions on all labels together, which approximates 1 − micro F1.
``classes``
    The classes that count, for instance all but ``O``; None for all.
``absent``
    What becomes of a class without gold example in the set (set level only): ``"skip"`` it, or
    ``"keep"`` it, so that its false positives cost something. None, the default, skips it where
    all classes count: kept, the many rare classes that a batch lacks push down what they share with
    those it holds. With ``classes`` given it keeps it: else nothing would ask an example of a
    class left out to be of that class. Multi-label: with ``"skip"``, the default, a rare label
    learns from batches that hold it, where it is more frequent than elsewhere, and may be predicted
    too often; with ``"keep"`` it is seldom predicted at all.
``ohem_ratio``
    None, or at most how many negatives count for each positive of a class, hardest first, chosen in
    this process's batch (set level and hard targets only).
``process_group``
    None: the set is this process's batch. A group or ``"world"``: the batch of all its processes,
    exact under trainers that average gradients, such as DistributedDataParallel (set level only).

All raise ``TypeError`` for a dtype that is not taken, and ``ValueError`` for shapes that do not
belong together, an option out of range or at the wrong level, and a label outside ``0..C-1``
(binary: a target outside 0..1).
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from dicebook.losses import batch as batches
from dicebook.losses import equations
from dicebook.losses.batch import Batch, Rows, Weight, check_options, class_counts, class_weights
from dicebook.losses.statistics import (
    Group,
    average_over_classes,
    binary_dice_statistics,
    dice_statistics,
    multi_label_dice_statistics,
    of_examples,
    of_rows,
)

__all__ = [
    "binary_cross_entropy",
    "binary_dice",
    "binary_dice_statistics",
    "binary_focal",
    "binary_self_adjusting_dice",
    "binary_tversky",
    "cross_entropy",
    "dice",
    "dice_statistics",
    "focal",
    "log_ratio_weights",
    "logit_adjusted_cross_entropy",
    "multi_label_dice",
    "multi_label_dice_statistics",
    "self_adjusting_dice",
    "tversky",
]


def log_ratio_weights(counts: Tensor | Sequence[int], K: float = 1.0) -> Tensor:
    r"""Class weights ``lg((n − n_t) / n_t + K)`` (below Equation 2, Section 3.2).

    The paper asks for weights in [0, 1]; its formula does not keep to that. A class of nine
    examples in ten gets −0.95 with ``K=0``, and a class of one in a hundred gets 2.0 with ``K=1``.
    With ``K=1``, the default, the weight is ``lg(n / n_t)``, which is never negative.

    Args:
        counts: How many training examples each class has, ``[C]``, all positive.
        K: The paper's constant.

    Returns:
        The weights, ``[C]``, float32, base-10 logarithms.

    Raises:
        ValueError: A count is not positive, or ``K`` is so low that a logarithm does not exist.
    """
    numbers = torch.as_tensor(counts, dtype=torch.float64)
    if numbers.ndim != 1 or numbers.numel() < 2 or not bool((numbers > 0).all()):
        raise ValueError(f"counts must be at least two positive numbers; got {counts!r}")
    inside = (numbers.sum() - numbers) / numbers + K
    if not bool((inside > 0).all()):
        raise ValueError(f"(n - n_t) / n_t + K must be positive for every class; got K={K!r}")
    return inside.log10().float()


def cross_entropy(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    *,
    weight: Weight = None,
    label_smoothing: float = 0.0,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Cross entropy, weighted if ``weight`` is given (Equations 1 and 2). The floor is 0."""
    check_options(label_smoothing=label_smoothing)
    if label_smoothing == 0 and not batches.is_soft(target):
        rows = batches.rows(input, target, mask, ignore_index)
        log_p = rows.of_gold(torch.log_softmax(rows.logits, dim=-1))
        return _of_gold(rows, partial(equations.cross_entropy, log_p[None]), weight, reduction)
    batch = batches.multi_class(input, target, mask, ignore_index, soft=True)
    if label_smoothing > 0:
        classes = batch.target.shape[0]
        smoothed = (1 - label_smoothing) * batch.target + label_smoothing / classes
        batch = batch._replace(target=smoothed)
    return _cross_entropy(batch, torch.log_softmax(batch.logits, dim=0), weight, reduction)


def logit_adjusted_cross_entropy(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    *,
    counts: Tensor | Sequence[float],
    tau: float = 1.0,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Cross entropy of ``input + tau · log(counts / Σ counts)`` (Menon et al., 2021, Equation 10).

    The prior is added in training alone: a model whose logits have learnt to do without it predicts
    by ``input``, for balanced accuracy at ``tau = 1``. The floor is 0.
    """
    check_options(tau=tau)
    batches.check_logits(input)
    wide = input if input.dtype == torch.float64 else input.float()
    prior = class_counts(counts, input.shape[-1]).to(wide)
    adjusted = wide + tau * (prior / prior.sum()).log()
    return cross_entropy(adjusted, target, mask, ignore_index=ignore_index, reduction=reduction)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    *,
    weight: Weight = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Cross entropy of the two logits ``[0, input]`` (Equations 1 and 2). The floor is 0."""
    batch = _both_classes(batches.binary(input, target, mask, ignore_index, soft=True))
    return _cross_entropy(batch, F.logsigmoid(batch.logits), weight, reduction)


def focal(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    *,
    gamma: float = 2.0,
    weight: Weight = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Focal loss, ``−weight[t] · (1 − p_t)^gamma · log p_t`` (Table 2's FL; Lin et al., 2017).

    Cross entropy in which an example fades as the model gets it right. Soft targets are refused:
    the factor is about *the* gold class. The floor is 0.
    """
    check_options(gamma=gamma)
    rows = batches.rows(input, target, mask, ignore_index)
    m = equations.margin_of(rows.logits, rows.labels[:, None]).t()
    loss = partial(equations.focal, F.logsigmoid(m), F.logsigmoid(-m), gamma=gamma)
    return _of_gold(rows, loss, weight, reduction)


def binary_focal(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    *,
    gamma: float = 2.0,
    weight: Weight = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Focal loss of the two logits ``[0, input]`` (Table 2's FL). The floor is 0."""
    check_options(gamma=gamma, reduction=reduction)
    batch = _both_classes(batches.binary(input, target, mask, ignore_index, soft=False))
    m, a = batch.logits, _weight_of_each(weight, batch.logits)
    loss = equations.focal(F.logsigmoid(m), F.logsigmoid(-m), batch.target, gamma, a)
    return batch.reduce(loss, reduction)


def dice(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    *,
    smooth: float = 1.0,
    squared: bool = True,
    level: str = "set",
    weight: Weight = None,
    classes: Sequence[int] | None = None,
    absent: str | None = None,
    ohem_ratio: float | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    process_group: Group = None,
) -> Tensor:
    """Dice loss of every class against the rest, averaged over classes.

    With ``p`` the probability of the class and ``y`` its target,

    - ``level="set"``: ``1 − (2 Σ p·y + γ) / (Σ p² + Σ y² + γ)``, Equation 8;
    - ``level="example"``: the mean of ``1 − (2 p·y + γ) / (p² + y² + γ)``, Equation 7;
    - ``squared=False``: the same with ``p`` and ``y`` below the fraction line, at example level one
      minus Equation 6.

    The floor is 0, approached as the logits saturate. At example level an example costs at most
    ``1/(1 + γ)`` a class. At huge logits every gradient of the dice family is 0.
    """
    batch = _multi_class(input, target, mask, ignore_index, level, ohem_ratio)
    over = weight, classes, absent
    common = smooth, squared, level, ohem_ratio, reduction, process_group
    return _dice_family(batch, common, over)


def binary_dice(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    *,
    smooth: float = 1.0,
    squared: bool = True,
    level: str = "set",
    ohem_ratio: float | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    process_group: Group = None,
) -> Tensor:
    """Dice loss of the positive class (Equations 5 to 8); see `dice`."""
    batch = batches.binary(input, target, mask, ignore_index, soft=ohem_ratio is None)
    common = smooth, squared, level, ohem_ratio, reduction, process_group
    return _dice_family(batch, common)


def multi_label_dice(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    *,
    average: str = "macro",
    alpha: float = 0.0,
    smooth: float = 1.0,
    squared: bool = True,
    weight: Weight = None,
    absent: str | None = None,
    ohem_ratio: float | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    process_group: Group = None,
) -> Tensor:
    """Dice loss at set level for examples that have any number of labels at once.

    Each label is a binary problem of its own, with its sigmoid. With ``"macro"`` it has the
    `binary_dice` of its decisions, and the loss is the mean over labels, weighted by ``weight``.
    With ``"micro"`` the loss is the `binary_dice` of all decisions, so that a rare label hardly
    counts; ``weight``, ``absent`` and a reduction over labels have no meaning there. With ``alpha``
    above 0 it is `self_adjusting_dice`.
    """
    check_alpha(alpha)
    check_options(squared=squared, process_group=process_group)
    collect = partial(multi_label_dice_statistics, input, target, mask, ignore_index=ignore_index)
    statistics = collect(alpha=alpha, squared=squared, ohem_ratio=ohem_ratio)
    return statistics.all_reduce(process_group).loss(
        average=average, smooth=smooth, weight=weight, absent=absent, reduction=reduction
    )


def tversky(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    *,
    fp_weight: float = 0.5,
    fn_weight: float = 0.5,
    smooth: float = 1.0,
    squared: bool = True,
    level: str = "set",
    weight: Weight = None,
    classes: Sequence[int] | None = None,
    absent: str | None = None,
    ohem_ratio: float | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    process_group: Group = None,
) -> Tensor:
    """Tversky loss of every class against the rest, averaged over classes.

    - ``level="set"``: ``1 − (TP + γ) / (TP + α·FP + β·FN + γ)``, one minus Equation 9;
    - ``level="example"``: the mean of the same for one example, Equation 10.

    With ``squared=False`` they are the paper's: ``TP = Σ p·y``, ``FP = Σ p·(1 − y)``,
    ``FN = Σ (1 − p)·y``. The default squares the errors, ``FP = Σ p²·(1 − y)`` and
    ``FN = Σ (1 − p)²·y`` (soft targets: ``(p − y)²`` for both squares), which is the same for hard
    predictions, and trains from a standing start. With both weights at one half, either form is the
    dice loss of that form at twice the smoothing. It approximates ``1 − F_β`` only if the two
    weights sum to 1. The floor is 0, approached as the logits saturate.
    """
    batch = _multi_class(input, target, mask, ignore_index, level, ohem_ratio)
    over = weight, classes, absent
    common = smooth, squared, level, ohem_ratio, reduction, process_group
    return _dice_family(batch, common, over, prices=(fp_weight, fn_weight))


def binary_tversky(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    *,
    fp_weight: float = 0.5,
    fn_weight: float = 0.5,
    smooth: float = 1.0,
    squared: bool = True,
    level: str = "set",
    ohem_ratio: float | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    process_group: Group = None,
) -> Tensor:
    """Tversky loss of the positive class (Equations 9 and 10); see `tversky`."""
    batch = batches.binary(input, target, mask, ignore_index, soft=ohem_ratio is None)
    common = smooth, squared, level, ohem_ratio, reduction, process_group
    return _dice_family(batch, common, prices=(fp_weight, fn_weight))


def self_adjusting_dice(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    *,
    alpha: float = 0.1,
    smooth: float = 1.0,
    squared: bool = True,
    level: str = "set",
    weight: Weight = None,
    classes: Sequence[int] | None = None,
    absent: str | None = None,
    ohem_ratio: float | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    process_group: Group = None,
) -> Tensor:
    """Self-adjusting dice loss, the paper's DSC: `dice` with ``q = (1 − p)^alpha · p`` for ``p``.

    ``alpha=1, squared=False, level="example"`` is Equation 12. The exponent has a price: ``q``
    grows with ``p`` only up to the *turning point* ``1/(1 + alpha)``, and from there on a positive
    example is pushed back. Equation 12 turns at .5, where the prediction flips; the default, .1,
    turns at .91; the paper's code uses .01, which is plain dice but for a hair; 0 is plain dice.

    The floor is not 0, for ``q`` is at most ``alpha^alpha / (1 + alpha)^(1 + alpha)``. At example
    level with γ = 1 a positive costs at least .105 (alpha .1), .258 (.5) or .333 (1) in the linear
    form.

    Warns:
        UserWarning: Once for each ``alpha`` of 0.5 or more.
    """
    check_alpha(alpha)
    batch = _multi_class(input, target, mask, ignore_index, level, ohem_ratio)
    over = weight, classes, absent
    common = smooth, squared, level, ohem_ratio, reduction, process_group
    return _dice_family(batch, common, over, alpha=alpha)


def binary_self_adjusting_dice(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    *,
    alpha: float = 0.1,
    smooth: float = 1.0,
    squared: bool = True,
    level: str = "set",
    ohem_ratio: float | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    process_group: Group = None,
) -> Tensor:
    """Self-adjusting dice loss of the positive class; see `self_adjusting_dice`."""
    check_alpha(alpha)
    batch = batches.binary(input, target, mask, ignore_index, soft=ohem_ratio is None)
    common = smooth, squared, level, ohem_ratio, reduction, process_group
    return _dice_family(batch, common, alpha=alpha)


def check_alpha(alpha: float) -> None:
    """Check ``alpha``, and warn once for each value whose turning point is low.

    Raises:
        ValueError: ``alpha`` is not a finite number of at least 0.
    """
    check_options(alpha=alpha)
    if alpha >= 0.5 and not torch.compiler.is_compiling():
        _warn_turning_point(alpha)


@functools.cache
def _warn_turning_point(alpha: float) -> None:
    warnings.warn(
        f"alpha={alpha:g}: (1 - p)^alpha * p falls again beyond p = 1/(1 + alpha) = "
        f"{1 / (1 + alpha):.2f}, so a positive example above that probability is pushed back down; "
        "values below 0.5 avoid most of it",
        stacklevel=4,
    )


def _weight_of_each(weight: Weight, like: Tensor) -> Tensor | float:
    numbers = class_weights(weight, like.shape[0])
    return 1.0 if numbers is None else numbers.to(like).unsqueeze(-1)


def _both_classes(batch: Batch) -> Batch:
    # The margin of the negative class is minus that of the positive one.
    x, y = batch.logits, batch.target
    return batch._replace(logits=torch.cat([-x, x]), target=torch.cat([1 - y, y]))


def _of_gold(rows: Rows, equation: Callable[..., Tensor], weight: Weight, reduction: str) -> Tensor:
    """An equation of the gold class alone, ``[1, N]``, where y is 1."""
    check_options(reduction=reduction)
    a = class_weights(weight, rows.logits.shape[-1])
    of_each = 1.0 if a is None else a.to(rows.logits)[rows.labels][None]
    return rows.reduce(equation(y=1.0, a=of_each), reduction)


def _cross_entropy(batch: Batch, log_p: Tensor, weight: Weight, reduction: str) -> Tensor:
    check_options(reduction=reduction)
    loss = equations.cross_entropy(log_p, batch.target, _weight_of_each(weight, log_p))
    return batch.reduce(loss, reduction)


def _multi_class(*given: Any) -> Batch | Rows:
    *batch, level, ohem_ratio = given
    if level == "set" and ohem_ratio is None and not batches.is_soft(batch[1]):
        return batches.rows(*batch)
    return batches.multi_class(*batch, soft=ohem_ratio is None)


def _dice_family(
    batch: Batch | Rows,
    common: tuple[float, bool, str, float | None, str, Group],
    over: tuple[Weight, Sequence[int] | None, str | None] = (None, None, None),
    prices: tuple[float | None, float | None] = (None, None),
    alpha: float = 0.0,
) -> Tensor:
    """``over``: weight, classes and absent; ``prices``: Tversky's two weights, none for dice."""
    smooth, squared, level, ohem_ratio, reduction, process_group = common
    (weight, classes, absent), (fp_weight, fn_weight) = over, prices
    check_options(
        squared=squared,
        level=level,
        reduction=reduction,
        absent=absent,
        ohem_ratio=ohem_ratio,
        process_group=process_group,
    )
    unsure = fp_weight is not None
    form: dict[str, Any] = {"smooth": smooth, "fp_weight": fp_weight, "fn_weight": fn_weight}
    if isinstance(batch, Rows):
        sums = of_rows(batch, alpha, squared, unsure=unsure)
    else:
        numbers = of_examples(batch, alpha, squared, ohem_ratio, unsure=unsure)
        if level == "example":
            loss = average_over_classes(numbers.loss_of_each(**form), weight, classes)
            return batch.reduce(loss, reduction)
        sums = numbers.sum()
    return sums.all_reduce(process_group).loss(
        weight=weight, classes=classes, absent=absent, reduction=reduction, **form
    )

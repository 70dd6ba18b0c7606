"""The losses as functions, in the manner of ``torch.nn.functional``.

Every function takes ``(input, target, mask=None, sample_weight=None)`` and options by name. It
flattens the leading dimensions, computes in float32 (float64 stays), and returns a loss that is 0,
and still attached to the graph, where no example counts. A name that begins with ``binary_`` takes
one logit an example, that of the positive class; `multi_label_dice` takes one logit for each label
that an example may have. All of them take these arguments:

``input``
    Logits, any floating dtype: ``[..., C]``, the classes last, where torch's own losses have them
    second; binary ``[...]``; multi-label ``[..., L]``.
``target``
    Class indices ``[...]``, or (but not for focal loss) class probabilities ``[..., C]``, soft
    targets; binary and multi-label of the input's shape: 0/1, or anything between, any dtype.
``mask``
    None or ``[...]``, of 0 and 1 or of booleans: examples with 0 or False do not count.
    Multi-label also ``[..., L]``: the labels that are unknown for an example do not count.
``sample_weight``
    None, or the weights of the examples, of the shapes of ``mask``: finite numbers of at least 0.
    An example of weight 2 counts as two such examples, in every mean, sum and set: a mean over
    examples divides by the sum of the weights, and at set level the sums ``Σ p·y``, ``Σ p²`` and
    ``Σ y²`` are weighted. Weight 0 is a mask. Not with ``ohem_ratio``, which counts examples.
``ignore_index``
    Examples with this target do not count.
``reduction``
    ``"mean"``; ``"sum"``: over examples, in the dice family at set level over classes; ``"none"``:
    one loss an example ``[...]``, at set level one a class, ``[C]`` or ``[len(classes)]``.

All raise ``TypeError`` for a dtype that is not taken, and ``ValueError`` for shapes that do not
belong together, an option out of range or at the wrong level, and a label outside ``0..C-1``
(binary: a target outside 0..1). What the other options mean stands with the function that has them;
for the dice family with `dice`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from dicebook.losses import batch as batches
from dicebook.losses import equations
from dicebook.losses.batch import (
    Absent,
    Average,
    Batch,
    Classes,
    Level,
    Reduction,
    Weight,
    check_options,
    class_counts,
    class_weights,
)
from dicebook.losses.statistics import (
    Group,
    average_over_classes,
    binary_dice_statistics,
    dice_statistics,
    of_examples,
    set_statistics,
)

__all__ = [
    "balanced_weights",
    "binary_cross_entropy",
    "binary_dice",
    "binary_dice_statistics",
    "binary_focal",
    "cross_entropy",
    "dice",
    "dice_statistics",
    "focal",
    "log_ratio_weights",
    "logit_adjusted_cross_entropy",
    "multi_label_dice",
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

    Example:
        >>> log_ratio_weights([90, 10])
        tensor([0.0458, 1.0000])
    """
    numbers = torch.as_tensor(counts, dtype=torch.float64)
    if numbers.ndim != 1 or numbers.numel() < 2 or not bool((numbers > 0).all()):
        raise ValueError(f"counts must be at least two positive numbers; got {counts!r}")
    inside = (numbers.sum() - numbers) / numbers + K
    if not bool((inside > 0).all()):
        raise ValueError(f"(n - n_t) / n_t + K must be positive for every class; got K={K!r}")
    return inside.log10().float()


def balanced_weights(counts: Tensor | Sequence[int], power: float = 1.0) -> Tensor:
    """Class weights ``(n / (C · n_t))^power``, by which rarer classes count for more.

    With ``power=1`` all classes have the same total weight, as with ``"balanced"`` in scikit-learn.
    Lower powers are milder: 0.5 is usual where classes differ by orders of magnitude, and 0 gives
    equal weights.

    Args:
        counts: How many training examples each class has, ``[C]``, all positive.
        power: A finite number of at least 0.

    Returns:
        The weights, ``[C]``, float32.

    Raises:
        ValueError: A count is not positive, or ``power`` is out of range.

    Example:
        >>> balanced_weights([90, 10])
        tensor([0.5556, 5.0000])
    """
    check_options(power=power)
    numbers = class_counts(counts).double()
    return (numbers.sum() / (len(numbers) * numbers)).pow(power).float()


def cross_entropy(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    sample_weight: Tensor | None = None,
    *,
    weight: Weight = None,
    label_smoothing: float = 0.0,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
) -> Tensor:
    """Cross entropy, ``−Σ_c weight[c] · y_c · log p_c``, of each example (Equations 1 and 2).

    The floor is 0.

    Args:
        weight: None or ``[C]``, a list or tensor, the weight of each class. The mean divides by the
            *number* of examples, as the equations do, where ``torch.nn.CrossEntropyLoss`` divides
            by the sum of their weights.
        label_smoothing: The share of each target that all classes have in equal parts, from 0 to 1,
            as in ``torch.nn.CrossEntropyLoss``. For any other loss give soft targets.
    """
    check_options(label_smoothing=label_smoothing, reduction=reduction)
    soft = label_smoothing > 0 or batches.is_soft(target)
    arguments = (input, target, mask, sample_weight, ignore_index)
    batch = batches.multi_class(*arguments, soft=True, finite=soft)
    y, classes = batch.target, len(batch.target)
    if label_smoothing > 0:
        y = (1 - label_smoothing) * y + label_smoothing / classes
    log_p = torch.log_softmax(batch.logits, 0)
    return batch.reduce(equations.cross_entropy(log_p, y, _of_classes(weight, log_p)), reduction)


def logit_adjusted_cross_entropy(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    sample_weight: Tensor | None = None,
    *,
    counts: Tensor | Sequence[float],
    tau: float = 1.0,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
) -> Tensor:
    """Cross entropy of ``input + tau · log(counts / Σ counts)`` (Menon et al., 2021, Equation 10).

    The prior is added in training alone: a model whose logits have learnt to do without it predicts
    by ``input``, for balanced accuracy at ``tau = 1``. The floor is 0.

    Args:
        counts: How often each class occurs in training, ``[C]``, or its share; all positive.
        tau: How much of the log prior is added, at least 0; 0 is cross entropy.
    """
    check_options(tau=tau)
    batches.check_logits(input)
    wide = input if input.dtype == torch.float64 else input.float()
    prior = class_counts(counts, input.shape[-1]).to(wide)
    adjusted = wide + tau * (prior / prior.sum()).log()
    options: dict[str, Any] = {"ignore_index": ignore_index, "reduction": reduction}
    return cross_entropy(adjusted, target, mask, sample_weight, **options)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    sample_weight: Tensor | None = None,
    *,
    weight: Weight = None,
    pos_weight: Weight | float = None,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
) -> Tensor:
    """Cross entropy of the two logits ``[0, input]`` (Equations 1 and 2). The floor is 0.

    Args:
        weight: None or ``[2]``, the weights of the negative and the positive class.
        pos_weight: The weight of a positive, as in ``torch.nn.BCEWithLogitsLoss``: one number, or
            for logits ``[..., L]`` one a label, ``[L]``.
    """
    check_options(reduction=reduction)
    batch = batches.decisions(input, target, mask, sample_weight, ignore_index, soft=True)
    x, y = batch.logits[0], batch.target[0]
    negative, positive = _of_decisions(weight, pos_weight, input)
    loss = -(positive * y * F.logsigmoid(x) + negative * (1 - y) * F.logsigmoid(-x))
    return batch.reduce(loss, reduction)


def focal(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    sample_weight: Tensor | None = None,
    *,
    gamma: float = 2.0,
    weight: Weight = None,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
) -> Tensor:
    """Focal loss, ``−weight[t] · (1 − p_t)^gamma · log p_t`` (Table 2's FL; Lin et al., 2017).

    Cross entropy in which an example fades as the model gets it right. The floor is 0.

    Args:
        gamma: The focusing exponent, at least 0; 2 as in Lin et al.; 0 is cross entropy. A negative
            one is refused: easy examples would get the larger weight.
        weight: As in `cross_entropy`. The ``alpha`` of torchvision's focal loss is
            ``weight=[1 - alpha, alpha]`` here.

    Raises:
        TypeError: The target is soft; the factor is about *the* gold class.
    """
    check_options(gamma=gamma, reduction=reduction)
    arguments = (input, target, mask, sample_weight, ignore_index)
    batch = batches.multi_class(*arguments, soft=False)
    y = batch.target
    loss = equations.focal(equations.margin_of(batch.logits, y), gamma)
    return batch.reduce(loss * (_of_classes(weight, y) * y).sum(0), reduction)


def binary_focal(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    sample_weight: Tensor | None = None,
    *,
    gamma: float = 2.0,
    weight: Weight = None,
    pos_weight: Weight | float = None,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
) -> Tensor:
    """Focal loss of the two logits ``[0, input]`` (Table 2's FL). The floor is 0.

    Args:
        gamma: As in `focal`.
        weight: As in `binary_cross_entropy`.
        pos_weight: As in `binary_cross_entropy`.
    """
    check_options(gamma=gamma, reduction=reduction)
    batch = batches.decisions(input, target, mask, sample_weight, ignore_index, soft=False)
    x, y = batch.logits[0], batch.target[0]
    negative, positive = _of_decisions(weight, pos_weight, input)
    loss = equations.focal(x * (2 * y - 1), gamma) * (positive * y + negative * (1 - y))
    return batch.reduce(loss, reduction)


def dice(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    sample_weight: Tensor | None = None,
    *,
    alpha: float = 0.0,
    fp_weight: float | None = None,
    fn_weight: float | None = None,
    smooth: float = 1.0,
    squared: bool = True,
    level: Level = "set",
    weight: Weight = None,
    classes: Classes = None,
    absent: Absent | None = None,
    ohem_ratio: float | None = None,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
    process_group: Group = None,
) -> Tensor:
    """Dice, Tversky or self-adjusting dice loss of every class against the rest, and their mean.

    **Dice.** With ``p`` the probability of the class and ``y`` its target,

    - ``level="set"``: ``1 − (2 Σ p·y + γ) / (Σ p² + Σ y² + γ)``, Equation 8;
    - ``level="example"``: the mean of ``1 − (2 p·y + γ) / (p² + y² + γ)``, Equation 7;
    - ``squared=False``: the same with ``p`` and ``y`` below the fraction line, at example level one
      minus Equation 6.

    The floor is 0. At example level an example costs at most ``1/(1 + γ)`` a class. At huge logits
    every gradient of the dice family is 0.

    **Tversky**, with ``fp_weight`` α and ``fn_weight`` β:
    ``1 − (TP + γ) / (TP + α·FP + β·FN + γ)``, of the set one minus Equation 9, at example level the
    mean of the same for one example, Equation 10. With ``squared=False`` the counts are the
    paper's: ``TP = Σ p·y``, ``FP = Σ p·(1 − y)``, ``FN = Σ (1 − p)·y``. The default squares the
    errors, ``FP = Σ p²·(1 − y)`` and ``FN = Σ (1 − p)²·y`` (soft targets: ``(p − y)²`` for both),
    which is the same for hard predictions, and trains from a standing start. With both weights at
    one half it is the dice loss at twice the smoothing. It approximates ``1 − F_β`` only if the two
    weights sum to 1. The floor is 0.

    **Self-adjusting dice**, the paper's DSC, has ``q = (1 − p)^alpha · p`` in the place of ``p``.
    ``alpha=1, squared=False, level="example"`` is Equation 12. The exponent has a price: ``q``
    grows with ``p`` only up to the *turning point* ``1/(1 + alpha)``, and from there on a positive
    example is pushed back. Equation 12 turns at 0.5, where the prediction flips; 0.1, the default
    of `SelfAdjustingDiceLoss`, turns at 0.91; the paper's code uses 0.01, which is nearly dice. The
    floor is not 0, for ``q`` is at most ``alpha^alpha / (1 + alpha)^(1 + alpha)``. At example level
    with γ = 1 a positive costs at least 0.105 (alpha 0.1) or 0.333 (1) in the linear form.

    Args:
        alpha: The decay exponent of self-adjusting dice, at least 0; 0 is plain dice.
        fp_weight: Tversky's α, the price of a false positive; higher favours precision. None, as
            ``fn_weight`` then must be, is dice.
        fn_weight: Tversky's β, the price of a false negative; higher favours recall.
        smooth: γ; 1 in the paper. At example level the gradient of an easy negative is ``1/γ``; at
            set level γ matters only for classes with few examples in the batch, which it keeps from
            jumping between 0 and 1. With 0, an empty class costs 0.
        squared: Whether the denominator sums squares (Equations 7 and 8). Linear denominators often
            leave a model with the majority class from a standing start.
        level: ``"set"``: one loss of the sums over all examples; only this form approximates 1 −
            F1. ``"example"``: the mean of one loss an example; for hard predictions the dice loss
            is then the error rate over ``1 + γ``.
        weight: None or ``[C]``, the weights of the mean over classes.
        classes: The classes that count, for instance all but ``O``; None for all.
        absent: What becomes of a class without gold example in the set (set level only): ``"skip"``
            it, or ``"keep"`` it, so that its false positives cost something. None skips it where
            all classes count: kept, the rare classes that a batch lacks push down what they share
            with those it holds. With ``classes`` given None keeps it: else nothing would ask an
            example of a class left out to be of that class.
        ohem_ratio: None, or at most how many negatives count for each positive of a class, hardest
            first, chosen in this process's batch (set level and hard targets only).
        process_group: None: the set is this process's batch. A group or ``"world"``: the batch of
            all its processes, exact under trainers that average gradients, such as
            DistributedDataParallel (set level only).

    Warns:
        UserWarning: Once for each ``alpha`` of 0.5 or more.
    """
    check_alpha(alpha)
    arguments = (input, target, mask, sample_weight, ignore_index)
    batch = batches.multi_class(*arguments, soft=ohem_ratio is None)
    form, prices = (alpha, squared, ohem_ratio), (smooth, fp_weight, fn_weight)
    mean: dict[str, Any] = {"weight": weight, "classes": classes, "absent": absent}
    return _dice_family(batch, level, form, prices, process_group, reduction, **mean)


def binary_dice(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    sample_weight: Tensor | None = None,
    *,
    alpha: float = 0.0,
    fp_weight: float | None = None,
    fn_weight: float | None = None,
    smooth: float = 1.0,
    squared: bool = True,
    level: Level = "set",
    ohem_ratio: float | None = None,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
    process_group: Group = None,
) -> Tensor:
    """Dice, Tversky or self-adjusting dice loss of the positive class alone.

    Options are those of `dice`.
    """
    check_alpha(alpha)
    arguments = (input, target, mask, sample_weight, ignore_index)
    batch = batches.decisions(*arguments, soft=ohem_ratio is None)
    form, prices = (alpha, squared, ohem_ratio), (smooth, fp_weight, fn_weight)
    return _dice_family(batch, level, form, prices, process_group, reduction)


def multi_label_dice(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    sample_weight: Tensor | None = None,
    *,
    average: Average = "macro",
    alpha: float = 0.0,
    fp_weight: float | None = None,
    fn_weight: float | None = None,
    smooth: float = 1.0,
    squared: bool = True,
    weight: Weight = None,
    absent: Absent | None = None,
    ohem_ratio: float | None = None,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
    process_group: Group = None,
) -> Tensor:
    """`dice` at set level for examples that have any number of labels at once.

    Each label is a binary problem of its own, with its sigmoid. With ``"macro"`` it has the
    `binary_dice` of its decisions, and the loss is the mean over labels, weighted by ``weight``.
    With ``"micro"`` the loss is the `binary_dice` of all decisions, so that a rare label hardly
    counts; ``weight``, ``absent`` and a reduction over labels have no meaning there. Options that
    are not listed are those of `dice`.

    Args:
        average: ``"macro"``, which approximates 1 − macro F1, or ``"micro"``, 1 − micro F1.
        absent: With ``"skip"``, the default, a rare label learns from batches that hold it, where
            it is more frequent than elsewhere, and may be predicted too often; with ``"keep"`` it
            is seldom predicted at all.
    """
    check_alpha(alpha)
    arguments = (input, target, mask, sample_weight, ignore_index)
    batch = batches.decisions(*arguments, soft=ohem_ratio is None, labels=True)
    form, prices = (alpha, squared, ohem_ratio), (smooth, fp_weight, fn_weight)
    mean: dict[str, Any] = {"average": average, "weight": weight, "absent": absent}
    return _dice_family(batch, "set", form, prices, process_group, reduction, **mean)


_warned_of: set[float] = set()


def users_line() -> int:
    """The ``stacklevel`` at which a warning names the first line outside of dicebook and torch."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame and frame.f_globals.get("__name__", "").startswith(("dicebook.", "torch.")):
        frame, level = frame.f_back, level + 1
    return level


def check_alpha(alpha: float) -> None:
    """Check ``alpha``, and warn once for each value whose turning point is low.

    Args:
        alpha: The decay exponent.

    Raises:
        ValueError: ``alpha`` is not a finite number of at least 0.
    """
    check_options(alpha=alpha)
    if alpha < 0.5 or alpha in _warned_of or torch.compiler.is_compiling():
        return
    _warned_of.add(alpha)
    warnings.warn(
        f"alpha={alpha:g}: a positive example with a probability above {1 / (1 + alpha):.2f} is "
        "pushed back down, because (1 - p)^alpha * p falls again beyond p = 1/(1 + alpha). Choose "
        "alpha below 0.5 to avoid most of this",
        stacklevel=users_line(),
    )


def _of_classes(weight: Weight, like: Tensor) -> Tensor | float:
    """The weights of the classes of a tensor ``[C, N]``, ``[C, 1]``, or 1."""
    numbers = class_weights(weight, len(like))
    return 1.0 if numbers is None else numbers.to(like).unsqueeze(-1)


def _of_decisions(weight: Weight, pos_weight: Any, input: Tensor) -> tuple[Any, Any]:
    """What a negative and a positive decision weigh: numbers, or one a flat decision."""
    numbers = class_weights(weight, 2)
    negative, positive = (1.0, 1.0) if numbers is None else numbers.to(input.device).unbind()
    if pos_weight is None:
        return negative, positive
    of_labels = batches.positive_weights(pos_weight, input.shape[-1] if input.ndim else 1)
    if isinstance(of_labels, Tensor):
        of_labels = of_labels.to(input.device).expand(input.shape).reshape(-1)
    return negative, positive * (1.0 if of_labels is None else of_labels)


def _dice_family(
    batch: Batch,
    level: str,
    form: tuple[float, bool, float | None],
    prices: tuple[float, float | None, float | None],
    process_group: Group,
    reduction: Reduction,
    **mean: Any,
) -> Tensor:
    """The loss of a batch, whose ``form`` is alpha, squared and ohem_ratio.

    ``prices`` are smooth, fp_weight and fn_weight, ``mean`` the options of the mean over classes.
    """
    alpha, squared, ohem_ratio = form
    told = {"squared": squared, "level": level, "ohem_ratio": ohem_ratio, "reduction": reduction}
    check_options(**told, absent=mean.get("absent"), process_group=process_group)
    names = ("smooth", "fp_weight", "fn_weight")
    options: dict[str, Any] = dict(zip(names, prices, strict=True))
    if level == "set":
        sums = set_statistics(batch, alpha, squared, ohem_ratio).all_reduce(process_group)
        return sums.loss(reduction=reduction, **options, **mean)
    loss = of_examples(batch, alpha, squared, None).loss_of_each(**options)
    loss = average_over_classes(loss, mean.get("weight"), mean.get("classes"))
    return batch.reduce(loss, reduction)

"""The two levels at which a loss of the dice family can be taken.

*Set level*: sum over the examples first, take one loss of the sums (Equation 8). *Example level*:
take a loss of every example, then average (Equations 6, 7, 10 and 12). The levels are different
losses, not two ways to compute one; only the set level approximates 1 − F1.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from dicebook.losses.rows import Rows, reduce_rows
from dicebook.losses.statistics import (
    Group,
    average_over_classes,
    dice_formula,
    elements,
    statistics_of_rows,
    tversky_formula,
)
from dicebook.losses.validation import check_options


def check_level(level: str, absent: str, ohem_ratio: float | None, process_group: Group) -> None:
    """Check that options which speak of a set of examples come with ``level="set"``.

    Raises:
        ValueError: An unknown value, or an option that has no meaning at example level.
    """
    check_options(level=level, absent=absent, ohem_ratio=ohem_ratio)
    if level == "set":
        return
    if absent != "keep":
        raise ValueError(f"absent={absent!r} needs level='set'; got level={level!r}")
    if ohem_ratio is not None:
        raise ValueError(f"ohem_ratio={ohem_ratio!r} needs level='set'; got level={level!r}")
    if process_group is not None:
        raise ValueError(f"process_group needs level='set'; got level={level!r}")


def loss_at_level(
    rows: Rows,
    *,
    level: str,
    smooth: float,
    alpha: float = 0.0,
    squared: bool = False,
    fp_weight: float | None = None,
    fn_weight: float | None = None,
    weight: Tensor | None = None,
    classes: Sequence[int] | None = None,
    absent: str = "keep",
    ohem_ratio: float | None = None,
    reduction: str = "mean",
    process_group: Group = None,
) -> Tensor:
    """A dice or (with both its weights) Tversky loss of checked rows, at either level.

    The options are those of `dicebook.losses.functional.dice`, ``tversky`` and
    ``self_adjusting_dice``.

    Raises:
        ValueError: An option out of range or at the wrong level.
    """
    check_level(level, absent, ohem_ratio, process_group)
    if level == "set":
        statistics = statistics_of_rows(rows, alpha=alpha, squared=squared, ohem_ratio=ohem_ratio)
        if process_group is not None:
            statistics = statistics.all_reduce(process_group)
        return statistics.loss(
            smooth=smooth,
            fp_weight=fp_weight,
            fn_weight=fn_weight,
            weight=weight,
            classes=classes,
            absent=absent,
            reduction=reduction,
        )
    check_options(reduction=reduction, smooth=smooth)
    q, y = elements(rows, alpha=alpha)
    predicted, actual = (q * q, y * y) if squared else (q, y)
    if fp_weight is None or fn_weight is None:
        loss = dice_formula(q * y, predicted, actual, smooth)
    else:
        loss = tversky_formula(q * y, predicted, actual, smooth, fp_weight, fn_weight)
    if loss.ndim == 2:
        loss = average_over_classes(loss, weight, classes, None, "mean")
    return reduce_rows(loss, rows, reduction)

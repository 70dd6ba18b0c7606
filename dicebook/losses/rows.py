"""From tensors of any shape to rows, and from one loss a row back to what was asked for.

Every loss flattens its leading dimensions into ``N`` rows and computes in float32 (float64 stays
float64). Rows that do not count are set to zero *before* any softmax, so that even NaN logits in
padding reach neither the value nor the gradient.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from dicebook.losses.validation import (
    check_logits,
    check_mask,
    check_target,
    values_can_be_read,
)


class Rows(NamedTuple):
    """A batch as rows.

    Attributes:
        logits: ``[N, C]`` (multi-class) or ``[N]`` (binary), as they came; see `cleaned`.
        target: ``[N]`` int64 class indices; or floating, of the logits' shape: soft or binary
            targets in float32 (or float64). 0 where a row does not count.
        kept: ``[N]`` bool, the rows that count; None when all of them do.
        shape: The leading shape that ``N`` came from.
    """

    logits: Tensor
    target: Tensor
    kept: Tensor | None
    shape: torch.Size

    def cleaned(self) -> Tensor:
        """The logits in float32 (or float64), zero where a row does not count."""
        logits = self.logits.to(precision(self.logits))
        if self.kept is None:
            return logits
        kept = self.kept.unsqueeze(-1) if logits.ndim == 2 else self.kept
        return logits.masked_fill(~kept, 0.0)


def multi_class_rows(
    input: Tensor, target: Tensor, mask: Tensor | None, ignore_index: int, *, soft: bool
) -> Rows:
    """Check and flatten a multi-class batch.

    Args:
        input: Logits ``[..., C]``.
        target: Class indices ``[...]``; or, if ``soft``, class probabilities ``[..., C]``.
        mask: None or ``[...]``: rows with 0 or False do not count.
        ignore_index: Rows with this class index do not count.
        soft: Whether the loss takes class probabilities.

    Raises:
        TypeError: A dtype that the loss does not take.
        ValueError: Shapes that do not belong together, or a label outside ``0..C-1``.
    """
    check_logits(input, multi_class=True)
    check_target(input, target, multi_class=True, soft=soft)
    classes = input.shape[-1]
    shape = input.shape[:-1]
    check_mask(mask, shape)
    logits = input.reshape(-1, classes)
    if target.is_floating_point():
        probabilities = target.reshape(-1, classes).to(precision(logits))
        kept = None if mask is None else mask.reshape(-1).bool()
        rows = _zero_dropped(Rows(logits, probabilities, kept, shape))
        _check_range(rows, None, 0, 1, "lie between 0 and 1")
        return rows
    labels = target.reshape(-1).long()
    kept, seen = _kept(labels, mask, ignore_index)
    rows = _zero_dropped(Rows(logits, labels, kept, shape))
    _check_range(
        rows, seen, 0, classes - 1, f"hold class indices in 0..{classes - 1} or ignore_index"
    )
    return rows


def binary_rows(
    input: Tensor, target: Tensor, mask: Tensor | None, ignore_index: int, *, soft: bool
) -> Rows:
    """Check and flatten a binary batch.

    Args:
        input: Logits ``[...]`` of the positive class.
        target: ``[...]``: 0/1 of any dtype; if ``soft``, anything between 0 and 1.
        mask: None or ``[...]``: rows with 0 or False do not count.
        ignore_index: Rows with this target do not count.
        soft: Whether the loss takes targets between 0 and 1.

    Raises:
        TypeError: A dtype that the loss does not take.
        ValueError: Shapes that do not belong together, or a target that is not 0/1 (soft: outside
            0..1).
    """
    check_logits(input, multi_class=False)
    check_target(input, target, multi_class=False, soft=soft)
    check_mask(mask, input.shape)
    logits = input.reshape(-1)
    labels = target.reshape(-1)
    if labels.dtype == torch.bool:
        labels = labels.to(torch.uint8)
    kept, seen = _kept(labels, mask, ignore_index)
    rows = _zero_dropped(Rows(logits, labels.to(precision(logits)), kept, input.shape))
    _check_range(rows, seen, 0, 1, "lie between 0 and 1, or be ignore_index")
    if not soft and values_can_be_read(rows.target) and bool((rows.target.frac() != 0).any()):
        raise ValueError("target must be 0 or 1: this loss is not defined for soft targets")
    return rows


def reduce_rows(loss: Tensor, rows: Rows, reduction: str, kept: Tensor | None = None) -> Tensor:
    """Reduce one loss a row.

    Args:
        loss: ``[N]``.
        rows: The rows it was computed from.
        reduction: ``"none"``: the leading shape, 0 where a row does not count; ``"sum"``;
            ``"mean"``: the sum over the number of rows that count, 0 if there are none.
        kept: Rows that count, where a loss dropped more of them than ``rows.kept`` says.
    """
    kept = rows.kept if kept is None else kept
    if kept is not None:
        loss = torch.where(kept, loss, loss.new_zeros(()))
    if reduction == "none":
        return loss.reshape(rows.shape)
    total = loss.sum()
    if reduction == "sum":
        return total
    count = loss.numel() if kept is None else kept.sum()
    return total / count.clamp(min=1) if isinstance(count, Tensor) else total / max(count, 1)


def precision(logits: Tensor) -> torch.dtype:
    """The dtype that a loss of these logits is computed in: float64 stays, all else is float32."""
    return torch.float64 if logits.dtype == torch.float64 else torch.float32


def _kept(
    labels: Tensor, mask: Tensor | None, ignore_index: int
) -> tuple[Tensor | None, tuple[float, float] | None]:
    """Which rows count (None: all), and the range of the labels where it could be read."""
    kept = None if mask is None else mask.reshape(-1).bool()
    seen = _range(labels)
    if seen is not None and not seen[0] <= ignore_index <= seen[1]:
        return kept, seen
    found = labels != ignore_index
    return (found if kept is None else kept & found), seen


def _range(values: Tensor) -> tuple[float, float] | None:
    """The lowest and the highest value, or None where Python may not look or there is none."""
    if values.numel() == 0 or not values_can_be_read(values):
        return None
    both = torch.aminmax(values)
    if values.is_cpu:
        return both.min.item(), both.max.item()
    lowest, highest = torch.stack(both).tolist()  # one wait for the device, not two
    return lowest, highest


def _zero_dropped(rows: Rows) -> Rows:
    if rows.kept is None:
        return rows
    kept = rows.kept.unsqueeze(-1) if rows.target.ndim == 2 else rows.kept
    return rows._replace(target=rows.target.masked_fill(~kept, 0))


def _check_range(
    rows: Rows, seen: tuple[float, float] | None, lowest: int, highest: int, expected: str
) -> None:
    if seen is None or rows.kept is not None:  # rows that do not count are 0 by now
        seen = _range(rows.target)
    if seen is None or (lowest <= seen[0] and seen[1] <= highest):
        return
    bad = seen[0] if not lowest <= seen[0] else seen[1]
    raise ValueError(f"target must {expected}; got {bad:g}")

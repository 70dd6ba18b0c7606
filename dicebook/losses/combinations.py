"""Two losses at once: a weighted sum, and a schedule from one to the other.

Dice tells a model little while it is far off, and nothing at all once its logits are huge; cross
entropy always tells it something. So practitioners add the two, or start with cross entropy and
hand over to dice.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from dicebook.losses.batch import check_options
from dicebook.losses.modules import Loss


class WeightedSum(nn.Module):
    """``first_weight · first + second_weight · second``.

    Args:
        first: A loss with a scalar result.
        second: Another; both are called with the same input, target and mask.
        first_weight: At least 0.
        second_weight: At least 0.

    Raises:
        ValueError: A weight is negative, or a loss has ``reduction="none"``.
    """

    def __init__(
        self, first: Loss, second: Loss, *, first_weight: float = 1.0, second_weight: float = 1.0
    ) -> None:
        super().__init__()
        _check_scalar(first, second)
        check_options(first_weight=first_weight, second_weight=second_weight)
        self.first = first
        self.second = second
        self.first_weight = first_weight
        self.second_weight = second_weight

    def forward(self, input: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
        """The weighted sum, a scalar; shapes as in the two losses."""
        first = self.first(input, target, mask)
        second = self.second(input, target, mask)
        total: Tensor = self.first_weight * first + self.second_weight * second
        return total

    def extra_repr(self) -> str:
        """The two weights."""
        return f"first_weight={self.first_weight}, second_weight={self.second_weight}"


class WarmStart(nn.Module):
    """From one loss to another: ``(1 − s) · first + s · second``, with ``s`` growing from 0 to 1.

    Call `advance` once after every optimizer step; with ``transformers.Trainer`` add the callback
    of `dicebook.TrainerLoss`. The step is a buffer, so it is saved and loaded with ``state_dict``.

    Args:
        first: The loss to start from, say cross entropy.
        second: The loss to end with, say self-adjusting dice.
        start: The optimizer step up to which ``s`` is 0.
        end: The optimizer step from which ``s`` is 1; in between it grows linearly. Equal to
            ``start``: the losses change over at once.

    Raises:
        ValueError: Not ``0 <= start <= end``, or a loss has ``reduction="none"``.
    """

    step: Tensor

    def __init__(self, first: Loss, second: Loss, *, start: int = 0, end: int) -> None:
        super().__init__()
        _check_scalar(first, second)
        if not 0 <= start <= end:
            raise ValueError(f"expected 0 <= start <= end; got start={start!r}, end={end!r}")
        self.first = first
        self.second = second
        self.start = start
        self.end = end
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    def advance(self, to: int | None = None) -> None:
        """One step further.

        Args:
            to: The optimizer step to go to instead, for instance when training resumes.
        """
        self.step.fill_(int(self.step) + 1 if to is None else to)

    def share(self) -> Tensor:
        """``s``, the share of the second loss at this step, a scalar between 0 and 1."""
        done = self.step - self.start
        if self.end == self.start:
            return (done >= 0).float()
        return (done / (self.end - self.start)).clamp(0, 1)

    def forward(self, input: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
        """The mixture at this step, a scalar; shapes as in the two losses."""
        share = self.share()
        first = self.first(input, target, mask)
        second = self.second(input, target, mask)
        total: Tensor = (1 - share) * first + share * second
        return total

    def extra_repr(self) -> str:
        """The schedule."""
        return f"start={self.start}, end={self.end}"


def terms(loss: nn.Module) -> Iterator[tuple[Tensor | float, nn.Module]]:
    """The losses that make up a loss, each with its weight at this step.

    Args:
        loss: A `WeightedSum`, a `WarmStart` (either may hold others) or any other loss.
    """
    if isinstance(loss, WeightedSum):
        parts: list[tuple[Tensor | float, Loss]] = [
            (loss.first_weight, loss.first),
            (loss.second_weight, loss.second),
        ]
    elif isinstance(loss, WarmStart):
        share = loss.share()
        parts = [(1 - share, loss.first), (share, loss.second)]
    else:
        yield 1.0, loss
        return
    for weight, part in parts:
        for inner, leaf in terms(part):
            yield weight * inner, leaf


def _check_scalar(*losses: nn.Module) -> None:
    for loss in losses:
        if getattr(loss, "reduction", None) == "none":
            raise ValueError(f"both losses must give a scalar; got reduction='none' in {loss}")

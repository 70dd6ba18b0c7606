"""Two losses at once: a weighted sum, and a schedule from one to the other.

Dice tells a model little while it is far off, and nothing at all once its logits are huge; cross
entropy always tells it something. So practitioners add the two, or start with cross entropy and
hand over to dice.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from dicebook.losses.batch import check_options


class _TwoLosses(nn.Module, abc.ABC):
    """``a · first + b · second``; a subclass says the weights."""

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        for loss in (first, second):
            if not isinstance(loss, nn.Module):
                raise TypeError(f"both losses must be modules; got {loss!r}")
            if getattr(loss, "reduction", None) == "none":
                raise ValueError(f"both losses must give a scalar; got reduction='none' in {loss}")
        self.first = first
        self.second = second

    @abc.abstractmethod
    def _weights(self) -> tuple[Tensor | float, Tensor | float]:
        """Those of the two losses, at this step."""

    def forward(
        self,
        input: Tensor,
        target: Tensor,
        mask: Tensor | None = None,
        sample_weight: Tensor | None = None,
    ) -> Tensor:
        """The sum, a scalar; shapes as in the two losses."""
        optional = {"mask": mask, "sample_weight": sample_weight}
        rest = {name: value for name, value in optional.items() if value is not None}
        losses = [  # the losses of torch take neither
            weight * loss(input, target, **rest)
            for weight, loss in zip(self._weights(), (self.first, self.second), strict=True)
            if not _is_over(weight)
        ]
        total: Tensor = losses[0] if len(losses) == 1 else losses[0] + losses[1]
        return total


class WeightedSum(_TwoLosses):
    """``first_weight · first + second_weight · second``.

    Args:
        first: A loss with a scalar result.
        second: Another; both are called with the same input, target and mask.
        first_weight: At least 0.
        second_weight: At least 0.

    Raises:
        TypeError: A loss is no module; give a function as a module of its own.
        ValueError: A weight is negative, or both are 0, or a loss has ``reduction="none"``.

    Example:
        >>> first, second = CrossEntropyLoss(), DiceLoss()
        >>> loss = WeightedSum(first, second, second_weight=0.5)
        >>> loss(torch.zeros(2, 2), torch.tensor([0, 1]))
        tensor(0.7931)
    """

    def __init__(
        self,
        first: nn.Module,
        second: nn.Module,
        *,
        first_weight: float = 1.0,
        second_weight: float = 1.0,
    ) -> None:
        super().__init__(first, second)
        check_options(first_weight=first_weight, second_weight=second_weight)
        if first_weight == second_weight == 0:
            raise ValueError("expected a weight above 0; got first_weight=0 and second_weight=0")
        self.first_weight = first_weight
        self.second_weight = second_weight

    def _weights(self) -> tuple[float, float]:
        return self.first_weight, self.second_weight

    def extra_repr(self) -> str:
        """The two weights."""
        return f"first_weight={self.first_weight}, second_weight={self.second_weight}"


class WarmStart(_TwoLosses):
    """From one loss to another: ``(1 − s) · first + s · second``, with ``s`` growing from 0 to 1.

    Call `advance` once after every optimizer step; with ``transformers.Trainer`` add the callback
    of `dicebook.TrainerLoss`. The step is a buffer, so it is saved and loaded with ``state_dict``.
    Before ``start`` and after ``end`` one loss alone is computed, unless under ``torch.compile``.

    Args:
        first: The loss to start from, say cross entropy.
        second: The loss to end with, say self-adjusting dice.
        start: The optimizer step up to which ``s`` is 0.
        end: The optimizer step from which ``s`` is 1; in between it grows linearly. Equal to
            ``start``: the losses change over at once.

    Raises:
        ValueError: Not ``0 <= start <= end``, or a loss has ``reduction="none"``.

    Example:
        >>> first, second = CrossEntropyLoss(), DiceLoss()
        >>> loss = WarmStart(first, second, start=100, end=200)
        >>> loss(torch.zeros(2, 2), torch.tensor([0, 1]))
        tensor(0.6931)
        >>> loss.advance()  # after each optimizer step
    """

    step: Tensor

    def __init__(self, first: nn.Module, second: nn.Module, *, start: int = 0, end: int) -> None:
        super().__init__(first, second)
        if not 0 <= start <= end:
            raise ValueError(f"expected 0 <= start <= end; got start={start!r}, end={end!r}")
        self.start = start
        self.end = end
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))
        self._step = 0  # the buffer's number, known without asking a GPU for it
        self.register_load_state_dict_post_hook(_read_step)

    def advance(self, to: int | None = None) -> None:
        """One step further.

        Args:
            to: The optimizer step to go to instead, for instance when training resumes.
        """
        self._step = self._step + 1 if to is None else to
        self.step.fill_(self._step)

    def share(self) -> Tensor:
        """``s``, the share of the second loss at this step, a scalar between 0 and 1."""
        steps = self.step - self.start
        if self.end == self.start:
            return (steps >= 0).float()
        return (steps / (self.end - self.start)).clamp(0, 1)

    def _weights(self) -> tuple[Tensor | float, Tensor | float]:
        if not torch.compiler.is_compiling():  # which would compile anew for every step
            if self._step < self.start or self._step == self.start < self.end:
                return 1.0, 0.0
            if self._step >= self.end:
                return 0.0, 1.0
        share = self.share()
        return 1 - share, share

    def extra_repr(self) -> str:
        """The schedule."""
        return f"start={self.start}, end={self.end}"


def _read_step(warm: Any, _: Any) -> None:
    warm._step = int(warm.step)


def _is_over(weight: Tensor | float) -> bool:
    # Not multiplied by 0: a loss that is infinite by now would be NaN.
    return isinstance(weight, float) and weight == 0.0


def unwrapped(loss: Any) -> Any:
    """The module or function inside ``torch.compile``."""
    for name in ("_orig_mod", "_torchdynamo_orig_callable"):
        loss = getattr(loss, name, loss)
    return loss


def terms(
    loss: Callable[..., Tensor], *, ever: bool = False
) -> Iterator[tuple[Tensor | float, Any]]:
    """The losses that make up a loss, each with its weight at this step, if it is not 0 or ever."""
    loss = unwrapped(loss)
    if not isinstance(loss, _TwoLosses):
        yield 1.0, loss
        return
    for weight, part in zip(loss._weights(), (loss.first, loss.second), strict=True):
        if ever or not _is_over(weight):
            for inner, leaf in terms(part, ever=ever):
                yield weight * inner, leaf

"""Gradient accumulation that is exact for set-level losses: two passes over the micro-batches.

The set-level loss of a large batch is not the mean of the losses of its micro-batches, so adding up
their gradients gives another gradient. What does add up are the statistics. The first pass sums
them without a gradient; the derivative of the loss with respect to that sum is then a handful of
numbers, and the second pass sends it back through one micro-batch at a time. The price is a second
forward pass, the memory is that of one micro-batch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from dicebook.losses.combinations import unwrapped
from dicebook.losses.modules import SetLoss
from dicebook.losses.statistics import DiceStatistics


def backward_in_two_passes(
    loss: SetLoss,
    forward: Callable[[Any], tuple[Tensor, ...]],
    batches: Iterable[Any],
    *,
    no_sync: Callable[[], contextlib.AbstractContextManager[Any]] | None = None,
    backward: Callable[[Tensor], Any] = Tensor.backward,
) -> Tensor:
    """Accumulate in ``.grad`` the gradient of the loss of all micro-batches together.

    Dropout is replayed: the state of the random number generators before the first pass is
    restored before the second, so ``forward`` must be all that draws random numbers. Modules whose
    forward has other effects, such as the running means of batch normalisation, see each
    micro-batch twice.

    Args:
        loss: A loss at set level. With its ``process_group``, the set is the micro-batches of all
            processes.
        forward: From a micro-batch to ``(input, target)`` or ``(input, target, mask)``; called
            twice for each, in the same order.
        batches: The micro-batches of one optimizer step.
        no_sync: ``model.no_sync`` of a DistributedDataParallel model, so that gradients are
            averaged once, with the last micro-batch.
        backward: What sends a number back through the model, where ``Tensor.backward`` is not
            enough: ``lambda loss: scaler.scale(loss).backward()`` with a ``GradScaler``, or
            ``accelerator.backward`` of an ``Accelerator`` whose own ``gradient_accumulation_steps``
            is 1. The same methods of Fabric and of a DeepSpeed engine fit here, but were not tried.

    Returns:
        The loss of the whole, detached.

    Raises:
        ValueError: The loss is not at set level, or is a sum of losses, of which each takes two
            passes of its own; or there is no micro-batch.

    Example:
        >>> model = nn.Linear(4, 2)
        >>> target = torch.tensor([0, 1])
        >>> parts = [torch.ones(2, 4), torch.zeros(2, 4)]
        >>> loss = backward_in_two_passes(
        ...     DiceLoss(), lambda part: (model(part), target), parts
        ... )
        >>> model.weight.grad.shape
        torch.Size([2, 4])
    """
    loss = unwrapped(loss)
    if not isinstance(loss, SetLoss):
        raise ValueError(
            f"expected a loss of the dice family such as DiceLoss(); got {loss!r} (add a mean over "
            "labels, such as cross entropy, in a loop over the micro-batches)"
        )
    if not (batches := list(batches)):
        raise ValueError("expected at least one micro-batch; got none")
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    with torch.no_grad(), torch.random.fork_rng(devices):
        total = sum(
            (loss.statistics(*forward(batch)) for batch in batches[1:]),
            start=loss.statistics(*forward(batches[0])),
        )
    sums = total.stack().requires_grad_()
    value = loss.loss_of(DiceStatistics.unstack(sums).all_reduce(loss.process_group))
    (slope,) = torch.autograd.grad(value, sums)
    for number, batch in enumerate(batches, start=1):
        last = number == len(batches)
        with contextlib.nullcontext() if last or no_sync is None else no_sync():
            share = loss.statistics(*forward(batch)).stack()
            backward((slope * share).sum())
    return value.detach()

"""The losses in ``transformers.Trainer``, exact under accumulation and on several processes.

The Trainer calls its ``compute_loss_func`` once a micro-batch, adds the results of a step, and
multiplies them by the number of processes because DistributedDataParallel will average the
gradients. That suits a loss that is a mean over labels: each micro-batch gives its sum over the
*whole* step's number of labels, ``num_items_in_batch``. A set-level loss has no such parts. Its
statistics are kept instead until the labels seen reach ``num_items_in_batch``, and the last
micro-batch of the step returns the loss of them all.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn

from dicebook.losses import functional
from dicebook.losses.combinations import WarmStart, terms, unwrapped
from dicebook.losses.modules import SetLoss, module_of
from dicebook.losses.statistics import DiceStatistics, Group


class TrainerLoss:
    """A loss as ``transformers.Trainer(compute_loss_func=TrainerLoss(loss))`` wants it.

    The gradient of an optimizer step is that of the loss of the whole step: of all micro-batches,
    and of all data-parallel processes. For a set-level loss the Trainer then needs the memory of
    all micro-batches' activations; activation (gradient) checkpointing brings that down, and
    `backward_in_two_passes` does without in a loop of one's own.

    Args:
        loss: A loss of this package, alone or in a `WeightedSum` or `WarmStart`, with or without
            ``torch.compile``, which has no effect here; or any function of ``(logits, labels)``
            that gives the mean over labels other than −100.
        average_tokens_across_devices: What the ``TrainingArguments`` say under this name.

    Raises:
        TypeError: A function or module that has a set-level loss inside, so that it is no mean
            over labels: ``functools.partial(functional.dice, ...)``, or a sum of two losses.
        ValueError: A loss with ``reduction="none"``, or with an ``ignore_index`` other than the
            −100 by which the Trainer counts labels.
    """

    def __init__(
        self, loss: Callable[..., Tensor], *, average_tokens_across_devices: bool = True
    ) -> None:
        for _, leaf in terms(loss, ever=True):
            _refuse_hidden_sets(leaf)
            if getattr(leaf, "reduction", "mean") == "none":
                raise ValueError(f"the Trainer needs a scalar; got reduction='none' in {leaf}")
            if getattr(leaf, "ignore_index", -100) != -100:
                raise ValueError(
                    "the Trainer counts labels other than -100; "
                    f"got ignore_index={leaf.ignore_index} in {leaf}"
                )
        self.loss = loss
        self.average_tokens_across_devices = average_tokens_across_devices
        self._seen, self._interrupted = 0, False
        self._held: list[_MicroBatch] = []
        self._items: Tensor | int | None = None

    def __call__(
        self, outputs: Any, labels: Tensor | None, num_items_in_batch: Tensor | int | None = None
    ) -> Tensor:
        """What one micro-batch adds to the loss of the step.

        Args:
            outputs: The model's output: logits under ``"logits"``, as an attribute of that name,
                or first in a tuple.
            labels: The micro-batch's labels.
            num_items_in_batch: The number of labels other than −100 in the step, the same object
                for all its micro-batches, as the Trainer gives it: with another tensor another
                step begins, and what an interrupted one left is dropped. None: the loss of the
                micro-batch by itself.

        Returns:
            A scalar. For a set-level loss 0 until the step's last micro-batch.

        Raises:
            ValueError: There are no labels; the model is a causal language model, whose labels
                are those of the next position; or ``label_smoothing_factor`` is set.
            RuntimeError: More labels came than the Trainer counted, or in two steps fewer.
        """
        if labels is None:
            raise ValueError("expected the labels in the batch under 'labels'; got None")
        _refuse_what_the_trainer_would_do(outputs)
        logits = _logits(outputs)
        if num_items_in_batch is None:
            return self.loss(logits, labels)
        if isinstance(num_items_in_batch, Tensor) and num_items_in_batch.numel() != 1:
            raise RuntimeError(
                "torch.nn.DataParallel is not supported: start one process a GPU with torchrun"
            )
        if torch.is_grad_enabled():
            self._begin(num_items_in_batch)
        count = labels.ne(-100).sum()
        items = torch.as_tensor(num_items_in_batch, device=count.device).reshape(())
        micro = self._of_micro_batch(logits, labels, count / items.clamp(min=1))
        if not micro.statistics or not torch.is_grad_enabled():
            return self._total(micro, alone=True)
        seen, expected = self._count(count, items)
        if seen == 0:  # nothing in this micro-batch, on any process: 0, attached to the graph
            return self._total(micro, alone=True)
        self._seen += seen
        self._held.append(micro)
        if self._seen < expected:
            # Not a leaf: the Trainer multiplies what it gets in place.
            return torch.zeros((), device=logits.device, requires_grad=True) + 0
        held, total_seen = self._held, self._seen
        self._held, self._seen, self._interrupted = [], 0, False
        if total_seen > expected:
            raise RuntimeError(
                f"expected {expected} labels in this step, as the Trainer counted; got "
                f"{total_seen}. Does average_tokens_across_devices say what the "
                "TrainingArguments say?"
            )
        return self._total(functools.reduce(_MicroBatch.__add__, held), alone=False)

    def _begin(self, items: Tensor | int) -> None:
        """Drop what an interrupted step left, if this is another one."""
        same = items is self._items or not isinstance(items, Tensor)
        self._items = items
        if same or not self._held:
            return
        seen, self._held, self._seen = self._seen, [], 0
        if self._interrupted:
            raise RuntimeError(
                f"two steps ended with fewer labels than the Trainer counted, the last with {seen}"
                "; num_items_in_batch must be one tensor for all micro-batches of a step, and "
                "count the labels other than -100. Interrupted runs need callback() in the Trainer"
            )
        self._interrupted = True

    def callback(self) -> Any:
        """A ``TrainerCallback`` that drops what another run left, and advances a `WarmStart`."""
        from transformers import TrainerCallback

        loss, adapter = unwrapped(self.loss), self

        class Follow(TrainerCallback):
            def on_train_begin(self, *_: Any, **__: Any) -> None:
                adapter._held, adapter._seen, adapter._interrupted = [], 0, False

            def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                for module in loss.modules() if isinstance(loss, nn.Module) else ():
                    if isinstance(module, WarmStart):
                        module.advance(to=state.global_step)

        return Follow()

    def _of_micro_batch(self, logits: Tensor, labels: Tensor, share: Tensor) -> _MicroBatch:
        mean = logits.new_zeros((), dtype=torch.float32)
        statistics = []
        for weight, leaf in terms(self.loss):
            if _is_set_level(leaf):
                statistics.append(leaf.statistics(logits, labels))
                continue
            part = leaf(logits, labels)
            if getattr(leaf, "reduction", "mean") == "mean":
                # A mean of nothing is NaN in torch's own losses.
                part = torch.where(share > 0, part * share, 0.0)
            mean = mean + weight * part
        return _MicroBatch(mean, statistics)

    def _total(self, step: _MicroBatch, *, alone: bool) -> Tensor:
        total = step.mean
        statistics = iter(step.statistics)
        for weight, leaf in terms(self.loss):
            if _is_set_level(leaf):
                sums = next(statistics)
                if not alone:
                    everybody: Group = "world" if _processes() > 1 else None
                    sums = sums.all_reduce(leaf.process_group or everybody)
                # The Trainer will multiply by the number of processes: that is in the sums already.
                factor = _processes() if self.average_tokens_across_devices else 1
                total = total + weight * leaf.loss_of(sums) / factor
        return total

    def _count(self, count: Tensor, items: Tensor) -> tuple[int, int]:
        """The labels in this micro-batch and those expected in the step, over all processes."""
        counts = torch.stack([count, items.to(count.dtype)])
        if _processes() > 1:
            dist.all_reduce(counts)
            if self.average_tokens_across_devices:
                counts[1] = items
        seen, expected = counts.tolist()
        return seen, expected


class _MicroBatch(NamedTuple):
    """What a micro-batch, or several, add to a step: losses that are means, and statistics."""

    mean: Tensor
    statistics: list[DiceStatistics]

    def __add__(self, other: _MicroBatch) -> _MicroBatch:  # type: ignore[override]
        pairs = zip(self.statistics, other.statistics, strict=True)
        return _MicroBatch(self.mean + other.mean, [a + b for a, b in pairs])


def _is_set_level(loss: Any) -> bool:
    return isinstance(loss, SetLoss) and loss.level == "set"


def _refuse_hidden_sets(loss: Any) -> None:
    if isinstance(loss, SetLoss):
        return
    for inside in map(unwrapped, _inside(loss)):
        module = module_of(inside)
        if module is None and not _is_set_level(inside):
            continue
        options = loss.keywords if isinstance(loss, functools.partial) else {}
        chosen = ", ".join(f"{name}={value!r}" for name, value in options.items()) or "..."
        wanted = f"{module.__name__}({chosen})" if module else repr(inside)
        raise TypeError(
            f"{loss!r} has the loss of a set inside, and that is no mean over labels. Expected "
            f"{wanted} itself, in a WeightedSum if another loss is added"
        )


def _inside(loss: Any) -> Iterator[Any]:
    """A loss, and what it holds or names: a module's modules, a function's variables."""
    loss = unwrapped(loss)
    yield loss
    if isinstance(loss, nn.Module):
        yield from list(loss.modules())[1:]
        loss = type(loss).forward
    if isinstance(loss, functools.partial):
        yield from (*_inside(loss.func), *loss.args, *loss.keywords.values())
    if isinstance(loss, types.MethodType):
        yield loss.__self__
        loss = loss.__func__
    if isinstance(loss, types.FunctionType) and loss.__module__ not in _OWN:
        names = loss.__code__.co_names
        for value in (loss.__globals__.get(name) for name in names):
            yield value
            if isinstance(value, types.ModuleType):
                yield from (getattr(value, name, None) for name in names)
        for cell in loss.__closure__ or ():
            yield cell.cell_contents


_OWN = {functional.__name__, SetLoss.__module__}


def _refuse_what_the_trainer_would_do(outputs: Any) -> None:
    """A Trainer with a ``compute_loss_func`` leaves out what it does for its own loss."""
    if "CausalLM" in type(outputs).__name__:
        raise ValueError(
            "the labels of a causal language model are those of the next position. Shift them: "
            "compute_loss_func=lambda outputs, labels, num_items_in_batch=None: "
            "adapter((outputs.logits[..., :-1, :],), labels[..., 1:], num_items_in_batch)"
        )
    frame = sys._getframe(2)
    for _ in range(2):  # the Trainer, or a function around this one that the Trainer calls
        trainer = frame.f_locals.get("self")
        factor = getattr(getattr(trainer, "args", None), "label_smoothing_factor", 0)
        if factor:
            raise ValueError(
                f"label_smoothing_factor={factor} has no effect beside a compute_loss_func. "
                "Expected 0; CrossEntropyLoss(label_smoothing=...) smooths the labels"
            )
        if frame.f_back is None:
            return
        frame = frame.f_back


def _processes() -> int:
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def _logits(outputs: Any) -> Tensor:
    if isinstance(outputs, tuple):
        return outputs[0]
    logits: Tensor = outputs["logits"] if isinstance(outputs, dict) else outputs.logits
    return logits

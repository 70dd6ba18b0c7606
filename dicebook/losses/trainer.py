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
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn

from dicebook.losses.combinations import WarmStart, terms, unwrapped
from dicebook.losses.modules import Loss, SetLoss
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

    Give the Trainer its `callback`, too: it makes ``eval_loss`` the loss of the whole split rather
    than a mean over evaluation batches, advances a `WarmStart`, and refuses arguments of the
    Trainer that have no effect.

    Warns:
        UserWarning: Once, if in the first 20 steps a set-level loss met no example of most of its
            classes (of all but the most frequent class, if all count): a larger batch, or
            accumulation, gives it something to learn from. Or if a `WarmStart` does not advance.

    Raises:
        ValueError: A loss with ``reduction="none"``, or with an ``ignore_index`` other than the
            −100 by which the Trainer counts labels.

    Example:
        >>> outputs = SimpleNamespace(logits=torch.zeros(1, 4, 2))
        >>> labels = torch.tensor([[0, 0, 1, -100]])
        >>> TrainerLoss(DiceLoss())(outputs, labels)
        tensor(0.2364)
    """

    def __init__(
        self, loss: Callable[..., Tensor], *, average_tokens_across_devices: bool = True
    ) -> None:
        for _, leaf in terms(loss, ever=True):
            if getattr(leaf, "reduction", "mean") == "none":
                raise ValueError(f"the Trainer needs a scalar; got reduction='none' in {leaf}")
            if getattr(leaf, "ignore_index", -100) != -100:
                raise ValueError(
                    "the Trainer counts labels other than -100; "
                    f"got ignore_index={leaf.ignore_index} in {leaf}"
                )
        self.loss = loss
        self.average_tokens_across_devices = average_tokens_across_devices
        self._held_labels, self._interrupted = 0, False
        self._held: list[_MicroBatch] = []
        self._items: Tensor | int | None = None
        self._unchecked = [leaf for _, leaf in terms(loss, ever=True) if _needs_a_check(leaf)]
        self._steps = 0
        self._present: list[Tensor] | None = []
        self._evaluated: _MicroBatch | None = None

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
                are those of the next position; or a loss that is not of this package is no mean
                over labels, so that parts of a step do not add up to it: a set-level loss inside a
                function, or a mean that is weighted by class, as in
                ``torch.nn.CrossEntropyLoss(weight=...)``.
            RuntimeError: More labels came than the Trainer counted, or in two steps fewer.
        """
        if labels is None:
            raise ValueError("expected the labels in the batch under 'labels'; got None")
        _refuse_causal_models(outputs)
        logits = _logits(outputs, labels)
        while self._unchecked:
            _check_adds_up(self._unchecked.pop(), logits, labels)
        if not torch.is_grad_enabled():
            part = self._of_micro_batch(logits, labels, labels.ne(-100).sum())
            self._evaluated = part if self._evaluated is None else self._evaluated + part
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
        n_labels, expected = self._count(count, items)
        if n_labels == 0:  # nothing in this micro-batch, on any process: 0, attached to the graph
            return self._total(micro, alone=True)
        self._held_labels += n_labels
        self._held.append(micro)
        if self._held_labels < expected:
            # Not a leaf: the Trainer multiplies what it gets in place.
            return torch.zeros((), device=logits.device, requires_grad=True) + 0
        held, total_labels = self._held, self._held_labels
        self._held, self._held_labels, self._interrupted = [], 0, False
        if total_labels > expected:
            raise RuntimeError(
                f"expected {expected} labels in this step, as the Trainer counted; got "
                f"{total_labels}. Does average_tokens_across_devices say what the "
                "TrainingArguments say?"
            )
        step = functools.reduce(_MicroBatch.__add__, held)
        self._look_for_positives(step)
        return self._total(step, alone=False)

    def _begin(self, items: Tensor | int) -> None:
        """Drop what an interrupted step left, if this is another one."""
        same = items is self._items or not isinstance(items, Tensor)
        self._items = items
        self._steps += not same
        if self._steps == 4 and any(warm._step == 0 < warm.end for warm in self._warm_starts()):
            self._steps += 1
            warnings.warn(
                "the WarmStart is still at step 0: give the Trainer callbacks=[adapter.callback()],"
                " or call its advance() after each step",
                stacklevel=3,
            )
        if same or not self._held:
            return
        count, self._held, self._held_labels = self._held_labels, [], 0
        if self._interrupted:
            raise RuntimeError(
                f"two steps ended with fewer labels than the Trainer counted, the last with {count}"
                "; num_items_in_batch must be one tensor for all micro-batches of a step, and "
                "count the labels other than -100. Interrupted runs need callback() in the Trainer"
            )
        self._interrupted = True

    def _warm_starts(self) -> list[WarmStart]:
        loss = unwrapped(self.loss)
        modules = loss.modules() if isinstance(loss, nn.Module) else ()
        return [module for module in modules if isinstance(module, WarmStart)]

    def _look_for_positives(self, step: _MicroBatch) -> None:
        if self._present is None:
            return
        leaf = next(leaf for _, leaf in terms(self.loss) if _is_set_level(leaf))  # says enough
        present = (step.statistics[0].actual.detach() > 0).float()
        index = leaf._on(present).get("classes")
        self._present.append(present if index is None else present[index])
        if len(self._present) < 20:
            return
        shares = torch.stack(self._present).mean(0).sort().values
        self._present = None
        rare = shares[:-1] if len(shares) > 1 and index is None else shares
        if float(rare.mean()) < 0.5:
            warnings.warn(
                f"in the first 20 steps the classes of {leaf} had an example in only "
                f"{float(rare.mean()):.0%} of the sets. A set without one tells a set-level loss "
                "nothing about the class: use larger batches or gradient_accumulation_steps",
                stacklevel=3,
            )

    def evaluated(self) -> Tensor | None:
        """The loss of all that was evaluated since the last call, on all processes; or None.

        It is the loss of the whole, as of one batch: set-level statistics are added up over
        batches, and means are weighted by their labels. Distributed evaluation may repeat some
        examples to fill the last batch; they count twice here.
        """
        part, self._evaluated = self._evaluated, None
        if part is None:
            return None
        mean = torch.stack([part.mean, part.labels.to(part.mean.dtype)])
        if _processes() > 1:
            dist.all_reduce(mean)
        whole = part._replace(mean=mean[0] / mean[1].clamp(min=1))
        return self._total(whole, alone=False, trained=False)

    def callback(self) -> Any:
        """A ``TrainerCallback`` for the Trainer that has this loss.

        It drops what another run left, advances a `WarmStart`, and writes the loss of the whole
        evaluation (see `evaluated`) over the Trainer's mean of batch losses, so that the best
        checkpoint does not depend on the size of evaluation batches. When training begins it raises
        a ``ValueError`` for ``label_smoothing_factor``, which has no effect beside a
        ``compute_loss_func``.
        """
        from transformers import TrainerCallback

        adapter = self

        class Follow(TrainerCallback):
            def on_train_begin(self, args: Any, *_: Any, **__: Any) -> None:
                adapter._held, adapter._held_labels, adapter._interrupted = [], 0, False
                adapter._evaluated = None
                if args.label_smoothing_factor:
                    raise ValueError(
                        f"label_smoothing_factor={args.label_smoothing_factor} has no effect "
                        "beside a compute_loss_func. Expected 0; "
                        "CrossEntropyLoss(label_smoothing=...) smooths the labels"
                    )

            def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                adapter._evaluated = None
                for warm in adapter._warm_starts():
                    warm.advance(to=state.global_step)

            def on_predict(self, *_: Any, **__: Any) -> None:
                adapter._evaluated = None

            def on_evaluate(
                self, args: Any, state: Any, control: Any, metrics: Any = None, **_: Any
            ) -> None:
                with torch.no_grad():
                    value = adapter.evaluated()
                if value is None:
                    return
                for name in [name for name in metrics or () if name.endswith("_loss")]:
                    metrics[name] = value.item()
                    if state.log_history and name in state.log_history[-1]:
                        state.log_history[-1][name] = value.item()

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
        return _MicroBatch(mean, statistics, labels.ne(-100).sum())

    def _total(self, step: _MicroBatch, *, alone: bool, trained: bool = True) -> Tensor:
        total = step.mean
        statistics = iter(step.statistics)
        for weight, leaf in terms(self.loss):
            if _is_set_level(leaf):
                sums = next(statistics)
                if not alone:
                    everybody: Group = "world" if _processes() > 1 else None
                    sums = sums.all_reduce(leaf.process_group or everybody)
                # The Trainer will multiply by the number of processes: that is in the sums already.
                averaged = trained and self.average_tokens_across_devices
                factor = _processes() if averaged else 1
                total = total + weight * leaf.loss_of(sums) / factor
        return total

    def _count(self, count: Tensor, items: Tensor) -> tuple[int, int]:
        """The labels in this micro-batch and those expected in the step, over all processes."""
        counts = torch.stack([count, items.to(count.dtype)])
        if _processes() > 1:
            dist.all_reduce(counts)
            if self.average_tokens_across_devices:
                counts[1] = items
        n_labels, expected = counts.tolist()
        return n_labels, expected


class _MicroBatch(NamedTuple):
    """What a micro-batch, or several, add to a step: losses that are means, and statistics."""

    mean: Tensor
    statistics: list[DiceStatistics]
    labels: Tensor

    def __add__(self, other: _MicroBatch) -> _MicroBatch:  # type: ignore[override]
        sums = [a + b for a, b in zip(self.statistics, other.statistics, strict=True)]
        return _MicroBatch(self.mean + other.mean, sums, self.labels + other.labels)


def _is_set_level(loss: Any) -> bool:
    return isinstance(loss, SetLoss) and loss.level == "set"


def _needs_a_check(loss: Any) -> bool:
    return not isinstance(loss, Loss) and getattr(loss, "reduction", "mean") == "mean"


def _check_adds_up(loss: Callable[..., Tensor], logits: Tensor, labels: Tensor) -> None:
    """Check by numbers that the loss of the whole is that of its parts, weighted by their labels.

    The numbers are made up, of the batch's shapes, so that no class is missing by chance.
    """
    generator = torch.Generator().manual_seed(0)
    shape = (6, *logits.shape[1:])
    x = 2 * torch.randn(shape, generator=generator)
    if labels.is_floating_point() or labels.shape == logits.shape:
        y = (torch.rand(shape, generator=generator) < 0.4).to(labels.dtype)
    else:
        y = torch.randint(logits.shape[-1], (6, *labels.shape[1:]), generator=generator)
    x, y = x.to(logits.device), y.to(logits.device)
    with torch.no_grad():
        try:
            whole = float(loss(x, y))
            parts = (float(loss(x[:2], y[:2])) + 2 * float(loss(x[2:], y[2:]))) / 3
        except Exception:  # it takes batches of one kind alone, and nothing can be said
            return
    if abs(whole - parts) > 1e-3 * abs(whole):
        raise ValueError(
            f"{loss!r} is no mean over labels: its value for six examples was {whole:.4g}, and the "
            f"weighted mean of those for two and for four {parts:.4g}, so parts of a step do not "
            "add up to it. Expected a loss of this package itself, in a WeightedSum if another is "
            "added (DiceLoss, CrossEntropyLoss(weight=...)), or a mean over labels"
        )


def _refuse_causal_models(outputs: Any) -> None:
    if "CausalLM" in type(outputs).__name__:
        raise ValueError(
            "the labels of a causal language model are those of the next position. Shift them: "
            "compute_loss_func=lambda outputs, labels, num_items_in_batch=None: "
            "adapter((outputs.logits[..., :-1, :],), labels[..., 1:], num_items_in_batch)"
        )


def _processes() -> int:
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def _logits(outputs: Any, labels: Tensor) -> Tensor:
    if isinstance(outputs, tuple):
        logits: Tensor = outputs[0]
    else:
        logits = outputs["logits"] if isinstance(outputs, dict) else outputs.logits
    # One logit an example, of a head with num_labels=1.
    one_logit = logits.ndim == labels.ndim + 1 and logits.shape[-1] == 1
    return logits.squeeze(-1) if one_logit else logits

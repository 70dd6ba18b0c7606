"""A training watchdog: does the model say one class everywhere, and is it getting worse?

A loss that keeps a model at the majority class fails silently: the loss falls, the accuracy is
high, and F1 is 0 at the end. The watchdog looks at the logits of the training batches and says so
after the first epoch. It works for any loss, in a loop of one's own or in ``transformers.Trainer``.

A slow start is no failure: cross entropy, too, may say one class for an epoch. But it soon gives
each class the probability that its share of the labels deserves. A loss in trouble stays below.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

ONE_CLASS = 0.999  # share of the predictions of the later half of the epoch
BELOW = math.log(2)  # how far below the prior's the log-probability of the others must lie
KEPT = 2**20  # labels of an epoch; of more, one in three is kept, in nine and so on
RISING = 0.1  # a rise of their log-probability, last quarter against the third, that is hope


class Watchdog:
    """Watches the batches of an epoch; `report` says what is wrong, if anything.

    In a loop of one's own::

        watch = Watchdog(loss)
        for inputs, labels in batches:
            logits = model(inputs)
            value = loss(logits, labels)
            watch.observe(logits, labels, value)
            value.backward()
        print(watch.report() or "")

    In ``transformers.Trainer``::

        watch = Watchdog(loss)
        Trainer(..., compute_loss_func=watch.watching(TrainerLoss(loss)),
                callbacks=[watch.callback()])

    Args:
        loss: The loss, or anything with it in an attribute ``loss``, for the remedy that suits it.
        labels: Names of the classes, in the order of the logits; None: their numbers.
        ignore_index: The label that does not count.
    """

    def __init__(
        self,
        loss: Callable[..., Tensor] | None = None,
        *,
        labels: Sequence[str] | None = None,
        ignore_index: int = -100,
    ) -> None:
        self.loss, self.labels, self.ignore_index = loss, labels, ignore_index
        self._batches: list[Tensor] = []
        self._every = 1  # of how many labels one is kept; odd, for starts and ends alternate

    def observe(self, logits: Tensor, labels: Tensor, loss: Tensor | None = None) -> None:
        """Note one batch, before ``backward``.

        Args:
            logits: ``[..., C]``, or ``[...]`` for decisions of yes or no.
            labels: Class indices or 0/1, ``[...]``.
            loss: The batch's loss, still with its graph; with it the report tells the gradient.

        Raises:
            ValueError: The shapes do not belong together.
        """
        binary = logits.shape == labels.shape
        if not binary and logits.shape[:-1] != labels.shape:
            raise ValueError(
                f"expected labels {list(logits.shape[:-1])} or {list(logits.shape)} for logits "
                f"{list(logits.shape)}; got {list(labels.shape)}"
            )
        gradient = None
        if loss is not None and loss.requires_grad and logits.requires_grad:
            (gradient,) = torch.autograd.grad(loss, logits, retain_graph=True, allow_unused=True)
        # No step waits for the device: what does not count is left out by `report`.
        with torch.no_grad():
            gold = labels.reshape(-1)[:: self._every].long()
            counts = gold != self.ignore_index
            width = 1 if binary else logits.shape[-1]
            x = logits.reshape(-1, width)[:: self._every].float()
            x = torch.cat([F.logsigmoid(-x), F.logsigmoid(x)], -1) if binary else x
            logs = x.log_softmax(-1).gather(-1, (gold * counts).unsqueeze(-1)).squeeze(-1)
            push = torch.full_like(logs, math.nan)
            if gradient is not None:
                push = gradient.reshape(-1, width)[:: self._every].float().abs().amax(-1)
            # Columns: gold class or -1, predicted class, log-probability of the gold, gradient.
            gold_class = torch.where(counts, gold, -1)
            self._batches.append(torch.stack([gold_class, x.argmax(-1), logs, push], -1))
        if sum(map(len, self._batches)) > KEPT:
            self._batches = [batch[::3].clone() for batch in self._batches]
            self._every *= 3

    def report(self) -> str | None:
        """What the batches since the last report say, in words; None if all is well.

        NaN is reported as such. Else it is a hint, not a verdict: the model says one class in
        (nearly) every place, and its probability of the other classes, where they are right, is
        below half of their share of the labels and does not rise.
        """
        batches = [batch[batch[:, 0] >= 0].cpu() for batch in self._batches]
        self._batches, self._every = [], 1
        if not batches:
            return None
        every = torch.cat(batches)
        if broken := int(every[:, 2].isnan().sum()):
            place = next(i for i, batch in enumerate(batches, 1) if batch[:, 2].isnan().any())
            return (
                f"the logits hold NaN: {broken:,} of {len(every):,} labels, first in batch "
                f"{place} of {len(batches)}. Lower the learning rate, clip the gradient, and "
                "look for a logarithm or a power of 0 in the loss; diagnose(loss) may say where."
            )
        if len(batches) < 4:
            return None
        edges = [len(batches) * i // 4 for i in range(5)]
        quarters = [torch.cat(batches[start:end]) for start, end in itertools.pairwise(edges)]
        late = torch.cat(quarters[2:])
        classes, counts = late[:, 1].long().unique(return_counts=True)
        if len(late) == 0 or int(counts.max()) < ONE_CLASS * len(late):
            return None
        predicted = int(classes[counts.argmax()])
        gold = every[:, 0].long()
        shares = gold.bincount().double() / len(gold)
        first, _, third, last = (quarter[quarter[:, 0] != predicted] for quarter in quarters)
        if len(third) == 0 or len(last) == 0:
            return None
        prior = float(shares[torch.cat([third, last])[:, 0].long()].log().mean())
        before, now = float(third[:, 2].mean()), float(last[:, 2].mean())
        if now > prior - BELOW or now - before > RISING:
            return None
        name = self.labels[predicted] if self.labels is not None else f"class {predicted}"
        share = int(counts.max()) / len(late)
        lines = [
            f"the model predicts one class nearly everywhere: {name}, {share:.1%} of "
            f"{len(late):,} labels; in the gold it has {float(shares[predicted]):.1%}.",
            f"Where another class is right, its probability is {math.exp(now):.2g}, less than its "
            f"share of the labels ({math.exp(prior):.2g}), and it does not rise.",
        ]
        start, end = float(first[:, 3].nanmean()), float(last[:, 3].nanmean())
        if start > 0 and math.isfinite(end):
            lines.append(
                f"The gradient of the loss there is {end:.2g}, {end / start:.2g} of what it was "
                "at the start."
            )
        return " ".join([*lines, _remedy(self.loss)])

    def watching(self, compute_loss: Callable[..., Tensor]) -> Callable[..., Tensor]:
        """A ``compute_loss_func`` for ``transformers.Trainer`` that notes each batch.

        Args:
            compute_loss: Called as ``(outputs, labels, num_items_in_batch=...)``.
        """

        def watched(outputs: Any, labels: Tensor, **rest: Any) -> Tensor:
            value = compute_loss(outputs, labels, **rest)
            logits = outputs["logits"] if isinstance(outputs, dict) else outputs[0]
            if logits.requires_grad:
                self.observe(logits, labels, value)
            return value

        return watched

    def callback(self, say: Callable[[str], None] = print) -> Any:
        """A ``TrainerCallback`` that reports at the end of each epoch.

        Args:
            say: Called with the report, if there is one, on the first of several processes.
        """
        from transformers import TrainerCallback

        watch = self

        class TrainingWatchdog(TrainerCallback):
            def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                if (text := watch.report()) is not None and state.is_world_process_zero:
                    say(text)

        return TrainingWatchdog()


def _remedy(loss: Any) -> str:
    """What to try with this loss."""
    inner = getattr(loss, "loss", loss)
    if getattr(inner, "squared", None) is False:
        return (
            "Try squared denominators (squared=True), a small smoothing (smooth=1e-4), or leave "
            "that class out of the mean (classes=[the others], absent='keep')."
        )
    name = getattr(inner, "__name__", type(inner).__name__).lower()
    warm = "" if "cross" in name else " some hundred steps of cross entropy first (WarmStart),"
    return (
        f"Try{warm} a higher learning rate, or the output bias at the log of the classes' shares; "
        "diagnose(loss, counts=...) may say why."
    )

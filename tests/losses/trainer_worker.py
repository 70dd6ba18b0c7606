"""A real ``transformers.Trainer`` step against the gradient of the whole batch.

Called by test_trainer.py in one process, and in each of two.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import SequentialSampler
from transformers import (
    BertConfig,
    BertForTokenClassification,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from dicebook import (
    CrossEntropyLoss,
    DiceLoss,
    MultiLabelDiceLoss,
    SelfAdjustingDiceLoss,
    TrainerLoss,
    TverskyLoss,
    WarmStart,
    WeightedSum,
)

CLASSES = 4
LOSSES = {
    "cross entropy": lambda: CrossEntropyLoss(weight=torch.tensor([0.5, 1.0, 2.0, 3.0])),
    "example level": lambda: SelfAdjustingDiceLoss(level="example"),
    "dice": lambda: DiceLoss(squared=True),
    "self-adjusting": lambda: SelfAdjustingDiceLoss(reduction="sum"),
    "multi-label": lambda: MultiLabelDiceLoss(weight=[1, 2, 0.5, 1]),
    "sum": lambda: WeightedSum(CrossEntropyLoss(), TverskyLoss(), second_weight=2.0),
    "compiled": lambda: torch.compile(TverskyLoss(squared=True), backend="eager"),
    "warm start": lambda: WarmStart(CrossEntropyLoss(), DiceLoss(), end=4),
    "a function": lambda: (
        lambda logits, labels: torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), labels.flatten()
        )
    ),
}


def rows(count: int, several: bool = False) -> list[dict[str, Any]]:
    """Rows of uneven numbers of labels, or of sets of labels; the last two have none."""
    generator = torch.Generator().manual_seed(2)
    made = []
    for i in range(count):
        tokens = torch.randint(5, 30, (12,), generator=generator)
        labels = torch.randint(CLASSES, (12,), generator=generator)
        labels[0 if i >= count - 2 else 2 + i % 10 :] = -100
        if several:  # a token of class c has the labels up to c
            sets = (labels.unsqueeze(-1) >= torch.arange(CLASSES)).long()
            labels = torch.where(labels.unsqueeze(-1) < 0, -100, sets)
        made.append({"input_ids": tokens.tolist(), "labels": labels.tolist()})
    return made


def collate(batch: list[dict[str, list[int]]]) -> dict[str, Tensor]:
    """Rows of one length, as tensors."""
    return {name: torch.tensor([row[name] for row in batch]) for name in batch[0]}


def network() -> BertForTokenClassification:
    """A tiny BERT without dropout."""
    torch.manual_seed(5)
    config = BertConfig(
        vocab_size=30,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        num_labels=CLASSES,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return BertForTokenClassification(config)


class InOrder(Trainer):
    """A Trainer that does not shuffle."""

    def _get_train_sampler(self, *_: Any, **__: Any) -> SequentialSampler:
        return SequentialSampler(self.train_dataset)


class Catch(TrainerCallback):
    """Keeps the gradient that the optimizer gets."""

    gradient: Tensor

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.gradient = flat(kwargs["model"])


def flat(model: torch.nn.Module) -> Tensor:
    """All gradients of a model in one vector."""
    return torch.cat([p.grad.flatten().clone() for p in model.parameters() if p.grad is not None])


def fit(
    model: torch.nn.Module, adapter: TrainerLoss, dataset: list[dict[str, Any]], **options: Any
) -> tuple[InOrder, Tensor]:
    """Train for one step, and give the Trainer and the gradient that its optimizer got."""
    catch = Catch()
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            average_tokens_across_devices=adapter.average_tokens_across_devices,
            max_steps=1,
            max_grad_norm=0.0,
            logging_steps=1,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
            use_cpu=True,
            **options,
        )
        trainer = InOrder(
            model,
            arguments,
            train_dataset=dataset,
            data_collator=collate,
            compute_loss_func=adapter,
            callbacks=[catch, adapter.callback()],
        )
        trainer.train()
    return trainer, catch.gradient


def truth(loss: Any, dataset: list[dict[str, Any]]) -> tuple[Tensor, float]:
    """The gradient of the loss of all rows at once, and that loss."""
    alone = network().train()
    batch = collate(dataset)
    labels = batch.pop("labels")
    if isinstance(loss, WarmStart):
        loss.advance(to=0)
    true = loss(alone(**batch).logits, labels)
    true.backward()
    return flat(alone), true.item()


def distance(found: Tensor, expected: Tensor) -> float:
    """The relative error of a gradient."""
    return ((found - expected).norm() / expected.norm()).item()


def check(
    name: str,
    *,
    accumulation: int,
    size: int = 12,
    average: bool = True,
    checkpointing: bool = False,
    unlabelled_last: bool = True,
) -> tuple[float, float, float]:
    """One optimizer step over all rows: relative error of the gradient; logged and true loss."""
    dataset = rows(size if unlabelled_last else size + 2, name == "multi-label")[:size]
    loss = LOSSES[name]()
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    distributed = {"ddp_backend": "gloo", "ddp_find_unused_parameters": False}
    model = network()
    if checkpointing:
        model.activation_checkpointing_enable()
    trainer, gradient = fit(
        model,
        TrainerLoss(loss, average_tokens_across_devices=average),
        dataset,
        per_device_train_batch_size=size // accumulation // processes,
        gradient_accumulation_steps=accumulation,
        **(distributed if processes > 1 else {}),
    )
    logged = next(row["loss"] for row in trainer.state.log_history if "loss" in row)
    expected, true = truth(loss, dataset)
    return distance(gradient, expected), logged, true


def failing(error: BaseException, *calls: int) -> BertForTokenClassification:
    """The network, but with an error in some of its forward passes, the first being 1."""
    count, model = itertools.count(1), network()

    def fail(*_: Any) -> None:
        if next(count) in calls:
            raise error

    model.register_forward_pre_hook(fail)
    return model


def main() -> None:
    """Every loss on this many processes, with accumulation; dice without it, too."""
    for name, accumulation in [*((name, 3) for name in LOSSES), ("dice", 1)]:
        error, logged, true = check(name, accumulation=accumulation)
        assert error < 2e-6, (name, accumulation, error)
        assert abs(logged - true) < 1e-3, (name, accumulation, logged, true)
    for name in ("dice", "sum"):
        error, logged, true = check(name, accumulation=3, average=False, unlabelled_last=False)
        if name == "dice":  # a mean over uneven processes is not exact without the average
            assert error < 2e-6, (name, error)
            assert abs(logged - true) < 1e-3
    assert torch.distributed.get_world_size() == 2
    torch.distributed.destroy_process_group()

"""The watchdog: it speaks where a model stays at one class, and is quiet where it trains."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import Trainer, TrainingArguments, set_seed

from dicebook import DiceLoss, TrainerLoss, TverskyLoss, make_loss
from dicebook.corpora import load
from dicebook.tasks import tagging
from dicebook.training.encoders import load_tokenizer
from dicebook.watchdog import Watchdog

GOLD = torch.tensor([0] * 90 + [1] * 5 + [2] * 5)


def epoch(watch: Watchdog, *log_odds: float) -> str | None:
    """Batches in which class 0 leads each other class by these margins."""
    for margin in log_odds:
        logits = torch.zeros(len(GOLD), 3)
        logits[:, 0] = margin
        logits[::2, 2] += 1e-3  # classes 1 and 2 take turns where 0 does not lead
        watch.observe(logits, GOLD)
    return watch.report()


def test_one_class_and_sinking_is_reported() -> None:
    text = epoch(Watchdog(labels=["O", "B", "I"]), 1, 4, 6, 7)
    assert text is not None
    assert "O, 100.0% of 200 labels; in the gold it has 90.0%" in text
    assert "its probability is 0.00091, less than its share of the labels (0.05)" in text


@pytest.mark.parametrize(
    ("margins", "why"),
    [
        ((1, 2, 2.9, 2.9), "the probabilities are the classes' shares, as of cross entropy"),
        ((1, 9, 8, 7), "they rise"),
        ((5, 6, -1, -1), "other classes are predicted"),
        ((8, 9, 9), "three batches are too few to tell"),
    ],
)
def test_quiet(margins: tuple[float, ...], why: str) -> None:
    assert epoch(Watchdog(), *margins) is None, why


def test_each_epoch_is_for_itself() -> None:
    watch = Watchdog()
    assert epoch(watch, 5, 6, 7, 8) is not None
    assert watch.report() is None
    assert epoch(watch, 1, 1, -1, -1) is None


def test_padding_does_not_count_and_yes_or_no_is_two_classes() -> None:
    watch = Watchdog()
    labels = torch.tensor([0.0] * 19 + [1.0] + [-100.0] * 20)
    for bias in (-2.0, -5.0, -8.0, -9.0):
        watch.observe(torch.full((40,), bias), labels)
    text = watch.report()
    assert text is not None
    assert "class 0, 100.0% of 40 labels; in the gold it has 95.0%" in text


def test_shapes_that_do_not_belong_together() -> None:
    with pytest.raises(ValueError, match=r"expected labels \[4\] or \[4, 3\]"):
        Watchdog().observe(torch.zeros(4, 3), torch.zeros(3))


@pytest.mark.parametrize(
    ("loss", "remedy"),
    [
        (DiceLoss(squared=False), "squared=True"),
        (TverskyLoss(squared=False), "classes="),
        (TrainerLoss(DiceLoss(squared=False)), "squared=True"),
        (DiceLoss(squared=True), "WarmStart"),
        (F.cross_entropy, "WarmStart"),
        (None, "WarmStart"),
    ],
)
def test_the_remedy_suits_the_loss(loss: object, remedy: str) -> None:
    text = epoch(Watchdog(loss), 5, 6, 7, 8)  # type: ignore[arg-type]
    assert text is not None
    assert remedy in text


def test_the_gradient_is_told_and_the_graph_stays() -> None:
    watch, loss = Watchdog(), DiceLoss(squared=False)
    for margin in (1.0, 5.0, 7.0, 9.0):
        logits = torch.zeros(len(GOLD), 3)
        logits[:, 0] = margin
        logits.requires_grad_()
        value = loss(logits, GOLD)
        watch.observe(logits, GOLD, value)
        assert logits.grad is None
        value.backward()
    text = watch.report()
    assert text is not None
    assert "The gradient of the loss there is" in text


def test_torch_alone_is_enough() -> None:
    code = "import dicebook.watchdog, sys; assert 'transformers' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def train(loss: nn.Module, folder: str, *, epochs: int = 1) -> tuple[list[str], float]:
    """Train a tiny tagger; what the watchdog says, and the last share of other classes."""
    corpus = load("embedded-entities-en", task="tagging")
    texts = [" ".join(tokens) for tokens in corpus["train"]["tokens"]]
    tokenizer = load_tokenizer("tiny", texts, max_length=32)
    encoded = tagging.encode(corpus, tokenizer, max_length=32)
    set_seed(0)
    model = tagging.model("tiny", tokenizer, encoded.labels)
    said: list[str] = []
    watch = Watchdog(loss, labels=encoded.labels)
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=folder,
            num_train_epochs=epochs,
            per_device_train_batch_size=16,
            learning_rate=1e-3,
            use_cpu=True,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
            remove_unused_columns=False,
            label_names=["labels"],
        ),
        train_dataset=encoded.splits["train"],
        data_collator=tagging.collator(tokenizer),
        compute_loss_func=watch.watching(TrainerLoss(loss)),
        callbacks=[watch.callback(said.append)],
    )
    trainer.train()
    split = encoded.splits["validation"]
    rows = torch.as_tensor(trainer.predict(split).predictions)
    predicted: Tensor = rows.argmax(-1)
    return said, float((predicted != 0).float().mean())


@pytest.mark.parametrize("name", ["ce", "dl", "dsc"])
def test_no_alarm_where_a_tagger_trains(name: str, tmp_path: object) -> None:
    options = {} if name == "ce" else {"squared": True}
    said, others = train(make_loss(name, **options), str(tmp_path), epochs=3)
    assert said == []
    assert others > 0.01


class SaysNever(nn.Module):
    """Cross entropy with O for every label: it teaches a model to say nothing else."""

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        labels = torch.where(labels > 0, 0, labels)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def test_an_alarm_where_a_tagger_stays_at_one_class(tmp_path: object) -> None:
    said, others = train(SaysNever(), str(tmp_path))
    assert others == 0
    assert len(said) == 1
    assert "predicts one class nearly everywhere: O" in said[0]
    assert "The gradient of the loss there is" in said[0]

"""The watchdog: it speaks where a model stays at one class, and is quiet where it trains."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import Trainer, TrainingArguments, set_seed

from dicebook import CrossEntropyLoss, DiceLoss, TrainerLoss, TverskyLoss, make_loss
from dicebook.diagnosis.watchdog import Watchdog
from dicelab.training.experiment import Experiment
from tests.tiny_tagger import rare_entities, train_tagger

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


def test_a_batch_is_noted_without_waiting_for_its_device() -> None:
    # A tensor without values: what would have to look at them raises.
    logits = torch.zeros(4, 5, 3, device="meta", requires_grad=True)
    labels = torch.zeros(4, 5, dtype=torch.long, device="meta")
    Watchdog().observe(logits, labels, logits.square().mean())
    Watchdog().observe(logits[..., 0], labels, logits[..., 0].square().mean())


def test_nan_is_reported_as_nan() -> None:
    watch = Watchdog(DiceLoss(squared=False))
    for margin in (1.0, 5.0, math.nan, math.nan):
        watch.observe(torch.full((len(GOLD), 3), margin), GOLD)
    text = watch.report()
    assert text is not None
    assert text.startswith("the logits hold NaN: 200 of 400 labels, first in batch 3 of 4.")
    watch.observe(torch.full((len(GOLD), 3), math.nan), GOLD)
    assert "first in batch 1 of 1" in str(watch.report())


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
        (TverskyLoss(squared=False), "smooth=1e-4"),
        (TrainerLoss(DiceLoss(squared=False)), "squared=True"),
        (None, "WarmStart"),
        (TrainerLoss(CrossEntropyLoss()), "Try a higher learning rate"),
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


def of_training(loss: nn.Module, epochs: int) -> float:
    """Train a tiny tagger by the project's trainer; the last share of classes other than O."""
    given = {"start": "zero", "epochs": epochs, "batch_size": 16, "learning_rate": 3e-3}
    experiment = Experiment(corpus="x", device="cpu", **given)
    trained = train_tagger(experiment, TrainerLoss(loss), made=rare_entities(240))
    return float((trained.logits["test"].argmax(-1) != 0).mean())


@pytest.mark.slow
def test_no_alarm_where_a_tagger_trains(capsys: pytest.CaptureFixture[str]) -> None:
    others = of_training(make_loss("dsc"), 4)
    assert "watchdog" not in capsys.readouterr().out
    assert others > 0.01


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:squared=False")
def test_the_trainer_calls_out_linear_dice_that_finds_nothing(capsys):
    others = of_training(DiceLoss(squared=False, absent="keep"), 2)
    said = capsys.readouterr().out
    assert others == 0
    assert "watchdog: the model predicts one class nearly everywhere: class 0" in said
    assert "The gradient of the loss there is" in said
    assert "Try squared denominators (squared=True)" in said


class SaysNever(nn.Module):
    """Cross entropy with class 0 for every label: it teaches a model to say nothing else."""

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(logits, torch.zeros_like(labels))


class Linear(nn.Module):
    """A classifier as the Trainer calls it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"logits": self.layer(x)}


@pytest.mark.slow
def test_in_the_trainer_of_transformers(tmp_path: Path) -> None:
    set_seed(0)
    rows = [{"x": torch.randn(4), "labels": int(gold)} for gold in GOLD.repeat(8)]
    said: list[str] = []
    watch = Watchdog(labels=["O", "B", "I"])
    Trainer(
        model=Linear(),
        args=TrainingArguments(
            output_dir=str(tmp_path),
            num_train_epochs=1,
            per_device_train_batch_size=16,
            learning_rate=0.1,
            use_cpu=True,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
            remove_unused_columns=False,
        ),
        train_dataset=rows,
        compute_loss_func=watch.watching(TrainerLoss(SaysNever())),
        callbacks=[watch.callback(said.append)],
    ).train()
    assert len(said) == 1
    assert "predicts one class nearly everywhere: O" in said[0]
    assert "The gradient of the loss there is" in said[0]

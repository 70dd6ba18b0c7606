"""The training layer: what it refuses, what it keeps, and the same steps on one process or two."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from datasets import Dataset, DatasetDict
from transformers import TrainerControl, TrainingArguments

from dicebook import TrainerLoss, make_loss
from dicelab.tasks import reading
from dicelab.training import callbacks
from dicelab.training import trainer as training
from dicelab.training.encoders import load_tokenizer
from dicelab.training.experiment import Experiment, ParameterError
from tests.processes import run_on
from tests.tiny_tagger import prepared, train_share, train_tagger

pytestmark = pytest.mark.slow


def test_a_run_is_reproducible_and_measured() -> None:
    first, second = (train_tagger(Experiment(corpus="x", loss="dl", epochs=2)) for _ in range(2))
    assert first.history == second.history
    assert [entry["epoch"] for entry in first.history] == [1, 2]
    assert set(first.history[0]) >= {"step", "loss", "validation_loss", "validation_f1"}
    assert (first.logits["test"] == second.logits["test"]).all()
    assert first.measured["seconds"] > 0
    assert first.measured["tokens_per_second"] > 0


def test_a_split_is_scored_by_its_own_logits() -> None:
    splits = prepared()[1].splits.copy()
    splits["test"] = splits["test"].select(range(5))
    scored = []

    def evaluate(logits: Any, split: Dataset) -> dict[str, float]:
        scored.append((len(logits), len(split)))
        return {"f1": 0.0}

    short = Experiment(corpus="x", epochs=1, max_steps=1)
    trained = train_tagger(short, splits=splits, evaluate=evaluate)
    assert set(scored) == {(24, 24)}
    assert [len(trained.logits[name]) for name in ("validation", "test")] == [24, 5]


def test_a_run_can_end_at_a_given_epoch_and_keep_it() -> None:
    """As a longer run had it there, and though nobody scored the validation split."""

    def trained(**given: Any) -> training.Trained:
        falling = iter((3.0, 2.0, 1.0))  # by validation the first epoch is the best
        experiment = Experiment(corpus="x", epochs=3)
        return train_tagger(experiment, evaluate=lambda *_: {"f1": next(falling)}, **given)

    first = trained().logits["test"]
    assert (trained(last=1).logits["test"] == first).all()
    assert (trained(last=2).logits["test"] != first).any()
    assert trained(last=2).history == []


def test_training_starts_at_the_log_prior_or_as_the_model_comes() -> None:
    counts = torch.as_tensor(prepared()[1].counts(), dtype=torch.float32)
    told = {"corpus": "x", "max_steps": 1, "learning_rate": 1e-6}
    prior, zero = (
        train_tagger(Experiment(**told, start=start)).model.classifier.bias.detach()
        for start in ("prior", "zero")
    )
    torch.testing.assert_close(prior, (counts / counts.sum()).log(), atol=1e-5, rtol=0)
    torch.testing.assert_close(zero, torch.zeros(len(counts)), atol=1e-5, rtol=0)


def test_a_start_at_the_prior_that_cannot_be_had_is_refused() -> None:
    with pytest.raises(ParameterError, match="'prior' needs the counts of the classes"):
        train_tagger(Experiment(corpus="x"), counts=None)
    with pytest.raises(ParameterError, match=r"with 9 outputs .* Or choose 'zero'"):
        train_tagger(Experiment(corpus="x"), counts=[1] * 9)


def test_the_seed_matters() -> None:
    losses = {
        train_tagger(Experiment(corpus="x", epochs=1, max_steps=2, seed=seed)).history[0]["loss"]
        for seed in (0, 1)
    }
    assert len(losses) == 2


def test_a_corpus_that_was_not_drawn_is_refused() -> None:
    whole = prepared()[1].splits
    for given, expected in (
        ({"train_size": 32}, r"'train_size': expected at most 32 .*, got 96"),
        ({"eval_size": 10}, r"'eval_size': expected at most 10 .* 'validation', got 24"),
    ):
        with pytest.raises(ParameterError, match=expected):
            train_tagger(Experiment(corpus="x", **given), splits=whole)
    # What counts are sentences, though each is a row for every type.
    rows = Dataset.from_dict({"sentence": [0, 0, 1, 1]})
    training._check_sizes(Experiment(corpus="x", train_size=2), DatasetDict(train=rows))
    with pytest.raises(ParameterError, match="got 2"):
        training._check_sizes(Experiment(corpus="x", train_size=1), DatasetDict(train=rows))


def test_threads_are_those_of_the_run_only() -> None:
    before = torch.get_num_threads()
    measured = train_tagger(Experiment(corpus="x", max_steps=1, threads=before + 1)).measured
    assert torch.cuda.is_available() or measured["device"] == f"cpu, {before + 1} threads"
    assert torch.get_num_threads() == before


def test_a_loss_that_does_not_add_up_is_not_accumulated() -> None:
    experiment = Experiment(corpus="x", gradient_accumulation=2)
    with pytest.raises(ParameterError, match=r"gradient_accumulation.*may not add up"):
        train_tagger(experiment, compute_loss=lambda outputs, labels, **_: outputs.logits.sum())


def test_losses_of_rows_accumulate_to_the_step_of_a_large_batch() -> None:
    texts = [f"Ada met Bob in {place}" for place in ("Ulm", "Lodz", "Rome") for _ in "123"]
    tokenizer = load_tokenizer("tiny", [*texts, "where ?"] * 3, max_length=64)
    rows = [
        {
            "question": "where ?",
            "context": text,
            "answers": {"text": [text.split()[-1]], "answer_start": [15]},
        }
        for text in texts
    ]
    part = Dataset.from_list(rows)
    corpus = DatasetDict(train=part, validation=part, test=part)
    encoded = reading.encode(corpus, tokenizer, max_length=32, stride=4)

    def build() -> Any:
        model = reading.model("tiny", tokenizer)
        for layer in model.modules():
            if isinstance(layer, torch.nn.Dropout):
                layer.p = 0.0
        return model

    def run(**batches: int) -> training.Trained:
        return train_tagger(
            Experiment(corpus="x", epochs=1, learning_rate=1e-3, start="zero", **batches),
            reading.choice,
            build_model=build,
            splits=encoded.splits,
            collator=reading.collator(tokenizer),
            tokenizer=tokenizer,
            evaluate=lambda outputs, split: {"f1": 0.0},
        )

    whole, parts = run(batch_size=6), run(batch_size=2, gradient_accumulation=3)
    assert parts.history[0]["step"] == whole.history[0]["step"] > 1
    assert parts.history[0]["loss"] == pytest.approx(whole.history[0]["loss"], abs=1e-4)
    for mine, theirs in zip(whole.model.parameters(), parts.model.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, atol=2e-4, rtol=0)


def test_a_loss_that_is_no_number_ends_the_run() -> None:
    class Nan(TrainerLoss):
        def __call__(self, outputs, labels, num_items_in_batch=None):
            return super().__call__(outputs, labels, num_items_in_batch) * float("nan")

    with pytest.raises(training.NotFinite, match="the training loss is nan at step"):
        train_tagger(Experiment(corpus="x", epochs=1), compute_loss=Nan(make_loss("ce")))


def test_early_stopping_and_tensorboard(tmp_path: Path) -> None:
    still = Experiment(
        corpus="x",
        epochs=6,
        learning_rate=1e-12,
        early_stopping=1,
        tensorboard=True,
        output_dir=str(tmp_path),
    )
    assert len(train_tagger(still).history) == 2
    assert list(tmp_path.rglob("events.out.tfevents.*"))
    weights = {path.name for path in tmp_path.rglob("*model*")}
    assert weights == {"model.safetensors"}


@pytest.mark.parametrize("die_at", [5, 8])
def test_a_run_that_was_killed_within_a_pass_goes_on_there(die_at, tmp_path, monkeypatch):
    given = Experiment(corpus="x", loss="dl", epochs=2, batch_size=16)
    whole = train_tagger(given)
    steps = int(whole.history[0]["step"])
    assert steps == 6  # the kills are before the end of the first pass, and in the second
    given = replace(given, output_dir=str(tmp_path))
    saved = callbacks.MarkComplete.on_save

    def save_and_die(self: Any, args: Any, state: Any, *more: Any, **others: Any) -> None:
        saved(self, args, state, *more, **others)
        if state.global_step == die_at:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(callbacks, "MINUTES", 0.0)
        patch.setattr(callbacks.MarkComplete, "on_save", save_and_die)
        with pytest.raises(KeyboardInterrupt):
            train_tagger(given)
    kept = sorted(path.name for path in tmp_path.rglob("checkpoint-*"))
    assert f"checkpoint-{die_at}" in kept
    again = train_tagger(given)
    assert again.history == [pytest.approx(entry) for entry in whole.history]
    assert (again.logits["test"] == whole.logits["test"]).all()


def test_speeds_leave_the_first_steps_out(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, now = callbacks.Clock(), iter([0.0, 100.0, 100.0, 101.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(now))
    args, control = SimpleNamespace(device=torch.device("cpu")), TrainerControl()
    state = SimpleNamespace(global_step=0, num_input_tokens_seen=0)
    for _ in range(20):  # the first ten take 100 seconds, the others one
        clock.on_step_begin(args, state, control)
        state.global_step += 1
        state.num_input_tokens_seen += 8
        clock.on_step_end(args, state, control)
    clock.on_epoch_end(args, state, control)
    assert clock.seconds == 101
    assert clock.steady(state) == (0.1, 80)


def test_of_two_cards_a_process_takes_one(monkeypatch: pytest.MonkeyPatch) -> None:
    short = Experiment(corpus="x", loss="dl", max_steps=2, device="cpu")
    alone = train_tagger(short)
    monkeypatch.setattr(TrainingArguments, "n_gpu", property(lambda told: 2))
    both = train_tagger(short)
    assert both.history == alone.history
    assert not isinstance(both.model, torch.nn.DataParallel)
    arguments = training._OneCard(output_dir="x", per_device_train_batch_size=3)
    assert (arguments.n_gpu, arguments.train_batch_size) == (1, 3)


def test_a_gpu_that_is_not_there_is_named() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(ParameterError, match="parameter 'device': expected a CUDA GPU"):
        train_tagger(Experiment(corpus="x", device="cuda"))


def test_two_processes_train_as_one(tmp_path: Path) -> None:
    loss, out = "dl", tmp_path / "two.pt"
    run_on(2, train_share, loss, out)
    two = torch.load(out)
    one = train_tagger(Experiment(corpus="x", loss=loss, epochs=2, batch_size=16, device="cpu"))
    assert [e["step"] for e in two["history"]] == [e["step"] for e in one.history]
    for mine, theirs in zip(one.history, two["history"], strict=True):
        assert theirs["loss"] == pytest.approx(mine["loss"], abs=1e-3)
        assert theirs["validation_f1"] == pytest.approx(mine["validation_f1"], abs=1e-3)
    torch.testing.assert_close(
        two["logits"], torch.as_tensor(one.logits["test"]), atol=1e-3, rtol=0
    )


def test_weighted_cross_entropy_takes_its_weights_from_the_counts() -> None:
    experiment = Experiment(corpus="any", loss="wce,dsc", loss_options={"dsc": {"alpha": 0.5}})
    weighted = training.build_loss(experiment, "wce", [90, 10])
    assert weighted.weight.tolist() == pytest.approx([math.log10(100 / 90), 1.0])
    assert training.build_loss(
        experiment, "wce", [90, 10], binary=True
    ).weight.tolist() == pytest.approx([math.log10(100 / 90), 1.0])
    assert training.build_loss(experiment, "dsc", [90, 10]).alpha == 0.5
    own = Experiment(corpus="any", loss="wce", loss_options={"weight": [1.0, 3.0]})
    assert training.build_loss(own, "wce", [90, 10]).weight.tolist() == [1.0, 3.0]

"""One run of a fit: an arm, a learning rate, a seed. Kept whole, or resumed from its last pass."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset, DatasetDict
from transformers import (
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    PreTrainedTokenizerBase,
)

from dicebook import TrainerLoss
from dicebook.decision import output_layer
from dicelab.atomic import atomic, write_json
from dicelab.fit.options import FitError, Options
from dicelab.fit.plan import Plan
from dicelab.fit.problems import Problem
from dicelab.own_loss import own_loss
from dicelab.tasks.outputs import outputs_of
from dicelab.training.experiment import LOSSES, Experiment
from dicelab.training.sampling import sample
from dicelab.training.trainer import NotFinite, device_of, train


@dataclass(frozen=True)
class Run:
    """A run: what it is called follows from what it does."""

    arm: str
    rate: float
    seed: int
    share: float = 1.0

    @property
    def name(self) -> str:
        """For its folder and its lines."""
        arm = self.arm.replace(":", "-").replace(".", "-")
        part = f"-{self.share:.0%}".rstrip("%") if self.share < 1 else ""
        return f"{arm}-{self.rate:g}-{self.seed}{part}"

    def __str__(self) -> str:
        part = f", {self.share:.0%} of train" if self.share < 1 else ""
        return f"{self.arm}, rate {self.rate:g}, seed {self.seed}{part}"


@dataclass(frozen=True)
class Done:
    """What a run left.

    Attributes:
        run: the run.
        validation: its scores on the validation split, of the best pass.
        bias: the decision that was chosen there.
        value: the goal's score there, with that decision.
        argmax: the same without a decision.
        history: one entry a pass.
        seconds: of training.
        folder: where its model is.
    """

    run: Run
    validation: np.ndarray
    bias: np.ndarray
    value: float
    argmax: float
    history: list[dict[str, float]]
    seconds: float
    folder: Path

    def model(self, problem: Problem) -> Any:
        """The trained model, from its folder."""
        kind = (
            AutoModelForTokenClassification
            if problem.data.task == "tagging"
            else AutoModelForSequenceClassification
        )
        return kind.from_pretrained(self.folder / "model")

    def test(self, problem: Problem, tokenizer: PreTrainedTokenizerBase, device: str) -> np.ndarray:
        """Its scores on the test split, computed once."""
        path = self.folder / "test.npz"
        if not path.exists():
            model = self.model(problem).to(device_of(device))
            found = scores_of(problem, model, tokenizer, problem.splits["test"])
            _write_array(path, found)
        with np.load(path) as kept:
            return np.asarray(kept["scores"])


def scores_of(
    problem: Problem, model: Any, tokenizer: PreTrainedTokenizerBase, split: Dataset
) -> np.ndarray:
    """A model's scores on a split, see :meth:`Problem.scores`."""
    lengths = np.array([len(ids) for ids in split["input_ids"][:]])
    order = np.argsort(lengths, kind="stable")
    rows = [split[int(i)] for i in order]
    (found,) = outputs_of(model, rows, problem.collator(tokenizer), ["logits"], 64)
    shape = np.max([one.shape for one in found], axis=0)
    logits = np.zeros((len(rows), *shape), dtype=np.float32)
    for place, one in zip(order, found, strict=True):
        logits[place][tuple(slice(n) for n in one.shape)] = one
    return problem.scores(logits, split)


def head_of(model: Any) -> torch.nn.Linear:
    """The last linear layer of a classifier, with a bias for each logit.

    Raises:
        FitError: the model has no such layer, or one without a bias: saving would lose a new one.
    """
    try:
        return output_layer(model, model.config.num_labels)
    except ValueError:
        raise FitError(
            "--encoder: expected a model whose output layer is linear and has a bias, got "
            f"{type(model).__name__}; choose another encoder"
        ) from None


def loss_of(arm: str, problem: Problem) -> torch.nn.Module | Any:
    """The loss of an arm.

    Args:
        arm: a loss of the book, or ``MODULE:NAME``: a class to be called without arguments, or
            anything that takes logits and labels.

    Raises:
        FitError: there is no such module or name.
    """
    if ":" not in arm:
        return problem.loss(arm)
    try:
        return own_loss(arm, {})
    except ValueError as error:
        raise FitError(f"--losses: {error}") from None


def run(
    one: Run,
    problem: Problem,
    tokenizer: PreTrainedTokenizerBase,
    encoder: str,
    plan: Plan,
    options: Options,
    folder: Path,
    stop: Callable[[], bool] | None = None,
) -> Done:
    """Train, or read what was trained before.

    The test split is not seen here: the trainer gets one row of validation in its place.

    Args:
        one: the run.
        problem: encoded.
        tokenizer: the encoder's.
        encoder: its name.
        plan: for the length.
        options: for batch size and device.
        folder: of all runs.
        stop: asked after each pass; True ends the run there.
    """
    place = folder / one.name
    if not (place / "run.json").exists():
        trained, seconds = _train(one, problem, tokenizer, encoder, plan, options, place, stop)
        _keep(place, trained, problem, one, seconds)
    told = json.loads((place / "run.json").read_text(encoding="utf-8"))
    with np.load(place / "validation.npz") as kept:
        validation = np.asarray(kept["scores"])
    split = problem.splits["validation"]
    bias = problem.tuned(validation, split)

    def value(bias: np.ndarray) -> float:
        counts = problem.counts(split, problem.decide(validation, bias)).sum(0)
        return float(problem.goal.value(counts))

    return Done(
        one, validation, bias, value(bias), value(0 * bias), told["history"], told["seconds"], place
    )


def _train(
    one: Run,
    problem: Problem,
    tokenizer: PreTrainedTokenizerBase,
    encoder: str,
    plan: Plan,
    options: Options,
    place: Path,
    stop: Callable[[], bool] | None,
) -> tuple[Any, float]:
    known = one.arm if one.arm in LOSSES else "ce"
    experiment = Experiment(
        corpus=options.source,
        encoder=encoder,
        loss=known,
        start="zero",  # set where the model is built
        seed=one.seed,
        epochs=plan.epochs,
        max_steps=-1 if plan.max_steps < 0 else max(1, round(one.share * plan.max_steps)),
        batch_size=options.batch_size,
        learning_rate=one.rate,
        early_stopping=3 if plan.epochs > 5 else 0,
        device=options.device,
        threads=plan.speed.threads,
        output_dir=str(place),
    )
    splits = DatasetDict(
        train=_part(problem.splits["train"], one),
        validation=problem.splits["validation"],
        test=problem.splits["validation"].select([0]),
    )
    goal = problem.goal

    def build() -> Any:
        model = problem.model(encoder, tokenizer)
        head = head_of(model)
        if one.arm == "ce":
            with torch.no_grad():
                head.bias.copy_(torch.as_tensor(problem.start_bias()))
        return model

    def evaluate(logits: Any, split: Dataset) -> dict[str, float]:
        scores = problem.scores(logits, split)
        values = {}
        for name, bias in (
            (goal.metric, problem.tuned(scores, split)),
            ("argmax", np.zeros(len(problem.labels))),
        ):
            counts = problem.counts(split, problem.decide(scores, bias)).sum(0)
            values[name] = float(goal.value(counts))
        return values

    try:
        trained = train(
            experiment,
            build_model=build,
            splits=splits,
            collator=problem.collator(tokenizer),
            tokenizer=tokenizer,
            compute_loss=TrainerLoss(loss_of(one.arm, problem)),
            evaluate=evaluate,
            best=goal.metric,
            stop=stop,
        )
    except NotFinite as error:
        raise FitError(f"{one}: {error}; take smaller --rates, or leave the loss out") from None
    return trained, trained.measured["seconds"]


def _part(split: Dataset, one: Run) -> Dataset:
    if one.share >= 1:
        return split
    # By the label of the row where there is one, so that a rare class keeps its share.
    size = max(1, round(one.share * len(split)))
    cut = Experiment(corpus="part", seed=one.seed, train_size=size)
    return sample(DatasetDict(train=split), cut)["train"]


def _keep(place: Path, trained: Any, problem: Problem, one: Run, seconds: float) -> None:
    scores = problem.scores(trained.logits["validation"], problem.splits["validation"])
    _write_array(place / "validation.npz", scores)
    trained.model.save_pretrained(place / "model")
    write_json(place / "run.json", {"history": trained.history, "seconds": seconds})
    drop_checkpoints(place)


def drop_checkpoints(place: Path) -> None:
    """Remove what a finished run no longer needs."""
    for folder in place.iterdir():
        if folder.is_dir() and folder.name in LOSSES:
            shutil.rmtree(folder)


def drop_models(done: Sequence[Done]) -> None:
    """Remove the models of runs that were not chosen; their scores stay."""
    for one in done:
        shutil.rmtree(one.folder / "model", ignore_errors=True)


def _write_array(path: Path, values: np.ndarray) -> None:
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, scores=values)

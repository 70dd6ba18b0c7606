"""One run of a fit: an arm, a learning rate, a seed. Kept whole, or resumed from its last pass."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset, DatasetDict, concatenate_datasets

from dicebook import TrainerLoss
from dicebook.decision import output_layer
from dicelab.atomic import atomic, write_json
from dicelab.fit.calibration import log_loss
from dicelab.fit.inputs import Inputs
from dicelab.fit.options import FitError, Options
from dicelab.fit.plan import PASSES_ALONE, Plan
from dicelab.fit.predicting import classifier
from dicelab.fit.problems import Problem
from dicelab.tasks.outputs import logits_of
from dicelab.training.callbacks import Aim
from dicelab.training.experiment import LOSSES, Experiment
from dicelab.training.trainer import NotFinite, device_of, train


@dataclass(frozen=True)
class Run:
    """A run: what it is called follows from what it does."""

    arm: str
    rate: float
    seed: int

    @property
    def name(self) -> str:
        """For its folder and its lines."""
        arm = self.arm.replace(":", "-").replace(".", "-")
        return f"{arm}-{self.rate:g}-{self.seed}"

    def __str__(self) -> str:
        return f"{self.arm}, rate {self.rate:g}, seed {self.seed}"


@dataclass(frozen=True)
class RunResult:
    """What a run left.

    Attributes:
        run: the run.
        validation: its scores on the validation split, of the best pass.
        bias: the decision that was chosen there.
        value: the goal's score there, with that decision.
        argmax: the same without a decision.
        history: one entry a pass.
        seconds: the training time.
        folder: where its model is.
        epochs: the passes after which its learning rate was to be 0.
    """

    run: Run
    validation: np.ndarray
    bias: np.ndarray
    value: float
    argmax: float
    history: list[dict[str, float]]
    seconds: float
    folder: Path
    epochs: int = 0

    @property
    def learned(self) -> np.ndarray:
        """The scores on the validation split of the model that is in the folder."""
        return _read_array(self.folder / "validation.npz")

    def model(self, problem: Problem) -> Any:
        """The trained model, from its folder."""
        return classifier(self.folder / "model", problem.data.task)

    def test(self, inputs: Inputs, device: str) -> np.ndarray:
        """Its scores on the test split, computed once."""
        problem = inputs.problem
        path = self.folder / "test.npz"
        if not path.exists():
            model = self.model(problem).to(device_of(device))
            scores = scores_of(inputs, model, problem.splits["test"])
            _write_array(path, scores)
        return _read_array(path)


def scores_of(inputs: Inputs, model: Any, split: Dataset) -> np.ndarray:
    """A model's scores on a split, see :meth:`Problem.scores`."""
    collate = inputs.problem.collator(inputs.tokenizer)
    outputs = logits_of(model, split.to_list(), collate, 64)
    shape = np.max([values.shape for values in outputs], axis=0)
    logits = np.zeros((len(outputs), *shape), dtype=np.float32)
    for row, values in zip(logits, outputs, strict=True):
        row[tuple(slice(n) for n in values.shape)] = values
    return inputs.problem.scores(logits, split)


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


def run(
    spec: Run,
    inputs: Inputs,
    plan: Plan,
    options: Options,
    folder: Path,
    stop: Callable[[], bool] | None = None,
    aim: Aim | None = None,
) -> RunResult:
    """Train, or read what was trained before.

    The test split is not seen here: the trainer gets one row of validation in its place.

    Args:
        spec: the run.
        inputs: the encoded data, and the encoder.
        plan: for length and batch size.
        options: for the device.
        folder: where all runs are.
        stop: asked after each pass; True ends the run there.
        aim: decides after each pass how many there are to be.

    Raises:
        FitError: a loss is not finite.
    """
    place = folder / spec.name
    problem = inputs.problem
    if not (place / "run.json").exists():
        trained = _train(spec, inputs, plan, options, place, stop, aim=aim)
        scores = problem.scores(trained.logits["validation"], problem.splits["validation"])
        _keep(place, trained, scores, plan.epochs if aim is None else aim.aimed)
    left = json.loads((place / "run.json").read_text(encoding="utf-8"))
    validation = _read_array(place / "validation.npz")
    split = problem.splits["validation"]
    bias, value = problem.best_decision(validation, split)
    plain = problem.value(validation, np.zeros_like(bias), split)
    history, seconds, epochs = left["history"], left["seconds"], left.get("epochs", plan.epochs)
    return RunResult(spec, validation, bias, value, plain, history, seconds, place, epochs)


def refit(done: RunResult, inputs: Inputs, plan: Plan, options: Options) -> RunResult:
    """Train a run again, on train and validation together, up to the pass that was best.

    No rows are left to choose by, so the result has the scores and the decision of the run before;
    :attr:`RunResult.learned` has the new model's scores of validation, which it learned from.

    Args:
        done: the run before.
        inputs: the encoded data, and the encoder.
        plan: as for the run before.
        options: for the device.

    Returns:
        The run before, with the folder of the new model.
    """
    problem = inputs.problem
    place = refit_folder(done.folder)
    if not (place / "run.json").exists():
        planned = replace(plan, epochs=done.epochs or plan.epochs)
        last = best_pass(done, problem)
        trained = _train(done.run, inputs, planned, options, place, None, last=last)
        device = device_of(options.device)
        scores = scores_of(inputs, trained.model.to(device), problem.splits["validation"])
        _keep(place, trained, scores, planned.epochs)
    return replace(done, folder=place)


def best_pass(done: RunResult, problem: Problem) -> int:
    """The pass of a run, from 1, whose model it left."""
    values = [of_pass[f"validation_{problem.chosen_by}"] for of_pass in done.history]
    return 1 + values.index(max(values))


def refit_folder(folder: Path) -> Path:
    """The folder of a run that is trained again."""
    return folder.with_name(f"{folder.name}-refit")


def _train(
    spec: Run,
    inputs: Inputs,
    plan: Plan,
    options: Options,
    place: Path,
    stop: Callable[[], bool] | None,
    last: int | None = None,
    aim: Aim | None = None,
) -> Any:
    problem = inputs.problem
    train_rows, validation = (problem.splits[name] for name in ("train", "validation"))
    max_steps = float(plan.max_steps)
    if last is not None:
        both = concatenate_datasets([train_rows, validation])
        max_steps *= len(both) / len(train_rows)
        train_rows, validation = both, validation.select([0])
    known = spec.arm if spec.arm in LOSSES else "ce"
    experiment = Experiment(
        corpus=options.source,
        encoder=inputs.encoder,
        loss=known,
        start="zero",  # set where the model is built
        seed=spec.seed,
        epochs=plan.epochs if aim is None or plan.partial else max(plan.epochs, PASSES_ALONE),
        max_steps=-1 if plan.max_steps < 0 else max(1, round(max_steps)),
        batch_size=plan.batch_size,
        learning_rate=spec.rate,
        early_stopping=2 if aim is not None else 3 if plan.epochs > 5 and last is None else 0,
        device=options.device,
        threads=plan.speed.threads,
        output_dir=str(place),
    )
    splits = DatasetDict(train=train_rows, validation=validation, test=validation.select([0]))

    def build() -> Any:
        model = problem.model(inputs.encoder, inputs.tokenizer)
        head = head_of(model)
        if starts_at_prior(spec.arm, problem):
            with torch.no_grad():
                head.bias.copy_(torch.as_tensor(problem.start_bias()))
        return model

    try:
        return train(
            experiment,
            build_model=build,
            splits=splits,
            collator=problem.collator(inputs.tokenizer),
            tokenizer=inputs.tokenizer,
            compute_loss=TrainerLoss(problem.loss(spec.arm)),
            evaluate=lambda logits, split: scored(problem, logits, split),
            best=problem.chosen_by,
            stop=stop,
            last=last,
            aim=aim,
        )
    except NotFinite as error:
        raise FitError(f"{spec}: {error}; take smaller --rates, or leave the loss out") from None


def scored(problem: Problem, logits: np.ndarray, split: Dataset) -> dict[str, float]:
    """What a pass is chosen by on validation, and the goal's score at argmax.

    Up to a ten-thousandth of a point is taken off for the log loss, so that of passes with equal
    scores the surest is the best: the first may be hardly trained.
    """
    scores = problem.scores(logits, split)
    loss = log_loss(scores[:, : len(problem.labels)], problem.gold(split))
    quality = problem.quality(scores, split) - 1e-4 * loss / (1 + loss)
    argmax = problem.value(scores, np.zeros(len(problem.labels)), split)
    return {problem.chosen_by: quality, "argmax": argmax}


def starts_at_prior(arm: str, problem: Problem) -> bool:
    """Whether a run starts with the log prior of each class as its bias, or else with none.

    Class weights change the prior. Of tags the losses of overlap learn faster from no bias; of
    whole texts they learn next to nothing from there in a short run.
    """
    overlap = arm in ("dl", "tl", "dsc")
    return arm != "wce" and not (overlap and problem.data.task == "tagging")


def _keep(place: Path, trained: Any, scores: np.ndarray, epochs: int) -> None:
    _write_array(place / "validation.npz", scores)
    trained.model.save_pretrained(place / "model")
    told = {"history": trained.history, "seconds": trained.measured["seconds"], "epochs": epochs}
    write_json(place / "run.json", told)
    # A finished run needs its checkpoints no longer.
    for folder in place.iterdir():
        if folder.is_dir() and folder.name in LOSSES:
            shutil.rmtree(folder)


def drop_models(runs: Sequence[RunResult]) -> None:
    """Remove the models of runs that were not chosen; their scores stay."""
    for run in runs:
        shutil.rmtree(run.folder / "model", ignore_errors=True)


def _read_array(path: Path) -> np.ndarray:
    with np.load(path) as arrays:
        return np.asarray(arrays["scores"])


def _write_array(path: Path, values: np.ndarray) -> None:
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, scores=values)

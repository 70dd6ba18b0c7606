"""What a fit chooses: thresholds, the epoch, the arm, the seed, the rival, and when it stops."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from datasets import Dataset
from scipy.special import logit
from sklearn.metrics import average_precision_score

from dicebook.decision import FEW_POSITIVES, output_layer
from dicelab.fit import fitting, training
from dicelab.fit.fitting import Fit
from dicelab.fit.inputs import Inputs, prepare
from dicelab.fit.options import Options
from dicelab.fit.plan import rates_for
from dicelab.fit.problems import SHRINK, Problem
from dicelab.fit.training import Run, RunResult
from dicelab.metrics.goal import Goal
from dicelab.records import speed
from dicelab.tasks.thresholds import best_threshold, calibrated_plug_in
from tests.fit import made_up
from tests.fit.made_up import planned

# -- where a decision is made ------------------------------------------------------------------


def problem(folder: Path, header: str, rows: list[str], **more: Any) -> Problem:
    """The task of made-up rows, all of them in each split."""
    source = folder / "my"
    source.mkdir()
    for split in ("train", "validation", "test"):
        (source / f"{split}.tsv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return encoded(Options(source=str(source), **more)).problem


def encoded(options: Options) -> Inputs:
    return prepare(replace(options, encoder="tiny", max_length=64))


@pytest.mark.parametrize(
    ("positives", "asked", "smooth"),
    [
        (FEW_POSITIVES - 1, {}, True),
        (FEW_POSITIVES, {}, False),
        (FEW_POSITIVES - 1, {"at_recall": 0.9}, False),
    ],
)
def test_with_few_positives_the_threshold_maximises_expected_f1(
    tmp_path: Path, positives: int, asked: dict[str, Any], smooth: bool
) -> None:
    rows = [f"row {i}\t{int(i % 4 == 0)}" for i in range(80)]
    task = problem(tmp_path, "text\tlabel", rows, **asked)
    rng = np.random.default_rng(0)
    gold = (np.arange(400) < positives).astype(int)
    margins = (2 * rng.normal(size=400) + 3 * gold - 3).astype(np.float32)
    bias = task.tuned(np.stack([0 * margins, margins], 1), Dataset.from_dict({"label": gold}))
    expected, observed = (
        calibrated_plug_in(margins, gold),
        best_threshold(margins, gold, Goal("f1", (1,), **asked)),
    )
    assert abs(expected - observed) > 0.1
    assert bias.tolist() == pytest.approx([0, -(expected if smooth else observed)], abs=1e-5)


def test_of_three_classes_the_prior_is_taken_back_where_macro_f1_gains(tmp_path: Path) -> None:
    names = ["a"] * 80 + ["b"] * 15 + ["c"] * 5
    task = problem(tmp_path, "text\tlabel", [f"row {i}\t{n}" for i, n in enumerate(names * 2)])
    counts = np.array([names.count(label) for label in task.labels])
    gold = np.repeat(np.arange(3), counts)
    split = Dataset.from_dict({"label": gold})
    # A model that knows the class but leans on how frequent it is.
    scores = np.eye(3)[gold] + np.log(counts / counts.sum())
    assert set(task.decide(scores, np.zeros(3))) == {task.labels.index("a")}
    bias = task.tuned(scores, split)
    assert (task.decide(scores, bias) == gold).all()
    # Where argmax is right already, nothing is changed.
    assert not task.tuned(9 * np.eye(3)[gold], split).any()


def test_the_threshold_of_a_rare_label_is_drawn_to_the_common_one(tmp_path: Path) -> None:
    names = ["often", "rare", "unseen"]  # each in a third of train: they have the same prior
    rows = [f"row {i}\t{names[i % 3]}|{names[(i + 1) % 3]}" for i in range(90)]
    task = problem(tmp_path, "text\tlabels", rows, task="labels", label_separator="|")
    often, rare, unseen = map(task.labels.index, names)
    gold, scores = np.zeros((200, 3), dtype=int), np.full((200, 3), -9.0)
    gold[:100, often], gold[:2, rare] = 1, 1
    scores[:100, often] = 1 + np.linspace(0, 1, 100)
    scores[100:, often] = -5.0
    scores[:2, rare] = -6.0
    threshold = -task.tuned(scores, Dataset.from_dict({"labels": gold.tolist()}))
    own = best_threshold(scores[:, rare], gold[:, rare], Goal("f1", (0,)))
    assert own < threshold[unseen] - 1  # of a label without positives it is the common one
    assert threshold[rare] == pytest.approx((2 * own + SHRINK * threshold[unseen]) / (2 + SHRINK))


# -- a run -------------------------------------------------------------------------------------


def asked(folder: Path, task: str, **more: Any) -> Options:
    return made_up.options(folder, task, **{"seeds": 1, **more})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "arms"), [("sentences", ("ce", "dl")), ("labels", ("ce", "dl")), ("tagging", ("ce",))]
)
def test_who_begins_at_the_log_prior(tmp_path: Path, kind: str, arms: tuple[str, ...]) -> None:
    options = asked(tmp_path, kind)
    inputs = encoded(options)
    task = inputs.problem
    plan = replace(planned(options, 1), max_steps=1)
    train = task.data.splits["train"]
    if kind == "labels":
        prior = logit(np.mean(train["labels"][:], axis=0))
    elif kind == "tagging":
        tags = [task.labels.index(tag) for row in train["tags"][:] for tag in row]
        prior = np.log(np.bincount(tags) / len(tags))
    else:
        prior = np.log(np.bincount(train["label"][:]) / len(train))
    assert np.ptp(prior) > 0.1
    for arm in options.arms:
        done = training.run(Run(arm, 1e-9, 0), inputs, plan, options, tmp_path / "runs")
        bias = output_layer(done.model(task), len(task.labels)).bias.detach().numpy()
        np.testing.assert_allclose(bias, prior if arm in arms else 0 * prior, atol=0.02)


@pytest.mark.parametrize(
    ("task", "corpora"),
    [("tagging", ("crossner_politics", "wnut17")), ("sentences", ("mrpc", "goemotions_fear"))],
)
def test_the_first_rate_suits_short_runs_of_a_small_encoder(
    task: str, corpora: tuple[str, ...]
) -> None:
    """Validation F1 of the searches of 76 steps, a mean over losses, draws and corpora."""
    known = speed.read_corpora()
    arms = ("ce_start", "wce", "dice" if task == "tagging" else "dice_start")
    found: dict[float, list[float]] = {8e-5: [], 1.6e-4: []}
    for record in (r for corpus in corpora for r in known[corpus]):
        short = (record["kind"], record["length"]) == ("search", 64)
        if short and record["arm"] in arms and record["rate"] in found:
            found[record["rate"]].append(record["validation"]["tuned"]["f1"])
    scores = {rate: np.mean(values) for rate, values in found.items()}
    first = rates_for("minilm", 384, task)[0]
    nearest = min(scores, key=lambda rate: abs(float(np.log(rate / first))))
    assert nearest == max(scores, key=lambda rate: scores[rate])


def test_the_epoch_that_is_kept_is_the_best_with_its_threshold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = asked(tmp_path, "sentences")
    inputs = encoded(options)
    task = inputs.problem
    split = task.splits["validation"]
    gold = np.asarray(split["label"][:])
    ranks = np.stack([0 * gold, gold - 3.0], 1)  # all below one half, in the right order
    guesses = np.stack([0 * gold, np.where(np.arange(len(gold)) % 2 | gold, 1.0, -1.0)], 1)

    def train(experiment: Any, **given: Any) -> Any:
        """Two epochs, of which the better one by ``best`` is kept, as the trainer does."""
        history = [given["evaluate"](epoch, split) for epoch in (ranks, guesses)]
        values = [scores[given["best"]] for scores in history]
        kept = (ranks, guesses)[int(np.argmax(values))]
        model = SimpleNamespace(save_pretrained=lambda folder: Path(folder).mkdir(parents=True))
        return SimpleNamespace(
            model=model, history=history, logits={"validation": kept}, measured={"seconds": 1.0}
        )

    monkeypatch.setattr(training, "train", train)
    done = training.run(Run("ce", 1e-3, 0), inputs, planned(options), options, tmp_path / "runs")
    np.testing.assert_array_equal(done.validation, ranks.astype(np.float32))
    assert (done.argmax, done.value) == (0, 100)


def test_a_refit_learns_from_validation_up_to_the_best_pass_and_keeps_the_threshold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = asked(tmp_path, "sentences")
    inputs = encoded(options)
    splits = inputs.problem.splits
    told: dict[str, Any] = {}

    def train(experiment: Any, **given: Any) -> Any:
        told.update(given, experiment=experiment)
        model = SimpleNamespace(save_pretrained=lambda folder: Path(folder).mkdir(parents=True))
        model.to = lambda device: model
        return SimpleNamespace(model=model, history=[], measured={"seconds": 1.0})

    monkeypatch.setattr(training, "train", train)
    learned_scores = np.ones((len(splits["validation"]), 2), np.float32)
    monkeypatch.setattr(training, "scores_of", lambda *a: learned_scores)
    history = [{"validation_average_precision": value} for value in (40.0, 60.0, 60.0, 50.0)]
    scores = np.zeros((len(splits["validation"]), 2), np.float32)
    folder = tmp_path / "runs" / "ce-0.001-0"
    folder.mkdir(parents=True)
    run = Run("ce", 1e-3, 0)
    before = RunResult(run, scores, np.array([0, 0.7]), 60, 50, history, 9, folder)
    made = replace(planned(options), max_steps=30)
    again = training.refit(before, inputs, made, options)
    rows = [len(splits[name]) for name in ("train", "validation")]
    learned = set(map(tuple, told["splits"]["train"]["input_ids"][:]))
    assert len(told["splits"]["train"]) == sum(rows)
    assert set(map(tuple, splits["validation"]["input_ids"][:])) <= learned
    assert (told["last"], told["experiment"].epochs) == (2, made.epochs)
    assert told["experiment"].max_steps == round(30 * sum(rows) / rows[0])
    assert again.folder == folder.with_name("ce-0.001-0-refit")
    assert replace(again, folder=folder) == before
    np.testing.assert_array_equal(again.learned, learned_scores)
    told.clear()
    assert training.refit(before, inputs, made, options) == again
    assert not told, "what was trained is not trained again"


# -- the search and the finals -----------------------------------------------------------------

Quality = Callable[[Run], float]  # of a run, from 0 to 1


class Clock:
    """Seconds that pass only when a run takes them."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def fit_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Fit]:
    """``fit_of(quality)`` is a fit whose runs are made up: so good, a minute each."""
    clock = Clock()
    monkeypatch.setattr(fitting, "time", clock)

    def make(quality: Quality, *, minutes: float = 60, **more: Any) -> Fit:
        options = asked(tmp_path, "sentences", **more)

        def scores(split: Dataset, one: Run) -> np.ndarray:
            gold = np.asarray(split["label"][:])
            wrong = np.arange(len(gold)) >= round(quality(one) * len(gold))
            return np.stack([0 * gold, np.where(gold ^ wrong, 1.0, -1.0)], 1)

        def run(one: Run, inputs: Inputs, *given: Any) -> RunResult:
            splits = inputs.problem.splits
            folder = tmp_path / "runs" / one.name
            folder.mkdir(parents=True, exist_ok=True)
            np.savez(folder / "test.npz", scores=scores(splits["test"], one))
            clock.now += 60
            value = 100 * quality(one)
            said = scores(splits["validation"], one)
            history = [{"validation_average_precision": float(n)} for n in range(9)]
            return RunResult(one, said, np.zeros(2), value, value, history, 60.0, folder)

        monkeypatch.setattr(fitting, "run", run)
        fit = Fit(options, lambda line: None)
        fit.read()
        fit.baselines()
        fit.result.plan = replace(planned(options), minutes=minutes)
        fit.search()
        fit.finals()
        return fit

    make.clock = clock  # type: ignore[attr-defined]
    return make


def test_of_an_arm_the_best_rate_goes_on_and_of_its_seeds_the_best_is_kept(
    fit_of: Callable[..., Fit],
) -> None:
    good = {("ce", 0.1, 0): 0.6, ("dl", 0.2, 0): 0.7, ("dl", 0.2, 1): 0.9, ("dl", 0.2, 2): 0.5}
    good |= {("ce", 0.1, 1): 0.7, ("ce", 0.1, 2): 0.6}

    def quality(one: Run) -> float:
        return good.get((one.arm, one.rate, one.seed), 0.4)

    fit = fit_of(quality, losses=("ce", "dl"), rates=(0.1, 0.2), seeds=3)
    assert {arm: done.run.rate for arm, done in fit.result.best.items()} == {"ce": 0.1, "dl": 0.2}
    assert {arm: of_arm.validation for arm, of_arm in fit.result.arms.items()} == {
        "ce": pytest.approx(100 * (0.6 + 0.7 + 0.6) / 3),
        "dl": pytest.approx(70),
    }
    assert fit.result.run.run == Run("dl", 0.2, 1)
    assert fit.result.run.value == max(
        done.value for done in fit.result.arms[fit.result.chosen].runs
    )


def test_the_arm_with_the_best_mean_is_chosen_not_that_of_the_best_run(
    fit_of: Callable[..., Fit],
) -> None:
    good = {("ce", 0): 0.7, ("ce", 1): 0.7, ("dl", 0): 0.9, ("dl", 1): 0.4}
    fit = fit_of(lambda one: good[one.arm, one.seed], losses=("ce", "dl"), rates=(0.1,), seeds=2)
    assert fit.result.chosen == "ce"


def test_the_rival_is_cross_entropy_unless_it_is_chosen(fit_of: Callable[..., Fit]) -> None:
    good = {"ce": 0.5, "dl": 0.9, "fl": 0.8}
    three = {"losses": ("ce", "dl", "fl"), "rates": (0.1,), "seeds": 2}
    fit = fit_of(lambda one: good[one.arm], **three)
    fit.result.plan = replace(fit.result.plan, finals=3)
    fit.finals()
    rival = fit.result.rival()
    assert rival is not None
    assert (fit.result.chosen, rival[0]) == ("dl", "ce")
    assert rival[1].mean == pytest.approx(
        np.mean(fit.result.scores("dl")) - np.mean(fit.result.scores("ce"))
    )
    assert rival[1].mean > 0
    good["ce"] = 1.0
    fit.search()
    fit.finals()
    rival = fit.result.rival()
    assert rival is not None
    assert (fit.result.chosen, rival[0]) == ("ce", "dl")


# Two arms: two minutes for each of two rates, then two for each further seed.
@pytest.mark.parametrize(
    ("minutes", "seeds", "runs"), [(3, 1, 2), (5, 1, 4), (5.6, 2, 6), (9, 3, 8)]
)
def test_no_run_begins_that_would_end_a_tenth_beyond_the_time(
    fit_of: Callable[..., Fit], minutes: float, seeds: int, runs: int
) -> None:
    two = {"losses": ("ce", "dl"), "rates": (0.1, 0.2), "seeds": 3}
    fit = fit_of(lambda one: 0.5, minutes=minutes, **two)
    assert {len(arm.runs) for arm in fit.result.arms.values()} == {seeds}
    assert fit.spent() == 60 * runs


def test_of_passes_with_equal_scores_the_one_of_lowest_loss_is_the_best(tmp_path: Path) -> None:
    inputs = encoded(asked(tmp_path, "sentences"))
    problem, split = inputs.problem, inputs.problem.splits["validation"]
    gold = problem.gold(split)
    passes = [np.eye(2)[gold] * size for size in (0.1, 4.0, 1.0)]  # all right, one surest
    told = [training.scored(problem, logits, split)["average_precision"] for logits in passes]
    assert told == pytest.approx([100] * 3, abs=1e-3)
    assert int(np.argmax(told)) == 1
    noise = np.random.default_rng(0).normal(size=(len(gold), 2))
    found = training.scored(problem, noise, split)["average_precision"]
    expected = 100 * average_precision_score(gold, noise @ [-1, 1])
    assert found == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("worse", [False, True])
def test_the_first_model_is_kept_where_the_threshold_does_not_fit_the_second(
    fit_of: Callable[..., Fit], monkeypatch: pytest.MonkeyPatch, worse: bool
) -> None:
    fit = fit_of(lambda one: 0.5, minutes=60)
    fit.choose()
    first = fit.result.run
    assert first is not None
    fit.result.winner = None
    fit.result.plan = replace(fit.result.plan, refit=True)
    second = replace(first, folder=first.folder.with_name("again"))
    shutil.copytree(first.folder, second.folder)
    monkeypatch.setattr(fitting, "refit", lambda *a: second)
    split = fit.problem.splits["validation"]
    right = np.eye(2)[fit.problem.gold(split)].astype(np.float32) * 9
    shifted = right + np.array([40, 0], np.float32) * worse  # the threshold now calls nothing
    learned = {first.folder: right, second.folder: shifted}
    monkeypatch.setattr(RunResult, "learned", property(lambda run: learned[run.folder]))
    assert fit.refit() == (not worse)
    assert fit.result.run is (first if worse else second)
    assert fit.result.refitted == (not worse)
    assert ("the first model is kept" in " ".join(fit.result.notes)) == worse


def test_without_time_nothing_is_learned_again_and_that_is_said(fit_of: Callable[..., Fit]) -> None:
    fit = fit_of(lambda one: 0.5, minutes=5)
    fit.choose()
    fit.result.winner = None
    assert not fit.refit()
    assert "There was no time to train again" in fit.result.notes[-1], "the plan has none"
    fit.result.plan = replace(fit.result.plan, refit=True)
    fit_of.clock.now += 5 * 60  # type: ignore[attr-defined]
    assert not fit.refit()
    assert not fit.result.refitted
    assert "did not suffice to train again" in fit.result.notes[-1]


def test_a_run_is_told_to_stop_once_the_time_is_over(
    fit_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = fit_of(lambda one: 0.5, minutes=30)
    made_up_run, stops = fitting.run, []

    def run(one: Run, inputs: Inputs, *given: Any) -> RunResult:
        stops.append(given[-2])
        return made_up_run(one, inputs, *given)

    monkeypatch.setattr(fitting, "run", run)
    fit.search()
    fit_of.clock.now += 30 * 60 - fit.spent()
    assert not stops[-1]()
    fit_of.clock.now += 1
    assert stops[-1]()

"""Linear models on fixed vectors: chosen out of fold, kept where they win, there at once."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from dataclasses import astuple, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pycrfsuite
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from transformers import AutoConfig, pipeline

from dicelab.__main__ import main
from dicelab.fit import Options, choosing, load, predict
from dicelab.fit.calibration import probabilities, stacked
from dicelab.fit.candidates import columns_of
from dicelab.fit.data import read
from dicelab.fit.features import Embeddings, Words
from dicelab.fit.fitting import Fit
from dicelab.fit.keeping import FINE_TUNED
from dicelab.fit.linear import GRID, Linear, Pool, search, trained
from dicelab.fit.problems import Problem, problem_of
from dicelab.fit.report import _compared, verdict
from dicelab.fit.result import Arm, FitResult
from dicelab.fit.tagger import Crf, terms_of
from dicelab.fit.training import Run, RunResult
from dicelab.metrics.counts import Counts
from dicelab.metrics.goal import Goal
from dicelab.metrics.intervals import Difference
from tests.fit.made_up import options, planned

pytestmark = pytest.mark.slow
TEXTS = ("sentences", "pairs", "labels")
WORDS = ("tagging", "rare")


def problem(folder: Path, task: str) -> Problem:
    asked = options(folder, task)
    return problem_of(read(asked), asked)


def with_linear(given: Options) -> Fit:
    """A fit with its linear models."""
    made = Fit(given, lambda line: None)
    made.read()
    made.baselines()
    made.linear()
    return made


@pytest.fixture(scope="module", params=TEXTS)
def one(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Fit:
    """A fit of texts, as far as it is when training would begin."""
    return with_linear(options(tmp_path_factory.mktemp(request.param), request.param, steps=1))


def test_a_kept_linear_model_decides_as_it_was_scored(one: Fit) -> None:
    best = one.result.simple
    assert best is not None
    test = one.problem.splits["test"]
    said = one.problem.decision_texts(one.problem.decide(best.test, best.bias), test)
    kept = load(one.folder, "cpu")
    both = columns_of(one.problem, test)
    assert kept.texts(*both)[0] == said
    rows = both[0] if len(both) == 1 else list(zip(*both, strict=True))
    found = kept.predict(rows)
    if one.inputs.data.task == "labels":
        found = np.array(["|".join(kept.classes_[row]) for row in found])
    assert found.tolist() == said
    p = kept.predict_proba(rows)
    several = one.inputs.data.task == "labels"
    # `best.test` is without the threshold.
    told = probabilities(best.test, kept.info["calibration"], several=several)
    assert p == pytest.approx(told, abs=1e-5)
    assert several or p.sum(1) == pytest.approx(1)
    out = io.StringIO()
    assert predict(one.folder, one.options.source, out, device="cpu") > len(test)
    assert out.getvalue().startswith("predicted\tp(")


def test_a_linear_model_is_safetensors_and_json(one: Fit) -> None:
    names = [p.name for p in (one.folder / "model").rglob("*") if p.is_file()]
    assert {Path(name).suffix for name in names} <= {".safetensors", ".json", ".txt"}
    assert "linear.safetensors" in names


def test_the_first_is_in_the_folder_unless_another_is_ahead(one: Fit) -> None:
    told = json.loads((one.folder / "model" / "dicebook.json").read_text(encoding="utf-8"))
    assert set(one.result.candidates) == {"words", "embeddings", "words+embeddings"}
    assert one.result.simple is one.result.candidates[told["features"]]
    assert told["features"] == "words", "names are words, and the tiny encoder knows nothing"
    words, _, both = one.result.candidates.values()
    rows = choosing.shared([words, both])
    assert len(rows) == len(words.pool.gold)
    gold = one.problem.gold(words.pool.rows)
    noise = np.random.default_rng(0).normal(size=words.scores.shape)
    right = np.where(gold, 3.0, -3.0) if gold.ndim == 2 else 3 * np.eye(gold.max() + 1)[gold]
    worse, better = replace(words, scores=noise), replace(both, scores=right + 0.1 * noise)
    assert choosing.simplest(one.problem, [worse, better]) is better
    assert choosing.simplest(one.problem, [replace(better, name="words"), better]).name == "words"


def test_a_sum_is_that_of_its_parts_and_decided_out_of_fold(one: Fit) -> None:
    words, vectors, both = one.result.candidates.values()
    slopes = both.setting["slopes"]
    told = slopes[0] * words.test + slopes[1] * vectors.test
    np.testing.assert_allclose(both.test, told, atol=1e-4)
    columns = columns_of(one.problem, one.problem.data.splits["test"])
    np.testing.assert_allclose(both.model.logits(columns), both.test, atol=1e-3)
    for fold in np.unique(both.pool.folds):
        held = both.pool.folds == fold
        parts = [words.scores, vectors.scores]
        of_fold, _ = stacked([part[~held] for part in parts], both.pool.gold[~held])
        told = np.tensordot(of_fold, [part[held] for part in parts], 1)
        np.testing.assert_allclose(both.scores[held], told, atol=1e-4)


@pytest.fixture(scope="module", params=WORDS)
def tagger(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Fit:
    """The same of tags; some sentences are longer than a window."""
    folder = tmp_path_factory.mktemp(request.param)
    return with_linear(options(folder, request.param, steps=1, max_length=7))


def test_a_kept_tagger_decides_as_it_was_scored(tagger: Fit) -> None:
    best = tagger.result.simple
    assert best is not None
    assert set(tagger.result.candidates) == {"crf", "states", "crf+states"}
    test = tagger.problem.splits["test"]
    assert len(test) > len(tagger.inputs.data.splits["test"])
    said = tagger.problem.decision_texts(tagger.problem.decide(best.test, best.bias), test)
    kept = load(tagger.folder, "cpu")
    tokens = tagger.inputs.data.splits["test"]["tokens"][:]
    assert [" ".join(tags) for tags in kept.predict(tokens)] == said
    assert kept.tagged([[], ["Ada"]])[0] == []
    assert kept.tagged([[]]) == [[]]
    assert tagger.result.score_of(tagger.result.counts_of(best)) > 80
    out = io.StringIO()
    assert predict(tagger.folder, tagger.options.source, out, device="cpu") == 90
    with pytest.raises(TypeError, match="use tagged"):
        kept.predict_proba(tokens)


def test_a_calibration_stands_where_the_labels_and_its_prior_pull_alike() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(40, 2))
    gold = rng.random((40, 2)) < expit(3 * scores - 1)
    slopes, shift = stacked([scores], gold)
    off = expit(slopes[0] * scores + shift) - gold
    assert (scores * off).sum() == pytest.approx(1 - slopes[0], abs=0.01)
    assert off.sum(0) == pytest.approx(-shift, abs=0.01)


def test_the_weights_of_a_field_are_those_of_the_library(tmp_path: Path) -> None:
    """The second oracle: python-crfsuite's own probabilities of a model that it trained."""
    words = [["Ada", "saw", "it"], ["the", "old", "Oslo", "tree"], ["Ada"], ["a", "tree"]] * 4
    tags = [[1, 0, 0], [0, 0, 2, 0], [1], [0, 0]] * 4
    made = Crf.trained(words, tags, 3, (0.1, 0.1))
    trainer = pycrfsuite.Trainer(verbose=False)
    for row, numbers in zip(words, tags, strict=True):
        terms = [terms_of(row, place) for place in range(len(row))]
        trainer.append(terms, list(map(str, numbers)))
    trainer.set_params({"c1": 0.1, "c2": 0.1, "max_iterations": 100})
    trainer.train(str(tmp_path / "crf"))
    theirs = pycrfsuite.Tagger()
    theirs.open(str(tmp_path / "crf"))
    for row in [*words[:2], ["Oslo", "Ada", "new"]]:
        theirs.set([terms_of(row, place) for place in range(len(row))])
        told = [[theirs.marginal(str(n), i) for n in range(3)] for i in range(len(row))]
        np.testing.assert_allclose(np.exp(made.logits([row])), told, atol=1e-5)


@pytest.mark.parametrize("task", ["sentences", "pairs"])
def test_out_of_fold_scores_are_those_of_scikit_learn(tmp_path: Path, task: str) -> None:
    made = problem(tmp_path, task)
    pool = Pool.of(made, 5, 0)
    words = Words.of(columns_of(made, pool.rows))
    vectors = words(columns_of(made, pool.rows))
    found = search(made, pool, words, vectors, vectors)
    penalty, weight = found.setting.values()
    theirs = cross_val_predict(
        LogisticRegression(C=penalty, class_weight=weight, tol=1e-3, max_iter=300),
        vectors,
        pool.gold,
        cv=PredefinedSplit(pool.folds),
        method="decision_function",
    )
    np.testing.assert_allclose(found.scores[:, 1] - found.scores[:, 0], theirs, atol=1e-4)
    logits = found.model.logits(columns_of(made, pool.rows))
    np.testing.assert_allclose(logits, found.test, atol=1e-5)


def test_equal_texts_are_in_one_fold_and_each_fold_has_its_share(tmp_path: Path) -> None:
    names = ["yes"] * 20 + ["no"] * 80
    rows = [f"text {i}\t{name}" for i, name in enumerate(names)]
    (tmp_path / "my.tsv").write_text("\n".join(["text\tlabel", *rows, *rows]) + "\n")
    asked = Options(source=str(tmp_path / "my.tsv"))
    made = problem_of(read(asked), asked)
    pool = Pool.of(made, 5, 0)
    fold_of: dict[str, set[int]] = {}
    for text, fold in zip(pool.rows["sentence"][:], pool.folds.tolist(), strict=True):
        fold_of.setdefault(text, set()).add(fold)
    assert {len(folds) for folds in fold_of.values()} == {1}
    for fold in range(5):
        held = pool.gold[pool.folds == fold]
        assert (held == 1).mean() == pytest.approx((pool.gold == 1).mean(), abs=0.08)
    validation = made.data.splits["validation"]["sentence"][:]
    numbers = pool.validation[pool.validation >= 0]
    told = np.array(pool.rows["sentence"][:])[pool.validation >= 0]
    assert told.tolist() == [validation[i] for i in numbers]


def test_the_rows_that_a_linear_model_learns_from_are_bounded(tmp_path: Path) -> None:
    made = problem(tmp_path, "sentences")
    pool = Pool.of(made, 5, 0, most=50)
    assert len(pool.gold) == len(pool.folds) == 50
    assert set(pool.gold.tolist()) == {0, 1}


def test_no_order_is_claimed_where_the_interval_includes_zero() -> None:
    for low, high, order in ((-1.0, 3.0, None), (0.5, 3.0, "ahead"), (-3.0, -0.5, "behind")):
        told = _compared(Difference((low + high) / 2, low, high, 1.0, 1.0), "a", "b")
        assert [word for word in ("ahead", "behind") if word in told] == [order] * bool(order)
    alike = _compared(Difference(0.0, 0.0, 0.0, 0.0, 0.0), "the mean", "the words")
    assert alike == "On test, the mean and the words are right and wrong on the same rows."


@pytest.mark.parametrize("positives", [4, 29, 30])
def test_few_positives_of_test_are_said_before_any_number(
    one: Fit, positives: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    classes, (focus, *_) = len(one.problem.scored_classes), one.problem.goal.focus
    gold = np.where(np.arange(100) < positives, focus, (focus + 1) % classes)
    right = Counts.of_labels(*2 * [np.eye(classes)[gold] * (np.arange(classes) == focus)])
    monkeypatch.setattr(FitResult, "counts", lambda self: (right, right))
    nothing = Counts.of_labels(right.actual, 0 * right.actual)
    monkeypatch.setattr(one.result, "baselines", {"none": nothing})
    monkeypatch.setattr(one.result, "candidates", {})
    monkeypatch.setattr(one.result, "simple", None)
    kept = SimpleNamespace(name="ce", bias=np.zeros(classes))
    monkeypatch.setattr(one.result, "winner", None)
    monkeypatch.setattr(one.result, "fine_tuned", kept)
    monkeypatch.setattr(FitResult, "held_out", lambda self: (right, "On 100 rows"))
    monkeypatch.setattr("dicelab.fit.report.next_step", lambda result: "label more.")
    told = verdict(one.result)
    rows = math.ceil((30 - positives) * len(one.result.data.splits["test"]) / positives)
    assert told[0].startswith(f"Label about {rows} more rows for test") == (positives < 30)
    assert told[positives < 30].startswith("On 100 rows with")
    assert told[1 + (positives < 30)].startswith("Kept: ")


# -- a linear model or a fine-tuned one ---------------------------------------------------------


@pytest.fixture
def chosen(one: Fit) -> Callable[[float], str]:
    """What is kept where the only arm is right on such a share of the rows of validation."""

    def choose(quality: float) -> str:
        split = one.problem.splits["validation"]
        gold = one.problem.gold(split)
        right = np.arange(len(gold)) < round(quality * len(gold))
        if gold.ndim == 2:
            scores = np.where(gold == right[:, None], 3.0, -3.0)
        else:
            margins = np.where(gold == right, 3.0, -3.0)
            scores = np.stack([0 * margins, margins], 1)
        bias = np.zeros(len(one.problem.labels))
        run = Run("ce", 1e-3, 0)
        done = RunResult(run, scores.astype(np.float32), bias, 0.0, 0.0, [], 0.0, one.folder)
        one.result.chosen = "ce"
        one.result.arms = {"ce": Arm([done])}
        test = np.zeros((len(one.problem.splits["test"]), len(bias)), np.float32)
        one.result.run, one.result.fine_tuned = done, choosing.of_run(one.problem, done, test)
        return one.choose()

    return choose


def test_the_simplest_model_within_a_standard_error_of_the_best_is_kept() -> None:
    def counts(first: int, last: int) -> list[Counts]:
        """One run, which is right on the rows between two of 400."""
        right = (np.arange(400) >= first) & (np.arange(400) < last)
        return [Counts.of_classes(np.ones(400, int), right.astype(int), 2)]

    value = Goal("accuracy", (0, 1)).plain
    # Apart on 40 + ahead rows, so the standard error is about 6 rows.
    for ahead, kept in ((24, "ce"), (0, "ce"), (-4, "ce"), (-10, "mean"), (-24, "mean")):
        found = {"words": counts(0, 100), "ce": counts(20, 220 + ahead), "mean": counts(0, 200)}
        assert choosing.preferred(found, value) == kept
        assert choosing.preferred(found | {"words": found[kept]}, value) == "words"
        del found["mean"]
        assert choosing.preferred(found, value) == "ce"


def test_a_mean_comes_before_its_fine_tuned_part(one: Fit, chosen: Callable[[float], str]) -> None:
    result = one.result
    assert result.simple is not None
    chosen(0.5)
    assert list(result.compared)[-3:] == [result.simple.name, choosing.MEAN, "ce"]


def test_models_and_settings_of_yes_or_no_are_chosen_by_average_precision(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(0)
    rows = [("a rose" if i % 9 == 0 else "a stone", int(rng.random() < 0.1)) for i in range(180)]
    texts = [(f"{text} {' '.join(rng.choice(list('abcdefgh'), 3))}", y) for text, y in rows]
    table = "\n".join(f"{text}\t{y}" for text, y in [("text", "label"), *texts])
    (tmp_path / "rows.tsv").write_text(table, encoding="utf-8")
    made = with_linear(
        Options(
            source=str(tmp_path / "rows.tsv"), out=str(tmp_path / "fit"), encoder="tiny", steps=1
        )
    )
    problem, words = made.problem, made.result.candidates["words"]
    pool = words.pool
    x = words.model.features[0](columns_of(problem, pool.rows))

    def quality(scores: np.ndarray) -> float:
        return 100 * float(average_precision_score(pool.gold, scores @ [-1, 1]))

    found = {}
    for setting in GRID:
        scores = np.zeros((len(pool.gold), 2), np.float32)
        for fold in np.unique(pool.folds):
            held = pool.folds == fold
            fitted = trained(problem, x[~held], pool.gold[~held], *setting)
            scores[held] = Linear((), *fitted).of_vectors(x[held])
        found[setting] = quality(scores)
    assert len({round(value, 6) for value in found.values()}) > 1
    assert found[words.setting["penalty"], words.setting["weight"]] == max(found.values())
    both = [made.result.candidates[name] for name in ("words", "words+embeddings")]
    noise = replace(both[1], scores=rng.normal(size=words.scores.shape))
    numbers = choosing.shared([words, noise])
    counts = [
        choosing.counts_of_candidate(problem, one, numbers, ranked=True) for one in (words, noise)
    ]
    value = choosing.measure(problem)
    assert [float(value(one.sum(0))) for one in counts] == pytest.approx(
        [quality(words.scores), quality(noise.scores)]
    )


def test_rows_of_validation_are_decided_by_thresholds_of_other_folds(one: Fit) -> None:
    problem, best = one.problem, one.result.simple
    assert best is not None
    pool = best.pool
    noise = np.random.default_rng(0).normal(size=best.scores.shape)
    candidate = replace(best, scores=best.scores + 3 * noise)
    decisions = []
    for place, fold in enumerate(pool.folds):
        others = np.flatnonzero(pool.folds != fold)
        bias = problem.tuned(candidate.scores[others], pool.rows.select(others))
        if pool.validation[place] >= 0:
            decisions.append(problem.decide(candidate.scores[[place]], bias)[0])
    rows = pool.rows.select(np.flatnonzero(pool.validation >= 0))
    expected = problem.counts(rows, np.array(decisions))
    numbers = np.sort(pool.validation[pool.validation >= 0])
    counts = choosing.counts_of_candidate(problem, candidate, numbers)
    np.testing.assert_array_equal(astuple(counts), astuple(expected))


def test_a_mean_is_of_the_rows_that_it_is_asked_for(one: Fit) -> None:
    best, of_run = one.result.simple, np.random.default_rng(0).normal(size=(9, 3))
    assert best is not None
    made = replace(best, scores=np.random.default_rng(1).normal(size=(len(best.pool.gold), 3)))
    places = [int(np.flatnonzero(best.pool.validation == number)[0]) for number in (7, 2, 5)]
    found = choosing.mean_on_validation(made, of_run, best.pool.select(np.array(places)))
    assert found == pytest.approx((made.scores[places] + of_run[[7, 2, 5]]) / 2)


def test_the_better_one_on_validation_is_kept(one: Fit, chosen: Callable[[float], str]) -> None:
    best = one.result.simple
    assert best is not None
    assert chosen(0.3) == best.name
    assert one.result.winner is best
    assert one.result.compared["ce"] < one.result.compared[best.name]
    whole, worse = one.result.candidates, replace(best, scores=-99 * best.scores)
    one.result.candidates, one.result.simple = {best.name: worse}, worse
    assert chosen(1.0) == "ce"
    assert one.result.winner is None
    assert one.result.compared["ce"] == pytest.approx(100)
    one.result.candidates, one.result.simple = whole, best


def with_mean(asked: Options, monkeypatch: pytest.MonkeyPatch) -> tuple[Fit, Any, RunResult, Any]:
    """A fit of three steps that keeps its mean, and what it is the mean of."""
    made = with_linear(replace(asked, losses=("ce",), seeds=1, steps=3))
    made.result.plan = planned(made.options, 1)
    made.search()
    made.finals()
    with monkeypatch.context() as patched:
        patched.setattr("dicelab.fit.choosing.preferred", lambda *a: "mean")
        assert made.choose() == "mean"
    made.keep()
    linear, run, mean = made.result.simple, made.result.run, made.result.mean
    assert linear is not None
    assert run is not None
    assert mean is not None
    return made, linear, run, mean


@pytest.mark.parametrize("task", TEXTS)
def test_the_mean_decides_the_same_from_its_folder(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, linear, run, mean = with_mean(options(tmp_path, task), monkeypatch)
    result = made.report()
    for place, number in enumerate(mean.pool.validation):
        (of_pool,) = np.flatnonzero(linear.pool.validation == number)
        both = (linear.scores[of_pool] + run.validation[number]) / 2
        assert mean.scores[place] == pytest.approx(both, abs=1e-6)
    test = result.data.splits["test"]
    columns = [test[column][:] for column in result.problem.text_columns]
    kept = load(made.folder, "cpu")
    logits = kept.logits(*columns)
    with np.load(run.folder / "test.npz") as stored:
        told = (linear.test + stored["scores"]) / 2 + result.bias
    assert logits == pytest.approx(told, abs=1e-4)
    found = pd.read_csv(made.folder / "predictions.tsv", sep="\t", dtype=str, keep_default_na=False)
    said = kept.texts(*columns)[0]
    decisions = result.problem.decide(result.kept.test, result.bias)
    assert said == found["predicted"].tolist() == result.problem.decision_texts(decisions, test)
    assert result.record["mean"]["test"] == pytest.approx(result.score.value)
    # What plain transformers loads decides by its own threshold, and it loads nothing else.
    with pytest.raises(ValueError, match="Unrecognized model"):
        AutoConfig.from_pretrained(made.folder / "model")
    part = made.folder / "model" / FINE_TUNED
    counts = result.counts_of(result.fine_tuned)
    if task == "sentences":
        classify = pipeline("text-classification", str(part), device="cpu")
        theirs = [answer["label"] == result.problem.labels[1] for answer in classify(columns[0])]
        assert int(np.sum(theirs)) == int(result.problem.goal.focused(counts.sum(0)).predicted)
    assert f"of {result.score_of(counts):.1f}" in str(result)
    assert set(result.cost) == {"mean", linear.name}
    assert result.cost["mean"][0] > result.cost[linear.name][0] > 0
    assert "`linear/`" in (made.folder / "model" / "README.md").read_text(encoding="utf-8")
    assert not (run.folder / "model").exists()


def test_the_mean_of_two_taggers_decides_the_same_from_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, linear, run, mean = with_mean(options(tmp_path, "tagging", max_length=7), monkeypatch)
    made.report()
    assert mean.scores == pytest.approx((linear.scores + run.validation) / 2)
    assert mean.value == pytest.approx(made.result.compared["mean"])
    test = made.problem.splits["test"]
    decisions = made.problem.decide(made.result.kept.test, made.result.bias)
    kept, tokens = load(made.folder, "cpu"), made.inputs.data.splits["test"]["tokens"][:]
    tags = [" ".join(row) for row in kept.predict(tokens)]
    assert tags == made.problem.decision_texts(decisions, test)


# -- as a user has it ---------------------------------------------------------------------------


def test_without_linear_models_none_is_trained(tmp_path: Path) -> None:
    made = Fit(options(tmp_path, "sentences", steps=1, linear=False), lambda line: None)
    made.read()
    assert made.linear() == {}
    assert not (tmp_path / "out" / "model").exists()


def test_a_stop_at_any_time_leaves_the_best_model_so_far_and_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = options(tmp_path, "sentences")

    def stops(*given: Any) -> None:
        raise KeyboardInterrupt

    told = f"fit {asked.source} --text message --label flag --encoder tiny --device cpu"
    with monkeypatch.context() as patched:
        patched.setattr(Embeddings, "plain", stops)
        assert main([*told.split(), "--out", asked.out]) == 130
    assert str(tmp_path / "out" / "model") in capsys.readouterr().err
    assert load(asked.out, "cpu").predict(["Ada saw the tree"]).tolist() == ["hit"]
    again = Fit(asked, lambda line: None)
    again.read()
    assert set(again.linear()) == {"words", "embeddings", "words+embeddings"}

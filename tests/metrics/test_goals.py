"""Counts, goals, thresholds and intervals, each beside a second way to the same number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    f1_score,
    fbeta_score,
    precision_recall_curve,
    precision_recall_fscore_support,
)

from dicelab.metrics.counts import Counts, average_precision
from dicelab.metrics.goal import Goal
from dicelab.tasks import tagging, thresholds
from dicelab.tasks.thresholds import best_threshold, calibrated_plug_in

TAGS = ["O", "B-LOC", "B-PER", "I-LOC", "I-PER"]
SENTENCES = st.lists(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=8),
    min_size=1,
    max_size=5,
)


@given(SENTENCES)
@settings(max_examples=150)
def test_entities_are_counted_as_the_chapters_count_them(words):
    gold, said = (np.array([pair[i] for row in words for pair in row]) for i in (0, 1))
    rows = np.repeat(np.arange(len(words)), [len(row) for row in words])
    counts = Counts.of_tags(gold, said, rows, TAGS, ["LOC", "PER"], len(words))
    as_tags = [[[TAGS[pair[i]] for pair in row] for row in words] for i in (0, 1)]
    expected = tagging.score(*as_tags)
    whole = counts.sum(0)
    assert Goal("f1", (0, 1)).value(whole) == pytest.approx(expected["f1"])
    for name, score in whole.sum(0).percent().items():
        assert score == pytest.approx(expected[name])


@pytest.mark.parametrize("classes", [2, 4])
def test_one_label_scores_are_those_of_scikit_learn(classes: int) -> None:
    rng = np.random.default_rng(0)
    gold, said = rng.integers(classes, size=(2, 200))
    counts = Counts.of_classes(gold, said, classes).sum(0)
    every = tuple(range(classes))
    assert Goal("accuracy", every).value(counts) == pytest.approx(100 * accuracy_score(gold, said))
    macro = 100 * f1_score(gold, said, average="macro")
    assert Goal("macro-f1", every).value(counts) == pytest.approx(macro)
    if classes == 2:
        assert Goal("f1", (1,)).value(counts) == pytest.approx(100 * f1_score(gold, said))
        two = 100 * fbeta_score(gold, said, beta=2)
        assert Goal("fbeta", (1,), beta=2).value(counts) == pytest.approx(two)


def test_a_class_that_is_neither_said_nor_there_is_left_out_of_macro_f1() -> None:
    gold, said = np.array([[0, 0, 2, 2, 1], [0, 2, 2, 2, 1]])
    counts = Counts.of_classes(gold, said, 5).sum(0)
    expected = 100 * f1_score(gold, said, average="macro")
    assert Goal("macro-f1", (0, 1, 2, 3, 4)).value(counts) == pytest.approx(expected)
    perfect = Counts.of_classes(gold, gold, 5).sum(0)
    assert Goal("macro-f1", (0, 1, 2, 3, 4)).value(perfect) == 100
    # Of several labels scikit-learn counts it 0.
    hot = np.eye(5, dtype=bool)[gold]
    several = Goal("macro-f1", (0, 1, 2, 3, 4), absent=True)
    expected = 100 * f1_score(hot, hot, average="macro", zero_division=0)
    assert several.value(Counts.of_labels(hot, hot).sum(0)) == pytest.approx(expected) == 60
    # The classes of the mean may be fewer: of tags all but the background.
    assert Goal("macro-f1", (1, 2), macro=(1, 2)).value(counts) == pytest.approx(
        100 * f1_score(gold, said, average="macro", labels=[1, 2])
    )


def margins(seed: int, rows: int = 120) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    gold = (rng.random(rows) < 0.2).astype(int)
    return rng.normal(size=rows) + 1.2 * gold - 1, gold


@pytest.mark.parametrize("metric", ["f1", "macro-f1", "accuracy", "fbeta"])
def test_no_other_threshold_is_better_on_validation(metric: str) -> None:
    for seed in range(5):
        x, gold = margins(seed)
        goal = Goal(metric, (1,), beta=2.0)
        cut = best_threshold(x, gold, goal)

        def value(t: float, x: np.ndarray = x, gold: np.ndarray = gold, goal: Goal = goal) -> float:
            return float(goal.value(Counts.of_classes(gold, (x > t).astype(int), 2).sum(0)))

        assert value(cut) == pytest.approx(max(value(t) for t in [*(x + 1e-9), x.min() - 1]))


def test_a_recall_that_is_asked_for_is_reached_as_precisely_as_it_goes() -> None:
    x, gold = margins(7, 400)
    precisions, recalls, _ = precision_recall_curve(gold, x)
    for asked in (0.5, 0.9):
        cut = best_threshold(x, gold, Goal("f1", (1,), at_recall=asked))
        counts = Counts.of_classes(gold, (x > cut).astype(int), 2).sum(0)[1]
        precision, recall = counts.precision, counts.recall
        assert recall >= asked
        assert precision == pytest.approx(precisions[:-1][recalls[:-1] >= asked].max())
        cut = best_threshold(x, gold, Goal("f1", (1,), at_precision=asked))
        counts = Counts.of_classes(gold, (x > cut).astype(int), 2).sum(0)[1]
        precision, recall = counts.precision, counts.recall
        reachable = precisions[:-1] >= asked
        assert precision >= asked
        assert recall == pytest.approx(recalls[:-1][reachable].max())


def test_the_expected_f1_finds_the_best_threshold_and_scatters_less() -> None:
    rng = np.random.default_rng(0)

    def draw(positives: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
        gold = (np.arange(rows) < positives).astype(int)
        x = 2 * (rng.normal(size=rows) + 2 * gold - 1) + np.log(positives / (rows - positives))
        return x, gold

    goal = Goal("f1", (1,))
    truth = best_threshold(*draw(4000, 200_000), goal)
    assert calibrated_plug_in(*draw(4000, 200_000)) == pytest.approx(truth, abs=0.15)
    drawn = [draw(10, 500) for _ in range(80)]
    plug_in = [calibrated_plug_in(*one) for one in drawn]
    assert np.std(plug_in) < 0.8 * np.std([best_threshold(*one, goal) for one in drawn])


def test_margins_that_say_nothing_end_in_yes_to_all() -> None:
    x = np.linspace(-1, 1, 40)
    assert (x > calibrated_plug_in(x, (x < -0.5).astype(int))).all()


RNG = np.random.default_rng(0)
GOLD, PREDICTED = RNG.random((2, 60, 4)) < [0.5, 0.3, 0.1, 0.0]


def scores_of(gold: np.ndarray, predicted: np.ndarray, average: str | None) -> list[np.ndarray]:
    found = precision_recall_fscore_support(
        gold, predicted, average=average, beta=2.0, zero_division=0
    )
    return list(found[:3])


def test_scores_of_each_label_are_those_of_scikit_learn() -> None:
    counts = Counts.of_labels(GOLD, PREDICTED).sum(0)
    for ours, theirs in zip(
        (counts.precision, counts.recall, counts.fbeta(2.0)),
        scores_of(GOLD, PREDICTED, None),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs)
    assert (counts.predicted[3], counts.f1[3]) == (0, 0)  # neither predicted nor there


def test_sets_count_as_labels_do_all_together() -> None:
    sets = ([set(np.flatnonzero(row)) for row in rows] for rows in (GOLD, PREDICTED))
    found = Counts.of_sets(*sets)
    theirs = [100 * float(score) for score in scores_of(GOLD, PREDICTED, "micro")]
    assert [found.percent()["precision"], found.percent()["recall"]] == pytest.approx(theirs[:2])
    assert found == Counts(*map(int, Counts.of_labels(GOLD, PREDICTED).sum(0).sum(0)._parts()))


def test_counts_add_up_whatever_the_parts() -> None:
    whole = Counts.of_labels(GOLD, PREDICTED)
    halves = whole[:25].sum(0) + whole[25:].sum(0)
    stacked = Counts.stack([whole[:30], whole[30:]]).sum(0).sum(0)
    drawn = whole.resampled(np.ones((1, 60)))[0]
    rows = whole.by_row(np.repeat([2, 0, 1], 20), 3)
    for counts in (halves, stacked, drawn, rows.sum(0)):
        np.testing.assert_array_equal(counts._parts(), whole.sum(0)._parts())
    np.testing.assert_array_equal(rows[2]._parts(), whole[:20].sum(0)._parts())


SCORED = st.lists(
    st.tuples(st.integers(-9, 9).map(lambda k: k / 2), st.integers(0, 1)), min_size=1, max_size=15
)


def test_of_equals_the_one_nearest_to_the_usual_threshold_is_taken() -> None:
    assert thresholds.best([-3.0, -1.0, 0.5, 2.0], [7.0, 7.0, 7.0, 6.0]) == 0.5
    assert thresholds.best([-3.0, 4.0], [1.0, 2.0]) == 4.0


@settings(deadline=None)
@given(SCORED, st.integers(0, 3))
def test_the_best_f1_is_found(rows: list[tuple[float, int]], without_score: int) -> None:
    scores, right = np.array([s for s, _ in rows]), np.array([r for _, r in rows])
    gold = [*right, *[1] * without_score]

    def f1(threshold: float) -> float:
        said = [*(scores > threshold).astype(int), *[0] * without_score]
        return 2 * float(np.dot(said, gold)) / max(1, sum(said) + sum(gold))

    tuned = thresholds.best_f1(scores, right, sum(gold))
    said = [*(scores > tuned).astype(int), *[0] * without_score]
    assert f1(tuned) == pytest.approx(f1_score(gold, said, zero_division=0))
    assert f1(tuned) == pytest.approx(max(f1(t) for t in [-99.0, 99.0, *(scores + 0.1)]))
    assert thresholds.best_f1([], [], 3) == 0


def test_who_predicts_nothing_reaches_any_precision_and_has_no_recall() -> None:
    silent = Counts(*np.array([[0], [0], [5]]))
    assert Goal("f1", (0,), at_precision=0.9).value(silent) == 0
    assert Goal("f1", (0,), at_recall=0.9).value(silent) == -200


@pytest.mark.parametrize("decimals", [0, 9])  # with ties and without
def test_average_precision_is_that_of_scikit_learn_also_of_resampled_rows(decimals: int) -> None:
    rng = np.random.default_rng(decimals)
    gold = rng.random(200) < 0.2
    scores = (rng.normal(size=200) + gold).round(decimals)
    counts = Counts.at_positives(scores, gold)
    expected = 100 * average_precision_score(gold, scores)
    assert average_precision(counts.sum(0)) == pytest.approx(expected)
    weights = rng.multinomial(200, np.full(200, 1 / 200), 3).astype(float)
    for found, of_row in zip(average_precision(counts.resampled(weights)), weights, strict=True):
        expected = 100 * average_precision_score(gold, scores, sample_weight=of_row)
        assert found == pytest.approx(expected)
    fewer = average_precision(Counts.at_positives(scores, gold, most=20).sum(0))
    assert abs(fewer - average_precision(counts.sum(0))) < 3
    assert average_precision(Counts.at_positives(scores, gold & False).sum(0)) == 0

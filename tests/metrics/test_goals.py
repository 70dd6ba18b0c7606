"""Counts, goals, thresholds and intervals, each beside a second way to the same number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, fbeta_score, precision_recall_curve

from dicelab.metrics.counts import Counts
from dicelab.metrics.goal import Goal
from dicelab.tasks import tagging
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

"""Three counts and their scores, beside scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, precision_recall_fscore_support

from dicelab.metrics.counts import Counts, average_precision

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

"""Intervals: what they cover in simulations, closed forms where there are some, and the edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dicelab.metrics.counts import Counts
from dicelab.metrics.goal import Goal
from dicelab.metrics.intervals import difference, interval, over_rows, paired

F1 = Goal("f1", (0,))


def runs_of_two_arms(
    rng: np.random.Generator, runs: int, rows: int, *, of_run: float, of_both: float
) -> Counts:
    """Counts ``[2, runs, rows, 1]``: rows are hard or easy, runs strict or lax, pairs err alone."""
    gold = rng.random(rows) < 0.1
    level = np.where(gold, 1.0, -2.2) + rng.normal(size=rows)
    shift = of_run * rng.normal(size=(2, runs, 1))
    said = level + shift + of_both * rng.normal(size=(2, runs, rows)) > 0
    there = np.broadcast_to(gold, said.shape)
    return Counts(*(part[..., None].astype(np.int32) for part in (said & there, said, there)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("runs", "of_run", "of_both"),
    [(3, 0.0, 0.5), (2, 0.15, 0.5), (6, 0.4, 0.3)],
    ids=["rows scatter", "both scatter", "runs scatter"],
)
def test_a_difference_is_covered_as_often_as_it_says(runs, of_run, of_both):
    """Both arms are alike, so their true difference is 0; 600 intervals, an error of 0.9%."""
    rng = np.random.default_rng(runs)
    covered = []
    for _ in range(600):
        counts = runs_of_two_arms(rng, runs, 400, of_run=of_run, of_both=of_both)
        found = paired(counts, F1.plain, resamples=150)
        covered.append(found.low <= 0 <= found.high)
    assert 0.915 <= np.mean(covered) <= 0.985


def test_runs_that_scatter_alone_have_students_interval() -> None:
    # The rows of a run are alike, so they tell nothing beyond the run's level.
    level = np.array([[4, 7, 5, 8], [5, 4, 5, 6]])
    found = np.repeat(level[:, :, None, None], 50, axis=2)
    counts = Counts(found, np.full_like(found, 10), np.full_like(found, 10))
    d = 10.0 * (level[0] - level[1])
    expected = stats.t.interval(0.95, 3, d.mean(), stats.sem(d))
    given = paired(counts, F1.plain)
    assert (given.low, given.high) == pytest.approx(expected)
    assert given.mean == pytest.approx(d.mean())
    assert given.error == pytest.approx((expected[1] - expected[0]) / 2 / stats.norm.ppf(0.975))


def test_of_one_run_the_interval_is_that_of_the_rows() -> None:
    counts = runs_of_two_arms(np.random.default_rng(0), 1, 300, of_run=0, of_both=1)
    found = paired(counts, F1.plain)
    drawn = over_rows(counts, F1.plain, (1, -1))[:, 0]
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))
    # Runs that all decide alike tell as much as one.
    twice = Counts(*(np.repeat(p, 3, 1) for p in (counts.true_positive, counts.predicted,
                                                  counts.actual)))  # fmt: skip
    again = paired(twice, F1.plain)
    assert (again.low, again.high) == pytest.approx((found.low, found.high))


@pytest.mark.parametrize("n", [1, 4, 12, 300])
def test_all_found_and_none_found_have_the_exact_bound(n: int) -> None:
    gold = np.repeat([1, 0], [n, 500])[:, None]
    bound = 100 * stats.binomtest(n, n).proportion_ci(method="exact").low
    perfect = interval(Counts.of_labels(gold, gold), F1)
    assert (perfect.value, perfect.high) == (100, 100)
    assert perfect.low == pytest.approx(bound)
    recall = (100 - bound) / 100
    none = interval(Counts.of_labels(gold, 0 * gold), F1)
    assert (none.value, none.low) == (0, 0)
    # Nothing was predicted, so of precision nothing is known.
    assert none.high == pytest.approx(100 * 2 * recall / (1 + recall))
    accuracy = interval(Counts.of_classes(gold[:, 0], gold[:, 0], 2), Goal("accuracy", (0, 1)))
    rows = n + 500
    assert accuracy.low == pytest.approx(
        100 * stats.binomtest(rows, rows).proportion_ci(method="exact").low
    )


def test_the_bound_of_a_mean_over_classes_is_the_mean_of_their_bounds() -> None:
    gold = np.repeat(np.arange(3), [4, 12, 100])
    found = interval(Counts.of_classes(gold, gold, 4), Goal("macro-f1", (0, 1, 2, 3)))
    assert found.low == pytest.approx(100 * np.mean([0.025 ** (1 / n) for n in (4, 12, 100)]))
    assert found.high == 100


def test_false_alarms_alone_bound_precision() -> None:
    gold, said = (
        np.repeat([1, 0, 0], [5, 8, 90])[:, None],
        np.repeat([0, 1, 0], [5, 8, 90])[:, None],
    )
    r, p = 1 - 0.025 ** (1 / 5), 1 - 0.025 ** (1 / 8)
    assert interval(Counts.of_labels(gold, said), F1).high == pytest.approx(200 * r * p / (r + p))


def test_the_interval_of_a_difference() -> None:
    rng = np.random.default_rng(3)
    gold = (rng.random(500) < 0.3).astype(int)
    goal = Goal("f1", (1,))

    def arm(error: float) -> list[Counts]:
        said = [np.where(rng.random(500) < error, 1 - gold, gold) for _ in range(3)]
        return [Counts.of_classes(gold, one, 2) for one in said]

    good, bad = arm(0.05), arm(0.15)
    found = difference(good, bad, goal.plain)
    means = [np.mean([goal.plain(c.sum(0)) for c in one]) for one in (good, bad)]
    assert found.mean == pytest.approx(means[0] - means[1])
    assert 0 < found.low < found.mean < found.high
    assert found.visible == pytest.approx(2.8016 * found.error, rel=1e-3)
    same = difference(good, good, goal.plain)
    assert (same.mean, same.low, same.high) == (0, 0, 0)

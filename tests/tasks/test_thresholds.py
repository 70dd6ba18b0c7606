"""The search for a threshold, against trying everything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from dicelab.metrics.counts import Counts
from dicelab.metrics.goal import Goal
from dicelab.tasks import thresholds

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

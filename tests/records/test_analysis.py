"""The statistics that analyses share, against scipy, closed forms and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dicelab.records import analysis


def test_equivalence_is_the_larger_of_scipys_one_sided_tests() -> None:
    d = np.random.default_rng(1).normal(0.1, 0.6, 20)
    low = stats.ttest_1samp(d, -0.5, alternative="greater").pvalue
    high = stats.ttest_1samp(d, 0.5, alternative="less").pvalue
    ours = analysis.equivalence(d.mean(), d.std(ddof=1) / 20**0.5, 19)
    assert ours == pytest.approx(max(low, high))


def test_holm_is_the_smallest_level_that_rejects() -> None:
    p = [0.01, 0.04, 0.03, 0.005, 0.2]

    def rejected(level: float) -> set[int]:
        out: set[int] = set()
        for rank, i in enumerate(np.argsort(p)):
            if p[i] > level / (len(p) - rank):
                break
            out.add(int(i))
        return out

    for i, adjusted in enumerate(analysis.holm(p)):
        assert i in rejected(adjusted + 1e-9)
        assert i not in rejected(adjusted - 1e-9)


@pytest.mark.parametrize("runs", [2, 20])
def test_the_detectable_difference_is_found_four_times_in_five(runs: int) -> None:
    rng = np.random.default_rng(2)
    shift = analysis.detectable(1 / runs**0.5, runs - 1)
    p = stats.ttest_1samp(rng.normal(shift, 1, (20_000, runs)), 0, axis=1).pvalue
    assert (p < 0.05).mean() == pytest.approx(0.8, abs=0.01)


def test_the_expected_best_is_that_of_a_simulation() -> None:
    scores = np.array([3.0, 9.0, 1.0, 7.0, 5.0])
    drawn = np.random.default_rng(3).choice(scores, (200_000, 3)).max(1).mean()
    ours = analysis.expected_best(scores)
    assert ours[2] == pytest.approx(drawn, abs=0.02)
    assert ours[0] == pytest.approx(scores.mean())


def test_a_known_covariance_gives_what_numpy_gives_after_whitening() -> None:
    rng = np.random.default_rng(5)
    root = rng.normal(size=(8, 8))
    v, x, d = root @ root.T, rng.normal(size=(8, 2)), rng.normal(size=8)
    b, cover, rest, likelihood = analysis.restricted(d, x, v)
    whiten = np.linalg.inv(np.linalg.cholesky(v))
    theirs, squares, *_ = np.linalg.lstsq(whiten @ x, whiten @ d)
    assert b == pytest.approx(theirs)
    assert rest == pytest.approx(squares[0])
    assert cover == pytest.approx(np.linalg.inv(x.T @ np.linalg.inv(v) @ x))
    free = np.linalg.svd(x)[0][:, 2:]  # the restricted likelihood is that of what x leaves
    again = analysis.restricted(d, x, 2 * v)[3] - likelihood
    of = [stats.multivariate_normal.logpdf(d @ free, cov=free.T @ w @ free) for w in (v, 2 * v)]
    assert again == pytest.approx(of[1] - of[0])

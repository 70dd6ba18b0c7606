"""The analysis of the second protocol against closed forms and against other code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dicelab.records.searched import Effect, effect, pool, without_each_source
from studies.evidence.records import append


def _effect(number: int, mean: float, error: float, source: str = "", stratum: str = "s") -> Effect:
    source = source or f"source {number}"
    return Effect(f"task {number}", source, stratum, mean, 0.0, 0.0, error, 0.0, 5)


def test_one_task_a_source_and_no_noise_is_students_interval() -> None:
    d = np.random.default_rng(0).normal(0.5, 2, 9)
    p = pool([_effect(i, x, 1e-3) for i, x in enumerate(d)])
    low, high = stats.t.interval(0.95, 8, d.mean(), stats.sem(d))
    assert (p.mu, p.low, p.high) == pytest.approx((d.mean(), low, high), rel=1e-3)
    assert p.p == pytest.approx(stats.ttest_1samp(d, 0).pvalue, rel=1e-2)
    assert p.source**2 + p.task**2 == pytest.approx(d.var(ddof=1), rel=1e-2)


def test_much_noise_is_a_weighted_mean() -> None:
    d, error = np.array([1.0, -1.0, 0.5, 0.2]), np.array([3.0, 5.0, 4.0, 3.0])
    p = pool([_effect(i, x, e) for i, (x, e) in enumerate(zip(d, error, strict=True))])
    assert (p.source, p.task) == pytest.approx((0, 0), abs=1e-3)
    assert p.mu == pytest.approx(np.average(d, weights=error**-2.0), abs=1e-6)


def test_strata_count_alike_however_many_tasks_they_have() -> None:
    few = [_effect(i, 2.0, 0.5, stratum="few") for i in range(2)]
    many = [_effect(10 + i, 0.0, 0.5, stratum="many") for i in range(8)]
    p = pool([*few, *many])
    assert p.mu == pytest.approx(1.0)
    assert p.strata["few"][0] == pytest.approx(2.0)
    assert p.strata["many"][0] == pytest.approx(0.0, abs=1e-9)


def test_the_likelihood_is_that_of_error_contrasts() -> None:
    """REML by the density of d less its mean, over a grid, in place of the closed form."""
    rng = np.random.default_rng(3)
    of_source = rng.normal(0, 1.5, 6)
    rows = [(s, of_source[s] + rng.normal(0, 0.7)) for s in range(6) for _ in range(4)]
    p = pool([_effect(i, x, 0.4, source=f"{s}") for i, (s, x) in enumerate(rows)])
    d = np.array([x for _, x in rows])
    n = len(d)
    contrasts = np.eye(n)[:-1] - 1 / n  # all but one: together they do not know the mean
    member = np.array([[s == t for t in range(6)] for s, _ in rows], dtype=float)

    def density(source: float, task: float) -> float:
        v = np.eye(n) * (0.16 + task**2) + source**2 * member @ member.T
        return float(
            stats.multivariate_normal.logpdf(contrasts @ d, cov=contrasts @ v @ contrasts.T)
        )

    grid = [(a, b) for a in np.linspace(0, 4, 41) for b in np.linspace(0, 2, 41)]
    best = max(grid, key=lambda t: density(*t))
    assert density(p.source, p.task) >= density(*best) - 1e-6
    assert (p.source, p.task) == pytest.approx(best, abs=0.15)


def test_too_few_sources_are_refused() -> None:
    with pytest.raises(ValueError, match="expected more sources than strata, got 1 and 1"):
        pool([_effect(i, 0.0, 1.0, source="a") for i in range(3)])


def test_leaving_out_a_source() -> None:
    effects = [_effect(i, x, 5.0) for i, x in enumerate([0.0, 0.0, 3.0])]
    assert without_each_source(effects)["source 2"] == pytest.approx(0.0, abs=1e-9)


def _records(path: Path, gains: list[list[int]]) -> None:
    """Finals of two arms: dice finds ``gains[search][final]`` more in each of the blocks."""
    blocks = 100
    append(
        path,
        [{"kind": "task", "task": "t", "source": "s", "stratum": "x", "blocks": [10] * blocks}],
    )
    for search, of_finals in enumerate(gains):
        for final, gain in enumerate(of_finals):
            for arm, found in (("dice", 5 + gain), ("ce_start", 5)):
                append(
                    path,
                    [
                        {
                            "kind": "final",
                            "arm": arm,
                            "search": search,
                            "seed": 10 * search + final,
                            "chosen_for": ["tuned"],
                            "test": {"tuned": {"blocks": [[found] * blocks, [10] * blocks]}},
                        }
                    ],
                )


def test_an_effect_holds_the_scatter_of_searches(tmp_path: Path) -> None:
    gains = [[0, 0], [1, 1], [2, 2], [0, 0]]
    _records(tmp_path / "t.jsonl", gains)
    found = effect(tmp_path / "t.jsonl", ("dice", "tuned"), ("ce_start", "tuned"))
    assert found is not None
    points = 10 * np.array(gains)  # one more of ten in each block is ten points of F1
    of_search = points.mean(1)
    assert found.mean == pytest.approx(of_search.mean())
    assert found.of_searches == pytest.approx(of_search.std(ddof=1))
    assert found.error == pytest.approx(stats.sem(of_search), rel=0.05)


def test_only_whole_searches_count(tmp_path: Path) -> None:
    _records(tmp_path / "t.jsonl", [[1, 1], [1, 1], [4]])
    found = effect(tmp_path / "t.jsonl", ("dice", "tuned"), ("ce_start", "tuned"))
    assert found is not None
    assert found.searches == 2
    assert found.mean == pytest.approx(10.0)
    assert effect(tmp_path / "none.jsonl", ("dice", "tuned"), ("ce_start", "tuned")) is None

"""The analysis of the second protocol against closed forms and against other code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dicelab.metrics.counts import Counts
from dicelab.records import searched
from dicelab.records.analysis import f1, holm, read
from dicelab.records.runs import append_record
from dicelab.records.searched import (
    OTHERS,
    PLUG_IN,
    PRIMARY,
    SearchEffect,
    at_last_checkpoint,
    bootstrap,
    effect,
    effects_of,
    pool,
    pooled_minus_start,
    read_tasks,
    secondary,
    without_each_source,
)
from tests import made_up_study


def _effect(
    number: int,
    mean: float,
    error: float,
    source: str = "",
    stratum: str = "s",
    positives: int = 100,
) -> SearchEffect:
    source = source or f"source {number}"
    return SearchEffect(f"task {number}", source, stratum, positives, mean, 0.0, 0.0, error, 0.0, 5)


def test_the_slope_is_that_of_least_squares() -> None:
    """One task a source, hardly any noise, two strata: least squares with Student's intervals."""
    rng = np.random.default_rng(5)
    n = 10
    positives = rng.integers(20, 2_000, n)
    log, rare = np.log(positives), np.arange(n) % 2
    d = 1.0 - 0.8 * log + 2.0 * rare + rng.normal(0, 0.5, n)
    effects = [
        _effect(i, d[i], 1e-3, stratum=f"{rare[i]}", positives=int(positives[i])) for i in range(n)
    ]
    p = pool(effects, by_positives=True)
    design = np.column_stack([1 - rare, rare, log - log.mean()])
    b, rest, _, _ = np.linalg.lstsq(design, d, rcond=None)
    error = (rest[0] / (n - 3) * np.linalg.inv(design.T @ design)[2, 2]) ** 0.5
    assert p.slope is not None
    low, high = stats.t.interval(0.95, n - 3, b[2], error)
    assert p.slope[:3] == pytest.approx((b[2], low, high), rel=1e-3)
    assert p.slope.p == pytest.approx(2 * stats.t.sf(abs(b[2]) / error, n - 3), rel=1e-2)
    assert p.strata["1"].mean == pytest.approx(b[1], rel=1e-3)
    assert pool(effects).slope is None


def test_as_many_tasks_of_each_source_are_students_interval_over_sources() -> None:
    """A balanced design: the sources' means are what is independent, however its tasks scatter."""
    rng = np.random.default_rng(2)
    d = 1.0 + rng.normal(0, 2, (7, 1)) + rng.normal(0, 0.7, (7, 3))
    effects = [_effect(i, x, 1e-3, source=f"s{i // 3}") for i, x in enumerate(d.ravel())]
    p = pool(effects)
    of_source = d.mean(1)
    low, high = stats.t.interval(0.95, 6, of_source.mean(), stats.sem(of_source))
    assert p.over_all[:3] == pytest.approx((d.mean(), low, high), rel=1e-3)
    assert p.task == pytest.approx(d.var(axis=1, ddof=1).mean() ** 0.5, rel=1e-2)
    between = of_source.var(ddof=1) - d.var(axis=1, ddof=1).mean() / 3
    assert p.source == pytest.approx(between**0.5, rel=1e-2)


def test_much_noise_is_a_weighted_mean() -> None:
    d, error = np.array([1.0, -1.0, 0.5, 0.2]), np.array([3.0, 5.0, 4.0, 3.0])
    p = pool([_effect(i, x, e) for i, (x, e) in enumerate(zip(d, error, strict=True))])
    assert (p.source, p.task) == pytest.approx((0, 0), abs=1e-3)
    assert p.over_all.mean == pytest.approx(np.average(d, weights=error**-2.0), abs=1e-6)


def test_too_few_sources_are_refused() -> None:
    with pytest.raises(ValueError, match="expected more sources than strata, got 1 and 1"):
        pool([_effect(i, 0.0, 1.0, source="a") for i in range(3)])
    with pytest.raises(ValueError, match="more sources than strata and slope, got 2 and 2"):
        pool([_effect(i, 0.0, 1.0) for i in range(2)], by_positives=True)


def test_leaving_out_a_source() -> None:
    effects = [_effect(i, x, 5.0) for i, x in enumerate([0.0, 0.0, 3.0])]
    assert without_each_source(effects)["source 2"].mean == pytest.approx(0.0, abs=1e-9)


def _records(path: Path, gains: list[list[int]]) -> None:
    """Finals of two arms: dice finds ``gains[search][final]`` more in each of the blocks."""
    blocks = 100
    append_record(
        path,
        {"kind": "task", "task": "t", "source": "s", "stratum": "x", "blocks": [10] * blocks}
        | {"sizes": {f"validation_{half}": {"positive": 40 + half} for half in (1, 2)}},
    )
    for search, of_finals in enumerate(gains):
        for final, gain in enumerate(of_finals):
            for arm, found in (("dice", 5 + gain), ("ce_start", 5)):
                test = {"tuned": {"blocks": [[found] * blocks, [10] * blocks]}}
                which = {"arm": arm, "search": search, "seed": 10 * search + final}
                append_record(
                    path, {"kind": "final", **which, "chosen_for": ["tuned"], "test": test}
                )


def test_an_effect_holds_the_scatter_of_searches(tmp_path: Path) -> None:
    gains = [[0, 0], [1, 1], [2, 2], [0, 0]]
    _records(tmp_path / "t.jsonl", gains)
    found = effect(read(tmp_path / "t.jsonl"), PRIMARY)
    assert found is not None
    points = 10 * np.array(gains)  # one more of ten in each block is ten points of F1
    of_search = points.mean(1)
    assert found.mean == pytest.approx(of_search.mean())
    assert found.of_searches == pytest.approx(of_search.std(ddof=1))
    assert found.error == pytest.approx(stats.sem(of_search), rel=0.05)


def test_the_effect_of_another_head_is_subtracted(tmp_path: Path) -> None:
    gains, others = [[0, 0], [1, 1], [2, 2], [3, 4]], [[1, 2], [0, 1], [0, 0]]
    for name, of_head in (("one", gains), ("other", others)):
        _records(tmp_path / f"{name}.jsonl", of_head)
    one, other = (read(tmp_path / f"{name}.jsonl") for name in ("one", "other"))
    found = effect(one, PRIMARY, other)
    assert found is not None
    of_search = 10 * (np.array(gains[:3]).mean(1) - np.array(others).mean(1))
    assert found.mean == pytest.approx(of_search.mean())
    assert found.of_searches == pytest.approx(of_search.std(ddof=1))
    assert found.low < of_search.mean() < found.high
    assert effects_of({"t": one}, PRIMARY, {"t": other}) == [found]
    assert effect(one, PRIMARY, one[:1]) is None
    (tmp_path / "study").mkdir()
    made_up_study.write(tmp_path / "study")
    tasks = read_tasks(tmp_path / "study")
    assert pool(effects_of(tasks, PRIMARY, tasks)).over_all.mean == 0


def test_a_task_is_compared_with_cross_entropy_from_the_prior(tmp_path: Path) -> None:
    made_up_study.write(tmp_path)
    records = read(tmp_path / "mrpc.jsonl")
    finals = [r for r in records if r["kind"] == "final"]

    def plain(arm: str, how: str) -> list[float]:
        of_arm = [r for r in finals if r["arm"] == arm and how in r["chosen_for"]]
        return [r["test"][how]["f1"] for r in of_arm]

    row = searched.compared(records, ["ce_start", "dice", "dice_start"])
    assert list(row) == [
        "baseline",
        "cross entropy, log prior, argmax",
        "dice, near 0, argmax",
        "cross entropy, log prior, tuned",
        "dice, near 0, tuned",
    ]
    assert row["baseline"] == "9.0"
    assert row["dice, near 0, tuned"] == f"{np.mean(plain('dice', 'tuned')):.1f}"
    found = searched.minus_start(records, "dice", "tuned")
    assert found is not None
    gap = np.mean(plain("dice", "tuned")) - np.mean(plain("ce_start", "tuned"))
    assert found.mean == pytest.approx(gap)
    assert searched.minus_start(records, "unknown", "tuned") is None


def test_only_whole_searches_count(tmp_path: Path) -> None:
    _records(tmp_path / "t.jsonl", [[1, 1], [1, 1], [4]])
    found = effect(read(tmp_path / "t.jsonl"), PRIMARY)
    assert found is not None
    assert found.searches == 2
    assert found.mean == pytest.approx(10.0)
    assert effect(read(tmp_path / "none.jsonl"), PRIMARY) is None


def test_who_takes_the_last_checkpoint(tmp_path: Path) -> None:
    made_up_study.write(tmp_path)
    assert at_last_checkpoint(read_tasks(tmp_path), "dice", 3840) == 1
    assert at_last_checkpoint(read_tasks(tmp_path), "dice", 960) == 0


def test_an_arm_less_cross_entropy_from_the_prior(tmp_path: Path) -> None:
    made_up_study.write(tmp_path)
    tasks = read_tasks(tmp_path)
    assert pooled_minus_start(tasks, "dice", "tuned") == pool(effects_of(tasks, PRIMARY))
    assert pooled_minus_start(tasks, "ce", "argmax").over_all.mean == pytest.approx(-25, abs=2)


def test_the_bootstrap_is_that_of_a_loop() -> None:
    rng = np.random.default_rng(7)
    both = rng.integers(1, 9, (2, 3, 4, 2, 20)).astype(float)
    gold = rng.integers(5, 12, 20)
    drawn = []
    for _ in range(4_000):
        weight = np.bincount(rng.integers(20, size=20), minlength=20)
        values = []
        for s in rng.integers(3, size=3):
            for k in rng.integers(4, size=4):
                one, other = (f1(*(both[arm, s, k] @ weight), gold @ weight) for arm in (0, 1))
                values.append(one - other)
        drawn.append(np.mean(values))
    counts = Counts(both[..., 0, :], both[..., 1, :], np.broadcast_to(gold, (2, 3, 4, 20)))
    found = bootstrap(counts)
    assert found.mean() == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / 4_000**0.5)
    assert found.std() == pytest.approx(np.std(drawn) * 1.5**0.5, rel=0.05)


def test_the_family_of_the_secondary_questions(tmp_path: Path) -> None:
    made_up_study.write(tmp_path)
    tasks = read_tasks(tmp_path)
    found = secondary(tasks)
    assert len(found) == 3 + 2 + len(OTHERS) == 11
    assert [p for _, p in found.values()] == holm([one.p for one, _ in found.values()])
    assert found["cross entropy minus cross entropy from near 0, argmax"][0].mean == pytest.approx(
        25, abs=1
    )  # two of eight
    whole = pool(effects_of(tasks, PLUG_IN)).over_all
    assert found["cross entropy, plug-in minus tuned"][0] == whole
    effects = {e.task: e for e in effects_of(tasks, PRIMARY)}
    assert effects.keys() == tasks.keys()
    halves = tasks["mrpc"][0]["sizes"]
    assert effects["mrpc"].positives == 2 * halves["validation_1"]["positive"]
    without = {name: [r for r in x if r.get("arm") != "ce"] for name, x in tasks.items()}
    assert secondary(without) == {}
    assert len(effects_of(without, PRIMARY)) == len(tasks)

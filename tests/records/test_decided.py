"""Effects of runs that are decided in several ways, against loops and against the kept scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dicelab.records import runs
from dicelab.records.decided import effect

KEPT = ("spans", "spans_all_layers")
WAYS = ("half", "tuned", "plug_in")


def record(arm: str, seed: int, found: list[int], missed: int = 0) -> dict[str, Any]:
    counts = {"found": found, "predicted": [10] * len(found)}
    return {
        "parameters": {"corpus": "c", "loss": arm, "seed": seed},
        "metrics": {"half": counts, "gold": [10] * len(found), "missed": missed},
    }


def test_where_nothing_scatters_the_interval_is_the_mean() -> None:
    records = [record(a, s, [f + s] * 20) for a, f in (("a", 6), ("b", 5)) for s in range(3)]
    found = effect(records, "c", ("a", "half"), ("b", "half"), resamples=50)
    assert found == (pytest.approx(10.0), pytest.approx(10.0), pytest.approx(10.0), 3)


def test_the_interval_is_that_of_a_bootstrap_in_loops() -> None:
    rng = np.random.default_rng(1)
    rows = {(a, s): rng.integers(0, 10, 6).tolist() for a in "ab" for s in range(4)}
    records = [record(a, s, found, missed=3) for (a, s), found in rows.items()]
    told = effect(records, "c", ("a", "half"), ("b", "half"), resamples=4_000)

    def f1(found: list[int], blocks: list[int]) -> float:
        right, said, gold = (
            sum(counts) for counts in zip(*((found[b], 10, 10) for b in blocks), strict=True)
        )
        return 100 * 2 * right / (said + gold + 3)

    drawn = []
    for _ in range(4_000):
        seeds, blocks = rng.integers(0, 4, 4).tolist(), rng.integers(0, 6, 6).tolist()
        drawn.append(np.mean([f1(rows["a", s], blocks) - f1(rows["b", s], blocks) for s in seeds]))
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert (told.low, told.high) == (pytest.approx(low, abs=2), pytest.approx(high, abs=2))
    assert high - low > 40  # the tolerance is small beside what is compared


def test_draws_without_both_remedies_do_not_count() -> None:
    records = [record("a", 0, [5, 5]), record("a", 1, [9, 9]), record("b", 0, [4, 4])]
    assert effect(records, "c", ("a", "half"), ("b", "half"), resamples=5).draws == 1
    with pytest.raises(ValueError, match="c: expected draws with a and dsc, got none"):
        effect(records, "c", ("a", "half"), ("dsc", "half"))


@pytest.mark.parametrize("name", KEPT)
def test_the_counts_of_the_kept_runs_give_their_scores(root: Path, name: str) -> None:
    for kept in runs.read_records(root / "results" / f"{name}.jsonl"):
        m = kept["metrics"]
        gold = sum(m["gold"]) + m["missed"]
        for way in WAYS:
            found, predicted = sum(m[way]["found"]), sum(m[way]["predicted"])
            assert m[way]["f1"] == pytest.approx(200 * found / (predicted + gold), abs=6e-4)


@pytest.mark.parametrize("name", KEPT)
def test_an_effect_is_the_mean_difference_of_the_kept_scores(root: Path, name: str) -> None:
    kept = runs.read_records(root / "results" / f"{name}.jsonl")
    for corpus in {r["parameters"]["corpus"] for r in kept}:
        scores = {
            (r["parameters"]["loss"], r["parameters"]["seed"]): r["metrics"]["tuned"]["f1"]
            for r in kept
            if r["parameters"]["corpus"] == corpus
        }
        seeds = {s for arm, s in scores if arm == "dice_set" and ("bce_prior", s) in scores}
        mean = np.mean([scores["dice_set", s] - scores["bce_prior", s] for s in seeds])
        found = effect(kept, corpus, ("dice_set", "tuned"), ("bce_prior", "tuned"), resamples=2)
        assert (found.mean, found.draws) == (pytest.approx(mean, abs=1e-3), len(seeds))

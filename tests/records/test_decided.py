"""Effects of runs that are decided in several ways, against loops and against the kept scores."""

from __future__ import annotations

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
    found = effect(records, "c", ("a", "half"), ("b", "half"))
    assert found == (pytest.approx(10.0), pytest.approx(10.0), pytest.approx(10.0), 3)


def test_what_was_missed_counts_in_the_mean_and_the_interval_is_around_it() -> None:
    rng = np.random.default_rng(1)
    rows = {(a, s): rng.integers(0, 10, 6).tolist() for a in "ab" for s in range(4)}
    records = [record(a, s, found, missed=3) for (a, s), found in rows.items()]
    told = effect(records, "c", ("a", "half"), ("b", "half"))
    f1 = {key: 100 * 2 * sum(found) / (60 + 60 + 3) for key, found in rows.items()}
    assert told.mean == pytest.approx(np.mean([f1["a", s] - f1["b", s] for s in range(4)]))
    assert told.low < told.mean < told.high


def test_draws_without_both_remedies_do_not_count() -> None:
    records = [record("a", 0, [5, 5]), record("a", 1, [9, 9]), record("b", 0, [4, 4])]
    assert effect(records, "c", ("a", "half"), ("b", "half")).draws == 1
    with pytest.raises(ValueError, match="c: expected draws with a and dsc, got none"):
        effect(records, "c", ("a", "half"), ("dsc", "half"))


@pytest.mark.parametrize("name", KEPT)
def test_the_counts_of_the_kept_runs_give_their_scores(name: str) -> None:
    for kept in runs.kept_records(name):
        m = kept["metrics"]
        gold = sum(m["gold"]) + m["missed"]
        for way in WAYS:
            found, predicted = sum(m[way]["found"]), sum(m[way]["predicted"])
            assert m[way]["f1"] == pytest.approx(200 * found / (predicted + gold), abs=6e-4)


@pytest.mark.parametrize("name", KEPT)
def test_an_effect_is_the_mean_difference_of_the_kept_scores(name: str) -> None:
    kept = runs.kept_records(name)
    for corpus in {r["parameters"]["corpus"] for r in kept}:
        scores = {
            (r["parameters"]["loss"], r["parameters"]["seed"]): r["metrics"]["tuned"]["f1"]
            for r in kept
            if r["parameters"]["corpus"] == corpus
        }
        seeds = {s for arm, s in scores if arm == "dice_set" and ("bce_prior", s) in scores}
        mean = np.mean([scores["dice_set", s] - scores["bce_prior", s] for s in seeds])
        found = effect(kept, corpus, ("dice_set", "tuned"), ("bce_prior", "tuned"))
        assert (found.mean, found.draws) == (pytest.approx(mean, abs=1e-3), len(seeds))

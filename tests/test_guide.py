"""The numbers of docs/what_to_do.md that no other test holds against the records."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import first_try, readers
from dicebook.reproduce import runs
from dicebook.reproduce.analysis import Runs


@pytest.fixture(scope="module")
def guide(root: Path) -> str:
    """The page's text on one line."""
    return " ".join((root / "docs" / "what_to_do.md").read_text(encoding="utf-8").split())


def test_what_a_bias_at_the_log_odds_does(root: Path, guide: str) -> None:
    kept = [
        record
        for name in ("first_try", "readers")
        for record in runs.read_records(root / "results" / f"{name}.jsonl")
    ]

    def f1(parameters: Callable[[int], dict[str, Any]]) -> str:
        of_seeds = [
            [r["metrics"]["test"]["f1"] for r in kept if r["parameters"] == parameters(seed)]
            for seed in (0, 1)
        ]
        return f"{np.mean(of_seeds):.1f}"

    plain, dice = (
        f1(partial(first_try.parameters_of, "squad11", first_try.SETUPS[setup]))
        for setup in ("ce", "dl, squared")
    )
    prior = f1(partial(readers.parameters_of, readers.SETUPS["bce, prior"]))
    assert f"has an F1 of {plain} with its bias at 0 and {prior} at the log-odds" in guide
    assert f"dice {dice}," in guide


def test_what_linear_tversky_with_a_small_beta_loses(root: Path, guide: str) -> None:
    search = Runs.read(root / "results" / "evidence").search
    twin = {r["trial"]: r["validation"] for r in search["wnut17", "ce"]}
    behind = [
        (
            r["parameters"]["value"],
            twin[r["trial"]]["tuned"]["f1"] - r["validation"]["tuned"]["f1"],
        )
        for r in search["wnut17", "tversky"]
    ]
    small = [points for beta, points in behind if beta < 0.505]
    large = [points for beta, points in behind if beta > 0.8]
    assert len(small) > 3
    assert len(large) == 3
    assert round(min(small)) >= 13
    assert "every trial with β ≤ .5 is thirteen points or more behind" in guide
    assert max(map(abs, large)) < 5
    assert "With β above .8 it comes near cross entropy" in guide

"""The two designs of studies/balance.py: what is held, what varies, and that all was run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dicelab.records import runs
from studies import balance


@pytest.mark.parametrize(
    ("design", "positives", "sizes"),
    [
        (balance.ADDED, [80, 80, 80, 80], [160, 320, 880, 2480]),
        (balance.FIXED, [440, 220, 80, 28], [880, 880, 880, 880]),
    ],
)
def test_a_design_varies_one_thing(
    design: tuple[balance.Cell, ...], positives: list[int], sizes: list[int]
) -> None:
    labels = np.array([1] * 900 + [0] * 6000)
    pool = np.arange(len(labels))[::2]
    found = [balance.training_rows(labels, pool, cell, seed=3) for cell in design]
    assert [int(labels[rows].sum()) for rows in found] == positives
    assert [len(set(rows.tolist())) for rows in found] == sizes
    assert all(set(rows.tolist()) <= set(pool.tolist()) for rows in found)


def test_every_run_that_is_planned_is_recorded_once(root: Path) -> None:
    recorded = [r["parameters"] for r in runs.read_records(root / "results" / "balance.jsonl")]
    planned = [
        balance.parameters_of(corpus, cell, loss, seed)
        for corpus in balance.CORPORA
        for cell in dict.fromkeys((*balance.ADDED, *balance.FIXED))
        for loss in balance.ARMS
        for seed in balance.SEEDS
    ]
    assert sorted(map(repr, recorded)) == sorted(map(repr, planned))

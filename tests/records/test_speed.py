"""The area under F1 over the logarithm of the steps, against loops and closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dicelab.records.speed import faster, scores

STEPS = [19, 38, 76, 153]


def _records(lead: int, draws: int = 4) -> list[dict[str, Any]]:
    """Finals in which one arm finds more at every length, in each block of ten."""
    rng = np.random.default_rng(0)
    found = []
    for seed in range(draws):
        for n in STEPS:
            base = rng.integers(2, 5, 10)
            for arm, more in (("ce_start", 0), ("dice", lead)):
                blocks = [(base + more).tolist(), [9] * 10]
                right = sum(blocks[0])
                test = {"tuned": {"f1": 200 * right / (90 + 80), "blocks": blocks}}
                found.append(
                    {"kind": "final", "arm": arm, "seed": seed, "steps": n}
                    | {"test": test, "gold": [8] * 10}
                )
    return found


def test_the_difference_is_that_of_a_loop() -> None:
    records = _records(2)
    found = faster(records, "dice", "ce_start", "tuned")
    assert found is not None
    by_hand = []
    for seed in range(4):
        heights = {
            arm: [
                r["test"]["tuned"]["f1"]
                for n in STEPS
                for r in records
                if (r["arm"], r["seed"], r["steps"]) == (arm, seed, n)
            ]
            for arm in ("dice", "ce_start")
        }
        x = np.log(STEPS)
        areas = {a: np.trapezoid(h, x) / (x[-1] - x[0]) for a, h in heights.items()}
        by_hand.append(areas["dice"] - areas["ce_start"])
    assert found.mean == pytest.approx(np.mean(by_hand))
    assert found.mean == pytest.approx(200 * 20 / 170)  # two more of eight in each block
    assert found.low <= found.mean <= found.high
    assert found.draws == 4


def test_the_difference_after_one_number_of_steps() -> None:
    records = _records(2)
    records[1]["test"]["tuned"]["blocks"][0] = [0] * 10  # dice's first draw, after 19 steps
    f1 = [
        [r["test"]["tuned"]["blocks"][0] for r in records if (r["arm"], r["steps"]) == (arm, 19)]
        for arm in ("dice", "ce_start")
    ]
    gaps = [200 * (sum(a) - sum(b)) / 170 for a, b in zip(*f1, strict=True)]
    found = faster(records, "dice", "ce_start", "tuned", after=19)
    assert found is not None
    assert found.mean == pytest.approx(np.mean(gaps))
    assert found.low < found.mean < found.high
    later = faster(records, "dice", "ce_start", "tuned", after=38)
    assert later is not None
    assert later.mean == pytest.approx(200 * 20 / 170)
    assert faster(records, "dice", "ce_start", "tuned", after=20) is None


def test_a_draw_without_all_lengths_does_not_count() -> None:
    records = _records(1)[:-1]  # the last draw's dice lacks its longest run
    found = faster(records, "dice", "ce_start", "tuned")
    assert found is not None
    assert found.draws == 3
    assert faster(_records(1, draws=1), "dice", "ce_start", "tuned") is None


def test_scores_are_those_of_the_draws_that_have_every_length() -> None:
    records = _records(0)
    steps, of_draws = scores(records, "dice", "tuned")
    at = [r["test"]["tuned"]["f1"] for r in records if (r["arm"], r["steps"]) == ("dice", 38)]
    assert steps == STEPS
    assert of_draws[:, 1].tolist() == at
    assert scores(records[::-1], "dice", "tuned")[1].tolist() == of_draws.tolist()
    assert scores(records[:-1], "dice", "tuned")[1].tolist() == of_draws[:3].tolist()
    assert scores([], "dice", "tuned")[1].shape == (0, 0)

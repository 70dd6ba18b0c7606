"""Scores on the way, on two made-up draws and on the records that come with the book."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dicelab.records import on_the_way
from dicelab.records.analysis import Evidence, read

RECORDS = Path(__file__).parents[2] / "results" / "evidence"


def _cell(dice: dict[int, list[float]], ce: dict[int, list[float]]) -> Evidence:
    def finals(of: dict[int, list[float]]):  # type: ignore[no-untyped-def]
        return {
            seed: {
                "history": [
                    {"step": 10 * (k + 1), "validation_f1": x, "validation_argmax_f1": -x}
                    for k, x in enumerate(scores)
                ]
            }
            for seed, scores in of.items()
        }

    keys = [(arm, how) for arm in ("dice", "ce") for how in ("tuned", "argmax")]
    of = {"dice": finals(dice), "ce": finals(ce)}
    return Evidence(finals={("one", arm, how): of[arm] for arm, how in keys})


def test_draws_stand_in_the_order_of_their_seeds() -> None:
    cell = _cell({1: [5, 6], 0: [1, 3]}, {0: [0, 0], 1: [1, 2]})
    steps, scores = on_the_way.curves(cell, "one", "dice")
    assert steps == [10, 20]
    np.testing.assert_array_equal(scores, [[1, 3], [5, 6]])
    np.testing.assert_array_equal(on_the_way.curves(cell, "one", "dice", "argmax")[1], -scores)
    found = on_the_way.less_at_step(cell, "one", "dice", 20)
    assert (found.mean, found.n) == (3.5, 2)


def test_other_draws_and_other_steps_are_refused() -> None:
    cell = _cell({0: [1, 3], 1: [5, 6]}, {0: [0, 0], 2: [1, 2]})
    with pytest.raises(ValueError, match="expected the same draws of dice and ce"):
        on_the_way.less_at_step(cell, "one", "dice", 20)
    with pytest.raises(ValueError, match=r"no pass ends at step 15; passes end at \[10\]"):
        on_the_way.less_at_step(_cell({0: [1]}, {0: [2]}), "one", "dice", 15)


def test_the_lead_at_step_34_is_that_of_the_records() -> None:
    told = read(RECORDS / "b-crossner_politics.jsonl")
    at: dict[str, dict[int, float]] = {"dice": {}, "ce": {}}
    for r in told:
        if r["kind"] == "final" and (r["size"], r["passes"]) == (0, 4) and r["arm"] in at:
            (at[r["arm"]][r["seed"]],) = (
                entry["validation_f1"] for entry in r["history"] if entry["step"] == 34
            )
    cell = Evidence.read_fine_tuned(RECORDS)[0, 4]
    found = on_the_way.less_at_step(cell, "crossner_politics", "dice", 34)
    assert found.mean == pytest.approx(np.mean([at["dice"][s] - at["ce"][s] for s in at["ce"]]))

"""The table of studies/monday.py from its records by other means, and that all was run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dicelab.records import runs
from studies import monday


@pytest.fixture(scope="module")
def records(root: Path) -> list[dict[str, Any]]:
    return runs.read_records(root / "results" / "monday.jsonl")


def test_every_run_that_is_planned_is_recorded_once(records: list[dict[str, Any]]) -> None:
    planned = [monday.parameters_of(*plan) for plan in monday.planned()]
    assert sorted(map(repr, planned)) == sorted(repr(r["parameters"]) for r in records)


def test_the_table_is_that_of_the_records(records: list[dict[str, Any]]) -> None:
    """Row by row with pandas, from the lines as they are."""
    frame = pd.json_normalize(records)
    frame["setup"] = [json.dumps(r["parameters"]["options"], sort_keys=True) for r in records]
    found = monday.table(records)
    groups = frame.groupby(["parameters.corpus", "parameters.seed"])
    assert len(found) == 2 * len(groups) == 2 * len({*zip(found.corpus, found.seed, strict=True)})
    for row in found.to_dict("records"):
        suffix = "_tuned" if row["way"] == "tuned" else ""
        of = groups.get_group((row["corpus"], row["seed"])).set_index("parameters.learning_rate")
        by_validation = of.sort_values(f"metrics.validation{suffix}.f1", ascending=False)
        test = by_validation[f"metrics.test{suffix}.f1"]
        assert row["the grid's"] == test.iloc[0]
        assert row["best on test"] == test.max()
        told = {"tuned": "ce", "argmax": "dl"}[row["way"]]
        guided = by_validation["parameters.loss"] == told
        if told == "dl":
            default = {"squared": True, "smooth": 1.0, "absent": "skip"}
            guided &= by_validation["setup"] == json.dumps(default, sort_keys=True)
        assert guided.sum() == 3
        assert row["the guide's"] == test[guided].iloc[0]


def test_what_is_chosen_does_not_look_at_the_test_part(records: list[dict[str, Any]]) -> None:
    for way, part in {"argmax": "test", "tuned": "test_tuned"}.items():
        turned = [
            {**r, "metrics": {**r["metrics"], part: {"f1": -r["metrics"][part]["f1"]}}}
            for r in records
        ]
        one, other = (monday.chosen(of, way)["parameters"] for of in (records, turned))
        assert one == other

"""The arms of the extension, recomputed from the lines of the records by tables alone."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from dicelab.records import runs, searched

FOLDER = runs.kept_folder() / "evidence_2"
ARMS = {"dice_start": 27, "dice_both": 18}
WAYS = ("argmax", "tuned", "plug_in")


@pytest.fixture(scope="module")
def lines() -> pd.DataFrame:
    """Every search and final of cross entropy from the prior and of the extension."""
    wanted = {*ARMS, "ce_start"}
    rows = [
        json.loads(line)
        for path in sorted(FOLDER.glob("*.jsonl"))
        if not path.name.startswith("b-")
        for line in path.read_text().splitlines()
    ]
    return pd.DataFrame([r for r in rows if r.get("arm") in wanted])


def in_ways(lines: pd.DataFrame) -> pd.DataFrame:
    """A row for each final and each way of deciding that it was chosen for."""
    finals = lines[lines["kind"] == "final"].explode("chosen_for")
    scores = [test[how] for test, how in zip(finals["test"], finals["chosen_for"], strict=True)]
    return finals.assign(
        f1=[score["f1"] for score in scores],
        found=[score["found"] for score in scores],
        said=[score["predicted"] for score in scores],
        gold=[score["gold"] for score in scores],
        blocks=[np.array(score["blocks"]).sum(1).tolist() for score in scores],
    )


def test_every_arm_is_whole(lines: pd.DataFrame) -> None:
    for arm, tasks in ARMS.items():
        of_arm = lines[lines["arm"] == arm]
        searches = of_arm[of_arm["kind"] == "search"].groupby(["task", "search"])["trial"].nunique()
        assert len(searches) == 5 * tasks
        assert set(searches) == {16}


def test_the_winners_have_the_best_validation_score(lines: pd.DataFrame) -> None:
    of_search = lines[(lines["kind"] == "search") & lines["arm"].isin(ARMS)]
    finals = in_ways(lines[lines["arm"].isin(ARMS)])
    for how in WAYS:
        scores = [picks[how]["f1"] for picks in of_search["validation"]]
        ranked = of_search.assign(score=scores).sort_values(
            ["score", "trial"], ascending=[False, True]
        )
        best = ranked.groupby(["arm", "task", "search"])["trial"].first()
        kept = finals[finals["chosen_for"] == how].groupby(["arm", "task", "search"])["trial"]
        assert (kept.nunique() == 1).all()
        pd.testing.assert_series_equal(kept.first().sort_index(), best.sort_index())
        assert set(kept.size()) == {4}


def test_f1_follows_from_the_counts(lines: pd.DataFrame) -> None:
    finals = in_ways(lines)
    again = 200 * finals["found"] / (finals["said"] + finals["gold"])
    np.testing.assert_allclose(finals["f1"], again, atol=6e-4)
    sums = np.array(finals["blocks"].tolist())
    np.testing.assert_array_equal(sums, finals[["found", "said"]])


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("how", ["argmax", "tuned"])
def test_the_mean_over_tasks_is_that_of_the_tables(lines: pd.DataFrame, arm: str, how: str) -> None:
    finals = in_ways(lines)
    means = (
        finals[finals["chosen_for"] == how]
        .groupby(["task", "arm", "search"])["f1"]
        .mean()
        .groupby(["task", "arm"])
        .mean()
        .unstack()
    )
    minus = (means[arm] - means["ce_start"]).dropna()
    study = searched.read_tasks(FOLDER)
    for task, gap in minus.items():
        found = searched.minus_start(study[str(task)], arm, how)
        assert found is not None
        assert found.mean == pytest.approx(gap, abs=2e-3)
        assert found.low < gap < found.high
    strata = pd.Series({str(task): _stratum(study[str(task)]) for task in minus.index})
    of_strata = minus.groupby(strata).mean()
    assert len(minus) == ARMS[arm]
    pooled = searched.pooled_minus_start(study, arm, how).over_all
    # The pooled mean weighs tasks by their noise and sources; the plain mean of means does not.
    assert pooled.low < of_strata.mean() < pooled.high


def _stratum(records: list[dict[str, object]]) -> str:
    return str(next(r["stratum"] for r in records if r["kind"] == "task"))

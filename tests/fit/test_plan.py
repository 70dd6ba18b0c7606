"""What a fit does in the time there is."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dicelab.fit.data import read
from dicelab.fit.options import ARMS, Options
from dicelab.fit.plan import FOR_RUNS, Plan, Speed, plan
from dicelab.fit.problems import problem_of
from tests.fit import made_up


def test_runs_of_less_than_a_pass_have_no_curve_over_the_data(tmp_path: Path) -> None:
    """Half of the rows would be half of the steps."""
    source = made_up.sentences(tmp_path / "my.tsv")
    asked = Options(source=str(source), text="message", label="flag", batch_size=2)
    problem = problem_of(read(asked), asked)
    problem.splits = problem.data.splits
    a_pass = math.ceil(len(problem.splits["train"]) / 2)
    speed = Speed(1.0, 0.0, 0.0, 10)

    def planned(**given: Any) -> Plan:
        return plan(problem, speed, (1e-3,), replace(asked, **given), spent=0.0)

    for steps, partial in ((a_pass - 1, True), (a_pass, False), (a_pass + 1, False)):
        assert (planned(steps=steps).partial, planned(steps=steps).curve) == (partial, not partial)
    hurried = planned(minutes=0.9 * a_pass / 60 / FOR_RUNS)
    leisurely = planned(minutes=1000.0)
    assert (hurried.partial, hurried.curve, hurried.refit) == (True, False, False)
    assert (leisurely.partial, leisurely.curve, leisurely.refit) == (False, True, True)


def test_where_time_is_short_one_long_run_comes_before_short_runs_of_all_losses(
    tmp_path: Path,
) -> None:
    source = made_up.sentences(tmp_path / "my.tsv")
    asked = Options(source=str(source), text="message", label="flag", batch_size=2)
    problem = problem_of(read(asked), asked)
    problem.splits = problem.data.splits
    speed = Speed(1.0, 0.0, 0.0, 10)

    def planned(minutes: float, **more: Any) -> Plan:
        return plan(problem, speed, (1e-3,), replace(asked, minutes=minutes, **more), spent=0.0)

    enough = planned(1000.0).steps
    more = len(problem.splits["validation"]) / len(problem.splits["train"])
    # Minutes of one such run, and of one more on train and validation together.
    alone = 1.01 * (2 + more) * enough / 60 / FOR_RUNS
    short, longer = planned(alone), planned(3 * alone)
    assert (short.arms, longer.arms) == (("ce",), ARMS)
    assert short.steps == longer.steps == enough
    # Losses that somebody names are compared, in runs as long as there is time for.
    named = planned(alone, losses=("ce", "dl"))
    assert (named.arms, named.seeds) == (("ce", "dl"), (0,))
    assert enough / 4 <= named.steps < enough


def test_the_last_run_on_all_rows_is_given_up_before_the_only_one(tmp_path: Path) -> None:
    source = made_up.sentences(tmp_path / "my.tsv")
    asked = Options(source=str(source), text="message", label="flag", batch_size=2)
    problem = problem_of(read(asked), asked)
    problem.splits = problem.data.splits

    def planned(minutes: float, **more: Any) -> Plan:
        given = replace(asked, minutes=minutes, **more)
        return plan(problem, Speed(1.0, 0.0, 0.0, 10), (1e-3,), given, spent=0.0)

    enough = planned(1000.0).steps
    more = len(problem.splits["validation"]) / len(problem.splits["train"])
    quarter = 1.1 * (2 + more) * (enough / 4) / 60 / FOR_RUNS
    both, alone = planned(quarter), planned(0.8 * quarter)
    assert (both.refit, alone.refit) == (True, False)
    assert enough / 4 <= both.steps < alone.steps
    assert both.seconds == pytest.approx((2 + more) * both.steps)
    # A share of precision or recall is where rows say that nobody learned from.
    assert not planned(1000.0, at_recall=0.9).refit

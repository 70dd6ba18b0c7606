"""What a fit does in the time there is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from dicelab.fit.data import read
from dicelab.fit.options import ARMS, Options
from dicelab.fit.plan import FOR_RUNS, Plan, Speed, plan
from dicelab.fit.problems import Problem, problem_of
from tests.fit import made_up


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    """Two hundred or so short rows."""
    source = made_up.sentences(tmp_path_factory.mktemp("plan") / "my.tsv")
    asked = Options(source=str(source), text="message", label="flag", batch_size=2)
    problem = problem_of(read(asked), asked)
    problem.splits = problem.data.splits
    return problem


@pytest.fixture
def planned(problem: Problem) -> Callable[..., Plan]:
    """Plans for a step of a second and nothing that takes time beside it."""

    def planned(**given: Any) -> Plan:
        asked = replace(problem.options, **given)
        return plan(problem, Speed(1.0, 0.0, 0.0, 10), (1e-3,), asked, spent=0.0)

    return planned


@pytest.fixture
def more(problem: Problem) -> float:
    """What validation adds to the rows of train."""
    return len(problem.splits["validation"]) / len(problem.splits["train"])


def test_runs_of_less_than_a_pass_have_no_curve_over_the_data(
    problem: Problem, planned: Callable[..., Plan]
) -> None:
    """Half of the rows would be half of the steps."""
    a_pass = math.ceil(len(problem.splits["train"]) / 2)
    for steps, partial in ((a_pass - 1, True), (a_pass, False), (a_pass + 1, False)):
        assert (planned(steps=steps).partial, planned(steps=steps).curve) == (partial, not partial)
    hurried = planned(minutes=0.9 * a_pass / 60 / FOR_RUNS)
    leisurely = planned(minutes=1000.0)
    assert (hurried.partial, hurried.curve, hurried.refit) == (True, False, False)
    assert (leisurely.partial, leisurely.curve, leisurely.refit) == (False, True, True)


def test_where_time_is_short_one_long_run_comes_before_short_runs_of_all_losses(
    planned: Callable[..., Plan], more: float
) -> None:
    enough = planned(minutes=1000.0).steps
    # Minutes of one such run, and of one more on train and validation together.
    alone = 1.01 * (2 + more) * enough / 60 / FOR_RUNS
    short, longer = planned(minutes=alone), planned(minutes=3 * alone)
    assert (short.arms, longer.arms) == (("ce",), ARMS)
    assert short.steps == longer.steps == enough
    # Losses that somebody names are compared, in runs as long as there is time for.
    named = planned(minutes=alone, losses=("ce", "dl"))
    assert (named.arms, named.seeds) == (("ce", "dl"), (0,))
    assert enough / 4 <= named.steps <= 1.01 * (2 + more) / (3 + more) * enough


def test_the_last_run_on_all_rows_is_given_up_before_the_only_one(
    planned: Callable[..., Plan], more: float
) -> None:
    enough = planned(minutes=1000.0).steps
    quarter = 1.1 * (2 + more) * (enough / 4) / 60 / FOR_RUNS
    both, alone = planned(minutes=quarter), planned(minutes=0.8 * quarter)
    assert (both.refit, alone.refit) == (True, False)
    assert enough / 4 <= both.steps < alone.steps
    assert both.seconds == pytest.approx((2 + more) * both.steps)
    # A share of precision or recall is where rows say that nobody learned from.
    assert not planned(minutes=1000.0, at_recall=0.9).refit

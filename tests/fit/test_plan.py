"""What a fit does in the time there is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from dicelab.fit.data import read
from dicelab.fit.options import ARMS
from dicelab.fit.plan import ENOUGH_PASSES, FOR_RUNS, PASSES_ALONE, Plan, Speed, passes, plan
from dicelab.fit.problems import Problem, problem_of
from tests.fit import made_up


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    """Two hundred or so short rows."""
    asked = made_up.options(tmp_path_factory.mktemp("plan"), "sentences", batch_size=2)
    problem = problem_of(read(asked), asked)
    problem.splits = problem.data.splits
    return problem


@pytest.fixture
def planned(problem: Problem) -> Callable[..., Plan]:
    """Plans for a step of a second and nothing that takes time beside it."""

    def planned(spent: float = 0.0, **given: Any) -> Plan:
        asked = replace(problem.options, **given)
        return plan(problem, Speed(1.0, 0.0, 0.0, 10), (1e-3,), asked, spent=spent)

    return planned


@pytest.fixture
def more(problem: Problem) -> float:
    """What validation adds to the rows of train."""
    return len(problem.splits["validation"]) / len(problem.splits["train"])


def test_runs_of_less_than_a_pass_are_not_repeated_on_more_rows(
    problem: Problem, planned: Callable[..., Plan]
) -> None:
    """Other rows would be other steps and nothing else."""
    a_pass = math.ceil(len(problem.splits["train"]) / 2)
    for steps, partial in ((a_pass - 1, True), (a_pass, False), (a_pass + 1, False)):
        assert (planned(steps=steps).partial, planned(steps=steps).refit) == (partial, not partial)
    hurried = planned(minutes=0.9 * a_pass / 60 / FOR_RUNS)
    leisurely = planned(minutes=1000.0)
    assert (hurried.partial, hurried.alone, hurried.refit) == (True, True, False)
    assert (leisurely.partial, leisurely.alone, leisurely.refit) == (False, False, True)


def test_what_is_spent_is_not_planned_again(planned: Callable[..., Plan]) -> None:
    assert planned(spent=600 * FOR_RUNS, minutes=12.0) == replace(
        planned(minutes=2.0), minutes=12.0
    )


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


def test_passes_follow_the_speed_that_was_seen(planned: Callable[..., Plan]) -> None:
    """Seconds of a pass, seconds that are left after the first, and what is done with them."""
    alone = replace(planned(minutes=1000.0), epochs=4, refit=True, alone=True)
    for left, expected in (
        (1000, (PASSES_ALONE, True)),  # all of it
        (100, (4, True)),  # four passes, and as many on a quarter more rows
        (60, (3, True)),  # three are enough to share the time
        (45, (5, False)),  # not enough for both: the run has what is left
        (15, (2, False)),
        (0, (1, False)),
    ):
        assert passes(alone, 1, 10.0, left, 0.25) == expected
    without = replace(alone, refit=False)
    assert passes(without, 1, 10.0, 50, 0.25) == (6, False)
    assert passes(without, 5, 10.0, -9, 0.25) == (5, False), "a machine that slows down"


def test_small_batches_are_taken_where_they_are_cheap_and_time_is_short(problem: Problem) -> None:
    asked = replace(problem.options, batch_size=None)
    cheap, dear = (Speed(1.0, 0.0, 0.0, 10, 0, *of) for of in ((8, 0.4), (0, 0.0)))
    a_pass = {rows: math.ceil(len(problem.splits["train"]) / rows) for rows in (8, 32)}
    # In the second of these times three losses could have a short run each.
    for speed, rows, step, share in ((cheap, 8, 0.4, 1), (cheap, 8, 0.4, 1.5), (dear, 32, 1.0, 1)):
        minutes = share * 3 * ENOUGH_PASSES * a_pass[rows] * step / 60 / FOR_RUNS
        found = plan(problem, speed, (1e-3,), replace(asked, minutes=minutes), spent=0.0)
        assert (found.batch_size, found.arms, found.alone) == (rows, ("ce",), True)
        assert found.rates == (pytest.approx(1e-3 * (rows / 32) ** 0.5, rel=0.05),)
    # Where there is time for all losses, they have batches in which positives occur.
    long = plan(problem, cheap, (1e-3,), replace(asked, minutes=1000.0), spent=0.0)
    assert (long.batch_size, long.arms) == (32, ARMS)
    named = replace(asked, minutes=1.0, losses=("dl",))
    assert plan(problem, cheap, (1e-3,), named, spent=0.0).batch_size == 32

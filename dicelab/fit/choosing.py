"""A model of the first minute, a fine-tuned one, or the mean of both.

They are scored on validation as on rows that nobody tuned them on.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from dicelab.fit.linear import Candidate, Pool
from dicelab.fit.problems import Problem
from dicelab.fit.training import RunResult
from dicelab.metrics.counts import Counts, average_precision
from dicelab.metrics.intervals import Value, difference

MEAN = "mean"
RESAMPLES = 1000


def of_run(problem: Problem, run: RunResult, test: np.ndarray) -> Candidate:
    """A fine-tuned model as a candidate.

    Args:
        problem: the task.
        run: the run.
        test: its scores of the test split.
    """
    rows = problem.splits["validation"]
    pool = Pool.of_one_fold(rows, problem.gold(rows))
    return Candidate(run.run.arm, pool, run.validation, run.bias, run.value, test, {}, run.seconds)


def mean_of(problem: Problem, candidate: Candidate, fine_tuned: Candidate) -> Candidate:
    """The mean of a linear model's logits and a run's, decided by a threshold of its own.

    The two err on different rows: one sees single words, the other sees sentences.

    Args:
        problem: the task.
        candidate: the linear model, whose scores of validation are out of fold.
        fine_tuned: the run, of :func:`of_run`.
    """
    pool = _validation(candidate)
    scores = mean_on_validation(candidate, fine_tuned.scores)
    decision = problem.best_decision(scores, pool.rows)
    test = (candidate.test + fine_tuned.test) / 2
    return Candidate(MEAN, pool, scores, *decision, test, {}, fine_tuned.seconds)


def simplest(problem: Problem, candidates: Sequence[Candidate]) -> Candidate:
    """The first of some models, unless a later one is ahead of it by more than noise.

    Args:
        problem: the task.
        candidates: models of the first minute that may be kept, the cheapest first.
    """
    rows = shared(candidates)
    counts = {
        made.name: [counts_of_candidate(problem, made, rows, ranked=problem.ranks)]
        for made in candidates
    }
    return {made.name: made for made in candidates}[preferred(counts, measure(problem))]


def measure(problem: Problem) -> Value:
    """What models are compared by: average precision of a yes-or-no decision, else the goal."""
    return average_precision if problem.ranks else problem.goal.value


def shared(candidates: Sequence[Candidate]) -> np.ndarray:
    """The numbers of the rows that all have learned from, as in :attr:`Pool.validation`."""
    return np.sort(reduce(np.intersect1d, [made.pool.validation for made in candidates]))


def counts_of_candidate(
    problem: Problem, candidate: Candidate, numbers: np.ndarray, *, ranked: bool = False
) -> Counts:
    """Counts ``[rows, classes]`` of rows that a model has learned from, out of fold.

    Each fold is decided by a threshold tuned on other folds; but of tags there is one fold, and one
    threshold is tuned on its rows.

    Args:
        problem: the task.
        candidate: the model.
        numbers: of the rows, as in :attr:`Pool.validation`; of tags all of them.
        ranked: count at the score of each positive instead, for average precision.
    """
    pool = candidate.pool
    if ranked:
        places = pool.places(numbers)
        return problem.ranked(candidate.scores[places], pool.rows.select(places))
    if not pool.folds.any():
        return problem.counts(pool.rows, problem.decide(candidate.scores, candidate.bias))
    decisions, places = _decided(problem, pool, candidate.scores), pool.places(numbers)
    return problem.counts(pool.rows.select(places), decisions[places])


def counts_on_validation(
    problem: Problem,
    candidates: Sequence[Candidate],
    simple: Candidate,
    arm: str | None,
    runs: Sequence[RunResult],
    ranked: bool = False,
) -> dict[str, list[Counts]]:
    """Counts ``[rows, classes]`` of all models, one for each run of the arm.

    All are of the rows of validation that every candidate learned from. Each fold is decided by a
    threshold tuned on other folds; but of tags one threshold is tuned on these rows.

    Args:
        problem: the task.
        candidates: the models of the first minute.
        simple: the one of them that may be kept.
        arm: the chosen arm; None where nothing was fine-tuned.
        runs: those of the arm, a seed each.
        ranked: as in :func:`counts_of_candidate`.

    Returns:
        By name; what may be kept comes last, the simplest first. Of the two that are fine-tuned the
        mean is the first: it errs less often, so the other has to be clearly ahead of it.
    """
    rows = shared(candidates)
    rows = rows[rows >= 0]
    of_candidates = [made for made in candidates if made is not simple] + [simple]
    counts = {
        made.name: [counts_of_candidate(problem, made, rows, ranked=ranked)] * max(1, len(runs))
        for made in of_candidates
    }
    if arm is not None:
        pool = _validation(simple, rows)
        of_runs = {
            MEAN: [mean_on_validation(simple, run.validation, pool) for run in runs],
            arm: [run.validation[pool.validation] for run in runs],
        }
        for name, scores in of_runs.items():
            counts[name] = [
                problem.ranked(of_run, pool.rows)
                if ranked
                else problem.counts(pool.rows, _decided(problem, pool, of_run))
                for of_run in scores
            ]
    return counts


def preferred(counts: dict[str, list[Counts]], value: Value) -> str:
    """The simplest model that is at most a standard error of the difference behind the best.

    Args:
        counts: counts of each model that may be kept, the simplest first, one for each run.
        value: from summed counts to a score.
    """
    scores = {name: mean_score(of_name, value) for name, of_name in counts.items()}
    best = max(scores, key=lambda name: scores[name])
    behind = {
        name: difference(counts[best], of_name, value, resamples=RESAMPLES)
        for name, of_name in counts.items()
    }
    return next(name for name, gap in behind.items() if gap.mean <= gap.error)


def mean_score(counts: list[Counts], value: Value) -> float:
    """The mean over runs of the score of their summed counts."""
    return float(np.mean([value(of_run.sum(0)) for of_run in counts]))


def _validation(candidate: Candidate, numbers: np.ndarray | None = None) -> Pool:
    """The rows of validation that a candidate learned from, or some of them by their numbers."""
    pool = candidate.pool
    if not pool.folds.any():
        return pool
    known = np.sort(pool.validation[pool.validation >= 0])
    return pool.select(pool.places(known if numbers is None else numbers))


def mean_on_validation(
    candidate: Candidate, scores: np.ndarray, pool: Pool | None = None
) -> np.ndarray:
    """The mean of both models' scores of rows of validation; the candidate's are out of fold.

    Args:
        candidate: the model of the first minute.
        scores: those of a fine-tuned model of the whole validation split.
        pool: the rows; all of validation that the candidate learned from unless given.
    """
    rows = (pool or _validation(candidate)).validation
    return np.asarray((candidate.scores[candidate.pool.places(rows)] + scores[rows]) / 2)


def _decided(problem: Problem, pool: Pool, scores: np.ndarray) -> np.ndarray:
    """What is decided of each row by the threshold that is best for the other folds.

    Of tags there is one fold, and the threshold is tuned on it.
    """
    if not pool.folds.any():
        return problem.decide(scores, problem.tuned(scores, pool.rows))
    decisions = None
    for fold in np.unique(pool.folds):
        held = pool.folds == fold
        bias = problem.tuned(scores[~held], pool.rows.select(np.flatnonzero(~held)))
        of_fold = problem.decide(scores[held], bias)
        if decisions is None:
            decisions = np.zeros((len(held), *of_fold.shape[1:]), of_fold.dtype)
        decisions[held] = of_fold
    return np.asarray(decisions)

"""A model of the first minute, a fine-tuned one, or the mean of both.

They are scored on validation as on rows that nobody tuned them on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dicelab.fit.candidates import Candidate
from dicelab.fit.linear import Pool
from dicelab.fit.problems import Problem
from dicelab.fit.training import RunResult
from dicelab.metrics.counts import Counts
from dicelab.metrics.intervals import Value, difference

MEAN = "mean"
RESAMPLES = 1000


def mean_of(problem: Problem, candidate: Candidate, run: RunResult, test: np.ndarray) -> Candidate:
    """The mean of a linear model's logits and a run's, decided by a threshold of its own.

    The two err on different rows: one sees single words, the other sees sentences.

    Args:
        problem: the task.
        candidate: the linear model, whose scores of validation are out of fold.
        run: the run.
        test: the run's scores of the test split.
    """
    pool = _validation(candidate)
    scores = mean_on_validation(candidate, run)
    bias = problem.tuned(scores, pool.rows)
    value = problem.value(scores, bias, pool.rows)
    of_both = mean_scores(candidate.test, test)
    return Candidate(MEAN, pool, scores, bias, value, of_both, {}, run.seconds)


def mean_scores(linear: np.ndarray, tuned: np.ndarray) -> np.ndarray:
    """The mean of a linear model's scores and a run's, of the same rows."""
    return np.asarray((linear + tuned) / 2)


def simplest(problem: Problem, candidates: Sequence[Candidate]) -> Candidate:
    """The first of some models, unless a later one is ahead of it by more than noise.

    Args:
        problem: the task.
        candidates: models of the first minute that may be kept, the cheapest first.
    """
    rows = shared(candidates)
    counts = {made.name: [counts_of_candidate(problem, made, rows)] for made in candidates}
    name = preferred(counts, problem.goal.value)
    return next(made for made in candidates if made.name == name)


def shared(candidates: Sequence[Candidate]) -> np.ndarray:
    """The numbers of the rows that all have learned from, as in :attr:`Pool.validation`."""
    numbers = candidates[0].pool.validation
    for made in candidates[1:]:
        numbers = np.intersect1d(numbers, made.pool.validation)
    return np.sort(numbers)


def counts_of_candidate(problem: Problem, candidate: Candidate, numbers: np.ndarray) -> Counts:
    """Counts ``[rows, classes]`` of rows that a model has learned from, out of fold.

    Each fold is decided by a threshold tuned on other folds; but of tags there is one fold, and one
    threshold is tuned on its rows.

    Args:
        problem: the task.
        candidate: the model.
        numbers: of the rows, as in :attr:`Pool.validation`; of tags all of them.
    """
    pool = candidate.pool
    if not pool.folds.any():
        return problem.counts(pool.rows, problem.decide(candidate.scores, candidate.bias))
    decisions = _decided_by_other_folds(problem, pool, candidate.scores)
    order = np.argsort(pool.validation)
    places = order[np.searchsorted(pool.validation, numbers, sorter=order)]
    return problem.counts(pool.rows.select(places), decisions[places])


def counts_on_validation(
    problem: Problem,
    candidates: Sequence[Candidate],
    simple: Candidate,
    arm: str | None,
    runs: Sequence[RunResult],
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

    Returns:
        By name; what may be kept comes last, the simplest first.
    """
    rows = shared(candidates)
    rows = rows[rows >= 0]
    of_candidates = [made for made in candidates if made is not simple] + [simple]
    counts = {
        made.name: [counts_of_candidate(problem, made, rows)] * max(1, len(runs))
        for made in of_candidates
    }
    if arm is not None:
        pool = _validation(simple, rows)
        counts[arm] = [
            _by_other_folds(problem, pool, run.validation[pool.validation]) for run in runs
        ]
        counts[MEAN] = [
            _by_other_folds(problem, pool, mean_on_validation(simple, run, pool)) for run in runs
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
    order = np.argsort(pool.validation)
    known = pool.validation[order]
    held = order[known >= 0 if numbers is None else np.isin(known, numbers)]
    return Pool(pool.rows.select(held), pool.gold[held], pool.validation[held], pool.folds[held])


def mean_on_validation(
    candidate: Candidate, run: RunResult, pool: Pool | None = None
) -> np.ndarray:
    """The mean of both models' scores of rows of validation; the candidate's are out of fold.

    Args:
        candidate: the model of the first minute.
        run: the run.
        pool: the rows; all of validation that the candidate learned from unless given.
    """
    rows = (pool or _validation(candidate)).validation
    order = np.argsort(candidate.pool.validation)
    places = order[np.searchsorted(candidate.pool.validation, rows, sorter=order)]
    return mean_scores(candidate.scores[places], run.validation[rows])


def _by_other_folds(problem: Problem, pool: Pool, scores: np.ndarray) -> Counts:
    """Counts of rows that are decided by a threshold from the other folds.

    Of tags there is one fold, and the threshold is tuned on it.
    """
    if not pool.folds.any():
        return problem.counts(pool.rows, problem.decide(scores, problem.tuned(scores, pool.rows)))
    return problem.counts(pool.rows, _decided_by_other_folds(problem, pool, scores))


def _decided_by_other_folds(problem: Problem, pool: Pool, scores: np.ndarray) -> np.ndarray:
    """What is decided of each row by the threshold that is best for the other folds."""
    decisions = None
    for fold in np.unique(pool.folds):
        held = pool.folds == fold
        bias = problem.tuned(scores[~held], pool.rows.select(np.flatnonzero(~held)))
        of_fold = problem.decide(scores[held], bias)
        if decisions is None:
            decisions = np.zeros((len(held), *of_fold.shape[1:]), of_fold.dtype)
        decisions[held] = of_fold
    return np.asarray(decisions)

"""A linear model, a fine-tuned one, or the mean of both.

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


def counts_on_validation(
    problem: Problem, candidate: Candidate, arm: str | None, runs: Sequence[RunResult]
) -> dict[str, list[Counts]]:
    """Counts ``[rows, classes]`` of what may be kept, one for each run of the arm.

    All are of the rows of validation that the linear model learned from. Each fold is decided by a
    threshold tuned on other folds; but of tags one threshold is tuned on these rows.

    Args:
        problem: the task.
        candidate: the linear model.
        arm: the chosen arm; None where nothing was fine-tuned.
        runs: those of the arm, a seed each.
    """
    counts = {candidate.name: [counts_of_linear(problem, candidate)] * max(1, len(runs))}
    if arm is not None:
        counts[arm] = [counts_of_run(problem, candidate, run) for run in runs]
        counts[MEAN] = [counts_of_mean(problem, candidate, run) for run in runs]
    return counts


def counts_of_linear(problem: Problem, candidate: Candidate) -> Counts:
    """A linear model's counts on the rows of validation that it learned from, ``[rows, classes]``.

    Its scores are out of fold, and its threshold is tuned on the other folds of its whole pool.
    """
    pool = candidate.pool
    if not pool.folds.any():
        return problem.counts(pool.rows, problem.decide(candidate.scores, candidate.bias))
    decisions = _decided_by_other_folds(problem, pool, candidate.scores)
    return problem.counts(_validation(candidate).rows, decisions[pool.validation >= 0])


def counts_of_run(problem: Problem, candidate: Candidate, run: RunResult) -> Counts:
    """A run's counts on the same rows; each fold has a threshold tuned on the other folds."""
    pool = _validation(candidate)
    return _by_other_folds(problem, pool, run.validation[pool.validation])


def counts_of_mean(problem: Problem, candidate: Candidate, run: RunResult) -> Counts:
    """The same of the mean of both."""
    return _by_other_folds(problem, _validation(candidate), mean_on_validation(candidate, run))


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


def _validation(candidate: Candidate) -> Pool:
    """The rows of validation that a linear model learned from."""
    pool = candidate.pool
    if (pool.validation >= 0).all():
        return pool
    held = np.flatnonzero(pool.validation >= 0)
    return Pool(pool.rows.select(held), pool.gold[held], pool.validation[held], pool.folds[held])


def mean_on_validation(candidate: Candidate, run: RunResult) -> np.ndarray:
    """The mean of both models' scores of these rows; the linear model's are out of fold."""
    places = candidate.pool.validation
    held = places >= 0
    return mean_scores(candidate.scores[held], run.validation[places[held]])


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

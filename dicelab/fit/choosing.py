"""A linear model, a fine-tuned one, or the mean of both.

They are scored on validation as on rows that nobody tuned them on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dicelab.fit.candidates import Candidate
from dicelab.fit.linear import Pool
from dicelab.fit.problems import Problem
from dicelab.fit.training import Done


def score_of_candidate(problem: Problem, candidate: Candidate) -> float:
    """A linear model's score in percent on the rows of validation that it learned from.

    Its scores and its threshold are out of fold. A tagger's threshold is tuned on these very rows.
    """
    if problem.data.task == "tagging":
        return candidate.value
    return problem.value(_out_of_fold(candidate), candidate.bias, _validation(candidate).rows)


def score_of_runs(problem: Problem, done: list[Done], candidate: Candidate) -> float:
    """The mean score in percent of an arm's runs on the same rows.

    Each fold of them is decided by a threshold that is tuned on the other folds. A tagger's
    threshold is tuned on these very rows.
    """
    if problem.data.task == "tagging":
        return float(np.mean([run.value for run in done]))
    places = _validation(candidate).validation
    return _by_other_folds(problem, candidate, [run.validation[places] for run in done])


MEAN = "mean"


def mean_of(problem: Problem, candidate: Candidate, done: Done, test: np.ndarray) -> Candidate:
    """The mean of a linear model's logits and a run's, decided by a threshold of its own.

    The two err on different rows: one sees single words, the other sees sentences.

    Args:
        problem: a task of sentences, pairs or labels.
        candidate: the linear model, whose scores of validation are out of fold.
        done: the run.
        test: the run's scores of the test split.
    """
    pool, scores = _validation(candidate), _mean_scores(candidate, done)
    bias = problem.tuned(scores, pool.rows)
    value = problem.value(scores, bias, pool.rows)
    mean_test = (candidate.test + test) / 2
    return Candidate(MEAN, problem, pool, scores, bias, value, mean_test, {}, done.seconds)


def score_of_means(problem: Problem, done: list[Done], candidate: Candidate) -> float:
    """The score in percent of the mean with each of an arm's runs, as in `score_of_runs`."""
    return _by_other_folds(problem, candidate, [_mean_scores(candidate, run) for run in done])


def _validation(candidate: Candidate) -> Pool:
    """The rows of validation that a linear model learned from."""
    pool = candidate.pool
    held = np.flatnonzero(pool.validation >= 0)
    return Pool(pool.rows.select(held), pool.gold[held], pool.validation[held], pool.folds[held])


def _out_of_fold(candidate: Candidate) -> np.ndarray:
    """Its scores of these rows."""
    return candidate.scores[candidate.pool.validation >= 0]


def _mean_scores(candidate: Candidate, done: Done) -> np.ndarray:
    """The mean of both models' scores of these rows."""
    places = _validation(candidate).validation
    return np.asarray((_out_of_fold(candidate) + done.validation[places]) / 2)


def _by_other_folds(problem: Problem, candidate: Candidate, scores: list[np.ndarray]) -> float:
    """The mean score in percent over several scores of these rows."""
    pool = _validation(candidate)
    return float(np.mean([_other_folds(problem, of, pool.rows, pool.folds) for of in scores]))


def _other_folds(problem: Problem, scores: np.ndarray, rows: Any, folds: np.ndarray) -> float:
    decisions: Any = None
    for fold in np.unique(folds):
        held = folds == fold
        bias = problem.tuned(scores[~held], rows.select(np.flatnonzero(~held)))
        of_fold = problem.decide(scores[held], bias)
        if decisions is None:
            decisions = np.zeros((len(folds), *of_fold.shape[1:]), of_fold.dtype)
        decisions[held] = of_fold
    return float(problem.goal.value(problem.counts(rows, decisions).sum(0)))

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
    held, rows = _validation(candidate)
    return problem.value(candidate.scores[held], candidate.bias, rows)


def score_of_runs(problem: Problem, done: list[Done], candidate: Candidate) -> float:
    """The mean score in percent of an arm's runs on the same rows.

    Each fold of them is decided by a threshold that is tuned on the other folds. A tagger's
    threshold is tuned on these very rows.
    """
    if problem.data.task == "tagging":
        return float(np.mean([run.value for run in done]))
    held, rows = _validation(candidate)
    places, folds = candidate.pool.validation[held], candidate.pool.folds[held]
    return float(np.mean([_other_folds(problem, r.validation[places], rows, folds) for r in done]))


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
    held, rows = _validation(candidate)
    pool = candidate.pool
    pool = Pool(rows, pool.gold[held], pool.validation[held], pool.folds[held])
    scores = (candidate.scores[held] + done.validation[pool.validation]) / 2
    bias = problem.tuned(scores, rows)
    value = problem.value(scores, bias, rows)
    mean_test = (candidate.test + test) / 2
    return Candidate(MEAN, problem, pool, scores, bias, value, mean_test, {}, done.seconds)


def score_of_means(problem: Problem, done: list[Done], candidate: Candidate) -> float:
    """The score in percent of the mean with each of an arm's runs, as in `score_of_runs`."""
    held, rows = _validation(candidate)
    places, folds = candidate.pool.validation[held], candidate.pool.folds[held]
    means = [(candidate.scores[held] + run.validation[places]) / 2 for run in done]
    return float(np.mean([_other_folds(problem, scores, rows, folds) for scores in means]))


def _validation(candidate: Candidate) -> tuple[np.ndarray, Any]:
    held = np.flatnonzero(candidate.pool.validation >= 0)
    return held, candidate.pool.rows.select(held)


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

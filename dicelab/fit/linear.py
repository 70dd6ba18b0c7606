"""Logistic regression on fixed vectors: models that take seconds, chosen by cross-validation."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import load_file, save_file
from scipy.sparse import csr_matrix, hstack

from dicelab.fit.features import Columns

if TYPE_CHECKING:
    from datasets import Dataset

    from dicelab.fit.problems import Problem

MOST_ROWS = 20_000  # that a candidate learns from
MOST_WORK = 200_000  # rows times outputs
SEARCHED = 60_000  # the same, for a single setting of the grid
#: Penalty and class weight, those that are usually best first.
GRID = (
    (10.0, "balanced"),
    (1.0, None),
    (1.0, "balanced"),
    (10.0, None),
    (0.1, "balanced"),
    (100.0, None),
    (100.0, "balanced"),
    (0.1, None),
)
WEIGHTS = "linear.safetensors"
NEVER = -1e4  # the logit of a class that no training row has


@dataclass(frozen=True)
class Linear:
    """A logistic regression on fixed vectors of texts, or of words in their sentences.

    Attributes:
        features: what makes the vectors; their parts are joined in this order.
        coef: shape ``[labels, features]``; zeros for the first of two classes.
        intercept: shape ``[labels]``.
    """

    features: Sequence[Any]
    coef: np.ndarray
    intercept: np.ndarray

    def logits(self, columns: Any) -> np.ndarray:
        """A logit for each label.

        Args:
            columns: the column of texts, or both columns of pairs; of a tagger sentences as words.

        Returns:
            Shape ``[rows, labels]``, or ``[words, labels]``, float32.
        """
        parts = [feature(columns) for feature in self.features]
        several = len(parts) > 1
        return self.of_vectors(hstack([*map(csr_matrix, parts)]).tocsr() if several else parts[0])

    def of_vectors(self, vectors: Any) -> np.ndarray:
        """The same of vectors."""
        return np.asarray(vectors @ self.coef.T + self.intercept, dtype=np.float32)

    def cut(self, columns: Columns) -> int:
        """How many texts are longer than what the encoder reads of them."""
        return max((feature.cut(columns) for feature in self.features), default=0)

    def shifted(self, bias: np.ndarray) -> Linear:
        """The same with a bias added to each logit."""
        return Linear(self.features, self.coef, (self.intercept + bias).astype(np.float32))

    def save(self, folder: Path) -> None:
        """Write weights and features, as safetensors and JSON."""
        arrays = {"coef": np.ascontiguousarray(self.coef), "intercept": self.intercept}
        save_file(arrays, folder / WEIGHTS)
        for feature in self.features:
            feature.save(folder)

    @classmethod
    def load(cls, folder: Path, features: str, device: str) -> Linear:
        """Read what :meth:`save` wrote; ``features`` names the parts, joined by ``+``."""
        from dicelab.fit import features as of_texts
        from dicelab.fit.tagger import States

        kinds = {kind.name: kind for kind in (of_texts.Words, of_texts.Embeddings, States)}
        parts = [kinds[name].load(folder, device) for name in features.split("+")]
        arrays = load_file(folder / WEIGHTS)
        return cls(parts, arrays["coef"], arrays["intercept"])


@dataclass(frozen=True)
class Pool:
    """Rows of train and validation together, in which a candidate is chosen and trained.

    Attributes:
        rows: the rows.
        gold: their labels: classes ``[rows]``, or yes and no ``[rows, labels]``.
        validation: the number of each row in the validation split; below 0, one for each, for
            rows of train.
        folds: the fold of each row, from 0. Equal texts are in one fold.
    """

    rows: Dataset
    gold: np.ndarray
    validation: np.ndarray
    folds: np.ndarray

    @classmethod
    def of(cls, problem: Problem, folds: int, seed: int, most: int = MOST_ROWS) -> Pool:
        """Draw at most so many rows, and their folds, each class in proportion.

        Args:
            problem: a task of sentences, pairs or labels.
            folds: at least 2.
            seed: draws the rows and the folds.
            most: rows.
        """
        from datasets import concatenate_datasets
        from sklearn.model_selection import StratifiedGroupKFold

        parts = [problem.data.splits[name] for name in ("train", "validation")]
        number = np.arange(-len(parts[0]), len(parts[1]))
        rows = concatenate_datasets(parts)
        known = np.arange(len(rows))
        gold = problem.gold(rows)
        if gold.ndim == 1:  # a class that train lacks cannot be said
            known = known[gold < len(problem.labels)]
        most = min(most, max(2_000, MOST_WORK // outputs(problem)))
        drawn = np.random.default_rng(seed).permutation(known)[:most]
        drawn.sort()
        rows, gold, number = rows.select(drawn), gold[drawn], number[drawn]
        if gold.ndim == 2:
            # By the rarest label of a row; of none, a class of its own.
            often = np.where(gold, gold.sum(0), len(gold) + 1)
            stratum = np.where(gold.any(1), often.argmin(1), gold.shape[1])
        else:
            stratum = gold
        texts = list(zip(*(rows[c][:] for c in problem.text_columns), strict=True))
        same = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        groups = np.array([same[text] for text in texts])
        fold = np.zeros(len(rows), dtype=np.int64)
        folds = min(folds, len(same))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a class with fewer rows than there are folds
            by = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
            for place, (_, held) in enumerate(by.split(fold, stratum, groups)):
                fold[held] = place
        return cls(rows, gold, number, fold)

    @classmethod
    def of_one_fold(cls, rows: Dataset, gold: np.ndarray) -> Pool:
        """The rows of validation, or their words, by which a model of train is chosen."""
        return cls(rows, gold, np.arange(len(gold)), np.zeros(len(gold), dtype=np.int64))

    def places(self, numbers: np.ndarray) -> np.ndarray:
        """Where rows are, by their numbers in validation."""
        order = np.argsort(self.validation)
        return order[np.searchsorted(self.validation, numbers, sorter=order)]

    def select(self, places: np.ndarray) -> Pool:
        """The pool of some of the rows."""
        arrays = (array[places] for array in (self.gold, self.validation, self.folds))
        return Pool(self.rows.select(places), *arrays)


@dataclass(frozen=True)
class Candidate:
    """What may be kept: a model of the first minute, a fine-tuned one, or the mean of both.

    Attributes:
        name: one of ``NAMES``, a loss, or ``"mean"``.
        pool: the rows that it was chosen by, and which it did not learn from, or out of fold.
        scores: its scores of these rows, shape ``[rows, labels]``.
        bias: the decision that is best for these scores.
        value: the goal's score of these rows with this decision.
        test: scores of the test split by the model that is trained on the whole pool.
        setting: penalties and class weight.
        seconds: that it took.
        model: a :class:`Linear` or a :class:`Crf`; what is fine-tuned is not held here.
    """

    name: str
    pool: Pool
    scores: np.ndarray
    bias: np.ndarray
    value: float
    test: np.ndarray
    setting: dict[str, Any]
    seconds: float
    model: Any = None


def outputs(problem: Problem) -> int:
    """How many linear functions a model of a task has."""
    return 1 if problem.data.binary else len(problem.labels)


def search(problem: Problem, pool: Pool, feature: Any, vectors: Any, test: Any) -> Candidate:
    """Choose penalty and class weight by out-of-fold scores, then train on all rows of a pool.

    Args:
        problem: for the decision and the goal.
        pool: the rows.
        feature: what made the vectors.
        vectors: those of the pool's rows.
        test: those of the test split.
    """
    started, work = time.monotonic(), len(pool.gold) * outputs(problem)
    best: Any = None
    for penalty, weight in GRID[: max(1, SEARCHED // work)]:
        scores = np.zeros((len(pool.gold), len(problem.labels)), dtype=np.float32)
        for fold in range(pool.folds.max() + 1):
            held = pool.folds == fold
            fitted = trained(problem, vectors[~held], pool.gold[~held], penalty, weight)
            scores[held] = Linear((), *fitted).of_vectors(vectors[held])
        quality = problem.quality(scores, pool.rows)
        if best is None or quality > best[-1]:
            best = penalty, weight, scores, quality
    penalty, weight, scores, _ = best
    decision = problem.best_decision(scores, pool.rows)
    model = Linear([feature], *trained(problem, vectors, pool.gold, penalty, weight))
    tested, setting = model.of_vectors(test), {"penalty": penalty, "weight": weight}
    took = time.monotonic() - started
    return Candidate(feature.name, pool, scores, *decision, tested, setting, took, model)


def trained(
    problem: Problem, vectors: Any, gold: np.ndarray, penalty: float, weight: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """Weights ``[labels, features]`` and intercepts ``[labels]`` of a logistic regression."""
    from sklearn.linear_model import LogisticRegression

    labels = len(problem.labels)
    coef = np.zeros((labels, vectors.shape[1]), dtype=np.float32)
    intercept = np.full(labels, NEVER, dtype=np.float32)
    model = LogisticRegression(C=penalty, class_weight=weight, tol=1e-3, max_iter=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations are enough for a threshold that is tuned
        if gold.ndim == 2:
            for label in range(labels):
                positive = gold[:, label].astype(int)
                if positive.all():
                    intercept[label] = -NEVER
                elif positive.any():
                    model.fit(vectors, positive)
                    coef[label], intercept[label] = model.coef_[0], model.intercept_[0]
            return coef, intercept
        held = np.unique(gold)
        intercept[held] = 0.0
        if len(held) > 1:
            model.fit(vectors, gold)
            of_classes = held[-len(model.coef_) :]  # of two classes the second alone
            coef[of_classes], intercept[of_classes] = model.coef_, model.intercept_
    return coef, intercept

"""Three counts of decisions, from which precision, recall and F1 follow."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Counts:
    """How many positive decisions are correct, how many there are, and how many are wanted.

    Each count is a number or an array; arrays have one shape, such as ``[rows, classes]``, and so
    have the scores. Scores are shares from 0 to 1, and 0 where they would be 0/0.

    Attributes:
        true_positive: Positive decisions that are correct.
        predicted: Positive decisions.
        actual: What there is to find.
    """

    true_positive: Any
    predicted: Any
    actual: Any

    @classmethod
    def of_sets(
        cls, gold: Iterable[Collection[Any]], predicted: Iterable[Collection[Any]]
    ) -> Counts:
        """Count what is in sets, such as the entities or the labels of each sentence.

        Args:
            gold: The correct set of each row.
            predicted: The predicted set of each row.

        Returns:
            The counts of all rows together, as numbers.

        Raises:
            ValueError: if there are more rows of one than of the other.
        """
        pairs = [(set(g), set(p)) for g, p in zip(gold, predicted, strict=True)]
        return cls(
            sum(len(g & p) for g, p in pairs),
            sum(len(p) for _, p in pairs),
            sum(len(g) for g, _ in pairs),
        )

    @classmethod
    def of_labels(cls, gold: np.ndarray, predicted: np.ndarray) -> Counts:
        """Count 0 or 1, or bool, for each label. Both have the shape ``[rows, labels]``, as has
        each count.
        """
        gold, predicted = gold.astype(np.int32), predicted.astype(np.int32)
        return cls(gold * predicted, predicted, gold)

    @classmethod
    def of_classes(cls, gold: np.ndarray, predicted: np.ndarray, classes: int) -> Counts:
        """Count one class a row, from 0 to ``classes - 1``; counts ``[rows, classes]``."""
        return cls.of_labels(*(np.eye(classes, dtype=np.int32)[y] for y in (gold, predicted)))

    @classmethod
    def at_positives(cls, scores: np.ndarray, gold: np.ndarray, most: int = 100) -> Counts:
        """Count what is positive at the score of each positive row, the highest first.

        Args:
            scores: Higher means more surely positive, shape ``[rows]``.
            gold: Which rows are positive, bool, shape ``[rows]``.
            most: So many scores at most, evenly from all of them.

        Returns:
            Counts ``[rows, thresholds]``, for :func:`average_precision`.
        """
        at = np.sort(scores[gold])[::-1]
        at = at[np.linspace(0, len(at) - 1, min(len(at), most)).astype(int)]
        actual = np.broadcast_to(gold[:, None], (len(gold), len(at)))
        return cls.of_labels(actual, scores[:, None] >= at)

    @classmethod
    def of_tags(
        cls,
        gold: np.ndarray,
        predicted: np.ndarray,
        rows: np.ndarray,
        tags: Sequence[str],
        types: Sequence[str],
        total: int,
        *,
        strict: bool = True,
    ) -> Counts:
        """Count entities of IOB2 tags.

        Args:
            gold: Numbers of tags, one a word of all sentences, shape ``[words]``.
            predicted: The predicted ones.
            rows: The sentence of each word.
            tags: What the numbers mean.
            types: The types of entities, in the order of the counts.
            total: How many sentences there are.
            strict: What an ``I-`` that continues nothing means. True: it starts no entity, as in
                seqeval's strict IOB2. False: it starts one, as in conlleval.

        Returns:
            Counts ``[total, types]``.
        """
        type_of = np.array([types.index(tag[2:]) if tag[2:] else -1 for tag in tags], dtype=int)
        inside = np.array([tag.startswith("I-") for tag in tags], dtype=bool)
        opens = np.array([tag.startswith("B-") for tag in tags], dtype=bool) | (
            inside & (not strict)
        )
        new = np.concatenate([[True], rows[1:] != rows[:-1]]) if len(rows) else np.zeros(0, bool)

        def ends_of(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Where the entity ends that begins at a word, 0 for none; and the word's type."""
            kind = type_of[labels]
            same = np.concatenate([[False], kind[1:] == kind[:-1]]) if len(kind) else new
            starts = np.flatnonzero(~(inside[labels] & same & ~new))
            opened = opens[labels[starts]]
            ends = np.zeros(len(labels), dtype=np.int64)
            ends[starts[opened]] = np.append(starts[1:], len(labels))[opened]
            return ends, kind

        (end_gold, type_gold), (end_predicted, type_predicted) = ends_of(gold), ends_of(predicted)
        correct = (end_gold > 0) & (end_gold == end_predicted) & (type_gold == type_predicted)

        def counted(where: np.ndarray, kind: np.ndarray) -> np.ndarray:
            counts = np.zeros((total, len(types)), dtype=np.int32)
            np.add.at(counts, (rows[where], kind[where]), 1)
            return counts

        return cls(
            counted(correct, type_gold),
            counted(end_predicted > 0, type_predicted),
            counted(end_gold > 0, type_gold),
        )

    @classmethod
    def stack(cls, counts: Sequence[Counts], axis: int = 0) -> Counts:
        """Counts of one shape as counts with one more axis."""
        return cls(*(np.stack(part, axis) for part in zip(*map(cls._parts, counts), strict=True)))

    @property
    def precision(self) -> Any:
        """The share of the positive decisions that are correct."""
        return self.true_positive / np.maximum(self.predicted, 1)

    @property
    def recall(self) -> Any:
        """The share of what there is to find that is found."""
        return self.true_positive / np.maximum(self.actual, 1)

    @property
    def f1(self) -> Any:
        """The harmonic mean of precision and recall."""
        return self.fbeta(1.0)

    def fbeta(self, beta: float) -> Any:
        """F-beta: above 1 a missed positive costs more than a false one."""
        square = beta**2
        weighted = self.predicted + square * self.actual
        return (1 + square) * self.true_positive / np.maximum(weighted, 1e-9)

    def percent(self) -> dict[str, float]:
        """Numbers as ``precision``, ``recall`` and ``f1`` in percent."""
        return {name: 100 * float(getattr(self, name)) for name in ("precision", "recall", "f1")}

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(a + b for a, b in zip(self._parts(), other._parts(), strict=True)))

    def __getitem__(self, place: Any) -> Counts:
        return Counts(*(part[place] for part in self._parts()))

    def __len__(self) -> int:
        return len(self.predicted)

    def sum(self, axis: int) -> Counts:
        """The sum over an axis."""
        return Counts(*(part.sum(axis) for part in self._parts()))

    def by_row(self, rows: np.ndarray, total: int) -> Counts:
        """Counts of words ``[words, classes]`` as counts of sentences ``[total, classes]``.

        Args:
            rows: The sentence of each word.
            total: How many sentences there are.
        """

        def added(part: np.ndarray) -> np.ndarray:
            sums = np.zeros((total, *part.shape[1:]), dtype=part.dtype)
            np.add.at(sums, rows, part)
            return sums

        return Counts(*map(added, self._parts()))

    def resampled(self, weights: np.ndarray, axis: int = 0) -> Counts:
        """Sums over an axis, in which place ``i`` counts ``weights[resample, i]`` times.

        The resamples are the first axis of the result.
        """
        return Counts(*(np.tensordot(weights, part, (1, axis)) for part in self._parts()))

    def _parts(self) -> tuple[Any, Any, Any]:
        return self.true_positive, self.predicted, self.actual


def average_precision(counts: Counts) -> np.ndarray:
    """The area under precision and recall, in percent, which needs no threshold.

    Args:
        counts: Those of :meth:`Counts.at_positives`, summed over rows, ``[..., thresholds]``.

    Returns:
        Shape ``[...]``; 0 where there is no positive.
    """
    gained = np.diff(counts.recall, axis=-1, prepend=0)
    return np.asarray(100 * (gained * counts.precision).sum(-1))

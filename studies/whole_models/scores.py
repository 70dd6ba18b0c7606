"""Strict entity F1 at many thresholds at once, in counts that add up.

A position is called an entity tag where its *margin*, the best entity tag's logit less that of
``O``, is above a threshold; 0 is argmax. Counts are whole numbers: found entities, predicted
entities, gold entities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from dicelab.records.analysis import f1

POINTS = 101
BLOCKS = 100


@dataclass(frozen=True)
class Gold:
    """The gold entities of some rows, in the corpus's order.

    Attributes:
        labels: ``[N]`` int64, indices into the tags; 0 is ``O``.
        last: ``[N]`` bool, whether the next row belongs to another sentence.
        start, end: ``[E]`` int64, the first row of each entity and the row after its last.
        block: ``[N]`` int64 in ``0..BLOCKS-1``: neighbouring sentences, the unit of resampling.
        begins: ``[C]`` bool, the tags that begin with ``B-``.
        inside: ``[C]`` int64, for each tag the ``I-`` tag of its type, or -1.
    """

    labels: np.ndarray
    last: np.ndarray
    start: np.ndarray
    end: np.ndarray
    block: np.ndarray
    begins: np.ndarray
    inside: np.ndarray

    @classmethod
    def of(cls, labels: np.ndarray, sentence: np.ndarray, names: Sequence[str]) -> Gold:
        """From the tags of some rows, the sentence of each, and the tags' names."""
        begins = np.array([name.startswith("B-") for name in names])
        index = {name: i for i, name in enumerate(names)}
        inside = np.array([index.get(f"I-{name[2:]}", -1) if name != "O" else -1 for name in names])
        last = np.append(sentence[1:] != sentence[:-1], True)
        start = np.flatnonzero(begins[labels])
        # An entity goes on while the next row is in its sentence and has its I- tag.
        goes_on = np.append(~last[:-1] & (labels[1:] == inside[labels[:-1]]), False)
        goes_on &= labels > 0
        stops = np.flatnonzero(~goes_on)
        end = stops[np.searchsorted(stops, start)] + 1
        rank = np.cumsum(np.append(False, last[:-1]))
        block = rank * BLOCKS // (rank[-1] + 1)
        return cls(labels, last, start, end, block, begins, inside)

    @property
    def entities(self) -> int:
        """How many gold entities there are."""
        return len(self.start)

    def predicted(self, logits: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Tags ``[T, N]`` at each threshold, from logits ``[N, C]``."""
        best = (logits[:, 1:].argmax(1) + 1).astype(np.int16)
        margin = logits[:, 1:].max(1) - logits[:, 0]
        return np.where(margin > np.asarray(thresholds)[:, None], best, np.int16(0))

    def found(self, tags: np.ndarray) -> np.ndarray:
        """Whether each gold entity is found exactly, ``[T, E]``, by tags ``[T, N]``."""
        wrong = np.zeros((len(tags), tags.shape[1] + 1), np.int32)
        np.cumsum(tags != self.labels.astype(np.int16), axis=1, out=wrong[:, 1:])
        exact = wrong[:, self.end] == wrong[:, self.start]
        after = np.minimum(self.end, tags.shape[1] - 1)
        longer = ~self.last[self.end - 1] & (tags[:, after] == self.inside[self.labels[self.start]])
        return exact & ~longer

    def counts(self, logits: np.ndarray, thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Found and predicted entities, ``[T]`` each.

        An ``I-`` tag that continues nothing starts no entity, so the predicted entities are the
        predicted ``B-`` tags.
        """
        best = logits[:, 1:].argmax(1) + 1
        margin = logits[:, 1:].max(1) - logits[:, 0]
        predicted = _above(margin[self.begins[best]], thresholds)
        if not self.entities:
            return np.zeros_like(predicted), predicted
        # An entity is found below its least margin, if its tags are the best ones and if what
        # follows, where it would be a further tag of the entity, is not called.
        pairs = np.stack([self.start, self.end], 1).ravel()
        right = np.append(best == self.labels, True)
        whole = np.minimum.reduceat(right, pairs)[::2]
        least = np.minimum.reduceat(np.append(margin, np.inf), pairs)[::2]
        after = np.minimum(self.end, len(best) - 1)
        longer = ~self.last[self.end - 1] & (best[after] == self.inside[self.labels[self.start]])
        above = np.where(longer, np.minimum(margin[after], least), -np.inf)
        return _above(least[whole], thresholds) - _above(above[whole], thresholds), predicted

    def by_block(self, tags: np.ndarray) -> tuple[list[int], list[int]]:
        """Found and predicted entities in each block, from tags ``[N]``."""
        found = self.block[self.start[self.found(tags[None])[0]]]
        predicted = self.block[self.begins[tags]]
        return _histogram(found, BLOCKS), _histogram(predicted, BLOCKS)


def _above(values: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """How many values lie above each threshold, ``[T]``."""
    return len(values) - np.searchsorted(np.sort(values), thresholds, side="right")


def _histogram(values: np.ndarray, size: int) -> list[int]:
    return [int(n) for n in np.bincount(values, minlength=size)]


def candidates(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """``POINTS`` thresholds at which from an eighth to eight times the gold share is called."""
    margin = logits[:, 1:].max(1) - logits[:, 0]
    share = max((labels > 0).mean(), 1 / len(labels))
    rates = np.geomspace(share / 8, min(8 * share, 1), POINTS)
    return np.quantile(margin, 1 - rates)


def best_threshold(gold: Gold, logits: np.ndarray) -> tuple[float, float]:
    """The candidate with the best F1, 0 among them, and that F1."""
    thresholds = np.append(candidates(logits, gold.labels), 0.0)
    values = f1(*gold.counts(logits, thresholds), gold.entities)
    at = int(values.argmax())
    return float(thresholds[at]), float(values[at])


def plug_in(logits: np.ndarray) -> float:
    """The threshold on the margin that the model itself holds to be best for F1; no labels.

    If the ``k`` rows of the largest margins are called, the expected F1 is about twice the expected
    hits over ``k`` and the expected positives, both by the model's own probabilities.

    Args:
        logits: ``[N, C]``; class 0 is the negative one.
    """
    p = softmax(logits.astype(np.float64), axis=1)
    margin = logits[:, 1:].max(1).astype(np.float64) - logits[:, 0]
    order = np.argsort(-margin, kind="stable")
    hits = p[:, 1:].max(1)[order].cumsum()
    value = 2 * hits / (np.arange(1, len(p) + 1) + (1 - p[:, 0]).sum())
    at, ordered = int(value.argmax()), margin[order]
    if at + 1 == len(ordered):
        return float(ordered[at] - 1)
    return float((ordered[at] + ordered[at + 1]) / 2)


def scored(gold: Gold, tags: np.ndarray) -> dict[str, Any]:
    """F1 and counts of tags ``[N]``, and the counts by block."""
    found, predicted = int(gold.found(tags[None]).sum()), int(gold.begins[tags].sum())
    value = round(float(f1(np.array(found), np.array(predicted), gold.entities)), 3)
    counts = {"found": found, "predicted": predicted, "gold": gold.entities}
    return {"f1": value, **counts, "blocks": gold.by_block(tags)}

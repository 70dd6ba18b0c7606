"""What a decision is good for: a metric, or the one of precision and recall that has a floor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dicelab.metrics.counts import Counts


@dataclass(frozen=True)
class Goal:
    """What a decision is good for.

    Attributes:
        metric: ``"f1"``, ``"macro-f1"``, ``"accuracy"`` or ``"fbeta"``.
        focus: The classes that F1 counts, together.
        beta: That of F-beta.
        at_recall: The recall that must be reached; then precision is the score.
        at_precision: The precision that must be reached; then recall is the score.
        macro: The classes over which macro F1 is the mean; None for all.
        absent: What a class counts in macro F1 that is neither predicted nor there: False leaves it
            out, as scikit-learn does where a row has one class; True counts it 0, as scikit-learn
            does where a row has several.
    """

    metric: str
    focus: tuple[int, ...]
    beta: float = 1.0
    at_recall: float | None = None
    at_precision: float | None = None
    macro: tuple[int, ...] | None = None
    absent: bool = False

    @property
    def name(self) -> str:
        """The score in words, for tables."""
        if self.at_recall is not None:
            return f"precision at recall {self.at_recall:g}"
        if self.at_precision is not None:
            return f"recall at precision {self.at_precision:g}"
        return self.metric_name

    @property
    def metric_name(self) -> str:
        """The metric in words, without what must be reached."""
        names = {"f1": "F1", "macro-f1": "macro F1", "fbeta": f"F{self.beta:g}"}
        return names.get(self.metric, self.metric)

    def focused(self, counts: Counts) -> Counts:
        """Counts ``[..., classes]`` of the classes that F1 counts, together: shape ``[...]``."""
        return counts[..., list(self.focus)].sum(-1)

    def value(self, counts: Counts) -> np.ndarray:
        """The score, in percent. What must be reached and is not costs more than 100.

        Args:
            counts: Of shape ``[..., classes]``, summed over rows.
        """
        if self.at_recall is not None:
            c = self.focused(counts)
            return _with_floor(c.recall, c.precision, self.at_recall)
        if self.at_precision is not None:
            c = self.focused(counts)
            # Who predicts nothing makes no wrong prediction.
            return _with_floor(
                np.where(c.predicted > 0, c.precision, 1.0), c.recall, self.at_precision
            )
        return self.plain(counts)

    def plain(self, counts: Counts) -> np.ndarray:
        """The score by the metric alone, without what must be reached, in percent."""
        if self.metric == "macro-f1":
            counts = counts if self.macro is None else counts[..., list(self.macro)]
            f1 = counts.f1
            if self.absent:
                return np.asarray(100 * f1.mean(-1))
            held = counts.predicted + counts.actual > 0
            return np.asarray(100 * (f1 * held).sum(-1) / np.maximum(held.sum(-1), 1))
        if self.metric == "accuracy":
            return np.asarray(100 * counts.sum(-1).f1)
        beta = self.beta if self.metric == "fbeta" else 1.0
        return np.asarray(100 * self.focused(counts).fbeta(beta))


def _with_floor(reached: np.ndarray, score: np.ndarray, floor: float) -> np.ndarray:
    return 100 * np.where(reached >= floor, score, reached - 2)

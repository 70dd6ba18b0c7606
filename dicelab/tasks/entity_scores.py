"""Precision, recall and F1 of entities: what was found, by type, first and last word."""

from __future__ import annotations

from collections.abc import Sequence

from dicelab.corpora.tags import Span


def score_spans(
    gold: Sequence[Sequence[Span]], predicted: Sequence[Sequence[Span]]
) -> dict[str, float]:
    """Micro-averaged ``precision``, ``recall`` and ``f1`` of entities, flat or nested, in percent.

    Args:
        gold: the entities of each sentence.
        predicted: those found, in as many sentences.
    """
    pairs = [(set(g), set(p)) for g, p in zip(gold, predicted, strict=True)]
    right = sum(len(g & p) for g, p in pairs)
    n_gold, n_predicted = (sum(len(pair[side]) for pair in pairs) for side in (0, 1))
    return {
        "precision": 100 * right / max(1, n_predicted),
        "recall": 100 * right / max(1, n_gold),
        "f1": 200 * right / max(1, n_gold + n_predicted),
    }

"""Precision, recall and F1 of entities: what was found, by type, first and last word."""

from __future__ import annotations

from collections.abc import Sequence

from dicelab.corpora.tags import Span
from dicelab.metrics.counts import Counts


def score_spans(
    gold: Sequence[Sequence[Span]], predicted: Sequence[Sequence[Span]]
) -> dict[str, float]:
    """Micro-averaged ``precision``, ``recall`` and ``f1`` of entities, flat or nested, in percent.

    Args:
        gold: the entities of each sentence.
        predicted: those found, in as many sentences.
    """
    return Counts.of_sets(gold, predicted).percent()

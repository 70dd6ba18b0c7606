"""Entities of sentences: their precision, recall and F1, and which of two that overlap is taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dicelab.corpora.tags import Span
from dicelab.metrics.counts import Counts
from dicelab.tasks import thresholds

Candidates = Iterable[tuple[float, Span]]  # of a sentence, each with its certainty


def score_spans(
    gold: Sequence[Sequence[Span]], predicted: Sequence[Sequence[Span]]
) -> dict[str, float]:
    """Micro-averaged ``precision``, ``recall`` and ``f1`` of entities, flat or nested, in percent.

    Args:
        gold: the entities of each sentence.
        predicted: those found, in as many sentences.
    """
    return Counts.of_sets(gold, predicted).percent()


def taken(candidates: Candidates, nested: bool) -> list[Span]:
    """The entities of a sentence, in the order of their words.

    Args:
        candidates: entities with their certainty.
        nested: whether entities may overlap; if not, see :func:`without_overlaps`.
    """
    spans = {span for _, span in (candidates if nested else without_overlaps(candidates))}
    return sorted(spans, key=lambda span: (span.start, span.end, span.type))


def without_overlaps(candidates: Candidates) -> list[tuple[float, Span]]:
    """Of entities that overlap the most certain one, from the most certain of all down."""
    disjoint: list[tuple[float, Span]] = []
    words: set[int] = set()
    for certainty, span in sorted(candidates, key=lambda c: (-c[0], c[1].start, c[1].end, c[1])):
        if words.isdisjoint(range(span.start, span.end)):
            words.update(range(span.start, span.end))
            disjoint.append((certainty, span))
    return disjoint


def tune_certainty(
    predicted: Iterable[Candidates], gold: Sequence[Sequence[Span]], nested: bool = False
) -> float:
    """The certainty above which entities have the best F1.

    Of two that overlap the more certain one stays, so a threshold removes entities and adds none.

    Args:
        predicted: the candidates of each sentence of the validation split, however uncertain.
        gold: its entities.
        nested: see :func:`taken`.
    """
    decisions = [
        (certainty, span in entities)
        for candidates, entities in zip(predicted, map(set, gold), strict=True)
        for certainty, span in (candidates if nested else without_overlaps(candidates))
    ]
    scores, right = zip(*decisions, strict=True) if decisions else ((), ())
    return thresholds.best_f1(scores, right, sum(map(len, gold)))

"""Scores of the study, each against another way to get it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from dicelab.tasks.tagging import score
from studies.whole_models.scores import Gold, best_threshold, candidates, f1, plug_in

NAMES = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]


def _sentences(tags: np.ndarray, sentence: np.ndarray) -> list[list[str]]:
    cuts = np.flatnonzero(np.diff(sentence)) + 1
    return [[NAMES[i] for i in part] for part in np.split(tags, cuts)]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_counts_are_those_of_strict_seqeval(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sentence = np.sort(rng.integers(0, 12, 40))
    labels = rng.integers(0, 5, 40)
    gold = Gold.of(labels, sentence, NAMES)
    logits = np.eye(5)[labels] + rng.normal(size=(40, 5))
    for threshold in (-1.0, 0.0, 1.0):
        tags = gold.predicted(logits, np.array([threshold]))[0]
        found, predicted = gold.counts(logits, np.array([threshold]))
        expected = score(_sentences(labels, sentence), _sentences(tags, sentence))["f1"]
        assert float(f1(found, predicted, gold.entities)[0]) == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_counts_are_those_of_the_tags_at_each_threshold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sentence, labels = np.sort(rng.integers(0, 12, 40)), rng.integers(0, 5, 40)
    gold = Gold.of(labels * int(seed % 5 > 0), sentence, NAMES)
    logits = (2 * np.eye(5)[labels] + rng.normal(size=(40, 5))).round(seed % 3)  # with ties
    thresholds = np.append(np.unique(logits), [0.25, -9.0, 9.0])
    tags = gold.predicted(logits, thresholds)
    found, predicted = gold.counts(logits, thresholds)
    np.testing.assert_array_equal(found, gold.found(tags).sum(1))
    np.testing.assert_array_equal(predicted, gold.begins[tags].sum(1))


def test_threshold_0_is_argmax() -> None:
    logits = np.random.default_rng(0).normal(size=(300, 5))
    gold = Gold.of(np.zeros(300, int), np.zeros(300, int), NAMES)
    assert (gold.predicted(logits, np.zeros(1))[0] == logits.argmax(1)).all()


def test_blocks_add_up() -> None:
    rng = np.random.default_rng(1)
    labels, sentence = rng.integers(0, 5, 2000), np.arange(2000) // 7
    gold = Gold.of(labels, sentence, NAMES)
    logits = np.eye(5)[labels] * 2 + rng.normal(size=(2000, 5))
    tags = gold.predicted(logits, np.zeros(1))[0]
    found, predicted = gold.counts(logits, np.zeros(1))
    assert [sum(x) for x in gold.by_block(tags)] == [found[0], predicted[0]]
    assert sum(gold.by_block(labels)[0]) == gold.entities
    assert all(len(set(gold.block[sentence == s])) == 1 for s in set(sentence))


def test_best_threshold_is_nearly_the_best_of_all() -> None:
    rng = np.random.default_rng(2)
    labels = (rng.random(3000) < 0.1).astype(int)
    logits = np.stack([np.zeros(3000), 1.5 * labels - 2 + rng.normal(size=3000)], 1)
    gold = Gold.of(labels, np.arange(3000), ["O", "B-yes"])
    _, value = best_threshold(gold, logits)
    every = max(100 * f1_score(labels, logits[:, 1] > t) for t in logits[::10, 1])
    assert len(candidates(logits, labels)) == 101
    assert abs(value - every) < 0.7


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.floats(-4, 1))
def test_plug_in_is_the_best_of_all_cuts_in_expectation(seed: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    logits = np.stack([np.zeros(40), shift + rng.normal(size=40)], 1)
    p = 1 / (1 + np.exp(-logits[:, 1]))

    def expected(called: np.ndarray) -> float:
        return float(2 * p[called].sum() / (called.sum() + p.sum()))

    best = max(expected(p >= at) for at in p)
    assert expected(logits[:, 1] > plug_in(logits)) == pytest.approx(best)

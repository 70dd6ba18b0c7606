"""The ways to decode of studies/decoding.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dicelab.corpora.tags import spans
from dicelab.records import runs
from dicelab.tasks import tagging
from studies import decoding

LABELS = ["O", "B-a", "B-b", "I-a", "I-b"]
GOLD = [["B-a", "I-a", "O"], ["O", "B-b"], ["O"], ["B-a", "O", "B-b", "I-b"]]


@pytest.fixture
def logits() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(sum(map(len, GOLD)), len(LABELS)))


@pytest.fixture
def part(logits: np.ndarray) -> decoding.Part:
    """Four sentences with random logits."""
    gold = np.array([LABELS.index(tag) for row in GOLD for tag in row])
    sentence = np.repeat([3, 4, 7, 8], [len(row) for row in GOLD])
    return decoding.Part(logits, gold, sentence, LABELS)


@pytest.mark.parametrize("bias", [-2.0, 0.0, 1.5])
def test_argmax_and_bias_are_those_of_the_task(
    part: decoding.Part, logits: np.ndarray, bias: float
) -> None:
    ends = np.cumsum([len(row) for row in GOLD])
    padded = np.zeros((len(GOLD), 4, len(LABELS)))
    for row, words in enumerate(np.split(logits, ends[:-1])):
        padded[row, : len(words)] = words
    split = {"tags": GOLD, "first_subword": [list(range(len(row))) for row in GOLD]}
    theirs = tagging.decode(padded, split, LABELS, outside_bias=bias)
    assert part.tags(bias) == theirs
    counts = part.counts(part.entities(bias)).sum(0)
    assert decoding.f1(counts) == pytest.approx(tagging.score(GOLD, theirs)["f1"])


def test_valid_tags_mean_the_same_to_both_rules_and_confidence_only_drops(
    part: decoding.Part,
) -> None:
    for bias in (-3.0, -1.0, 0.0):
        tags = part.tags(bias, valid=True)
        assert [spans(row, strict=True) for row in tags] == [spans(row) for row in tags]
    found = part.entities(-3.0, valid=True)
    each = sorted(part.confidence(row, span) for row, of in enumerate(found) for span in of)
    kept = part.kept(found, each[1])
    assert all({*k} <= {*f} for k, f in zip(kept, found, strict=True))
    assert 0 < sum(map(len, kept)) == len(each) - 2


def test_where_it_was_tuned_each_way_is_as_good_as_those_within_it(part: decoding.Part) -> None:
    chosen = decoding.tuned(part)
    f1 = {
        way: decoding.f1(part.counts(decoding.decoded(part, way, of_way)).sum(0))
        for way, of_way in chosen.items()
    }
    assert f1["argmax"] <= f1["bias"]
    assert f1["valid"] <= f1["bias, valid"] <= f1["confidence"]


@pytest.fixture(scope="module")
def kept(root: Path) -> list[dict[str, object]]:
    return runs.read_records(root / "results" / "decoding.jsonl")


def test_every_run_that_is_planned_is_recorded_once(kept: list) -> None:
    planned = [
        decoding.parameters_of(corpus, loss, trial, seed)
        for (corpus, loss), (trial, _) in decoding.CHOSEN.items()
        for seed in decoding.SEEDS
    ]
    assert sorted(map(repr, planned)) == sorted(repr(r["parameters"]) for r in kept)


def test_argmax_is_that_of_another_training(kept: list) -> None:
    """The heads had been trained before, and scored by other code."""
    for record in kept:
        metrics = record["metrics"]
        assert metrics["test"]["f1"] == pytest.approx(metrics["evidence"]["f1"], abs=1e-3)

"""Pairs and sentences: encoding, decoding, scores, the threshold."""

from __future__ import annotations

import numpy as np
import pytest
from datasets import Dataset, DatasetDict

from dicelab.tasks import pairs
from dicelab.training.encoders import load_tokenizer

ROWS = [
    {"sentence1": "a red fox ran", "sentence2": "a fox that was red ran off", "label": 1},
    {"sentence1": "a red fox ran", "sentence2": "nobody ran", "label": 0},
]


def corpus(rows: list[dict[str, object]]) -> DatasetDict:
    return DatasetDict({name: Dataset.from_list(rows) for name in ("train", "validation", "test")})


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer("tiny", [row["sentence1"] + row["sentence2"] for row in ROWS])


def test_a_pair_is_one_sequence_of_two_segments(tokenizer) -> None:
    encoded = pairs.encode(corpus(ROWS), tokenizer)
    row = encoded.splits["train"][0]
    text = f"[CLS] {ROWS[0]['sentence1']} [SEP] {ROWS[0]['sentence2']} [SEP]"
    assert tokenizer.decode(row["input_ids"]) == text
    assert row["token_type_ids"] == sorted(row["token_type_ids"])
    assert set(row["token_type_ids"]) == {0, 1}
    assert encoded.splits["test"]["labels"] == [1, 0]
    assert encoded.counts().tolist() == [1, 1]


def test_what_was_cut_is_counted_as_by_a_second_pass(tokenizer) -> None:
    words = ["a", "red", "fox", "ran", "off", "and", "nobody", "that", "was", "there", "ran"]
    draw = np.random.default_rng(0)
    rows = [
        {
            "sentence1": " ".join(draw.choice(words, draw.integers(1, 12))),
            "sentence2": " ".join(draw.choice(words, draw.integers(1, 12))),
            "label": k % 2,
        }
        for k in range(60)
    ]
    whole = [len(tokenizer(r["sentence1"], r["sentence2"])["input_ids"]) for r in rows]
    for max_length in (8, 14, 15, 22):
        encoded = pairs.encode(corpus(rows), tokenizer, max_length=max_length)
        assert encoded.cut["test"] == sum(n > max_length for n in whole)
        lengths = [*map(len, encoded.splits["test"]["input_ids"])]
        assert lengths == [min(n, max_length) for n in whole]


def test_sentences_alone_are_taken_too(tokenizer) -> None:
    encoded = pairs.encode(corpus([{"sentence": "a fox", "label": 2}]), tokenizer)
    assert encoded.labels == ["0", "1", "2"]
    assert encoded.counts().tolist() == [0, 0, 1]


def test_a_class_unseen_in_training_is_named(tokenizer) -> None:
    broken = corpus(ROWS)
    broken["test"] = Dataset.from_list([{**ROWS[0], "label": 7}])
    with pytest.raises(ValueError, match=r"'test', example 1: label 7.*whose labels are 0, 1"):
        pairs.encode(broken, tokenizer)


def test_a_threshold_is_one_of_log_odds() -> None:
    p = np.array([0.2, 0.5001, 0.9])
    logits = np.log(np.stack([1 - p, p], axis=-1)) + 3.0  # a shift changes no probability
    assert pairs.margins(logits) == pytest.approx(np.log(p / (1 - p)))
    assert pairs.decode(logits).tolist() == [0, 1, 1]
    assert pairs.decode(logits, threshold=1.0).tolist() == [0, 0, 1]
    with pytest.raises(ValueError, match="needs two classes"):
        pairs.decode(np.zeros((1, 3)), threshold=1.0)


def test_scores_by_hand() -> None:
    found = pairs.score([1, 1, 0, 0, 0], [1, 0, 1, 0, 0])
    assert found == pytest.approx({"f1": 50.0, "accuracy": 60.0})
    # Three classes: F1 of 2/3, 0 and 1, averaged.
    macro = pairs.score([0, 0, 1, 2], [0, 1, 0, 2])
    assert macro["f1"] == pytest.approx(100 * (1 / 2 + 0 + 1) / 3)


def test_the_tuned_threshold_is_the_best_there_is() -> None:
    odds, gold = np.array([-2.0, -1.0, 0.5, 2.0, 3.0]), [0, 1, 0, 1, 1]
    logits = np.stack([np.zeros_like(odds), odds], axis=-1)
    tuned = pairs.tune_threshold(logits, gold)
    assert -2 < tuned < -1, "one false alarm, and all three are found"
    assert pairs.score(gold, pairs.decode(logits, threshold=tuned))["f1"] == pytest.approx(600 / 7)

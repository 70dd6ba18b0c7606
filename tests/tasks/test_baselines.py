"""What a corpus gives away without a model."""

from __future__ import annotations

import pytest
from datasets import Dataset, DatasetDict

from dicelab.tasks import baselines


def corpus(train: list[dict], test: list[dict]) -> DatasetDict:
    return DatasetDict(train=Dataset.from_list(train), test=Dataset.from_list(test))


def test_a_dictionary_of_entities_takes_the_longest_match() -> None:
    train = [
        {"tokens": ["New", "York", "and", "York"], "tags": ["B-L", "I-L", "O", "B-P"]},
        {"tokens": ["and", "so", "on"], "tags": ["O", "O", "O"]},
    ]
    test = [{"tokens": ["York", "saw", "New", "York"], "tags": ["B-P", "O", "B-L", "I-L"]}]
    found = baselines.of_tags(corpus(train, test), by_word=False)
    assert found["dictionary"]["f1"] == 100
    assert found["majority"]["f1"] == 0
    assert found["majority"]["accuracy"] == 25


def test_a_dictionary_of_words_takes_the_commonest_tag() -> None:
    train = [{"tokens": ["a", "run", "run", "run"], "tags": ["D", "V", "V", "N"]}]
    test = [{"tokens": ["a", "run", "unknown"], "tags": ["D", "V", "V"]}]
    found = baselines.of_tags(corpus(train, test), by_word=True)
    assert found["dictionary"]["accuracy"] == 100
    assert found["majority"]["accuracy"] == pytest.approx(200 / 3)


def test_labels_by_words_alone() -> None:
    train = [{"sentence": s, "label": y} for s, y in [("good film", 1), ("bad film", 0)] * 3]
    test = [{"sentence": "a good one", "label": 1}, {"sentence": "bad", "label": 0}]
    assert baselines.of_labels(corpus(train, test))["dictionary"]["accuracy"] == 100
    pair = [
        {"sentence1": "a b c", "sentence2": "a b c d", "label": 1},
        {"sentence1": "a b c", "sentence2": "x y", "label": 0},
    ]
    found = baselines.of_labels(corpus(pair, pair))
    assert found["dictionary"]["f1"] == 100
    assert found["majority"]["f1"] == pytest.approx(200 / 3)  # always yes


def test_silence_is_right_where_there_is_no_answer() -> None:
    rows = [{"answers": {"text": ["x"], "answer_start": [0]}},
            {"answers": {"text": [""], "answer_start": [0]}}]  # fmt: skip
    rows[1]["answers"] = {"text": [], "answer_start": []}
    found = baselines.of_questions(corpus(rows, rows), all_of=False, language="en")
    assert found["majority"]["f1"] == 50

"""Counts of imbalance, by convention and against the paper's Table 1."""

from __future__ import annotations

import pytest
from datasets import DatasetDict

from dicelab.corpora import (
    CorpusError,
    Imbalance,
    imbalance,
    read_conll,
    to_dataset,
)


def tagging(*tags: str):
    return to_dataset({"tokens": [["x"] * len(tags)], "tags": [list(tags)]}, task="tagging")


def test_tokens():
    counts = imbalance(tagging("O", "B-PER", "I-PER", "O", "O"), task="tagging")
    assert counts == (3, 2)
    assert counts.ratio == 1.5
    assert imbalance(tagging("O", "O"), task="tagging").ratio == float("inf")


def test_part_of_speech_has_no_negatives():
    with pytest.raises(CorpusError, match="in part of speech no tag is negative"):
        imbalance(tagging("NN", "VB"), task="tagging")


def test_questions():
    answered = {"text": ["a b", "b"], "answer_start": [0, 2]}
    data = to_dataset(
        {
            "id": ["1", "2"],
            "title": ["t", "t"],
            "context": ["a b  c\nd\te", "a b  c\nd\te"],
            "question": ["?", "?"],
            "answers": [answered, {"text": [], "answer_start": []}],
        },
        task="reading",
    )
    # Five words, once for each question; start and end of the one answer are positive.
    assert imbalance(data, task="reading") == (5 * 2 - 2, 2)


def test_pairs_and_sentences():
    pairs = {"sentence1": ["a"] * 3, "sentence2": ["b"] * 3, "label": [1, 0, 1]}
    assert imbalance(to_dataset(pairs, task="pairs"), task="pairs") == (1, 2)
    five = to_dataset({"sentence": ["a", "b"], "label": [0, 4]}, task="sentences")
    with pytest.raises(CorpusError, match=r"expected the labels 0 and 1, got also \[4\]"):
        imbalance(five, task="sentences")


def test_of_a_corpus_train_is_counted():
    splits = DatasetDict({"train": tagging("O", "B-X"), "test": tagging("O")})
    assert imbalance(splits, task="tagging") == Imbalance(1, 1)


def test_conll_2003_gives_the_papers_row(real_corpus):
    path = real_corpus("conll03") / "eng.train"
    counts = imbalance(read_conll(path, tags="entities"), task="tagging")
    assert counts == (169_578, 34_043)
    assert round(counts.ratio, 3) == 4.981


def test_chinese_contexts_count_characters() -> None:
    answered = {"text": ["北京"], "answer_start": [2]}
    columns = {
        "id": ["1", "2"],
        "title": ["", ""],
        "context": ["我在 北京。", "我在北京。"],
        "question": ["在哪里？", "是谁？"],
        "answers": [answered, {"text": [], "answer_start": []}],
    }
    assert imbalance(to_dataset(columns, task="reading"), task="reading") == (10 - 2, 2)

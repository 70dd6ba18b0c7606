"""Tagging: words to sub-words and back, against loops and against hand counts."""

from __future__ import annotations

import numpy as np
import pytest
from datasets import Dataset, DatasetDict
from seqeval.metrics import f1_score
from seqeval.scheme import IOB2

from dicelab.tasks import tagging
from dicelab.training.encoders import EncoderError, load_tokenizer

ROWS = [
    {
        "tokens": ["Ada", "met", "Grace", "Hopper", "."],
        "tags": ["B-PER", "O", "B-PER", "I-PER", "O"],
    },
    {"tokens": ["Lovelacian", "engines"], "tags": ["O", "O"]},
]


def corpus(rows: list[dict[str, list[str]]] = ROWS) -> DatasetDict:
    return DatasetDict({name: Dataset.from_list(rows) for name in ("train", "validation", "test")})


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer("tiny", [" ".join(row["tokens"]) for row in ROWS], vocab_size=60)


def test_only_first_subwords_carry_a_label(tokenizer) -> None:
    encoded = tagging.encode(corpus(), tokenizer)
    assert encoded.labels == ["O", "B-PER", "I-PER"]
    for row in encoded.splits["train"]:
        words = [tokenizer.tokenize(word) for word in row["tokens"]]
        expected = [-100]
        for word, tag in zip(words, row["tags"], strict=True):
            expected += [encoded.labels.index(tag)] + [-100] * (len(word) - 1)
        assert row["labels"] == [*expected, -100]
    assert encoded.counts().tolist() == [4, 2, 1]
    assert encoded.cut == {"train": 0, "validation": 0, "test": 0}


def test_words_that_are_cut_off_are_counted_and_tagged_outside(tokenizer) -> None:
    encoded = tagging.encode(corpus(), tokenizer, max_length=4, windowed=False)
    split = encoded.splits["test"]
    assert encoded.cut["test"] == sum(p == -1 for row in split["first_subword"] for p in row) > 0
    logits = np.zeros((2, 4, 3))
    logits[..., 1] = 1
    for row, predicted in zip(split, tagging.decode(logits, split, encoded.labels), strict=True):
        kept = [position >= 0 for position in row["first_subword"]]
        assert predicted == ["B-PER" if k else "O" for k in kept]


def test_a_tag_unseen_in_training_is_an_error_of_the_model(tokenizer) -> None:
    rows = [{"tokens": ["Turing", "met", "Ada"], "tags": ["B-LOC", "O", "B-PER"]}]
    broken = DatasetDict({**corpus(), "validation": Dataset.from_list(rows)})
    encoded = tagging.encode(broken, tokenizer)
    assert encoded.labels == ["O", "B-PER", "I-PER"]
    assert encoded.unseen == {"train": {}, "validation": {"B-LOC": 1}, "test": {}}
    (row,) = encoded.splits["validation"]
    labels = [row["labels"][position] for position in row["first_subword"]]
    assert labels == [-100, 0, 1], "the loss does not see it"
    logits = np.zeros((1, len(row["input_ids"]), 3))
    logits[0, row["first_subword"][2], 1] = 9
    predicted = tagging.decode(logits, encoded.splits["validation"], encoded.labels)
    found = tagging.score(encoded.splits["validation"]["tags"], predicted)
    assert found["recall"] == 50
    assert found["accuracy"] == pytest.approx(200 / 3)


def test_perfect_logits_decode_to_the_gold_tags(tokenizer) -> None:
    encoded = tagging.encode(corpus(), tokenizer)
    split = encoded.splits["test"]
    length = max(len(row) for row in split["input_ids"])
    logits = np.zeros((len(split), length, 3))
    for row, labels in enumerate(split["labels"]):
        for position, label in enumerate(labels):
            logits[row, position, max(label, 0)] = 5
    predicted = tagging.decode(logits, split, encoded.labels)
    assert predicted == split["tags"]
    assert tagging.score(split["tags"], predicted)["f1"] == 100
    # A bias beyond the margin makes everything O, and the gold is untouched by the call.
    outside = tagging.decode(logits, split, encoded.labels, outside_bias=6)
    assert {tag for row in outside for tag in row} == {"O"}
    assert tagging.tune_outside_bias(logits, split, encoded.labels)[0] == 0


def test_both_rules_on_many_random_sequences() -> None:
    draw = np.random.default_rng(0)
    tags = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    gold, predicted = [], []
    for _ in range(4_000):
        row = draw.choice(tags, draw.integers(1, 12))
        noise = draw.choice(tags, len(row))
        gold.append(row.tolist())
        predicted.append(np.where(draw.random(len(row)) < 0.3, noise, row).tolist())
    found = tagging.score(gold, predicted)
    assert found["f1_conlleval"] == pytest.approx(100 * f1_score(gold, predicted))
    strict = f1_score(gold, predicted, mode="strict", scheme=IOB2)
    assert found["f1"] == pytest.approx(100 * strict)
    assert abs(found["f1"] - found["f1_conlleval"]) > 1


def test_scores_need_equal_lengths() -> None:
    with pytest.raises(ValueError, match="differ"):
        tagging.score([["O"]], [["O", "O"]])


def test_a_tiny_vocabulary_is_the_same_every_time() -> None:
    texts = [" ".join(row["tokens"]) for row in ROWS] * 3
    first, second = (load_tokenizer("tiny", texts, vocab_size=50).get_vocab() for _ in range(2))
    assert first == second


def test_a_folder_without_a_model_is_named(tmp_path) -> None:
    with pytest.raises(EncoderError, match="holds no model"):
        load_tokenizer(str(tmp_path), [])
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(
        EncoderError, match="expected 'tiny', 'minilm', a local folder with a model"
    ):
        load_tokenizer(str(tmp_path), [])


def test_scores_of_words_by_hand() -> None:
    found = tagging.score_words([["N", "V"], ["N", "X"]], [["N", "N"], ["N", "V"]])
    # N: precision 2/3, recall 1; V: nothing right; X: never predicted.
    assert found == pytest.approx({"f1": 50, "accuracy": 50, "macro_f1": 100 * 0.8 / 3})


def test_words_become_characters_and_back() -> None:
    words = corpus([{"tokens": ["北京", "很", "大"], "tags": ["NR", "AD", "VA"]}])
    row = tagging.by_character(words)["train"][0]
    assert row == {"tokens": list("北京很大"), "tags": ["B-NR", "I-NR", "B-AD", "B-VA"]}
    # One boundary wrong: two words lost, one of three predicted words right.
    score = tagging.score([row["tags"]], [["B-NR", "I-NR", "B-VA", "I-VA"]])
    assert score["precision"] == pytest.approx(50)
    assert score["recall"] == pytest.approx(100 / 3)

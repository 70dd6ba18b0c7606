"""Sentences longer than a model reads at once: nothing of them is lost."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

import numpy as np
import pytest
from datasets import Dataset, DatasetDict
from hypothesis import given
from hypothesis import strategies as st

from dicelab.corpora.tags import spans
from dicelab.tasks import mrc_ner, tagging
from dicelab.tasks.windows import owned, windows
from dicelab.training.encoders import load_tokenizer

LENGTHS = st.lists(st.integers(0, 6), max_size=40)


@given(LENGTHS, st.integers(1, 20))
def test_windows_hold_every_word_and_no_more_than_fits(lengths: list[int], room: int) -> None:
    found = windows(lengths, room)
    assert set(chain(*(range(*window) for window in found))) == set(range(len(lengths)))
    for start, stop in found:
        assert sum(lengths[start:stop]) <= room or stop - start == 1
    for (start, stop), (following, end) in pairwise(found):
        assert start < following <= stop < end
        # One word more would not fit into a quarter of the room, or leave none for a new word.
        shared = sum(lengths[following:stop])
        assert shared <= room / 4
        if following - 1 > start:
            more = shared + lengths[following - 1]
            assert more > room // 4 or more + lengths[stop] > room


@given(LENGTHS, st.integers(1, 20))
def test_each_word_belongs_to_the_window_in_which_it_is_deeper(lengths, room):
    found = windows(lengths, room)
    parts = owned(found)
    assert list(chain(*(range(*part) for part in parts))) == list(range(len(lengths)))
    for mine, part in zip(found, parts, strict=True):
        for word in range(*part):
            depth = {w: min(word - w[0], w[1] - 1 - word) for w in found if w[0] <= word < w[1]}
            assert depth[mine] >= max(depth.values()) - 1 or mine in (found[0], found[-1])


# Like the sentences of MSRA that hold a tenth of its entities: hundreds of characters.
LONG = {
    "tokens": [chr(0x4E00 + i % 50) for i in range(300)],
    "tags": ["B-PER" if i % 7 == 3 else "I-PER" if i % 7 in (4, 5) else "O" for i in range(300)],
}
SHORT = {"tokens": ["中", "国"], "tags": ["B-LOC", "I-LOC"]}
ROWS = [SHORT, LONG, SHORT]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    texts = [" ".join(row["tokens"]) for row in (*ROWS, *ROWS)]
    return load_tokenizer("tiny", [*texts, "p l"], max_length=64)


def corpus() -> DatasetDict:
    return DatasetDict({name: Dataset.from_list(ROWS) for name in ("train", "validation", "test")})


@pytest.mark.parametrize("windowed", [True, False])
@pytest.mark.parametrize("valid", [True, False])
def test_a_tagger_finds_all_of_a_long_sentence(tokenizer: Any, windowed: bool, valid: bool) -> None:
    encoded = tagging.encode(corpus(), tokenizer, max_length=32, windowed=windowed)
    split = encoded.splits["test"]
    assert max(map(len, split["input_ids"])) <= 32
    logits = np.zeros((len(split), 32, len(encoded.labels)))
    for row, labels in enumerate(split["labels"]):
        for position, label in enumerate(labels):
            logits[row, position, max(label, 0)] = 5
    found = tagging.decode(logits, split, encoded.labels, valid=valid)
    scores = tagging.score(split["tags"], found)
    # The rows that go on with a sentence have neither gold nor predicted tags.
    assert [tags for tags in split["tags"] if tags] == [row["tags"] for row in ROWS]
    assert scores["recall"] == pytest.approx(encoded.best_recall["test"])
    said = [position for row in split["first_subword"] for position in row if position >= 0]
    assert len(said) + encoded.cut["test"] == 304
    assert encoded.counts().sum() == len(said), "each word has its tag once"
    if windowed:
        assert len(split) > 10
        assert split["sentence"][:] == [0, *[1] * (len(split) - 2), 2]
        assert (encoded.cut["test"], scores["recall"]) == (0, 100)
        assert tagging.tune_outside_bias(logits, split, encoded.labels)[0] == 0
    else:
        assert len(split) == 3
        assert encoded.cut["test"] == 270
        assert scores["recall"] < 20


@pytest.mark.parametrize("windowed", [True, False])
def test_a_reader_finds_all_of_a_long_sentence(tokenizer: Any, windowed: bool) -> None:
    queries = {"PER": "p", "LOC": "l"}
    encoded = mrc_ner.encode(corpus(), tokenizer, queries=queries, max_length=32, windowed=windowed)
    split = encoded.splits["test"]
    most = max(map(len, split["spans"]))
    logits = np.full((len(split), 32, 2), -9.0)
    pairs, match = np.full((len(split), most, 2), -1), np.full((len(split), most), -9.0)
    for row, answers in enumerate(split["spans"]):
        for k, (start, end) in enumerate(answers):
            logits[row, start, 0] = logits[row, end, 1] = match[row, k] = 5
            pairs[row, k] = start, end
    gold = [spans(row["tags"], strict=True) for row in ROWS]
    for nested in (False, True):
        found = mrc_ner.decode((logits, pairs, match), encoded, "test", nested=nested)
        recall = mrc_ner.score(gold, found)["recall"]
        assert recall == pytest.approx(encoded.best_recall["test"])
    assert max(map(len, split["input_ids"])) <= 32
    if windowed:
        assert (encoded.cut["test"], recall) == (0, 100)
        assert mrc_ner.score(gold, found)["precision"] == 100
    else:
        assert encoded.cut["test"] > 250
        assert recall < 20


def test_a_word_that_is_longer_than_a_row_keeps_its_beginning(tokenizer: Any) -> None:
    rows = [{"tokens": ["中", "abcdefghijkl", "国"], "tags": ["O", "B-PER", "O"]}]
    long_words = DatasetDict(train=Dataset.from_list(rows))
    letters = load_tokenizer("tiny", ["a b c d e f g h i j k l 中 国"], max_length=64)
    encoded = tagging.encode(long_words, letters, max_length=6)
    assert encoded.cut == {"train": 0}
    assert encoded.best_recall == {"train": 100}
    with pytest.raises(ValueError, match="max_length: expected room"):
        tagging.encode(long_words, letters, max_length=2)


def test_short_sentences_are_encoded_as_without_windows(tokenizer: Any) -> None:
    short = DatasetDict(train=Dataset.from_list([SHORT, SHORT]))
    for encode in (tagging.encode, mrc_ner.encode):
        one, other = (
            encode(short, tokenizer, max_length=64, windowed=w).splits["train"].to_list()
            for w in (True, False)
        )
        assert one == other

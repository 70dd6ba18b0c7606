"""Valid sequences of tags: Viterbi's recursion against all sequences there are."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dicelab.tasks import tagging
from dicelab.tasks.valid_tags import best_valid, valid_tags

LABELS = ["O", "B-a", "B-b", "I-a", "I-b"]


def is_valid(tags: list[str]) -> bool:
    pairs = zip(["O", *tags], tags, strict=False)
    return all(tag[0] != "I" or before in (f"B{tag[1:]}", tag) for before, tag in pairs)


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), words=st.integers(1, 4))
def test_the_best_valid_sequence_is_the_best_of_all_valid_ones(seed: int, words: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(3, words, len(LABELS)))
    every = product(range(len(LABELS)), repeat=words)
    valid = [tags for tags in every if is_valid([LABELS[i] for i in tags])]
    for row, found in zip(scores, best_valid(scores, LABELS), strict=True):
        assert tuple(found) == max(valid, key=lambda tags: row[range(words), tags].sum())


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), bias=st.floats(-3, 3))
def test_decoding_takes_the_best_valid_tags_of_the_words(seed: int, bias: float) -> None:
    logits = np.random.default_rng(seed).normal(size=(3, 6, len(LABELS))).astype(np.float32)
    # Two sub-words to a word; one word that the tokenizer dropped, one cut off; an empty sentence.
    rows = [[0, 2, 4], [0, -1, 2, -1], []]
    found = tagging.decode(logits, {"first_subword": rows}, LABELS, outside_bias=bias, valid=True)
    scores = logits.astype(np.float64)
    scores[..., 0] += bias
    for row, (positions, tags) in enumerate(zip(rows, found, strict=True)):
        # A word that the model has not read is O and costs nothing.
        choices = [LABELS if position >= 0 else ["O"] for position in positions]
        cost = {
            sequence: sum(
                scores[row, position, LABELS.index(tag)]
                for tag, position in zip(sequence, positions, strict=True)
                if position >= 0
            )
            for sequence in product(*choices)
            if is_valid(list(sequence))
        }
        assert cost[tuple(tags)] == pytest.approx(max(cost.values()), abs=1e-4)


def test_labels_that_are_not_iob2_are_refused() -> None:
    with pytest.raises(ValueError, match="expected IOB2 labels, with 'O'; got"):
        tagging.decode(np.zeros((1, 1, 2)), {"first_subword": [[0]]}, ["NN", "VB"], valid=True)


@pytest.mark.parametrize("seed", range(4))
def test_sentences_of_all_lengths_are_decoded_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 7, 40)
    scores = rng.normal(size=(lengths.sum(), len(LABELS))).astype(np.float32)
    tags = valid_tags(scores, lengths, LABELS)
    parts = np.split(scores, np.cumsum(lengths)[:-1])
    alone = [best_valid(part[None], LABELS)[0] for part in parts if len(part)]
    assert tags.tolist() == np.concatenate(alone).tolist()
    # Some sentences need the decoder and some do not, so both ways are tried.
    changed = tags != scores.argmax(-1)
    assert changed.any()
    assert not all(of.any() for of in np.split(changed, np.cumsum(lengths)[:-1]))

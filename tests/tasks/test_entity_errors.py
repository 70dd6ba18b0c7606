"""Kinds of errors, confusion and novelty of entities, against counts made by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dicelab.tasks.entity_errors import (
    KINDS,
    kinds_of_errors,
    marked,
    recall_by_novelty,
    unmarked,
)
from dicelab.tasks.tagging import score

GOLD = "[Ada | PER] met [Grace Hopper | PER] in [New York | LOC] for [ACL | ORG] and [Ibo | PER]"
SAID = "[Ada | PER] met [Grace | PER] Hopper in [New York | ORG] [for | LOC] ACL and [Ibo | PER]"
TAGS = st.lists(st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B"]), min_size=1, max_size=9)


def test_each_kind_of_error_is_counted_once():
    (tokens, gold), (same, said) = unmarked(GOLD), unmarked(SAID)
    assert tokens == same
    none = dict.fromkeys(KINDS, 0)
    assert kinds_of_errors([gold], [said]) == {
        "LOC": none | {"wrong type": 1, "invented": 1},
        "ORG": none | {"missed": 1},
        "PER": none | {"right": 2, "wrong boundary": 1},
    }


def test_seen_is_whatever_occurs_in_training_in_any_case_or_type():
    (tokens, gold), (_, said) = unmarked(GOLD), unmarked(SAID)
    words, tags = unmarked("[ada | LOC] and Grace Hopper saw [new york | LOC]")
    train = {"tokens": [words], "tags": [tags]}
    test = {"tokens": [tokens], "tags": [gold]}
    assert recall_by_novelty(train, test, [said]) == {
        "seen": {"gold": 2, "right": 1},
        "unseen": {"gold": 3, "right": 1},
    }


@given(st.lists(st.tuples(TAGS, TAGS), min_size=1, max_size=4))
def test_the_counts_agree_with_the_score(pairs):
    gold = [a for a, _ in pairs]
    said = [(b + ["O"] * len(a))[: len(a)] for a, b in pairs]
    kinds = kinds_of_errors(gold, said).values()
    n_gold = sum(row[kind] for row in kinds for kind in KINDS[:4])
    right = sum(row["right"] for row in kinds)
    assert score(gold, said)["recall"] == pytest.approx(100 * right / max(1, n_gold))


def test_a_sentence_is_marked_and_read_back():
    tokens, tags = unmarked(GOLD)
    assert marked(tokens, tags) == GOLD
    assert tags[:4] == ["B-PER", "O", "B-PER", "I-PER"]


@pytest.mark.parametrize("text", ["[Ada PER] met", "[Ada | PER met", "Ada] met", "[ | PER] met"])
def test_brackets_that_say_nothing_are_refused(text):
    with pytest.raises(ValueError, match="expected"):
        unmarked(text)

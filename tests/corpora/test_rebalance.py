"""Other ratios of negatives to positives, by leaving rows out."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dicelab.corpora import CorpusError, imbalance, load, rebalance, to_dataset


def pairs(negative: int, positive: int):
    labels = [0] * negative + [1] * positive
    texts = [str(i) for i in range(len(labels))]
    return to_dataset({"sentence1": texts, "sentence2": texts, "label": labels}, task="pairs")


def tagged(rows: list[tuple[int, int]]):
    """Sentences of so many negative and positive tokens."""
    tags = [["O"] * n + ["B-X"] * p for n, p in rows]
    return to_dataset({"tokens": [["a"] * len(t) for t in tags], "tags": tags}, task="tagging")


@given(st.integers(1, 200), st.integers(1, 200), st.floats(0.05, 20), st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_labels_reach_the_ratio_up_to_rounding_and_only_one_side_loses(n, p, ratio, seed):
    try:
        kept = imbalance(rebalance(pairs(n, p), ratio, task="pairs", seed=seed), task="pairs")
    except CorpusError:  # too few of one label for even one of the other
        assert n < ratio / 2 or p < 1 / ratio / 2
        return
    assert kept.positive == p if n / p > ratio else kept.negative == n
    assert abs(kept.negative - ratio * kept.positive) <= max(1, ratio) / 2 + 1e-9


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(any), min_size=20, max_size=60),
    st.floats(0.5, 3),
)
@settings(max_examples=100, deadline=None)
def test_tokens_come_as_near_as_one_sentence(rows, ratio):
    excess = [n - ratio * p for n, p in rows]
    assume(min(sum(e > 0 for e in excess), sum(e < 0 for e in excess)) >= 5)
    kept = rebalance(tagged(rows), ratio, task="tagging")
    negative, positive = imbalance(kept, task="tagging")
    assert abs(negative - ratio * positive) <= max(map(abs, excess))
    for tags in kept["tags"]:
        assert (tags.count("O"), len(tags) - tags.count("O")) in rows


def test_rows_keep_their_order_and_the_seed_decides():
    data = pairs(300, 100)
    once, again = (rebalance(data, 1, task="pairs", seed=3) for _ in range(2))
    assert once.to_list() == again.to_list()
    assert once["sentence1"] != rebalance(data, 1, task="pairs", seed=4)["sentence1"]
    places = [int(text) for text in once["sentence1"]]
    assert places == sorted(places)
    assert rebalance(data, 3, task="pairs").to_list() == data.to_list()  # as it was


@pytest.mark.parametrize("ratio", [1, 4, 12])
def test_sets_of_one_size(ratio):
    chosen = rebalance(pairs(800, 450), ratio, task="pairs", size=600, seed=1)
    positive = round(600 / (1 + ratio))
    assert imbalance(chosen, task="pairs") == (600 - positive, positive)


def test_rare_parts_of_speech():
    few = ("INTJ", "NUM", "PROPN")
    train = load("embedded-pos-zh", task="tagging")["train"]
    kept = rebalance(train, 40, task="tagging", positive=few)
    assert imbalance(kept, task="tagging", positive=few).ratio == pytest.approx(40, rel=0.02)
    with pytest.raises(CorpusError, match="'positive' names the tags that are positive"):
        rebalance(train, 40, task="tagging")
    with pytest.raises(CorpusError, match="positive: expected tags for tagging alone"):
        rebalance(pairs(3, 3), 1, task="pairs", positive=few)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ratio": 0}, "ratio: expected negatives for each positive, above 0, got 0"),
        ({"ratio": float("nan")}, "ratio: .* got nan"),
        ({"ratio": "2"}, "ratio: .* got '2'"),
        (
            {"ratio": 1000},
            "ratio: expected one that rows of 30 negatives and 20 positives can have",
        ),
        ({"ratio": 1, "size": 41}, "size: expected 1 to 40 rows at a ratio of 1, got 41"),
    ],
)
def test_what_cannot_be(arguments, message):
    with pytest.raises(CorpusError, match=message):
        rebalance(pairs(30, 20), task="pairs", **arguments)

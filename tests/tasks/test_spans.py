"""Spans: encoding, the head, decoding against brute force, scores against the tags' own."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch
from datasets import Dataset, DatasetDict
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics.v1 import precision_recall_fscore_support
from seqeval.scheme import IOB2

from dicebook import BinaryDiceLoss
from dicelab.corpora.tags import Span
from dicelab.corpora.tags import spans as spans_of
from dicelab.tasks import spans
from dicelab.tasks.outputs import outputs_of
from dicelab.training.encoders import load_tokenizer

ROWS = [
    {"tokens": ["Ada", "Lovelace", "met", "Ben"], "tags": ["B-PER", "I-PER", "O", "B-PER"]},
    {"tokens": ["in", "Rome"], "tags": ["O", "B-LOC"]},
]


def corpus(rows: list[dict[str, list[str]]] = ROWS) -> DatasetDict:
    train = Dataset.from_list(ROWS)
    return DatasetDict(train=train, validation=train, test=Dataset.from_list(rows))


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer("tiny", [" ".join(row["tokens"]) for row in ROWS])


def test_spans_of_the_tags_with_width_and_type(tokenizer) -> None:
    encoded = spans.encode(corpus(), tokenizer)
    assert (encoded.types, encoded.max_width) == (["LOC", "PER"], 2)
    assert encoded.splits["train"]["spans"] == [[[0, 1, 1], [3, 0, 1]], [[1, 0, 0]]]
    # Two types; widths 1 and 2; sentences of four and of two words.
    assert encoded.counts().tolist() == [[2 * 6 - 2, 2], [2 * 4 - 1, 1]]
    assert encoded.missed == {"train": 0, "validation": 0, "test": 0}


def test_what_no_span_stands_for_is_counted(tokenizer) -> None:
    rows = [
        {"tokens": ["Ada", "Lovelace"], "tags": ["B-PER", "I-PER"]},
        {"tokens": ["Rome"], "tags": ["B-GOD"]},
    ]
    assert spans.encode(corpus(rows), tokenizer, max_width=1).missed["test"] == 2
    encoded = spans.encode(corpus(rows), tokenizer, max_length=3)
    assert encoded.splits["test"]["first_subword"][0] == [1, -1]
    assert encoded.missed["test"] == 2
    none = corpus()
    none["train"] = none["train"].map(lambda row: {"tags": ["O"] * len(row["tags"])})
    with pytest.raises(ValueError, match="expected IOB2 tags with entities"):
        spans.encode(none, tokenizer)


@pytest.mark.parametrize(("share", "width"), [(0.5, 1), (0.75, 2), (0.99, 9)])
def test_the_width_covers_the_share(share: float, width: int) -> None:
    assert spans.covering([1, 2, 1, 9], share) == width


@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_the_head_is_the_sum_of_start_end_and_width(n: int, k: int, seed: int) -> None:
    torch.manual_seed(seed)
    head = spans.SpanHead(6, k, 3, hidden=5)
    words = torch.randn(2, n, 6)
    logits = head(words)
    assert logits.shape == (2, n, k, 3)
    mask = spans.span_mask(torch.ones(2, n, dtype=torch.bool), k)
    for i in range(n):
        for w in range(k):
            assert bool(mask[0, i, w]) == (i + w < n)
            if i + w < n:
                parts = head.start(words[0, i]) + head.end(words[0, i + w]) + head.width.weight[w]
                alone = head.out(torch.nn.functional.gelu(parts))
                torch.testing.assert_close(logits[0, i, w], alone, rtol=1e-4, atol=1e-5)


def test_padding_changes_neither_logits_nor_a_loss_over_the_batch(tokenizer) -> None:
    encoded = spans.encode(corpus(), tokenizer, max_width=3)
    torch.manual_seed(0)
    model = spans.model("tiny", tokenizer, encoded).eval()
    collate = spans.collator(tokenizer, len(encoded.types), encoded.max_width)
    rows = list(encoded.splits["train"])
    both = collate(rows)
    inputs = {k: v for k, v in both.items() if k != "labels"}
    logits, labels = model(**inputs).logits, both["labels"]
    assert (labels == 1).sum() == 3
    # Of sentences of four and two words: 4 + 3 + 2 and 2 + 1 spans of up to three, two types.
    assert (labels >= 0).sum() == 2 * (9 + 3)
    singles = []
    for b, row in enumerate(rows):
        one = collate([row])
        alone = model(**{k: v for k, v in one.items() if k != "labels"}).logits
        n = len(row["tokens"])
        torch.testing.assert_close(logits[b, :n][labels[b, :n] >= 0], alone[one["labels"] >= 0])
        singles.append((alone.flatten(), one["labels"].flatten()))
    loss = BinaryDiceLoss()
    flat = [torch.cat(parts) for parts in zip(*singles, strict=True)]
    torch.testing.assert_close(loss(logits, labels), loss(*flat))


def brute(scores: np.ndarray, n: int, threshold: float, types: list[str]) -> list[Span]:
    """Greedy by the definition: again and again the best span that touches none taken."""
    there = [
        (scores[i, w, t], Span(types[t], i, i + w + 1))
        for i in range(n)
        for w in range(scores.shape[1])
        for t in range(scores.shape[2])
        if i + w + 1 <= n and scores[i, w, t] > threshold
    ]
    taken: list[Span] = []
    while there:
        best = max(there, key=lambda c: c[0])
        taken.append(best[1])
        there = [c for c in there if c[1].end <= best[1].start or best[1].end <= c[1].start]
    return sorted(taken, key=lambda s: s.start)


@given(st.integers(1, 6), st.integers(1, 4), st.floats(-1, 1), st.integers(0, 10**6))
@settings(max_examples=80, deadline=None)
def test_decoding_is_that_by_brute_force(n: int, k: int, threshold: float, seed: int) -> None:
    types = ["A", "B"]
    scores = np.random.default_rng(seed).normal(size=(n + 2, k, 2))
    split = {"first_subword": [list(range(n))]}
    flat = spans.decode([scores], split, types, threshold=threshold)[0]
    assert flat == brute(scores, n, threshold, types)
    assert all(a.end <= b.start or b.end <= a.start for a, b in combinations(flat, 2))
    nested = spans.decode([scores], split, types, threshold=threshold, nested=True)[0]
    inside = [s for i in range(n) for s in scores[i, : n - i].ravel()]
    assert len(nested) == sum(s > threshold for s in inside)
    assert set(flat) <= set(nested)


def test_words_that_were_cut_off_begin_and_end_nothing() -> None:
    split = {"first_subword": [[0, 1, -1]]}
    found = spans.decode([np.ones((3, 2, 1))], split, ["A"], nested=True)
    assert found == [[Span("A", 0, 1), Span("A", 0, 2), Span("A", 1, 2)]]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_scores_are_those_of_seqeval(lengths: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    tags = [[["O", "B-A", "B-B"][i] for i in rng.integers(0, 3, size=n + 1)] for n in lengths]
    said = [[["O", "B-A", "B-B"][i] for i in rng.integers(0, 3, size=n + 1)] for n in lengths]
    found = spans.score([spans_of(t) for t in tags], [spans_of(t) for t in said])
    p, r, f, _ = precision_recall_fscore_support(
        tags, said, average="micro", mode="strict", scheme=IOB2, zero_division=0
    )
    assert list(found.values()) == pytest.approx([100 * p, 100 * r, 100 * f])


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=40, deadline=None)
def test_no_threshold_is_better_than_the_tuned_one(seed: int, nested: bool) -> None:
    rng = np.random.default_rng(seed)
    logits = [rng.normal(size=(4, 2, 1)).round(1), rng.normal(size=(2, 2, 1)).round(1)]
    split = Dataset.from_list(
        [
            {"tags": ["B-A", "I-A", "O", "B-A"], "first_subword": [1, 2, 3, 4]},
            {"tags": ["O", "B-A"], "first_subword": [1, 2]},
        ]
    )
    gold = [spans_of(tags) for tags in split["tags"]]

    def f1(threshold: float) -> float:
        found = spans.decode(logits, split, ["A"], threshold=threshold, nested=nested)
        return spans.score(gold, found)["f1"]

    best = spans.tune_threshold(logits, split, ["A"], nested=nested)
    grid = np.arange(-4.05, 4.1, 0.1)
    assert f1(best) == pytest.approx(max(map(f1, grid)))


def test_what_is_saved_is_read_again(tokenizer, tmp_path) -> None:
    encoded = spans.encode(corpus(), tokenizer)
    model = spans.model("tiny", tokenizer, encoded, hidden=16).eval()
    model.save_pretrained(tmp_path)
    again = spans.SpanTagger.from_pretrained(tmp_path)
    assert (again.types, again.max_width) == (encoded.types, encoded.max_width)
    rows = list(encoded.splits["test"])
    collate = spans.collator(tokenizer, len(encoded.types), encoded.max_width)
    one, two = (outputs_of(m, rows, collate, ["logits"], 2)[0] for m in (model, again))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
    assert spans.decode(one, encoded.splits["test"], encoded.types) == spans.decode(
        two, encoded.splits["test"], encoded.types
    )

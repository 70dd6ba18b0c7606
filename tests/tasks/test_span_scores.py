"""Exact match and F1 of answers, against torchmetrics and against counts by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torchmetrics.functional.text import squad

from dicelab.tasks import span_scores

WORDS = st.lists(
    st.sampled_from(["the", "The", "a", "cat", "Cat,", "sat", "on", "mat.", "42", "--", "an", "é"]),
    min_size=1,
    max_size=6,
).map(" ".join)


@settings(deadline=None, max_examples=80)
@given(st.lists(WORDS, min_size=1, max_size=3), WORDS)
def test_english_scores_equal_those_of_torchmetrics(gold: list[str], predicted: str) -> None:
    theirs = squad(
        {"prediction_text": predicted, "id": "1"},
        {"answers": {"text": gold, "answer_start": [0] * len(gold)}, "id": "1"},
    )
    exact, f1 = span_scores.best_of(gold, predicted)
    if all(span_scores.normalize_english(text) for text in [*gold, predicted]):
        assert (100 * exact, 100 * f1) == pytest.approx(
            (theirs["exact_match"].item(), theirs["f1"].item())
        )


def test_no_answer_is_right_only_where_there_is_none() -> None:
    assert span_scores.best_of([], "") == (1, 1)
    assert span_scores.best_of([], "cat") == (0, 0)
    assert span_scores.best_of(["cat"], "") == (0, 0)


@pytest.mark.parametrize(
    ("gold", "predicted", "exact", "f1"),
    [
        ("北京大学", "北京大学", 1, 1),
        ("《北京》大学。", "北京大学", 1, 1),
        ("北京大学", "大学", 0, 2 * 2 / 6),
        ("北京大学", "北大", 0, 2 * 1 / 6),  # only the longest common run counts
        ("1998年8月", "1998年", 0, 2 * 2 / 6),  # a run of digits is one token
        ("", "北京", 0, 0),
    ],
)
def test_chinese_scores(gold: str, predicted: str, exact: float, f1: float) -> None:
    assert span_scores.best_of([gold], predicted, "zh") == pytest.approx((exact, f1))


@pytest.mark.parametrize(
    ("gold", "predicted", "exact", "f1"),
    [
        (["red cat", "dog"], ["dog", "red cat"], 1, 1),
        (["red cat", "dog"], ["dog"], 0, 1 / 2),
        (["red cat", "dog"], ["cat", "dog"], 0, 0.83),  # (2/3 + 1) / 2, to two decimals
        (["well-known dog"], ["known well, the dog!"], 0, 1),  # a hyphen parts words
        (["the the dog dog"], ["dog"], 0, 1),  # F1 is that of sets
        (["$5"], ["5.0"], 1, 1),  # numbers are compared as numbers
        (["5 dogs"], ["6 dogs"], 0, 0),  # another number is another answer
        (["dogs"], ["6 dogs"], 0, 0.67),
        (["cat"], ["cat", "dog"], 0, 1 / 2),
        ([], [], 1, 1),
        ([], ["cat"], 0, 0),
    ],
)
def test_several_answers_are_aligned(gold, predicted, exact, f1):
    assert span_scores.all_of(gold, predicted) == pytest.approx((exact, f1))

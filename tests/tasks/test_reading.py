"""Reading: answers to sub-words and back, the two losses, the no-answer threshold."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from datasets import Dataset, DatasetDict
from hypothesis import given, settings
from hypothesis import strategies as st

from dicebook import make_loss
from dicelab.tasks import reading
from dicelab.training.encoders import load_tokenizer

CONTEXT = (
    "Mira keeps nine bees in a tin. Her brother Odo keeps none, for he fears every one of them."
)


def row(question: str, *answers: str) -> dict[str, object]:
    starts = [CONTEXT.index(answer) for answer in answers]
    return {
        "id": question,
        "title": "",
        "context": CONTEXT,
        "question": question,
        "answers": {"text": list(answers), "answer_start": starts},
    }


ROWS = [
    row("who keeps bees?", "Mira"),
    row("who fears them?", "Odo"),
    row("where is the cat?"),
    row("which two are siblings?", "Mira", "Odo"),
]


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer("tiny", 3 * [CONTEXT, *(r["question"] for r in ROWS)], max_length=64)


@pytest.fixture(scope="module")
def encoded(tokenizer):
    answered = [r for r in ROWS if r["answers"]["text"]]
    corpus = DatasetDict(
        {name: Dataset.from_list(answered + ROWS[2:3]) for name in ("train", "validation", "test")}
    )
    return reading.encode(corpus, tokenizer, max_length=24, stride=4)


def perfect_logits(split: Dataset) -> tuple[np.ndarray, np.ndarray]:
    width = max(map(len, split["input_ids"]))
    starts, ends = (np.full((len(split), width), -5.0) for _ in range(2))
    for i, window in enumerate(split):
        starts[i, window["starts"]] = 5
        ends[i, window["ends"]] = 5
        if not window["starts"]:
            starts[i, 0] = ends[i, 0] = 5
    return starts, ends


def test_windows_cover_the_context_and_hold_the_answers(encoded, tokenizer) -> None:
    split = encoded.splits["train"]
    assert len(split) > 4, "the context is longer than a window"
    assert encoded.lost == {"train": 0, "validation": 0, "test": 0}
    for window in split:
        answers = encoded.corpus["train"][window["question"]]["answers"]["text"]
        for start, end in zip(window["starts"], window["ends"], strict=True):
            assert tokenizer.decode(window["input_ids"][start : end + 1]) in answers
    covered = {i for w in split for s, e in w["offsets"] for i in range(s, e)}
    assert {i for i, c in enumerate(CONTEXT) if c != " "} <= covered


def test_perfect_logits_give_the_answers_back(encoded) -> None:
    for as_choice in (True, False):
        logits = perfect_logits(encoded.splits["test"])
        answers = reading.decode(logits, encoded, "test", as_choice=as_choice)
        gold = encoded.corpus["test"]["answers"]
        assert [a.text for a in answers][:2] == ["Mira", "Odo"]
        assert answers[-1].score < 0 < min(a.score for a in answers[:-1])
        assert reading.score(answers, gold, threshold=0)["exact_match"] == 100
        assert reading.score(answers, gold)["exact_match"] == 75
        assert reading.tune_threshold(answers, gold) < 10


def test_labels_ignore_everything_but_the_context(encoded, tokenizer) -> None:
    rows = [encoded.splits["train"][i] for i in range(3)]
    labels = reading.collator(tokenizer)(rows)["labels"]
    marked = reading.collator(tokenizer, marked=True)(rows)["labels"]
    assert (marked[:, 0] == reading.NO_ANSWER).all()
    assert (marked[:, 1:] == labels[:, 1:]).all()
    for i, window in enumerate(rows):
        first, last = window["context_span"]
        inside = torch.zeros(labels.shape[1], dtype=torch.bool)
        inside[first:last] = True
        assert (labels[i, ~inside] == -100).all()
        assert labels[i, inside, 0].nonzero().flatten().tolist() == [
            s - first for s in window["starts"]
        ]
    negative, positive = encoded.counts()
    everything = reading.collator(tokenizer)(list(encoded.splits["train"]))["labels"]
    assert (negative, positive) == ((everything == 0).sum(), (everything == 1).sum())


def test_the_choice_is_cross_entropy_over_allowed_positions() -> None:
    torch.manual_seed(0)
    labels = torch.full((2, 6, 2), -100)
    labels[:, 2:5] = 0
    labels[0, 3, 0] = labels[0, 4, 1] = 1  # the second window has no answer: position 0
    starts, ends = torch.randn(2, 6), torch.randn(2, 6)
    outputs = SimpleNamespace(start_logits=starts, end_logits=ends)
    allowed = torch.tensor([0, 2, 3, 4])
    expected = 0.0
    for logits, gold in ((starts, [2, 0]), (ends, [3, 0])):
        expected += torch.nn.functional.cross_entropy(logits[:, allowed], torch.tensor(gold)) / 2
    assert reading.choice(outputs, labels) == pytest.approx(float(expected), abs=1e-6)


def test_any_loss_can_look_at_the_probabilities_of_a_choice() -> None:
    """The oracle: a softmax over the context and the token of "no answer", then the plain sums."""
    torch.manual_seed(0)
    labels = torch.full((2, 6, 2), -100)
    labels[:, 2:5] = 0
    labels[:, 0] = reading.NO_ANSWER
    labels[0, 3, 0] = labels[0, 4, 1] = 1  # the second window has no answer
    logits = torch.randn(2, 2, 6, requires_grad=True)
    allowed = [0, 2, 3, 4]
    y = torch.zeros(2, 2, 4)
    y[0, 0, 2] = y[1, 0, 3] = y[:, 1, 0] = 1  # side, window, place among the allowed
    p = logits[..., allowed].softmax(-1)
    dice = 1 - (2 * (p * y).sum() + 1) / (p.square().sum() + y.sum() + 1)
    (slope,) = torch.autograd.grad(dice, logits)

    loss = reading.ChoiceDecisions(make_loss("binary_dl"))
    outputs = SimpleNamespace(start_logits=logits[0], end_logits=logits[1])
    found = loss(outputs, labels, num_items_in_batch=16)
    torch.testing.assert_close(found, dice)
    torch.testing.assert_close(torch.autograd.grad(found, logits)[0], slope)
    with pytest.raises(ValueError, match=r"collator\(tokenizer, marked=True\)"):
        loss(outputs, labels.masked_fill(labels == reading.NO_ANSWER, -100))
    # A choice that is certain, rightly or wrongly, leaves numbers that are finite.
    sure = torch.zeros(2, 2, 6).index_fill(2, torch.tensor([3]), 99.0).requires_grad_()
    for name in ("ce", "fl", "dl", "dsc", "tl"):
        certain = reading.ChoiceDecisions(make_loss(f"binary_{name}"))
        value = certain(SimpleNamespace(start_logits=sure[0], end_logits=sure[1]), labels)
        assert value.isfinite()
        assert torch.autograd.grad(value, sure)[0].isfinite().all()


def test_decisions_are_one_set_of_starts_and_ends() -> None:
    torch.manual_seed(0)
    labels = torch.randint(0, 2, (2, 7, 2))
    labels[:, :2] = -100
    outputs = SimpleNamespace(start_logits=torch.randn(2, 7), end_logits=torch.randn(2, 7))
    p = torch.stack([outputs.start_logits, outputs.end_logits], -1)[:, 2:].sigmoid()
    y = labels[:, 2:]
    dice = 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)
    loss = reading.Decisions(make_loss("binary_dl", squared=False))
    assert loss(outputs, labels) == pytest.approx(float(dice), abs=1e-6)
    assert loss(outputs, labels, num_items_in_batch=20) == pytest.approx(float(dice), abs=1e-6)


def test_a_window_too_small_for_the_question_is_refused(tokenizer) -> None:
    corpus = DatasetDict({"train": Dataset.from_list(ROWS[:1])})
    with pytest.raises(ValueError, match="leaves no room for a context"):
        reading.encode(corpus, tokenizer, max_length=14, stride=4)


def windows_of(encoded: reading.Encoded, found: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Decisions that are sure of some texts wherever a window holds them, and of nothing else."""
    split = encoded.splits["test"]
    width = max(map(len, split["input_ids"]))
    starts, ends = (np.full((len(split), width), -5.0) for _ in range(2))
    for i, window in enumerate(split):
        first = window["context_span"][0]
        for text, odds in found.items():
            begin = CONTEXT.index(text)
            for k, (s, e) in enumerate(window["offsets"]):
                starts[i, first + k] = max(starts[i, first + k], odds if s == begin else -5)
                ends[i, first + k] = max(ends[i, first + k], odds if e == begin + len(text) else -5)
    return starts, ends


def test_several_answers_are_decoded_in_order_and_once(encoded) -> None:
    logits = windows_of(encoded, {"Odo": 3.0, "Mira": 1.0, "none": -1.0})
    for answers in reading.decode_several(logits, encoded, "test"):
        assert [(a.text, a.start, a.score) for a in answers] == [
            ("Mira", CONTEXT.index("Mira"), 2.0),
            ("Odo", CONTEXT.index("Odo"), 6.0),
        ]
    surer = reading.decode_several(logits, encoded, "test", threshold=2)
    assert {a.text for answers in surer for a in answers} == {"Odo"}
    assert reading.decode_several(logits, encoded, "test", threshold=4) == [[]] * 4
    short = reading.decode_several(logits, encoded, "test", threshold=-6, max_answer_length=1)
    assert {len(a.text.split()) for answers in short for a in answers} == {1}


def test_all_answers_are_asked_for() -> None:
    gold = [{"text": ["Mira", "Odo"]}, {"text": []}, {"text": ["nine bees"]}]
    found = [
        [reading.Answer("Mira", 3.0), reading.Answer("a tin", 1.0)],
        [],
        [reading.Answer("bees", 2.0)],
    ]
    # F1: one of two; nothing expected and nothing said; 2/3 rounded. Exact: the second alone.
    assert reading.score(found, gold, all_of=True) == pytest.approx(
        {"exact_match": 100 / 3, "f1": 100 * (0.5 + 1 + 0.67) / 3}
    )
    assert reading.score(found, gold, all_of=True, threshold=1.5)["f1"] == pytest.approx(
        100 * (0.5 + 1 + 0.67) / 3
    )
    one = [reading.Answer("Mira", 3.0), reading.Answer("", 1.0), reading.Answer("nine bees", 2.0)]
    assert reading.score(one, gold, all_of=True)["f1"] == pytest.approx(100 * 2.5 / 3)
    with pytest.raises(ValueError, match="set all_of=True"):
        reading.score(found, gold)
    with pytest.raises(ValueError, match="Quoref's scorer, for 'en'; got 'zh'"):
        reading.score(found, gold, all_of=True, language="zh")


def test_the_threshold_of_several_answers_is_tuned(encoded) -> None:
    # Every question gets "Odo" for certain, and "nine bees" by mistake at lower odds.
    gold = [{"text": ["Odo"], "answer_start": [CONTEXT.index("Odo")]}] * len(encoded.corpus["test"])
    asked = encoded.corpus["test"].remove_columns("answers").add_column("answers", gold)
    asked_of_odo = replace(encoded, corpus=DatasetDict({**encoded.corpus, "test": asked}))
    logits = windows_of(encoded, {"Odo": 3.0, "nine": 1.0})
    threshold = reading.tune_threshold_of_several(logits, asked_of_odo, "test")
    assert 1 <= threshold < 3
    found = reading.decode_several(logits, asked_of_odo, "test", threshold=threshold)
    assert reading.score(found, gold, all_of=True)["f1"] == 100
    found = reading.decode_several(logits, asked_of_odo, "test")
    assert reading.score(found, gold, all_of=True)["f1"] < 100


def test_a_marked_position_stands_for_no_answer() -> None:
    torch.manual_seed(0)
    labels = torch.full((1, 6, 2), -100)
    labels[:, 1:4] = 0
    labels[:, 5] = reading.NO_ANSWER
    outputs = SimpleNamespace(start_logits=torch.randn(1, 6), end_logits=torch.randn(1, 6))
    expected = sum(
        torch.nn.functional.cross_entropy(x[:, [1, 2, 3, 5]], torch.tensor([3])) / 2
        for x in (outputs.start_logits, outputs.end_logits)
    )
    assert reading.choice(outputs, labels) == pytest.approx(float(expected), abs=1e-6)
    with pytest.raises(ValueError, match="as_choice=False"):
        reading.Decisions(make_loss("binary_ce"))(outputs, labels)


ANSWER = st.tuples(st.floats(-5, 5).map(lambda x: round(x, 1)), st.booleans(), st.booleans())


@settings(deadline=None)
@given(st.lists(ANSWER, min_size=1, max_size=10))
def test_the_tuned_threshold_is_the_best_there_is(rows: list[tuple[float, bool, bool]]) -> None:
    answers = [reading.Answer("bees" if right else "tin", score) for score, right, _ in rows]
    gold = [
        {"text": ["bees"] if answerable else [], "answer_start": []} for _, _, answerable in rows
    ]
    cuts = [-99.0, 99.0, *(score + 0.01 for score, _, _ in rows)]
    best = max(reading.score(answers, gold, threshold=cut)["f1"] for cut in cuts)
    tuned = reading.tune_threshold(answers, gold)
    assert reading.score(answers, gold, threshold=tuned)["f1"] == pytest.approx(best)

"""Many labels: encoding, decoding, scores against scikit-learn, thresholds against brute force."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from datasets import Dataset, DatasetDict
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_recall_fscore_support
from transformers import pipeline

from dicelab.tasks import labels, thresholds
from dicelab.training.encoders import load_tokenizer

ROWS = [
    {"sentence": "the road is icy", "labels": ["roads", "noise"]},
    {"sentence": "thank you", "labels": []},
    {"sentence": "a loud road", "labels": ["noise"]},
]


def corpus(test: list[dict[str, object]] = ROWS) -> DatasetDict:
    train = Dataset.from_list(ROWS)
    return DatasetDict(train=train, validation=train, test=Dataset.from_list(test))


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer("tiny", [row["sentence"] for row in ROWS])


def test_rows_of_zeros_and_ones_in_the_order_of_the_labels(tokenizer) -> None:
    encoded = labels.encode(corpus(), tokenizer)
    assert encoded.labels == ["noise", "roads"]
    assert encoded.splits["train"]["labels"] == [[1, 1], [0, 0], [1, 0]]
    assert encoded.splits["train"]["names"] == [row["labels"] for row in ROWS]
    assert encoded.counts().tolist() == [2, 1]
    shares = (encoded.counts() + 0.5) / (len(ROWS) + 1)
    assert encoded.prior().sigmoid().tolist() == pytest.approx(shares.tolist())
    assert encoded.cut == {"train": 0, "validation": 0, "test": 0}
    assert labels.encode(corpus(), tokenizer, max_length=3).cut["train"] == 3


def test_a_label_unseen_in_training_is_counted_and_never_found(tokenizer) -> None:
    encoded = labels.encode(
        corpus([{"sentence": "taxes", "labels": ["taxes", "roads"]}]), tokenizer
    )
    assert encoded.unseen["test"] == {"taxes": 1}
    assert encoded.splits["test"]["labels"] == [[0, 1]]
    found = labels.score([["taxes", "roads"]], [["roads"]], encoded.labels)
    assert found["recall"] == 50
    assert found["precision"] == 100
    assert found["exact"] == 0


def test_a_training_split_without_labels_is_refused(tokenizer) -> None:
    none = corpus()
    none["train"] = none["train"].filter(lambda row: not row["labels"])
    with pytest.raises(ValueError, match="expected sentences with labels"):
        labels.encode(none, tokenizer)


@given(st.integers(2, 12), st.integers(2, 5), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_scores_are_those_of_scikit_learn(n: int, classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"l{i}" for i in range(classes)]
    gold, logits = rng.random((n, classes)) < 0.4, rng.normal(size=(n, classes))
    threshold = rng.normal(size=classes)
    predicted = labels.decode(logits, names, threshold=threshold)
    hard = logits > threshold
    assert predicted == [[names[i] for i in np.flatnonzero(row)] for row in hard]
    wanted = [[names[i] for i in np.flatnonzero(row)] for row in gold]
    found = labels.score(wanted, predicted, names)
    p, r, f, _ = precision_recall_fscore_support(gold, hard, average="micro", zero_division=0)
    assert [found["precision"], found["recall"], found["f1"]] == pytest.approx(
        [100 * p, 100 * r, 100 * f]
    )
    each = f1_score(gold, hard, average=None, zero_division=0)
    assert found["macro_f1"] == pytest.approx(100 * each.mean())
    assert found["exact"] == pytest.approx(100 * (gold == hard).all(1).mean())
    rows = labels.score_each(wanted, predicted, names)
    assert [row["f1"] for row in rows] == pytest.approx((100 * each).tolist())
    assert [row["count"] for row in rows] == gold.sum(0).tolist()


def micro(gold: np.ndarray, hard: np.ndarray) -> float:
    return 2 * (gold & hard).sum() / max(1, gold.sum() + hard.sum())


@given(st.integers(2, 7), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_thresholds_are_the_best_there_are(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    gold, logits = rng.random((n, 3)) < 0.4, rng.normal(size=(n, 3)).round(1)
    grid = [*np.unique(logits), logits.min() - 1]
    one = labels.tune_threshold(logits, gold)
    assert micro(gold, logits > one) == pytest.approx(max(micro(gold, logits > t) for t in grid))
    own = labels.tune_thresholds(logits, gold)
    for i in range(3):
        best = max(micro(gold[:, [i]], logits[:, [i]] > t) for t in grid)
        if gold[:, i].any():
            assert micro(gold[:, [i]], logits[:, [i]] > own[i]) == pytest.approx(best)
        else:
            assert own[i] == one


def test_shrinking_draws_a_label_to_the_common_threshold_by_its_count() -> None:
    rng = np.random.default_rng(1)
    gold = rng.random((400, 2)) < [0.4, 0.02]
    logits = rng.normal(size=(400, 2)) + 2 * gold - [0.0, 3.0]
    common, own = labels.tune_threshold(logits, gold), labels.tune_thresholds(logits, gold)
    shrunk = labels.tune_thresholds(logits, gold, shrink=20)
    n = gold.sum(0)
    assert shrunk == pytest.approx(common + n / (n + 20) * (own - common))
    far = labels.tune_thresholds(logits, gold, shrink=1e9)
    assert far == pytest.approx([common, common], abs=1e-5)
    with pytest.raises(ValueError, match="shrink: expected a number of positives from 0, got -1"):
        labels.tune_thresholds(logits, gold, shrink=-1)


@given(st.lists(st.floats(-8, 8), min_size=1, max_size=9), st.sampled_from([0.5, 1.0, 2.0]))
@settings(max_examples=100, deadline=None)
def test_the_plug_in_threshold_has_the_largest_expected_f1(log_odds, beta):
    x = np.array(log_odds).round(2)
    p = 1 / (1 + np.exp(-x))

    def expected(threshold: float) -> float:
        yes = x > threshold
        right, wrong, missed = p[yes].sum(), (1 - p[yes]).sum(), p[~yes].sum()
        return (1 + beta**2) * right / ((1 + beta**2) * right + beta**2 * missed + wrong)

    found = thresholds.plug_in(x, beta)
    candidates = [x.min() - 1, *np.unique(x)]
    assert expected(found) == pytest.approx(max(map(expected, candidates)))
    assert (x > found).any()


def test_a_saved_model_gives_a_pipeline_each_label_s_sigmoid(tokenizer, tmp_path) -> None:
    encoded = labels.encode(corpus(), tokenizer)
    torch.manual_seed(0)
    model = labels.model("tiny", tokenizer, encoded.labels).eval()
    batch = labels.collator(tokenizer)(list(encoded.splits["train"]))
    assert batch.pop("labels").tolist() == [[1, 1], [0, 0], [1, 0]]
    with torch.no_grad():
        p = model(**batch).logits.sigmoid()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    told = pipeline("text-classification", str(tmp_path), top_k=None)([ROWS[0]["sentence"]])[0]
    assert {t["label"]: t["score"] for t in told} == pytest.approx(
        dict(zip(encoded.labels, p[0].tolist(), strict=True)), abs=1e-4
    )

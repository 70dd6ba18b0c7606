"""The studies of many labels: on a small corpus of numbers, by hand, and what is recorded."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

from dicelab.records import runs
from dicelab.tasks import labels as task
from dicelab.training.encoders import load_tokenizer
from studies import labels, labels_all_layers


@pytest.fixture
def small(monkeypatch):
    """Eighty rows of which forty are the test, three labels that the features tell."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(80, 4, generator=generator)
    gold = (features[:, :3] > torch.tensor([0.0, 0.7, 1.3])).float()
    data = labels.Data(features, gold, ["a", "b", "c"], 40)
    monkeypatch.setattr(labels, "corpus", lambda encoder: data)
    monkeypatch.setattr(labels, "PARTS", (20, 10, 10))
    monkeypatch.setattr(labels, "STEPS", (2, 20))
    monkeypatch.setattr(labels, "TRIALS", 2)
    monkeypatch.setattr(labels, "BATCH", 10)
    return data


def test_scores_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    gold, hard = rng.random((2, 50, 6)) < 0.3
    hard[:, 5] = gold[:, 5] = False
    found = labels.scored(gold.astype(int), hard)
    for metric in labels.METRICS:
        expected = f1_score(gold, hard, average=metric, zero_division=0)
        assert found[metric] == pytest.approx(100 * expected)


def test_the_parts_of_a_draw_do_not_overlap_and_repeat() -> None:
    parts = labels.draw(30_000, 3)
    assert [len(part) for part in parts] == list(labels.PARTS)
    assert len(np.unique(np.concatenate(parts))) == sum(labels.PARTS)
    assert (labels.draw(30_000, 3)[0] == parts[0]).all()
    assert (labels.draw(30_000, 4)[0] != parts[0]).any()


@pytest.mark.parametrize("way", labels.WAYS)
def test_no_threshold_has_seen_the_test_gold(small, way: str) -> None:
    searched = labels.search("bce_prior", 0, "numbers")
    before = searched.decided("test", (1, 0), way)
    searched.gold["test"][:] = 1 - searched.gold["test"]
    searched.gold["choose"][:] = 1 - searched.gold["choose"]
    assert (searched.decided("test", (1, 0), way) == before).all()
    assert before.shape == (40, 3)


def test_a_run_records_the_scores_of_what_the_search_chose(small) -> None:
    record = labels.run("dice_macro", 1, "tfidf")
    searched = labels.search("dice_macro", 1, "tfidf")
    for told in record["history"]:
        place, validation, hard = searched.best(told["way"])[told["metric"]]
        assert told["learning_rate"] == searched.trials[place[1]].learning_rate
        assert validation == told["validation"]
        score = f1_score(small.gold[40:], hard, average=told["metric"], zero_division=0)
        assert record["metrics"][told["way"]][told["metric"]] == pytest.approx(
            100 * score, abs=1e-3
        )


def test_resampled_scores_by_a_loop() -> None:
    rng = np.random.default_rng(1)
    gold = (rng.random((30, 2)) < 0.4).astype(int)
    said = rng.random((3, 30, 2)) < 0.5
    rights = said & (gold == 1)
    of_comments = np.random.default_rng(0)
    comments = of_comments.multinomial(30, np.full(30, 1 / 30), 5)
    drawn = of_comments.multinomial(3, np.full(3, 1 / 3), 5)
    for metric in labels.METRICS:
        expected = []
        for times, weights in zip(comments, drawn, strict=True):
            rows = np.repeat(np.arange(30), times)
            each = [
                100 * f1_score(gold[rows], one[rows], average=metric, zero_division=0)
                for one in said
            ]
            expected.append(np.average(each, weights=weights))
        found = labels.resampled(rights, said, gold, metric, 5)
        assert found == pytest.approx(expected)


def test_differences_over_comments_are_those_of_the_records(small) -> None:
    arms = ("bce_prior", "dice_micro", "dice_macro")
    record = json.loads(json.dumps(labels.over_comments("tfidf", 2, arms, resamples=50)))
    kept = [labels.run(arm, number, "tfidf") for arm in arms for number in range(2)]
    of = {(r["parameters"]["loss"], r["parameters"]["seed"]): r["metrics"] for r in kept}
    rows = record["metrics"]["differences"]
    assert len(rows) == 2 * (2 * len(labels.WAYS) + len(labels.CONTRASTS))
    for row in rows:
        (arm, way), (other, how), metric = row["arm"], row["over"], row["metric"]
        each = [of[arm, n][way][metric] - of[other, n][how][metric] for n in range(2)]
        assert row["mean"] == pytest.approx(np.mean(each), abs=2e-3)
        assert row["low"] <= row["high"]
    assert any(row["low"] < row["mean"] < row["high"] for row in rows)


def test_a_stopped_study_goes_on(small, tmp_path, monkeypatch) -> None:
    out = tmp_path / "labels.jsonl"
    given = ["labels", "--draws", "2", "--arms", "bce", "focal", "--out", str(out)]
    monkeypatch.setattr("sys.argv", given)
    labels.main()
    whole = runs.read_records(out)
    assert [(r["parameters"]["loss"], r["parameters"]["seed"]) for r in whole] == [
        ("bce", 0),
        ("focal", 0),
        ("bce", 1),
        ("focal", 1),
    ]
    lines = out.read_text().splitlines(keepends=True)
    out.write_text(lines[0] + lines[2])
    labels.main()
    again = runs.read_records(out)
    assert [r["metrics"] for r in again] == [whole[i]["metrics"] for i in (0, 2, 1, 3)]


@pytest.fixture
def short(monkeypatch):
    """A dozen comments as sub-words for a model of one layer."""
    monkeypatch.setattr(labels_all_layers, "BATCH", 4)
    monkeypatch.setattr(labels_all_layers, "PASSES", 2)
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(12):
        ids = [2, *rng.integers(5, 12, rng.integers(1, 9)).tolist(), 3]
        rows.append({"input_ids": ids, "attention_mask": [1] * len(ids)})
    monkeypatch.setattr(labels_all_layers, "texts", lambda: rows)


def test_every_comment_is_in_a_batch_once_a_pass(short) -> None:
    rows = np.arange(2, 12)
    found = list(labels_all_layers.batches(rows, 0))
    assert sorted(np.concatenate(found).tolist()) == sorted([*rows, *rows])
    assert max(map(len, found)) == 4
    again = list(labels_all_layers.batches(rows, 0))
    assert all((a == b).all() for a, b in zip(found, again, strict=True))


def test_logits_come_back_in_the_order_of_the_rows(short) -> None:
    class Model:
        class config:
            num_labels = 1

        def eval(self):
            pass

    def read(rows: np.ndarray) -> torch.Tensor:
        return torch.tensor(rows, dtype=torch.float32)[:, None]

    rows = np.array([5, 1, 9, 3])
    assert labels_all_layers.logits_of(Model(), read, rows)[:, 0].tolist() == rows.tolist()


@pytest.mark.parametrize("arm", labels_all_layers.ARMS)
def test_a_loss_trains_all_layers(short, arm: str, monkeypatch) -> None:
    tokenizer = load_tokenizer("tiny", [f"w{i}" for i in range(60)])
    made = task.model("tiny", tokenizer, ["a", "b"])
    before = {name: value.clone() for name, value in made.state_dict().items()}
    monkeypatch.setattr(labels_all_layers, "load_tokenizer", lambda *a: tokenizer)
    monkeypatch.setattr(labels_all_layers.task, "model", lambda *a: made)
    gold = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]).repeat(4, 1)
    model, read = labels_all_layers.train(arm, np.arange(12), gold, ["a", "b"], 0)
    moved = {name for name, v in model.state_dict().items() if not torch.equal(v, before[name])}
    assert {"classifier.weight", "classifier.bias"} <= moved
    assert any("layer.0.attention" in name for name in moved)
    assert any("word_embeddings" in name for name in moved)
    assert read(np.arange(3)).dtype == torch.float32

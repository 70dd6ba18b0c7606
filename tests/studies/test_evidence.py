"""Scores, heads, draws and records of the study, each against another way to get it."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from dicebook.losses import functional
from dicelab.records.analysis import read
from dicelab.tasks.tagging import score
from studies.evidence import heads, tasks
from studies.evidence.heads import ARMS, Trial
from studies.evidence.records import append
from studies.evidence.scores import Gold, best_threshold, candidates, f1
from studies.evidence.tasks import Data, Row, Task

NAMES = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]


def _sentences(tags: np.ndarray, sentence: np.ndarray) -> list[list[str]]:
    cuts = np.flatnonzero(np.diff(sentence)) + 1
    return [[NAMES[i] for i in part] for part in np.split(tags, cuts)]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_counts_are_those_of_strict_seqeval(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sentence = np.sort(rng.integers(0, 12, 40))
    labels = rng.integers(0, 5, 40)
    gold = Gold.of(labels, sentence, NAMES)
    logits = np.eye(5)[labels] + rng.normal(size=(40, 5))
    for threshold in (-1.0, 0.0, 1.0):
        tags = gold.predicted(logits, np.array([threshold]))[0]
        found, predicted = gold.counts(logits, np.array([threshold]))
        expected = score(_sentences(labels, sentence), _sentences(tags, sentence))["f1"]
        assert float(f1(found, predicted, gold.entities)[0]) == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_counts_are_those_of_the_tags_at_each_threshold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sentence, labels = np.sort(rng.integers(0, 12, 40)), rng.integers(0, 5, 40)
    gold = Gold.of(labels * int(seed % 5 > 0), sentence, NAMES)
    logits = (2 * np.eye(5)[labels] + rng.normal(size=(40, 5))).round(seed % 3)  # with ties
    thresholds = np.append(np.unique(logits), [0.25, -9.0, 9.0])
    tags = gold.predicted(logits, thresholds)
    found, predicted = gold.counts(logits, thresholds)
    np.testing.assert_array_equal(found, gold.found(tags).sum(1))
    np.testing.assert_array_equal(predicted, gold.begins[tags].sum(1))


def test_threshold_0_is_argmax() -> None:
    logits = np.random.default_rng(0).normal(size=(300, 5))
    gold = Gold.of(np.zeros(300, int), np.zeros(300, int), NAMES)
    assert (gold.predicted(logits, np.zeros(1))[0] == logits.argmax(1)).all()


def test_blocks_and_types_add_up() -> None:
    rng = np.random.default_rng(1)
    labels, sentence = rng.integers(0, 5, 2000), np.arange(2000) // 7
    gold = Gold.of(labels, sentence, NAMES)
    logits = np.eye(5)[labels] * 2 + rng.normal(size=(2000, 5))
    tags = gold.predicted(logits, np.zeros(1))[0]
    found, predicted = gold.counts(logits, np.zeros(1))
    assert [sum(x) for x in gold.by_block(tags)] == [found[0], predicted[0]]
    assert np.sum(list(gold.by_type(tags).values()), 0).tolist() == [
        found[0],
        predicted[0],
        gold.entities,
    ]
    assert sum(gold.by_block(labels)[0]) == gold.entities
    assert all(len(set(gold.block[sentence == s])) == 1 for s in set(sentence))


def test_best_threshold_is_nearly_the_best_of_all() -> None:
    rng = np.random.default_rng(2)
    labels = (rng.random(3000) < 0.1).astype(int)
    logits = np.stack([np.zeros(3000), 1.5 * labels - 2 + rng.normal(size=3000)], 1)
    gold = Gold.of(labels, np.arange(3000), ["O", "B-yes"])
    _, value = best_threshold(gold, logits)
    every = max(100 * f1_score(labels, logits[:, 1] > t) for t in logits[::10, 1])
    assert len(candidates(logits, labels)) == 101
    assert abs(value - every) < 0.7


LIBRARY = {
    "ce": lambda x, y, v, c, w: functional.cross_entropy(x, y),
    "ce_prior": lambda x, y, v, c, w: functional.cross_entropy(x, y),
    "logit_adjustment": lambda x, y, v, c, w: functional.cross_entropy(x + v * w, y),
    "wce": lambda x, y, v, c, w: functional.cross_entropy(x, y, weight=(v * (w.max() - w)).exp()),
    "focal": lambda x, y, v, c, w: functional.focal(x, y, gamma=v),
    "dice": lambda x, y, v, c, w: functional.dice(x, y, smooth=v, squared=True, classes=c),
    "dsc": lambda x, y, v, c, w: functional.dice(
        x, y, alpha=0.1, smooth=v, squared=True, classes=c
    ),
    "tversky": lambda x, y, v, c, w: functional.dice(
        x, y, fp_weight=1 - v, fn_weight=v, smooth=1.0, squared=False, classes=c
    ),
    "negative_sampling": lambda x, y, v, c, w: functional.cross_entropy(x, y),
}


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("classes", [2, 5])
def test_losses_of_a_stack_are_the_librarys(arm: str, classes: int) -> None:
    g = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 64, classes, generator=g, requires_grad=True)
    labels = torch.randint(classes, (3, 64), generator=g)
    value = torch.tensor([[0.3], [0.6], [0.9]])
    prior = torch.stack([heads.log_prior(row.numpy(), classes) for row in labels])
    only = slice(1, None) if classes == 2 else slice(None)
    one_hot = torch.nn.functional.one_hot(labels, classes).float()
    ours = ARMS[arm].loss(logits, one_hot, value, prior.unsqueeze(1), only)
    (slope,) = torch.autograd.grad(ours.sum(), logits)
    for k in range(3):
        x = logits[k].detach().requires_grad_()
        which = [1] if classes == 2 else None
        theirs = LIBRARY[arm](x, labels[k], float(value[k]), which, prior[k])
        torch.testing.assert_close(ours[k], theirs, rtol=1e-4, atol=1e-5)
        (expected,) = torch.autograd.grad(theirs, x)
        torch.testing.assert_close(slope[k], expected, rtol=1e-3, atol=1e-6)


def _toy(n: int = 600) -> tuple[torch.Tensor, np.ndarray]:
    rng = np.random.default_rng(3)
    labels = (rng.random(n) < 0.2).astype(np.int64)
    features = rng.normal(size=(n, 8)) + 1.2 * labels[:, None]
    return torch.from_numpy(features).float(), labels


@pytest.mark.parametrize("arm", ["ce", "tversky", "negative_sampling"])
def test_a_head_in_a_stack_ends_as_it_does_alone(arm: str) -> None:
    features, labels = _toy()
    trials = [Trial.random(arm, i) for i in range(3)]
    rows = [np.arange(0, 400), np.arange(100, 500), np.arange(200, 600)]
    together = heads.train(arm, trials, [5, 6, 7], features, labels, rows, 2, (10, 70))
    for k in range(3):
        alone = heads.train(arm, [trials[k]], [5 + k], features, labels, [rows[k]], 2, (10, 70))
        for a, b in zip(together, alone, strict=True):
            np.testing.assert_allclose(
                heads.logits_of(a, k, features), heads.logits_of(b, 0, features), atol=2e-3
            )


def test_steps_are_those_of_torch_adamw() -> None:
    p = torch.randn(2, 4, 3)
    q = [part.clone().requires_grad_() for part in p]
    groups = [{"params": [part], "lr": r} for part, r in zip(q, (0.1, 0.01), strict=True)]
    peer = torch.optim.AdamW(groups, weight_decay=heads.DECAY, eps=heads.EPSILON)
    first, second, state = [torch.zeros_like(p)], [torch.zeros_like(p)], (p,)
    for step in range(1, 6):
        g = torch.randn(2, 4, 3)
        rate = torch.tensor([0.1, 0.01]).view(-1, 1, 1)
        state = heads.adamw(state, (g,), first, second, rate, step)
        for part, slope in zip(q, g, strict=True):
            part.grad = slope
        peer.step()
    torch.testing.assert_close(state[0], torch.stack(q).detach())


def test_trials_share_learning_rates_and_keep_to_their_ranges() -> None:
    for number in range(16):
        assert len({Trial.random(arm, number).learning_rate for arm in ARMS}) == 1
        assert 3e-4 <= Trial.random("ce", number).learning_rate <= 3e-2
        assert 0.3 <= Trial.random("tversky", number).value <= 0.9


def _data(n: int = 4000) -> Data:
    rng = np.random.default_rng(4)
    labels = (rng.random(n) < 0.4).astype(np.int64)
    features = torch.from_numpy(rng.normal(size=(n, 8)) + labels[:, None]).float()
    rows = np.arange(n)
    test = np.arange(n // 2, n)
    return Data(features, labels, rows, rows // 2, ["O", "B-yes"], n // 2, test, None)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_draws_share_no_group_and_have_their_share(share: float) -> None:
    data, task = _data(), Task("x", "pair", lambda: ([], []), share, 0.1)
    parts = tasks.draw(data, task, 0)
    again, other = tasks.draw(data, task, 0), tasks.draw(data, task, 1)
    groups = [set(data.group[rows]) for rows in parts]
    assert len(set.union(*groups)) == sum(map(len, groups))
    assert all(rows.max() < data.pool for rows in parts)
    assert all((a == b).all() for a, b in zip(parts, again, strict=True))
    assert len(parts[0]) == len(tasks.draw(data, Task("x", "pair", task.read, 0.3), 0)[0])
    assert not np.array_equal(parts[0], other[0])
    for rows, wanted in zip(parts, (share, 0.1, 0.1), strict=True):
        assert data.labels[rows].mean() == pytest.approx(wanted, abs=0.003)


def test_the_cap_cuts_between_sentences() -> None:
    n = 60_000
    sentence = np.arange(n) // 7
    data = Data(torch.zeros(n, 1), np.zeros(n, int), sentence, sentence, ["O"], n, sentence, None)
    for rows, cap in zip(
        tasks.draw(data, Task("x", "tags", lambda: ([], [])), 0), (20_000, 8_000), strict=False
    ):
        whole = np.bincount(sentence[rows])
        assert set(whole[whole > 0]) <= {7, n % 7}
        assert cap - 7 <= len(rows) <= cap


def test_sentences_of_keep_their_offsets() -> None:
    text = "It rose by 3.5 percent. (He said so.) Was it true? yes, it was."
    found = tasks.sentences_of(text)
    assert [s for _, s in found] == [
        "It rose by 3.5 percent.",
        "(He said so.)",
        "Was it true? yes, it was.",
    ]
    assert all(text[a:].startswith(s) for a, s in found)


def test_cached_features_are_verified(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DICEBOOK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    monkeypatch.setattr(tasks, "encoder_folder", lambda: tmp_path)
    calls = []

    def extract(folder, kind, rows, name):
        calls.append(name)
        return np.ones((len(rows), 4), np.float16)

    monkeypatch.setattr(tasks, "_extract", extract)
    parts = ([Row(["a"], ["O"], 0)], [Row(["b"], ["O"], 1)])
    for _ in range(2):
        assert tasks._features("x", "tags", parts).shape == (2, 4)
    assert len(calls) == 1
    tasks._features("x", "tags", (parts[0], [Row(["c"], ["O"], 1)]))
    assert len(calls) == 2  # another text, another key
    for path in (tmp_path / "cache").glob("x-*.safetensors"):
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ValueError, match="expected the features that were written"):
        tasks._features("x", "tags", parts)


def test_a_run_killed_in_the_middle_of_a_line_leaves_whole_records(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    append(path, [{"a": 1}])
    with path.open("ab") as file:
        file.write(b'{"a": 2')
    assert read(path) == [{"a": 1}]
    append(path, [{"a": 3}])
    assert read(path) == [{"a": 1}, {"a": 3}]


def _append(path: Path, worker: int) -> None:
    for i in range(20):
        append(path, [{"worker": worker, "i": i, "pad": "x" * 5000}])


def test_two_processes_write_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_append, args=(path, w)) for w in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(read(path)) == 40


@pytest.mark.parametrize(
    ("name", "folder", "entities"), [("wnut17", "wnut17", 3890), ("crossner_ai", "crossner", 1549)]
)
def test_pools_and_tests_of_real_corpora(
    name: str, folder: str, entities: int, real_corpus, monkeypatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DICEBOOK_DATA", str(tmp_path))
    (tmp_path / name).mkdir()
    (tmp_path / name / "raw").symlink_to(real_corpus(folder))
    pool, test = tasks.TASKS[name].read()
    if name == "wnut17":
        tags = [tag for row in [*pool, *test] for tag in row.tags]
        assert sum(tag.startswith("B-") for tag in tags) == entities
        assert (len(pool), len(test)) == (3394 + 1009, 1287)
    else:
        assert (len(pool), len(test)) == (450, 431)
        dev = [tag for row in pool[100:] for tag in row.tags]
        assert sum(tag.startswith("B-") for tag in dev) == entities


@pytest.mark.slow
def test_an_answer_sentence_holds_its_answer(real_corpus, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DICEBOOK_DATA", str(tmp_path))
    (tmp_path / "squad11" / "raw").mkdir(parents=True)
    rebuilt = real_corpus("squad11") / "train-v1.1.rebuilt.json"
    (tmp_path / "squad11" / "raw" / "train-v1.1.json").symlink_to(rebuilt)
    pool, test = tasks.TASKS["squad11_sentences"].read()
    assert not {row.group for row in pool} & {row.group for row in test}
    yes = sum(row.tags == tasks.YES for row in pool)
    assert 0.1 < yes / len(pool) < 0.4

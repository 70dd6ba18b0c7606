"""Stage A2 with a linear head: the stack, the solver, and a tiny study from raw files."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from dicelab.records.searched import Contrast, effect, minus_start
from studies.evidence import heads
from studies.evidence.heads import Trial
from studies.evidence.scores import best_threshold
from studies.evidence.tasks import draw
from studies.evidence_2 import linear, runs, tasks
from studies.evidence_2.__main__ import main as command_line
from studies.evidence_2.arms import WAYS
from studies.evidence_2.linear import ARMS, SOLVER, Head

SEEDS = {5: np.arange(0, 400), 6: np.arange(200, 600)}


def _toy(classes: int = 2) -> tuple[torch.Tensor, np.ndarray]:
    rng = np.random.default_rng(3)
    labels = np.where(rng.random(600) < 0.2, rng.integers(1, classes, 600), 0)
    features = rng.normal(size=(600, 8)) + 1.2 * np.eye(8)[labels]
    return torch.from_numpy(features).float(), labels


def _stack(arms: list[str]) -> list[Head]:
    """Unlike numbers of heads for each trial and seed, in no order."""
    places = [(seed, number, arm) for number in (0, 3) for seed in SEEDS for arm in arms]
    kept = np.random.default_rng(0).permutation(len(places))[: len(places) * 2 // 3]
    return [
        Head(
            places[i][2],
            places[i][1],
            linear.trials_of(places[i][2], 0)[places[i][1]],
            places[i][0],
        )
        for i in kept
    ]


@pytest.mark.parametrize("classes", [2, 5])
def test_a_head_in_a_stack_ends_as_it_does_alone(classes: int) -> None:
    features, labels = _toy(classes)
    stack = _stack([name for name, arm in ARMS.items() if classes == 2 or not arm.binary_only])
    together = linear.train(stack, features, labels, SEEDS, classes, (10, 70))
    for k, head in enumerate(stack):
        rows = {head.seed: SEEDS[head.seed]}
        alone = linear.train([head], features, labels, rows, classes, (10, 70))
        for a, b in zip(together, alone, strict=True):
            np.testing.assert_allclose(
                linear.logits_of(a, [k], features), linear.logits_of(b, [0], features), atol=1e-4
            )


@pytest.mark.parametrize("arm", ARMS)
def test_a_head_is_torchs_linear_layer_under_torchs_adamw(arm: str) -> None:
    features, labels = _toy()
    trial, seed, rows = Trial(0.01, 0.3, 0.7), 5, SEEDS[5]
    (ours,) = linear.train([Head(arm, 0, trial, seed)], features, labels, {seed: rows}, 2, (30,))
    stream, order = torch.Generator().manual_seed(seed), heads._order(rows, seed, 30)
    layer, prior = torch.nn.Linear(8, 2), heads.log_prior(labels[rows], 2)
    with torch.no_grad():
        for shape, to in (((8, 2), layer.weight), ((1, 2), layer.bias)):
            drawn = (torch.rand(shape, generator=stream) * 2 - 1) / 8**0.5
            to.copy_(drawn.T if shape[0] == 8 else drawn[0])
        if ARMS[arm].start:
            layer.bias.copy_(prior)
    peer = torch.optim.AdamW(layer.parameters(), weight_decay=heads.DECAY, eps=heads.EPSILON)
    for step, index in enumerate(order, 1):
        kept = torch.rand(heads.BATCH, 8, generator=stream) < 1 - trial.dropout
        logits = layer(features[index] * kept / (1 - trial.dropout))
        one_hot = torch.nn.functional.one_hot(torch.from_numpy(labels)[index], 2).float()
        value = torch.tensor([[trial.value]])
        loss = ARMS[arm].loss(logits[None], one_hot[None], value, prior.view(1, 1, 2), slice(1, 2))
        peer.zero_grad()
        loss.sum().backward()
        peer.param_groups[0]["lr"] = trial.learning_rate * min(1.0, step / heads.WARM_UP)
        peer.step()
    theirs = layer(features).detach().numpy()
    np.testing.assert_allclose(linear.logits_of(ours, [0], features)[0], theirs, atol=1e-4)


def test_logits_are_w_times_x_plus_b() -> None:
    g = torch.Generator().manual_seed(0)
    weight, bias = torch.randn(3, 4, 5, generator=g), torch.randn(3, 1, 5, generator=g)
    features = torch.randn(6, 4, generator=g)
    found = linear.logits_of((weight, bias), [2, 0], features)
    assert found.shape == (2, 6, 5)
    for i, head in enumerate((2, 0)):
        for n in range(6):
            for c in range(5):
                terms = [float(features[n, d] * weight[head, d, c]) for d in range(4)]
                wanted = math.fsum(terms) + float(bias[head, 0, c])
                assert found[i, n, c] == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("classes", [2, 5])
def test_the_start_is_the_log_prior_and_the_rest_is_the_same(classes: int) -> None:
    features, labels = _toy(classes)
    arms = [name for name, arm in ARMS.items() if classes == 2 or not arm.binary_only]
    quiet = [Head(arm, 0, Trial(1e-9, 0.0, 1.0), 5) for arm in arms]
    ((weight, bias),) = linear.train(quiet, features, labels, {5: SEEDS[5]}, classes, (1,))
    counts = np.bincount(labels[SEEDS[5]], minlength=classes) + 0.5
    prior = torch.from_numpy(np.log(counts / counts.sum())).float()
    for k, arm in enumerate(arms):
        torch.testing.assert_close(weight[k], weight[0], atol=1e-6, rtol=0)
        if ARMS[arm].start:
            torch.testing.assert_close(bias[k, 0], prior, atol=1e-6, rtol=0)
        else:
            assert bias[k].abs().max() <= 8**-0.5 + 1e-6


def test_the_solver_is_scikit_learns_logistic_regression() -> None:
    features, labels = _toy(5)
    labels = np.where(labels == 3, 0, labels)  # a class that the draw has not
    state, steps = linear.solve(0.5, features, labels, 5)
    peer = LogisticRegression(C=0.5, max_iter=linear.MAX_ITERATIONS).fit(features.numpy(), labels)
    logits = linear.logits_of(state, [0], features)[0]
    np.testing.assert_array_equal(logits.argmax(1), peer.predict(features.numpy()))
    assert 1 < steps < linear.MAX_ITERATIONS
    binary = (labels > 0).astype(np.int64)
    state, _ = linear.solve(0.5, features, binary, 2)
    peer = peer.fit(features.numpy(), binary)
    logits = linear.logits_of(state, [0], features)[0]
    margin = peer.decision_function(features.numpy())
    np.testing.assert_allclose(logits[:, 1] - logits[:, 0], margin, atol=1e-5)


def test_trials_share_what_is_not_the_arms_own() -> None:
    for search in range(2):
        dropouts = [t.dropout for t in runs.trials_of("ce", search)]
        rates = [t.learning_rate for t in linear.trials_of("ce", search)]
        for arm in ARMS:
            assert [t.dropout for t in linear.trials_of(arm, search)] == dropouts
            assert [t.learning_rate for t in linear.trials_of(arm, search)] == rates
    assert min(rates) >= linear.RATES[0]
    assert max(rates) <= linear.RATES[1]
    grid = [t.value for t in linear.trials_of(SOLVER, 0)]
    assert len(grid) == 16
    np.testing.assert_allclose(np.diff(np.log(grid)), np.log(grid[1] / grid[0]), rtol=0.05)


def test_the_pilot_comes_first_then_search_by_search() -> None:
    todo = linear.units(list(tasks.TASKS))
    assert todo[:3] == [("search", task, 0) for task in linear.PILOT]
    rest = todo[3:]
    assert len(rest) == 2 * 5 * 27
    assert [search for _, _, search in rest] == sorted(search for _, _, search in rest)
    for one, after in zip(rest[::2], rest[1::2], strict=True):
        assert (one[0], after[0]) == ("search", "final")
        assert one[1:] == after[1:]


@pytest.mark.parametrize(
    ("what", "folder"), [("linear", "results/evidence_2_linear"), ("run", "runs/evidence_2")]
)
def test_each_head_has_a_folder_of_its_own(
    what: str, folder: str, monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    ran: list[Path] = []
    monkeypatch.chdir(root)
    monkeypatch.setattr(runs, "set_threads", lambda: None)
    monkeypatch.setattr(runs, "run", lambda names, folder, *, edges_moved: ran.append(folder))
    monkeypatch.setattr(linear, "run", lambda names, folder, *, pilot: ran.append(folder))
    monkeypatch.setattr("sys.argv", ["", what, "--only", "mrpc"])
    command_line()
    assert ran == [Path(folder)]


STUDY = ["wnut17", "goemotions_grief"]


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two searches of three short trials, two finals each."""
    monkeypatch.setattr(runs, "TRIALS", 3)
    monkeypatch.setattr(runs, "SEARCHES", 2)
    monkeypatch.setattr(runs, "FINALS", 2)
    monkeypatch.setattr(linear, "CHECKPOINTS", (20, 40))
    monkeypatch.setattr(linear, "INVERSE_PENALTIES", (0.01, 1.0, 100.0))


def _without_seconds(folder: Path) -> list[str]:
    records = [r for path in sorted(folder.glob("*.jsonl")) for r in runs.read(path)]
    return sorted(json.dumps({k: v for k, v in r.items() if k != "seconds"}) for r in records)


@pytest.mark.slow
def test_a_tiny_study_from_raw_files(raw_files: Path, tiny: None, tmp_path: Path) -> None:
    whole, again = tmp_path / "whole", tmp_path / "again"
    linear.run(STUDY, whole)
    for task in STUDY:
        records = runs.read(runs.file_of(whole, task))
        arms = [*linear.arms_of(task), SOLVER]
        assert len(arms) == (7 if task == "wnut17" else 9)
        assert (records[0]["kind"], records[0]["head"]) == ("task", "linear")
        for arm in arms:
            mine = [r for r in records if r.get("arm") == arm]
            assert sum(r["kind"] == "search" for r in mine) == 2 * 3
            for how in WAYS:
                finals = [r for r in mine if how in r.get("chosen_for", ())]
                assert sorted(r["seed"] for r in finals) == [0, 1, 2, 3]
            assert minus_start(records, arm, "tuned") is not None
        assert all("test" not in r for r in records if r["kind"] == "search")
        assert effect(records, Contrast((SOLVER, "tuned"), ("ce", "plug_in")))
        f1s = [r["test"]["tuned"]["f1"] for r in records if "tuned" in r.get("chosen_for", ())]
        assert max(f1s) > 60, "it can be learned"
    again.mkdir()
    for path in whole.glob("*.jsonl"):
        lines = path.read_text().splitlines(keepends=True)
        (again / path.name).write_text("".join(lines[:30]) + lines[30][:30])
    linear.run(STUDY, again)
    assert _without_seconds(again) == _without_seconds(whole)


@pytest.mark.slow
def test_the_solver_decides_on_the_same_halves_by_the_same_rule(raw_files: Path) -> None:
    task = "wnut17"
    (record,) = linear.by_solver([(runs.Unit("final", task, SOLVER, 0), 9, 2, ("tuned",))])
    data = runs._data(task)
    train, one, two = draw(data, tasks.TASKS[task].base, 2)
    c = record["parameters"]["C"]
    peer = LogisticRegression(C=c, max_iter=1000).fit(data.features[train], data.labels[train])
    np.testing.assert_array_equal(peer.classes_, range(len(data.names)))
    logits = peer.decision_function(data.features.numpy())
    threshold, _ = best_threshold(runs.gold_of(data, two), logits[two])
    told = record["validation"]["tuned"]
    assert told["threshold"] == pytest.approx(threshold, abs=1e-3)
    assert told["steps"] == peer.n_iter_[0]
    both, found = np.sort(np.concatenate([one, two])), []
    for rows in (one, two, both, data.test):
        gold = runs.gold_of(data, rows)
        hits, called = gold.counts(logits[rows], np.array([threshold]))
        found.append(np.array([hits[0], called[0], gold.entities]))
    hits, called, gold = found[0] + found[1]
    assert told["f1"] == pytest.approx(200 * hits / (called + gold), abs=0.01)
    scores = record["test"]["tuned"]
    assert [scores["found"], scores["predicted"], scores["gold"]] == found[3].tolist()

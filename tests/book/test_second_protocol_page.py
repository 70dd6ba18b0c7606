"""The page of the second protocol, from made-up records of two searches."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dicelab.records.searched import PRIMARY, effects_of, pool, read_tasks
from studies.evidence_2.arms import ARMS, TRIALS, WAYS
from studies.evidence_2.runs import FINALS
from studies.evidence_2.stage_b import LENGTHS, TAIL
from studies.evidence_2.tasks import TASKS
from tools.pages import evidence_2

HEIGHT = {"dice": 4, "ce_start": 3, "ce": 1, "wce": 3, "logit_adjustment": 2}
BLOCKS = 10


def _test(found: np.ndarray) -> dict[str, object]:
    f1 = 200 * found.sum() / (8 + 8) / BLOCKS
    return {"f1": float(f1), "blocks": [found.tolist(), [8] * BLOCKS]}


def _records(name: str, number: int) -> list[dict[str, object]]:
    rng = np.random.default_rng(number)
    half = {"positive": 30 + number, "rows": 100}
    task = {"kind": "task", "task": name, "source": TASKS[name].source, "baseline": 9.0}
    task |= {"stratum": TASKS[name].stratum, "blocks": [8] * BLOCKS}
    found: list[dict[str, object]] = [task | {"sizes": {f"validation_{i}": half for i in (1, 2)}}]
    for arm in ARMS:
        for search in range(2):
            same = {"task": name, "arm": arm, "search": search, "seconds": 3600 / 27 / 32}
            for trial in range(TRIALS):
                scores = {h: {"f1": float(trial == 5), "steps": 3840} for h in WAYS}
                one = {"kind": "search", "trial": trial, "validation": scores}
                found.append(same | one | {"parameters": {"learning_rate": 0.003}})
            for seed in range(search * FINALS, (search + 1) * FINALS):
                told = {h: _test(rng.integers(1, 4, BLOCKS) + HEIGHT[arm]) for h in WAYS}
                final = {"kind": "final", "trial": 5, "seed": seed, "seconds": 0, "test": told}
                found.append(same | final | {"chosen_for": list(WAYS)})
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two searches of every task, and Stage B2 on one corpus."""
    folder = tmp_path_factory.mktemp("records")
    for number, name in enumerate(TASKS):
        lines = map(json.dumps, _records(name, number))
        (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines))
    layers = [
        {"kind": "final", "arm": arm, "seed": seed, "steps": n + n // TAIL, "gold": [8] * BLOCKS}
        | {"test": {"tuned": _test(np.full(BLOCKS, HEIGHT[arm]))}}
        for arm in ("ce", "ce_start", "dice")
        for seed in range(2)
        for n in LENGTHS
    ]
    lines = map(json.dumps, layers)
    (folder / "b-crossner_politics.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def test_what_is_recorded_is_counted(folder: Path) -> None:
    text = evidence_2.page(folder)
    assert "Each arm has 135 searches before it, 5 on each of 27 tasks." in text
    # Two of five searches on each of 27 tasks, sixteen trials and four finals each; an hour in all.
    for arm in ARMS:
        assert f"| {arm} | 54 | 54 | 864 | 216 | 1.0 |" in text
        assert f"| {arm} | 100% | 0% | 0% |" in text
    assert text.count("## ") == 9


def test_its_numbers_are_those_of_the_model(folder: Path) -> None:
    text = evidence_2.page(folder)
    effects = effects_of(read_tasks(folder), PRIMARY)
    mean, low, high, p = pool(effects).over_all
    assert f"| all strata alike | {mean:.2f} [{low:.2f}, {high:.2f}] | {p:.3g} |" in text
    assert mean == pytest.approx(100 / 8, abs=2)  # one more of eight in each block
    first = effects[0]
    shown = f"{first.mean:.2f} [{first.low:.2f}, {first.high:.2f}]"
    assert f"| {first.task} | {first.stratum} | {shown} |" in text
    family = text.split("## The secondary questions")[1].split("##")[0]
    assert family.count("\n| ") == 1 + 11
    layers = text.split("## All layers trained")[1]
    area = "12.50 [12.50, 12.50]"
    assert f"| crossner_politics | dice |{' 50.00 |' * 6} {area} |" in layers


def test_nothing_is_recorded_yet(tmp_path: Path) -> None:
    text = evidence_2.page(tmp_path)
    assert text.count("## ") == 1  # what is recorded
    assert "| dice | 0 | 0 | 0 | 0 | 0.0 |" in text

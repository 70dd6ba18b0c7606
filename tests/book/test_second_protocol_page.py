"""The page of the second protocol, from made-up records of two searches."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dicelab.records.searched import PRIMARY, effects_of, pool, read_tasks
from studies.evidence_2.arms import ARMS
from tests import made_up_study
from tools.pages import evidence_2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two searches of every task, and Stage B2 on one corpus."""
    folder = tmp_path_factory.mktemp("records")
    made_up_study.write(folder)
    return folder


def test_what_is_recorded_is_counted(folder: Path) -> None:
    text = evidence_2.page(folder)
    assert "On each of 27 tasks" in text
    assert "| dice_both | 90 | 0 | 0 | 0 | 0 | 0.0 |" in text
    assert "| dsc_start | 54 | 0 | 0 | 0 | 0 | 0.0 |" in text
    # Two of five searches on each of 27 tasks, sixteen trials and four finals each; an hour in all.
    for arm in ARMS:
        assert f"| {arm} | 135 | 54 | 54 | 864 | 216 | 1.0 |" in text
        assert f"| {arm} | 100% | 0% | 0% |" in text


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
    assert f"| crossner_politics | dice | 2 |{' 50.00 |' * 5} {area} |" in layers


def test_nothing_is_recorded_yet(tmp_path: Path) -> None:
    text = evidence_2.page(tmp_path)
    assert "## Edges" not in text
    assert "| dice | 135 | 0 | 0 | 0 | 0 | 0.0 |" in text


def test_two_tasks_are_too_few_to_say_something_over_tasks(folder: Path, tmp_path: Path) -> None:
    for name in ("wnut17", "wikigold"):
        shutil.copy(folder / f"{name}.jsonl", tmp_path)
    text = evidence_2.page(tmp_path)
    assert "| wikigold | tags |" in text
    assert "## Over tasks" not in text
    assert "## The secondary questions" not in text

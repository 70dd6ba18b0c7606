"""What the pages say of the first GPUs is what their records hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dicelab.records.kept import kept_folder
from reproduce import estimate, grid


def read(name: str) -> Any:
    return json.loads((kept_folder() / "gpu" / name).read_text(encoding="utf-8"))


def words(root: Path, page: str) -> str:
    """A page without its line ends."""
    return " ".join((root / "docs" / page).read_text(encoding="utf-8").split())


@pytest.fixture
def steps(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = read("record.json")["steps"]
    return found


@pytest.fixture
def speeds(root: Path) -> dict[tuple[str, int, str], float]:
    """Sub-words a second by size of the encoder, length and precision."""
    rows = read("speed.json")["rows"]
    assert {(row["frozen layers"], row["batch"]) for row in rows} == {(0, 32)}
    return {
        (
            row["encoder"].removesuffix("-cased").removesuffix("-uncased"),
            row["length"],
            row["precision"],
        ): row["sub-words a second"]
        for row in rows
    }


def test_a_batch_in_parts_has_the_losses_of_the_whole_and_takes_longer(root: Path) -> None:
    rows = read("batch.json")["steps"]["batch"]["rows"]
    assert {len(row["losses"]) for row in rows} == {50}
    assert max(row["from the whole, most"] for row in rows) < 1e-6
    for whole, parts in (rows[:2], rows[2:]):
        part = parts["milliseconds a step"] / parts["parts"]
        assert part == pytest.approx(whole["milliseconds a step"], rel=0.25)


def test_the_hours_of_the_tables_are_computed_from_the_measured_steps(
    root: Path, speeds: dict[tuple[str, int, str], float]
) -> None:
    def step(encoder: str, length: int, precision: str = "bf16") -> float:
        return 32 * length / speeds[encoder, length, precision]

    assert estimate.LAUNCHES["base"] == pytest.approx(step("bert-base", 96), abs=1e-3)
    # Three times the sub-words take no longer: a step's launches, and nothing else.
    both = [step("bert-large", length) for length in (96, 320)]
    assert estimate.LAUNCHES["large"] == pytest.approx(np.mean(both), abs=1e-3)
    assert max(both) - min(both) < 0.01
    for precision, full in estimate.FULL.items():
        assert full == pytest.approx(speeds["bert-large", 320, precision], rel=0.03)
    (job,) = grid.only(grid.jobs(5, "paper"), ["ontonotes5"], ["fl"])
    shape = estimate.shape_of(job)
    assert shape.batch == 48  # twelve times four sentences, at once
    launches = shape.batch * shape.length / estimate.LAUNCHES["large"]
    assert estimate.assumed(shape) == pytest.approx(launches)

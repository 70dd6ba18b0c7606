"""What the pages say of the first GPUs is what their records hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dicelab.records import runs
from reproduce import estimate, gpu, grid
from studies.evidence_2.__main__ import main as study

ASKED = ("device", "smoke", "losses")


def read(root: Path, name: str) -> Any:
    return json.loads((root / "results" / "gpu" / name).read_text(encoding="utf-8"))


def words(root: Path, page: str) -> str:
    """A page without its line ends."""
    return " ".join((root / "docs" / page).read_text(encoding="utf-8").split())


@pytest.fixture
def steps(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = read(root, "record.json")["steps"]
    return found


@pytest.fixture
def speeds(root: Path) -> dict[tuple[str, int, str], float]:
    """Sub-words a second by size of the encoder, length and precision."""
    rows = read(root, "speed.json")["rows"]
    assert {(row["frozen layers"], row["batch"]) for row in rows} == {(0, 32)}
    return {
        (
            row["encoder"].removesuffix("-cased").removesuffix("-uncased"),
            row["length"],
            row["precision"],
        ): row["sub-words a second"]
        for row in rows
    }


def test_the_steps_that_were_asked_for_ended_well(root: Path, steps: dict[str, Any]) -> None:
    assert {name: step["ended"] for name, step in steps.items()} == dict.fromkeys(ASKED, "well")
    systems = [(row["system"], row["loss"]) for row in steps["smoke"]["rows"]]
    assert systems == [(name, loss) for _, name in gpu.SYSTEMS for loss in ("ce", "dl")]
    said, device = words(root, "reproduce.md"), steps["device"]
    assert f'`make gpu ONLY="{" ".join(ASKED)}"` ended well there' in said
    torch = device["torch"].partition("+")[0]
    assert f"an {device['name']} with torch {torch} for CUDA {device['cuda']}." in said
    seconds = device["wall seconds"] + steps["smoke"]["wall seconds"]
    assert f"On an H100 both steps took {seconds:.0f} seconds." in said


def test_the_page_says_how_far_the_losses_are_from_the_cpu_s(
    root: Path, steps: dict[str, Any]
) -> None:
    full, half = (
        max(abs(row[f"minus the CPU's, {precision}"]) for row in steps["smoke"]["rows"])
        for precision in ("fp32", "auto")
    )
    said = words(root, "reproduce.md")
    assert f"at most {full:.3f} from the CPU's in fp32, and at most {half:.3f} in bf16" in said


def test_a_batch_in_parts_has_the_losses_of_the_whole_and_takes_longer(root: Path) -> None:
    rows = read(root, "batch.json")["steps"]["batch"]["rows"]
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


def test_the_page_says_how_far_table_7_is_from_the_cpu_s(root: Path) -> None:
    laptop = runs.read_records(root / "results" / "reproduced" / "laptop" / "table7.jsonl")
    there = {(r["parameters"]["loss"], r["parameters"]["seed"]): r for r in laptop}
    rows = read(root, "table7.json")["rows"]
    assert (len(rows), len(there)) == (11, 12)
    beside = [there[row["loss"], row["seed"]] for row in rows]
    less = [
        row["test F1"] - record["metrics"]["test"]["f1"]
        for row, record in zip(rows, beside, strict=True)
    ]
    low, high = stats.ttest_1samp(less, 0).confidence_interval()
    ends = f"{low:.1f} to {high:.1f}".replace("-", "−")
    seconds = np.median([row["seconds"] for row in rows])
    on_a_cpu = np.median([record["measured"]["seconds"] for record in beside])
    assert (
        f"Their F1 is {np.mean(less):.1f} points above that of the same seeds on a CPU, and the "
        f"95% interval, {ends}, includes 0. A run took {seconds:.0f} seconds at the median, and "
        f"{on_a_cpu:.0f} on one thread of a CPU."
    ) in words(root, "reproduce.md")


def test_the_study_takes_what_the_page_gives_it(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = "--device cuda --workers 4"
    assert f'`make study-layers STUDY="{options}"`' in words(root, "reproduce.md")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("sys.argv", ["", "all-layers", *options.split()])
    with pytest.raises(SystemExit):
        study()
    assert "--device cuda: no CUDA device is here" in capsys.readouterr().err

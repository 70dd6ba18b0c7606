"""Each experiment chapter runs by papermill with other parameters, and records them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dicebook.reproduce import runs

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENTS = sorted(
    path for number in range(8, 15) for path in (ROOT / "notebooks").glob(f"{number:02}_*.ipynb")
)
SHORT = {"seed": 1, "epochs": 1, "train_size": 64, "batch_size": 16}
OWN = {
    "09_named_entities": {"loss": "wce", "reader_epochs": 0},
    "10_reading": {"loss": "fl", "by_choice": False},
    "12_degrees_of_imbalance": {"loss": "fl", "degrees": "3"},
    "13_accuracy_tasks": {"loss": "dl", "seeds": 1},
    "14_tversky_weights": {"alphas": "0.4", "seeds": 1, "warm_up": 1},
}

pytestmark = pytest.mark.slow


def run(chapter: Path, parameters: dict[str, object], out: Path) -> list[dict[str, Any]]:
    """Execute a chapter by papermill; returns its records."""
    given = {**parameters, "output_dir": out / "run"}
    options = [text for name, value in given.items() for text in ("-p", name, str(value))]
    papermill = [sys.executable, "-m", "papermill", "--no-progress-bar", "--cwd", str(ROOT)]
    done = subprocess.run(
        [*papermill, str(chapter), str(out / "out.ipynb"), *options],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return runs.read_records(out / "run")


@pytest.mark.parametrize("chapter", EXPERIMENTS, ids=lambda path: path.stem)
def test_a_chapter_runs_with_other_parameters(chapter: Path, tmp_path: Path) -> None:
    records = run(chapter, {**SHORT, **OWN.get(chapter.stem, {"loss": "fl"})}, tmp_path)
    assert records
    for record in records:
        assert record["chapter"] == chapter.stem
        assert {name: record["parameters"][name] for name in ("seed", "train_size")} == {
            "seed": 1,
            "train_size": 64,
        }
        assert record["metrics"]["test"]


def test_chapter_17_takes_a_corpus_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "own.conll"
    names = ["Mira", "Odo", "Ada", "Ben"]
    own.write_text(
        "".join(f"then\tO\n{names[i % 4]}\tB-PER\ncame\tO\nback\tO\n\n" for i in range(60)),
        encoding="utf-8",
    )
    chapter = ROOT / "notebooks" / "17_when_does_dice_help.ipynb"
    (record,) = run(chapter, {"corpus": own, "seeds": 2, "steps": 20}, tmp_path)
    assert record["parameters"]["corpus"] == str(own)
    assert set(record["metrics"]) == {
        f"{name}, {how} less ce" for name in ("dl", "dsc") for how in ("argmax", "tuned")
    }

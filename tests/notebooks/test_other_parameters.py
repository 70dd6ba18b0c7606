"""Each experiment chapter runs by papermill with other parameters, and records them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dicebook import runs

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


@pytest.mark.parametrize("chapter", EXPERIMENTS, ids=lambda path: path.stem)
def test_a_chapter_runs_with_other_parameters(chapter: Path, tmp_path: Path) -> None:
    parameters = {**SHORT, **OWN.get(chapter.stem, {"loss": "fl"}), "output_dir": tmp_path / "run"}
    options = [text for name, value in parameters.items() for text in ("-p", name, str(value))]
    papermill = [sys.executable, "-m", "papermill", "--no-progress-bar", "--cwd", str(ROOT)]
    done = subprocess.run(
        [*papermill, str(chapter), str(tmp_path / "out.ipynb"), *options],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    records = runs.read_records(tmp_path / "run")
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
    given = {"corpus": own, "seeds": 2, "steps": 20, "output_dir": tmp_path / "run"}
    options = [text for name, value in given.items() for text in ("-p", name, str(value))]
    papermill = [sys.executable, "-m", "papermill", "--no-progress-bar", "--cwd", str(ROOT)]
    chapter = ROOT / "notebooks" / "17_when_does_dice_help.ipynb"
    done = subprocess.run(
        [*papermill, str(chapter), str(tmp_path / "out.ipynb"), *options],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (record,) = runs.read_records(tmp_path / "run")
    assert record["parameters"]["corpus"] == str(own)
    assert set(record["metrics"]) == {
        f"{name}, {how} less ce" for name in ("dl", "dsc") for how in ("argmax", "tuned")
    }

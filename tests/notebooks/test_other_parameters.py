"""Each experiment chapter runs by papermill, shortened: its records, and the outputs that stay.

They run as a reader has them: in an empty folder, with the wheel of the package and not with the
project around them. The cells tagged ``nbval-check-output`` do not depend on how long one trains.
They must give again what the committed notebook holds.
"""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import papermill
import pytest
from nbconvert.preprocessors import CoalesceStreamsPreprocessor

from dicelab.records import runs
from tools.execute import QUIET

ROOT = Path(__file__).resolve().parents[2]
CHECKED = "nbval-check-output"
SHORT = {"seed": 1, "epochs": 1, "max_steps": 2, "batch_size": 16}
PARAMETERS: dict[str, dict[str, object]] = {
    "08_part_of_speech": {**SHORT, "loss": "fl"},
    "09_named_entities": {**SHORT, "loss": "wce", "reader_epochs": 0},
    "10_reading": {**SHORT, "loss": "fl", "by_choice": False},
    "11_paraphrases": {**SHORT, "loss": "fl"},
    "12_degrees_of_imbalance": {**SHORT, "loss": "fl"},
    "13_accuracy_tasks": {**SHORT, "loss": "dl"},
    "14_tversky_weights": {**SHORT, "alphas": "0.4", "seeds": 1, "warm_up": 1},
    "20_spans": {**SHORT, "remedies": "weighted"},
    "21_many_labels": {**SHORT, "seeds": 1, "steps": 2},
    "22_your_own_data": {"seeds": 1, "steps": 20, "loss": "ce,fl"},
}
EXPERIMENTS = [ROOT / "notebooks" / f"{name}.ipynb" for name in PARAMETERS]

pytestmark = pytest.mark.slow


@pytest.fixture
def elsewhere(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, where Python finds the package that the wheel installed."""
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", str(installed), prepend=os.pathsep)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


def checked(notebook: nbformat.NotebookNode) -> list[tuple[str, list[Any]]]:
    """The cells to check with their outputs; streams joined, for a kernel cuts them anywhere."""
    notebook, _ = CoalesceStreamsPreprocessor(enabled=True)(notebook, {})
    return [
        (cell.source, [o.get("text") or o.data.get("text/plain") for o in cell.outputs])
        for cell in notebook.cells
        if CHECKED in cell.metadata.get("tags", [])
    ]


@pytest.mark.parametrize("chapter", EXPERIMENTS, ids=lambda path: path.stem)
def test_a_shortened_chapter_records_its_run_and_repeats_the_stored_outputs(
    chapter: Path, elsewhere: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    parameters = {**PARAMETERS[chapter.stem], "output_dir": str(tmp_path / "run")}
    options = {"cwd": elsewhere, "progress_bar": False, "log_output": True}
    with caplog.at_level(logging.INFO, logger="papermill"):
        executed = papermill.execute_notebook(
            chapter, elsewhere / "out.ipynb", parameters, **options
        )
    assert checked(executed) == checked(nbformat.read(chapter, as_version=4))
    assert [path.name for path in elsewhere.iterdir()] == ["out.ipynb"]
    assert "unknown parameter" not in caplog.text
    if "epochs" in parameters:  # what one sees while it runs, with papermill's --log-output
        assert re.search(r"(epoch [\d.]+|step +\d+ of \d+): loss [\d.]+", caplog.text)
    records = runs.read_records(tmp_path / "run")
    assert records
    for record in records:
        assert record["chapter"] == chapter.stem
        for name in {"seed", "max_steps", "steps"} & parameters.keys():
            assert record["parameters"][name] == parameters[name]
        assert record["metrics"]
    pages = [path.parent for path in (tmp_path / "run").rglob("report.html")]
    assert sorted(pages) == sorted(p.parent for p in (tmp_path / "run").rglob("record.json"))


def test_elsewhere_the_package_is_the_wheel_s(elsewhere: Path, installed: Path) -> None:
    code = "import dicebook, dicelab; print(dicebook.__file__, dicelab.__file__)"
    found = subprocess.check_output([sys.executable, "-c", code], cwd=elsewhere, text=True)
    assert [Path(file).parents[1] for file in found.split()] == [installed, installed]

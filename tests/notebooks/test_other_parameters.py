"""Each experiment chapter runs by papermill, shortened: its records, and the outputs that stay.

They run as a reader has them: in an empty folder, with the wheel of the package and not with the
project around them. The cells tagged ``nbval-check-output`` do not depend on how long one trains.
They must give again what the committed notebook holds.
"""

from __future__ import annotations

import ast
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import papermill
import pytest
from jupyter_client.manager import KernelManager
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


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder."""
    return tmp_path_factory.mktemp("elsewhere")


@pytest.fixture(scope="module")
def kernel(elsewhere: Path, installed: Path) -> Iterator[KernelManager]:
    """A kernel in that folder, where Python finds the package that the wheel installed.

    One chapter after the other has it, for to import torch takes longer than most of them do.
    """
    paths = [str(installed), *filter(None, [os.environ.get("PYTHONPATH")])]
    made = KernelManager(kernel_name="python3")
    made.client_class = "jupyter_client.asynchronous.AsyncKernelClient"  # as papermill has it
    environment = {**os.environ, **QUIET, "PYTHONPATH": os.pathsep.join(paths)}
    made.start_kernel(cwd=str(elsewhere), env=environment)
    yield made
    made.shutdown_kernel(now=True)


def ask(kernel: KernelManager, code: str, value: str = "None") -> str:
    """What a value is after some code, as the kernel prints it."""
    client = kernel.blocking_client()
    client.start_channels()
    client.wait_for_ready()
    reply = client.execute_interactive(code, user_expressions={"value": value})
    client.stop_channels()
    return reply["content"]["user_expressions"]["value"]["data"]["text/plain"]


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
    chapter: Path,
    elsewhere: Path,
    kernel: KernelManager,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    parameters = {**PARAMETERS[chapter.stem], "output_dir": str(tmp_path / "run")}
    options = {"km": kernel, "progress_bar": False, "log_output": True}
    ask(kernel, "%reset -f")
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


def test_elsewhere_the_package_is_the_wheel_s(kernel: KernelManager, installed: Path) -> None:
    code = "import dicebook, dicelab"
    found = ask(kernel, code, "[dicebook.__file__, dicelab.__file__]")
    assert [Path(file).parents[1] for file in ast.literal_eval(found)] == [installed, installed]

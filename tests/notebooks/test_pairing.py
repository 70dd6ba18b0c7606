"""A chapter's script and notebook are a pair for Jupytext: whichever is edited, both change."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest

from tools.pairs import main, written

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.py"))
NAME = "03_dice_and_f1"


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A copy of a chapter, as it is paired in the project."""
    for name in ("jupytext.toml", f"{NAME}.ipynb", f"{NAME}.py"):
        shutil.copyfile(ROOT / "notebooks" / name, tmp_path / name)
    # What both hold is the script's text, whatever is being edited in the project just now.
    script, notebook = tmp_path / f"{NAME}.py", tmp_path / f"{NAME}.ipynb"
    sync(script)
    return script, notebook


def sync(path: Path) -> None:
    later = path.stat().st_mtime + 10
    os.utime(path, (later, later))
    command = [sys.executable, "-m", "jupytext", "--sync", str(path)]
    subprocess.run(command, check=True, capture_output=True)


def outputs(notebook: Path) -> list[Any]:
    cells = nbformat.read(notebook, as_version=4).cells
    return [cell.outputs for cell in cells if cell.cell_type == "code"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_round_trip_through_jupytext_changes_nothing(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    assert written(jupytext.read(script)) == text, "run: make format"
    assert written(nbformat.read(script.with_suffix(".ipynb"), as_version=4)) == text


@pytest.mark.slow
def test_another_form_is_found_and_named(pair, monkeypatch, capsys):
    script, _ = pair
    monkeypatch.setattr("tools.pairs.NOTEBOOKS", script.parent)
    assert main([]) == 0
    canonical = script.read_text()
    script.write_text(canonical.replace("# %% tags", "# %%  tags"))
    assert main(["--check"]) == 1
    assert f"not as Jupytext writes them: {script.name}" in capsys.readouterr().err
    assert main([]) == 0
    assert script.read_text() == canonical


@pytest.mark.slow
def test_sync_carries_the_newer_text_to_the_other(pair: tuple[Path, Path]) -> None:
    script, notebook = pair
    before = outputs(notebook)
    script.write_text(script.read_text() + "\n# %% [markdown]\n# From an editor.\n")
    sync(script)
    content = nbformat.read(notebook, as_version=4)
    assert content.cells[-1].source == "From an editor."
    assert outputs(notebook) == before

    content.cells[-1].source = "From a notebook."
    content.cells[-1].metadata = {"tags": ["solution"], "collapsed": True}
    nbformat.write(content, notebook)
    sync(notebook)
    assert script.read_text().endswith('# %% [markdown] tags=["solution"]\n# From a notebook.\n')

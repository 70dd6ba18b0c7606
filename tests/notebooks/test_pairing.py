"""A chapter's script and notebook are a pair for Jupytext: whichever is edited, both change."""

from __future__ import annotations

import asyncio
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupytext import TextFileContentsManager

ROOT = Path(__file__).resolve().parents[2]
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


def done(result: Any) -> Any:
    return asyncio.run(result) if inspect.isawaitable(result) else result


@pytest.mark.parametrize("opened", [".py", ".ipynb"])
def test_jupyterlab_opens_either_and_saves_both(pair: tuple[Path, Path], opened: str) -> None:
    script, notebook = pair
    before, header = outputs(notebook), script.read_text().partition("# %%")[0]
    manager = TextFileContentsManager(root_dir=str(script.parent))
    model = done(manager.get(NAME + opened, type="notebook"))
    code = next(cell for cell in model["content"].cells if cell.cell_type == "code")
    assert any(cell.get("outputs") for cell in model["content"].cells), "outputs come with either"
    code.source += "\nedited = True"
    done(manager.save(model, NAME + opened))
    assert "\nedited = True\n" in script.read_text()
    assert "edited = True" in "".join(c.source for c in nbformat.read(notebook, 4).cells)
    assert outputs(notebook) == before
    assert script.read_text().partition("# %%")[0] == header


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

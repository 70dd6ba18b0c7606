"""Every chapter is a pair, a script and its executed notebook, and has the form of a chapter."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest.mock import Mock, call

import jupytext
import nbformat
import pandas as pd
import pytest
import yaml

from tools import source
from tools.execute import clean

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.py"))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}


def by_name(path: Path) -> str:
    return path.stem


def cells(notebook: nbformat.NotebookNode) -> list[tuple[str, str, list[str], object]]:
    kept = [(c.metadata.get("tags", []), c.metadata.get("mystnb")) for c in notebook.cells]
    return [(c.cell_type, c.source, *k) for c, k in zip(notebook.cells, kept, strict=True)]


def test_no_half_of_a_pair() -> None:
    assert NOTEBOOKS
    assert [path.stem for path in NOTEBOOKS] == [path.stem for path in SCRIPTS]


def test_the_book_holds_every_chapter_in_order() -> None:
    parts = yaml.safe_load((ROOT / "_toc.yml").read_text())["parts"]
    files = [chapter["file"] for part in parts for chapter in part["chapters"]]
    chapters = [file for file in files if file.startswith("notebooks/")]
    assert chapters == [f"notebooks/{path.stem}" for path in NOTEBOOKS]


@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_script_and_notebook_are_the_same_text(script: Path) -> None:
    notebook = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
    assert cells(notebook) == cells(jupytext.read(script)), (
        f"run: python tools/execute.py {script.stem}"
    )


def test_tables_of_pandas_are_called_by_their_place() -> None:
    def written() -> str:
        frames = [pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"b": [3]})]
        outputs = [
            nbformat.v4.new_output("display_data", {"text/html": frame.style.to_html()})
            for frame in frames
        ]
        code = nbformat.v4.new_code_cell("look", execution_count=1, outputs=outputs)
        return nbformat.writes(clean(nbformat.v4.new_notebook(cells=[code], metadata=KERNEL)))

    assert written() == written()
    assert 'id=\\"T_1_row1_col0\\"' in written()
    assert 'id=\\"T_2_row0_col0\\"' in written()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=by_name)
def test_notebook_is_executed_from_top_to_bottom_without_an_error(path: Path) -> None:
    code = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell.outputs]
    assert outputs
    assert [o for o in outputs if o.output_type == "error"] == []
    assert [o.text for o in outputs if o.get("name") == "stderr"] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=by_name)
def test_every_picture_says_in_words_what_it_shows(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    all_cells = [c for c in cells if "remove-cell" not in c.metadata.get("tags", [])]
    for i, cell in enumerate(all_cells):
        pictures = [o for o in cell.get("outputs", []) if "image/png" in o.get("data", {})]
        if pictures and "solution" not in cell.metadata.get("tags", []):
            # Prose follows, at the latest after one cell that prints the picture's numbers.
            kinds = [below.cell_type for below in all_cells[i + 1 : i + 3]]
            assert "markdown" in kinds, f"no prose reads the picture of:\n{cell.source}"
        if "figure" in cell.metadata.get("mystnb", {}):
            # Each output of a cell with a caption gets the caption.
            assert len(cell.outputs) == 1, f"print in a cell of its own:\n{cell.source}"


@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_no_cell_is_long(script: Path) -> None:
    code = [c for c in jupytext.read(script).cells if c.cell_type == "code"]
    code = [c.source for c in code if "remove-cell" not in c.metadata.get("tags", [])]
    assert [source for source in code if len(source.splitlines()) > 25] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_no_visible_cell_is_wide(script: Path) -> None:
    """At a window of 1280 pixels a wider cell scrolls."""
    hidden = {"remove-cell", "hide-cell", "hide-input"}
    code = [c for c in jupytext.read(script).cells if c.cell_type == "code"]
    lines = [
        line
        for cell in code
        if not hidden & set(cell.metadata.get("tags", []))
        for line in cell.source.splitlines()
    ]
    assert [line for line in lines if len(line) > 76] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_chapter_has_its_form(script: Path) -> None:
    all_cells = jupytext.read(script).cells
    text = [c.source for c in all_cells if c.cell_type == "markdown"]
    opening = "\n".join(text).partition("\n## ")[0]  # a picture may stand before the promises
    assert opening.startswith(f"# {script.stem[:2]} "), "the title begins with the number"
    for promise in ("**For**", "**You need**", "**You will be able to**", "**Time**"):
        assert promise in opening
    assert "CPU" in opening
    assert "GPU" in opening
    headings = [s for source in text for s in source.splitlines() if s.startswith("## ")]
    assert [h for h in headings if h in ("## Summary", "## Exercises")] == [
        "## Summary",
        "## Exercises",
    ]
    solutions = [c for c in all_cells if "solution" in c.metadata.get("tags", [])]
    assert 4 <= len(solutions) <= 6
    assert all("hide-cell" in c.metadata.tags for c in solutions)


@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_the_first_cell_says_how_to_install_or_installs_from_the_address_that_is_set(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = next(c for c in jupytext.read(script).cells if c.cell_type == "code")
    assert first.metadata["tags"] == ["remove-cell"]
    shell = Mock()
    exec(first.source, {"get_ipython": lambda: shell})
    assert shell.mock_calls == []
    assert capsys.readouterr() == ("", ""), "elsewhere nothing happens, and nothing is said"
    monkeypatch.setitem(sys.modules, "dicebook", None)
    exec(first.source, {"get_ipython": lambda: shell})
    exec(shell.run_cell.call_args.args[0])
    said = "dicebook is missing: in a clone, run pip install '.[book]'\n"
    assert capsys.readouterr().out == said
    assert "http" not in first.source
    there = "git+https://example.org/you/dicebook"
    installing = first.source.replace(source.NO_ADDRESS, source.installs(there))
    exec(installing, {"get_ipython": lambda: shell})
    assert shell.mock_calls[1:] == [call.run_cell(f"%pip install 'dicebook[book] @ {there}'")]

"""Write the chapters' scripts as Jupytext writes them: python tools/pairs.py [--check].

JupyterLab saves a chapter by Jupytext, so that a script which is already in its form changes in
nothing but what was edited. `make format` calls this; ruff formats the cells of the notebooks.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jupytext
from jupytext.config import load_jupytext_configuration_file
from nbformat import NotebookNode

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
KEPT = ("mystnb", "tags")  # in the order of a notebook's file, which sorts them


def written(notebook: NotebookNode) -> str:
    """The script of a notebook."""
    settings = load_jupytext_configuration_file(str(NOTEBOOKS / "jupytext.toml"))
    form = {"extension": ".py", "format_name": "percent"}
    filters = {
        "notebook_metadata_filter": settings.notebook_metadata_filter,
        "cell_metadata_filter": settings.cell_metadata_filter,
    }
    notebook.metadata["jupytext"] = {"text_representation": form, **filters}
    for cell in notebook.cells:  # not the blank lines of the script that was read
        cell.metadata = {name: cell.metadata[name] for name in KEPT if name in cell.metadata}
    text: str = jupytext.writes(notebook, fmt=form)
    return text


def main(arguments: list[str]) -> int:
    """The command line; with ``--check``, 1 where a script is not in this form."""
    check, outdated = "--check" in arguments, []
    for script in sorted(NOTEBOOKS.glob("[0-9][0-9]_*.py")):
        text = written(jupytext.read(script))
        if text != script.read_text(encoding="utf-8"):
            outdated.append(script.name)
            if not check:
                script.write_text(text, encoding="utf-8")
    if check and outdated:
        print(
            f"not as Jupytext writes them: {', '.join(outdated)}; run: make format", file=sys.stderr
        )
    return 1 if check and outdated else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

"""A project in which the workflow runs in seconds: its chapters only leave a record."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from dicebook.reproduce import grid

# While a file "wait" lies in the project's folder, every run but the first takes its time.
CHAPTER = """\
import json, time
from pathlib import Path

while Path("wait").exists() and any(Path("runs").rglob("record.json")):
    time.sleep(0.05)
parameters = {name: globals()[name] for name in ("corpus", "encoder", "loss", "seed")}
record = {
    "parameters": {**parameters, "loss_options": loss_options},
    "metrics": {"test": {"f1": 80.0}},
}
folder = Path(output_dir) / loss
folder.mkdir(parents=True, exist_ok=True)
(folder / "record.json").write_text(json.dumps(record))
"""


def write_chapter(path: Path, source: str) -> None:
    """A notebook of two cells: empty parameters, and the source."""
    cells = [nbformat.v4.new_code_cell("", id="a"), nbformat.v4.new_code_cell(source, id="b")]
    cells[0].metadata["tags"] = ["parameters"]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)


@pytest.fixture
def project(tmp_path: Path, root: Path) -> Path:
    """A folder with the workflow in it, whose runs and chapters are its own."""
    folder = tmp_path / "project"
    (folder / "notebooks").mkdir(parents=True)
    for name in ("Snakefile", "dicebook", "profiles"):
        (folder / name).symlink_to(root / name)
    for name in {job.chapter for table in grid.TABLES for job in grid.jobs(table, "smoke")}:
        write_chapter(folder / "notebooks" / f"{name}.ipynb", CHAPTER)
    return folder

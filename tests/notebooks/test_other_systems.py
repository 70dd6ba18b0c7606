"""A chapter runs where Unix's own modules are missing, as on Windows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HIDDEN = ("resource", "fcntl")
# What the kernel would do, without a kernel: Jupyter itself is not asked here.
RUN = f"""
import socket, sys
import psutil  # on Linux it asks resource itself
for name in {HIDDEN!r}:
    sys.modules[name] = None
for name in ("AF_UNIX", "SOCK_SEQPACKET"):
    if hasattr(socket, name):
        delattr(socket, name)
import matplotlib
matplotlib.use("Agg")
import nbformat
names = {{"__name__": "__main__"}}
for cell in nbformat.read(sys.argv[1], as_version=4).cells:
    if cell.cell_type == "code":
        exec(cell.source, names)
        if "parameters" in cell.metadata.get("tags", []):
            short = dict(loss="dl", epochs=1, max_steps=2, batch_size=8, train_size=16, eval_size=8)
            short |= dict(reader_epochs=0)
            names.update(short, output_dir=sys.argv[2])
print("done")
"""

pytestmark = pytest.mark.slow


def test_a_chapter_runs_without_the_modules_of_unix(tmp_path: Path) -> None:
    notebook = ROOT / "notebooks" / "09_named_entities.ipynb"
    command = [sys.executable, "-c", RUN, str(notebook), str(tmp_path / "run")]
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=env)
    assert done.stdout.endswith("done\n"), done.stderr[-3000:]
    assert (tmp_path / "run" / "dl" / "record.json").exists()

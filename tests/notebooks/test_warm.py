"""Kernels forked from a warm process are what a fresh kernel is, but for the time they take."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
WARM = ROOT / "notebooks" / "warm.py"
# Asks a kernel for one dictionary.
ASK = """
import json, sys
import nbformat
from nbclient import NotebookClient
cell = nbformat.v4.new_code_cell(sys.argv[1])
notebook = nbformat.v4.new_notebook(cells=[cell])
NotebookClient(notebook, kernel_name="python3").execute()
print(json.dumps([dict(o.get("data", {"text/plain": o.get("text")})) for o in cell.outputs]))
"""
CELL = """
import os, sys
warm = "pandas" in sys.modules and "sympy" in sys.modules
import matplotlib.pyplot as plt, numpy as np, pandas as pd, mine
from tqdm.auto import tqdm
plt.plot([1, 2]); plt.show()
print(repr({
    "warm": warm, "folder": os.getcwd(), "mine": mine.__file__, "variable": os.environ["MINE"],
    "columns": pd.get_option("display.max_columns"), "bar": tqdm.__module__,
    "hash": hash("word"), "paths": [p for p in sys.path if "notebooks" in p],
    "exit": __import__("subprocess").run(["sh", "-c", "exit 3"]).returncode,
}))
"""

pytestmark = pytest.mark.slow


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A module on the path and a variable; no warm process but that of the test."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "mine.py").touch()
    own = {"MINE": "yes", "PYTHONPATH": str(tmp_path / "site"), "PYTHONHASHSEED": "0"}
    kept = {name: value for name, value in os.environ.items() if name != "JUPYTER_PATH"}
    return {
        **kept,
        **own,
        "WARM_PACKAGES": "ipykernel.kernelapp pandas sympy matplotlib.pyplot tqdm.auto",
    }


def test_a_forked_kernel_is_what_a_fresh_one_is(tmp_path: Path, env: dict[str, str]) -> None:
    asked = [sys.executable, "-c", ASK, CELL]
    said = []
    for command in (asked, [sys.executable, str(WARM), *asked]):
        done = subprocess.run(
            command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True, check=True
        )
        said.append(json.loads(done.stdout))
    fresh, warm = (eval(outputs[-1]["text/plain"]) for outputs in said)
    assert (fresh.pop("warm"), warm.pop("warm")) == (False, True)
    assert warm == fresh
    assert (warm["exit"], warm["folder"]) == (3, str(tmp_path))
    assert [sorted(outputs[0]) for outputs in said] == [["image/png", "text/plain"]] * 2


@pytest.mark.parametrize("warm", [True, False])
def test_a_forked_script_ends_as_it_would(warm: bool, tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / "beside.py").write_text("word = 'beside'\n")
    script = tmp_path / "script.py"
    script.write_text("import sys, beside\nprint(beside.word, sys.argv[1:])\nsys.exit(4)\n")
    below = [sys.executable, str(WARM)] if warm else []
    command = [*below, sys.executable, "-S", str(WARM), "--fork", str(script), "a", "b"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (4, "beside ['a', 'b']\n"), done.stderr
    script.write_text("raise ValueError('no')")
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ValueError: no" in done.stderr


def test_a_forked_process_ends_with_whoever_asked(tmp_path: Path, env: dict[str, str]) -> None:
    script, told = tmp_path / "script.py", tmp_path / "told"
    script.write_text(
        "import os, sys, time, pathlib\n"
        "pathlib.Path(sys.argv[1] + '.part').write_text(str(os.getpid()))\n"
        "os.rename(sys.argv[1] + '.part', sys.argv[1])\n"
        "time.sleep(600)\n"
    )
    asking = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-S', {str(WARM)!r}, "
    asking += f"'--fork', {str(script)!r}, {str(told)!r}])\nimport os, time\n"
    asking += f"while not os.path.exists({str(told)!r}): time.sleep(0.05)\np.kill()\n"
    asking += "time.sleep(600)"
    process = subprocess.Popen([sys.executable, str(WARM), sys.executable, "-c", asking], env=env)
    try:
        wait(told.exists)
        forked = int(told.read_text())
        wait(lambda: not psutil.pid_exists(forked))
    finally:
        for child in psutil.Process(process.pid).children(recursive=True):
            child.kill()
        process.wait()


def wait(condition: Callable[[], bool]) -> None:
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("not within a minute")


def test_it_has_the_settings_of_the_chapters() -> None:
    modules = []
    for name in ("execute", "warm"):
        spec = importlib.util.spec_from_file_location(name, ROOT / "notebooks" / f"{name}.py")
        assert spec
        assert spec.loader
        modules.append(importlib.util.module_from_spec(spec))
        spec.loader.exec_module(modules[-1])
    execute, warm = modules
    assert execute.QUIET.items() <= warm.SETTINGS.items()

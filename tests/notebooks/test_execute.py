"""The executor in a small project of its own, called and by make."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADER = """\
# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

"""
CHAPTER = HEADER + (
    '# %% tags=["parameters"]\n'
    "divisor = 2\n\n"
    '# %% mystnb={"image": {"alt": "A number."}}\n'
    "from pathlib import Path\n\n"
    'print(10 / divisor, Path("results/knob.txt").read_text())\n'
)
Run = Callable[..., "Done"]

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("notebooks", "tools", "dicebook", "dicelab", "data_scripts", "results"):
        (tmp_path / folder).mkdir()
    shutil.copy(ROOT / "tools" / "execute.py", tmp_path / "tools")
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "requirements.lock").write_text("")
    (tmp_path / "results" / "knob.txt").write_text("one")
    (tmp_path / "notebooks" / "01_first.py").write_text(CHAPTER)
    return tmp_path


@dataclass
class Done:
    """What a command ended with."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(project: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    spec = importlib.util.spec_from_file_location("execute", project / "tools" / "execute.py")
    assert spec
    assert spec.loader
    execute = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(execute)

    def program(*arguments: str) -> Done:
        try:
            code = execute.main(arguments)
        except SystemExit as error:
            code = error.code
        return Done(code, *capsys.readouterr())

    return program


def printed(path: Path) -> str:
    return nbformat.read(path, as_version=4).cells[-1].outputs[0].text


def test_executing_again_gives_the_same_bytes_and_keeps_what_pages_read(project, run):
    notebook = project / "notebooks" / "01_first.ipynb"
    assert run("01_first").stdout.startswith("01_first: ")
    assert printed(notebook) == "5.0 one\n", "the kernel works in the project's root"
    first = notebook.read_bytes()
    assert run("notebooks/01_first.py").returncode == 0
    assert notebook.read_bytes() == first
    cells = nbformat.read(notebook, as_version=4).cells
    assert [cell.metadata for cell in cells] == [
        {"tags": ["parameters"]},
        {"mystnb": {"image": {"alt": "A number."}}},
    ]


def test_make_executes_what_is_stale_and_only_that(project: Path) -> None:
    target = "_build/src/notebooks/01_first.ipynb"

    def make() -> str:
        command = ["make", target, f"BIN={Path(sys.executable).parent}"]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "01_first: " in make()
    assert "is up to date" in make()
    (project / "results" / "knob.txt").write_text("two")
    assert "01_first: " in make()
    assert printed(project / target) == "5.0 two\n"


def test_a_notebook_edited_after_its_script_is_not_overwritten(project: Path, run: Run) -> None:
    script = project / "notebooks" / "01_first.py"
    path = script.with_suffix(".ipynb")
    run("01_first")
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[0].source = "divisor = 5"
    nbformat.write(notebook, path)
    edited = path.read_bytes()

    refused = run("01_first")
    assert refused.returncode == 1
    assert "01_first.ipynb was edited after" in refused.stderr
    assert "01_first.py, and executing would lose its edits" in refused.stderr
    assert "jupytext --sync" in refused.stderr
    assert path.read_bytes() == edited

    script.touch()  # as after an edit of the script: the newer text holds
    assert run("01_first").returncode == 0
    assert printed(path) == "5.0 one\n"
    path.write_bytes(edited)
    assert run("01_first", "--force").returncode == 0
    assert printed(path) == "5.0 one\n"


def test_a_failure_names_the_cell_and_leaves_the_notebook(project: Path, run: Run) -> None:
    notebook = project / "notebooks" / "01_first.ipynb"
    run("01_first")
    good = notebook.read_bytes()
    (project / "notebooks" / "01_first.py").write_text(CHAPTER.replace("= 2", "= 0"))
    failed = run("01_first")
    assert failed.returncode == 1
    assert "01_first failed in cell 2 (In [2]): ZeroDivisionError" in failed.stderr
    assert notebook.read_bytes() == good
    assert (project / "_build" / "failed" / "01_first.ipynb").exists()


SECTIONED = HEADER + (
    "# %% [markdown]\n# # 01 First\n# ## 1.1 One\n\n"
    "# %%\nvalue = 1\n\n"
    "# %%\nimport torch\n\ntorch.manual_seed(0)\nother = 2\n\n"
    "# %% [markdown]\n# ## 1.10 Ten\n\n"
    "# %%\nprint(value, other, round(torch.rand(1).item(), 4))\n"
)
CHECKS = (
    "# Of 01.\n\nimport torch\n\n# %% 1.1\n"
    "value += 1\ntorch.rand(5)\nassert (value, other) == (2, 2)\n"
)


def test_checks_run_at_the_end_of_their_section_and_leave_no_trace(project: Path, run: Run) -> None:
    (project / "notebooks" / "01_first.py").write_text(SECTIONED)
    assert run("01_first").returncode == 0
    plain = (project / "notebooks" / "01_first.ipynb").read_bytes()
    (project / "notebooks" / "checks").mkdir()
    checks = project / "notebooks" / "checks" / "01_first.py"
    checks.write_text(CHECKS)
    assert run("01_first").returncode == 0
    assert (project / "notebooks" / "01_first.ipynb").read_bytes() == plain

    run("01_first", "--weave", "--out", str(project / "results"))
    woven = nbformat.read(project / "results" / "01_first.ipynb", as_version=4)
    assert [c.metadata.get("tags") == ["check"] for c in woven.cells].index(True) == 3

    checks.write_text(CHECKS.replace("(2, 2)", "(1, 2)"))
    failed = run("01_first")
    assert failed.returncode == 1
    assert "AssertionError" in failed.stderr
    assert "# %% 1.1\n" in failed.stderr, "the check and its section"
    checks.write_text(CHECKS.replace("1.1\n", "1\n"))
    assert "found `# %% 1`, the beginning of 0 headings" in run("01_first").stderr

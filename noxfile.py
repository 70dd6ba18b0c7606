"""The losses on the lowest and the newest torch, and on every supported Python.

`make versions` runs all of them and writes docs/versions.csv, a table of the page "API reference".
uv brings a Python that is missing, and shares what the environments have in common.
"""

import csv
import platform
import xml.etree.ElementTree as ET
from pathlib import Path

import nox

PROJECT = nox.project.load_toml("pyproject.toml")["project"]
PYTHONS = [c.split(" :: ")[-1] for c in PROJECT["classifiers"] if " :: Python :: 3." in c]
(FLOOR,) = (d.removeprefix("torch>=") for d in PROJECT["dependencies"] if d.startswith("torch>="))
TABLE = Path(__file__).parent / "docs" / "versions.csv"
NEEDED = [
    "accelerate",
    "hypothesis",
    "pytest",
    "pytest-xdist",
    "scikit-learn",
    "setuptools",  # torch 2.9 compiles with it, and asks for it on Python 3.12 and later alone
    "sympy",
    "transformers",
]

nox.options.default_venv_backend = "uv"


@nox.session(python=PYTHONS)
@nox.parametrize("torch", ["lowest", "newest"])
def versions(session: nox.Session, torch: str) -> None:
    """The tests of the losses, torch.compile with fullgraph among them."""
    session.install(f"torch=={FLOOR}.0" if torch == "lowest" else f"torch>={FLOOR}", *NEEDED)
    session.install("--no-deps", "--editable", ".")
    report = Path(session.create_tmp()) / "report.xml"
    session.run("pytest", "tests/losses", f"--junitxml={report}", env={"OMP_NUM_THREADS": "1"})
    query = "import platform, torch; print(platform.python_version(), torch.__version__)"
    python, version = str(session.run("python", "-c", query, silent=True)).split()
    (suite,) = ET.parse(report).getroot()
    skipped = int(suite.attrib["skipped"])
    passed = int(suite.attrib["tests"]) - skipped
    enter([python, version.partition("+")[0], passed, skipped, platform.machine()])


def enter(row: list[object]) -> None:
    """Write a row into the table, in the place of an older one of the same two versions."""
    header = ["Python", "torch", "Tests passed", "Skipped", "Machine"]
    old = list(csv.reader(TABLE.open()))[1:] if TABLE.exists() else []
    rows = [*(kept for kept in old if kept[:2] != row[:2]), [str(cell) for cell in row]]
    rows.sort(key=lambda cells: [[int(part) for part in cell.split(".")] for cell in cells[:2]])
    with TABLE.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])

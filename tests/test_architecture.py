"""The rooms of the package: arrows go one way, and the house stays small."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests import checkout

ROOT = Path(__file__).parents[1]

#: The most lines of Python that a room may hold; docs/architecture.md says how one gets more.
LINES = {
    "dicebook": 4_340,  # aim: 3,800
    "dicelab": 18_860,  # aim: 14,500
    "notebooks": 16_600,  # aim: 16,500
    "data_scripts": 2_090,  # aim: 2,100
    "reproduce": 2_270,  # aim: 2,100
    "studies": 1_450,  # aim: 1,300
    "tools": 1_600,  # aim: 1,600
    "benchmarks": 510,  # aim: 500
    "tests": 18_720,  # aim: 18,000
}


@pytest.mark.parametrize("room", LINES)
def test_a_room_keeps_its_budget(room: str) -> None:
    files = (file for file in checkout.tracked(f"{room}/") if file.endswith(".py"))
    held = sum(len((ROOT / file).read_text(encoding="utf-8").splitlines()) for file in files)
    assert held <= LINES[room], (
        f"{room}: expected {LINES[room]:,} lines at most, got {held:,}; take something out, or "
        "raise the budget as docs/architecture.md says"
    )


def test_every_room_has_a_budget() -> None:
    rooms = {file.partition("/")[0] for file in checkout.tracked("") if file.endswith(".py")}
    assert rooms == {*LINES, "noxfile.py"}


@pytest.fixture(scope="module")
def house() -> ModuleType:
    spec = importlib.util.spec_from_file_location("house", ROOT / "tools" / "house.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_room_imports_from_the_floors_below_alone(house: ModuleType) -> None:
    floor = {room: height for height, floor in enumerate(house.FLOORS) for room in floor}
    for room, (_, imports) in house.rooms().items():
        assert room in floor, f"tools/house.py gives no floor to {room}"
        above = {other for other in imports if floor[other] >= floor[room]}
        assert not above, f"{room} imports from {above}, which is not below it"


def test_the_library_imports_torch_alone() -> None:
    files = list((ROOT / "dicebook").rglob("*.py"))
    for path in files:
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(("import ", "from ")):
                package = line.split()[1].split(".")[0]
                assert package in {"torch", "dicebook"} | set(sys.stdlib_module_names), path


def test_nothing_below_the_workflow_knows_of_it(house: ModuleType) -> None:
    above = {"reproduce", "studies", "benchmarks", "tools", "tests"}
    for package in house.PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            modules = house.imported(ast.parse(path.read_text(encoding="utf-8")))
            assert not above & {module.split(".")[0] for module in modules}, path


def test_nothing_is_imported_that_windows_lacks(house: ModuleType) -> None:
    of_unix = {"fcntl", "grp", "pwd", "resource", "termios"}
    for package in house.PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            assert not of_unix & house.imported(ast.parse(path.read_text(encoding="utf-8"))), path


@pytest.mark.slow
def test_the_package_waits_for_torch_and_the_losses_for_nothing_else() -> None:
    code = """
import sys
import dicebook, dicelab.corpora.registry, reproduce.grid
assert "torch" not in sys.modules
loss = dicebook.DiceLoss()
assert "torch" in sys.modules
heavy = {"transformers", "datasets", "pandas", "scipy", "sklearn", "matplotlib", "pydantic"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
from dicebook import *
assert type(loss) is DiceLoss and callable(diagnose) and {*dicebook.__all__} <= {*globals()}
assert not hasattr(dicebook, "nothing")
assert "fit" not in dir(dicebook) and not heavy & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)

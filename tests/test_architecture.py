"""The rooms of the package: arrows go one way, and the house stays small."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def house() -> ModuleType:
    spec = importlib.util.spec_from_file_location("house", ROOT / "docs" / "house.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_room_imports_from_the_floors_below_alone(house: ModuleType) -> None:
    floor = {room: height for height, floor in enumerate(house.FLOORS) for room in floor}
    for room, (_, imports) in house.rooms().items():
        assert room in floor, f"docs/house.py gives no floor to {room}"
        above = {other for other in imports if floor[other] >= floor[room]}
        assert not above, f"{room} imports from {above}, which is not below it"


def test_the_losses_import_torch_alone(house: ModuleType) -> None:
    assert house.rooms()["losses"][1] == set()
    for path in (ROOT / "dicebook" / "losses").glob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(("import ", "from ")):
                package = line.split()[1].split(".")[0]
                assert package in {"torch", "dicebook"} | set(sys.stdlib_module_names)


def test_an_arrow_upwards_is_found(house: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "losses").mkdir()
    (tmp_path / "losses" / "a.py").write_text("from dicebook import toy\nimport torch\n")
    (tmp_path / "toy.py").write_text("from dicebook.losses.a import b\n")
    assert house.rooms(tmp_path) == {"losses": (2, {"toy"}), "toy": (1, {"losses"})}


def test_the_losses_stand_on_five_floors(house: ModuleType) -> None:
    files = house.rooms(ROOT / "dicebook" / "losses", "dicebook.losses")

    def floor(name: str) -> int:
        return 1 + max(map(floor, files[name][1]), default=0)

    assert max(map(floor, files)) <= 5
    assert floor("equations") == 1


def test_the_house_stays_small(house: ModuleType) -> None:
    files = list((ROOT / "dicebook" / "losses").glob("*.py"))
    assert len(files) <= 10
    assert house.rooms()["losses"][0] <= 1700
    assert sum(lines for lines, _ in house.rooms().values()) <= 11_400
    assert sum(map(lines_of_code, (ROOT / "dicebook").rglob("*.py"))) <= 7_000


def lines_of_code(path: Path) -> int:
    """Lines that are neither blank nor a comment nor of a docstring."""
    text = path.read_text(encoding="utf-8")
    told: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if documented and ast.get_docstring(node, clean=False) is not None:
            told |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(text.splitlines(), start=1)
    return sum(
        number not in told and bool(line.strip()) and not line.strip().startswith("#")
        for number, line in lines
    )


def test_the_package_waits_for_torch_and_the_losses_for_nothing_else() -> None:
    code = """
import sys
import dicebook, dicebook.corpora.registry, dicebook.reproduce.grid
assert "torch" not in sys.modules
loss = dicebook.DiceLoss()
assert "torch" in sys.modules
heavy = {"transformers", "datasets", "pandas", "scipy", "sklearn", "matplotlib", "pydantic"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
from dicebook import *
assert type(loss) is DiceLoss and callable(diagnose) and {*dicebook.__all__} <= {*globals()}
assert not hasattr(dicebook, "nothing")
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)

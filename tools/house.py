"""The picture of the package's rooms: python tools/house.py writes _static/house.svg."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.patches import Patch

ROOT = Path(__file__).parents[1]
PACKAGES = ("dicebook", "dicelab", "data_scripts")
Room = tuple[int, set[str]]
# From the ground up; a room may import from the floors below its own, never from above. An empty
# name is an empty place in the picture.
FLOORS = [
    ["losses", "decision", "diagnosis"],
    ["tables", "own_loss", "", "", "atomic", "extras", "toy", "claims"],
    ["training", "corpora", "metrics"],
    ["tasks", "records", ""],
    ["", "figures", "data_scripts"],
    ["fit", "", "chapters"],
    ["fit_command", "trying"],
    ["", "__main__", ""],
]


def rooms(root: Path = ROOT, packages: Sequence[str] = PACKAGES) -> dict[str, Room]:
    """The rooms of some packages: lines, and the other rooms that each imports from.

    A room is a module or a sub-package; `data_scripts` is one room. ``import_module`` with a name
    in quotes is an import, too.
    """
    names: dict[str, str] = {}
    for package in packages:
        for path in sorted((root / package).glob("*")):
            name = path.stem
            if package == "data_scripts":
                names[package] = package
            elif name != "__init__" and (path.suffix == ".py" or (path / "__init__.py").exists()):
                names[f"{package}.{name}"] = name
    house: dict[str, Room] = {}
    for dotted, room in names.items():
        place = root.joinpath(*dotted.split("."))
        files = place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]
        texts = [path.read_text(encoding="utf-8") for path in files]
        modules = {module for text in texts for module in imported(ast.parse(text))}
        lead = {names.get(".".join(m.split(".")[: dotted_length(m)]), "") for m in modules}
        # What is no room of its own is a loss, passed on by the package.
        lead |= {"losses"} & set(names.values()) if OURS & modules else set()
        house[room] = (sum(len(text.splitlines()) for text in texts), lead - {room, ""})
    return dict(sorted(house.items()))


OURS = {"dicebook"}


def dotted_length(module: str) -> int:
    """How many words of a module's name are its room's."""
    return 1 if module.split(".")[0] == "data_scripts" else 2


def imported(tree: ast.AST) -> set[str]:
    """The modules that a module imports, those in an ``import_module`` with quotes among them."""
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules |= {node.module} | {f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Import):
            modules |= {name.name for name in node.names}
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.split(".")[0] in PACKAGES
            and node.value.replace(".", "").isidentifier()
        ):
            modules.add(node.value)
    return modules


def draw(path: Path) -> None:
    """Boxes on their floors, with an arrow for each import that no longer way implies."""
    house = rooms()
    boxes = {}
    figure, axis = plt.subplots(figsize=(9, 6.6), layout="constrained")
    for height, floor in enumerate(FLOORS):
        for place, room in enumerate(floor):
            if not room:
                continue
            lines = house[room][0]
            boxes[room] = axis.text(
                (place + 1) / (len(floor) + 1),
                height,
                f"{room}\n{lines:,} lines",
                ha="center",
                va="center",
                fontsize=10,
                linespacing=1.3,
                bbox={"boxstyle": "round,pad=0.4", **_look(room)},
            )
    axis.set_xlim(0, 1)
    axis.set_ylim(-0.6, len(FLOORS) - 0.4)
    axis.axis("off")
    figure.canvas.draw()
    for room, (_, imports) in house.items():
        implied = {low for imported in imports for low in below(house, imported)}
        for imported in sorted(imports - implied):
            axis.annotate(
                "",
                xy=boxes[imported].get_position(),
                xytext=boxes[room].get_position(),
                arrowprops={
                    "arrowstyle": "-|>",
                    "color": "#555555",
                    "patchA": boxes[room].get_bbox_patch(),
                    "patchB": boxes[imported].get_bbox_patch(),
                    "shrinkA": 1,
                    "shrinkB": 2,
                },
                zorder=0,
            )
    kinds = [(name, _look(room)) for name, room in LEGEND.items()]
    patches = [
        Patch(label=name, facecolor=look["facecolor"], edgecolor=look["edgecolor"])
        for name, look in kinds
    ]
    axis.legend(handles=patches, loc="upper left", frameon=False, fontsize=11)
    plt.rcParams["svg.hashsalt"] = "house"
    figure.savefig(path, metadata={"Date": None}, facecolor="white")
    # A space has no outline; SVG wants one of every path.
    drawn = re.sub(r'(<path id="[^"]*")( transform)', r'\1 d="M 0 0"\2', path.read_text("utf-8"))
    path.write_text(drawn, encoding="utf-8")


def below(house: dict[str, Room], room: str) -> set[str]:
    """All that a room imports, and what that imports."""
    imports = house[room][1]
    return imports.union(*(below(house, imported) for imported in imports))


LEGEND = {"dicebook": "losses", "dicelab": "fit", "data_scripts": "data_scripts"}


def _look(room: str) -> dict[str, str]:
    if room in FLOORS[0]:
        return {"facecolor": "#fdebd0", "edgecolor": "#b35900"}
    if room == "data_scripts":
        return {"facecolor": "#e6f4ea", "edgecolor": "#00734d"}
    return {"facecolor": "#e8f1f8", "edgecolor": "#0072b2"}


if __name__ == "__main__":
    draw(ROOT / "_static" / "house.svg")

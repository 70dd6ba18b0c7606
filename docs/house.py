"""The picture of the package's rooms: python docs/house.py writes _static/house.svg."""

from __future__ import annotations

import ast
from pathlib import Path

import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
# From the ground up; a room may import from the floors below its own, never from above.
FLOORS = [
    ["losses", "diagnosis", "watchdog", "atomic", "claims", "extras", "toy"],
    ["training", "corpora"],
    ["tasks"],
    ["reproduce"],
    ["figures", "__main__"],
]


def rooms(
    package: Path = ROOT / "dicebook", name: str = "dicebook"
) -> dict[str, tuple[int, set[str]]]:
    """The rooms of a package: lines of code, and the other rooms that each imports from."""
    found: dict[str, tuple[int, set[str]]] = {}
    for path in package.rglob("*.py"):
        room = path.relative_to(package).parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        text = path.read_text(encoding="utf-8")
        lines, imports = found.get(room, (0, set()))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module == name:
                # What is no room of its own is a loss, passed on by the package.
                names = {imported.name for imported in node.names}
                rooms = {
                    room
                    for room in names
                    if (package / room).exists() or (package / f"{room}.py").exists()
                }
                imports |= rooms | ({"losses"} if names - rooms else set())
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{name}."):
                imports.add(str(node.module).removeprefix(f"{name}.").split(".")[0])
        found[room] = (lines + len(text.splitlines()), imports - {room})
    return dict(sorted(found.items()))


def draw(path: Path) -> None:
    """Boxes on their floors, an arrow for each import that no longer way implies."""
    house = rooms()
    spots = {}
    figure, axis = plt.subplots(figsize=(9, 4.6), layout="constrained")
    for height, floor in enumerate(FLOORS):
        here = [room for room in floor if room in house]
        for place, room in enumerate(here):
            x, y = (place + 1) / (len(here) + 1), height
            spots[room] = (x, y)
            box = {"boxstyle": "round,pad=0.45", "facecolor": "#e8f1f8", "edgecolor": "#0072b2"}
            axis.text(x, y, room, ha="center", va="center", fontsize=12, bbox=box)
    for room, (_, imports) in house.items():
        implied = {low for other in imports for low in house[other][1]}
        for other in sorted(imports - implied):
            axis.annotate(
                "",
                xy=spots[other],
                xytext=spots[room],
                arrowprops={
                    "arrowstyle": "->",
                    "color": "#555555",
                    "shrinkA": 16,
                    "shrinkB": 26,
                    "connectionstyle": "arc3,rad=0.04",
                },
                zorder=0,
            )
    axis.set_xlim(0, 1)
    axis.set_ylim(-0.6, len(FLOORS) - 0.4)
    axis.axis("off")
    plt.rcParams["svg.hashsalt"] = "house"
    figure.savefig(path, metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    draw(ROOT / "_static" / "house.svg")

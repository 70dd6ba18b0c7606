"""Draw the picture of the front page: python -m tools.answer (writes _static/answer-*.png).

What dice loss and class weights add to the F1 of cross entropy, from the records of the evidence,
for light pages and for dark ones. The picture's metadata holds what it shows, as text.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt

from dicelab.figures import style, use_style
from dicelab.records import searched
from dicelab.records.analysis import Evidence, effect, less_ce

ROOT = Path(__file__).resolve().parent.parent
ARMS = {"dice": "dice loss", "wce": "class weights"}
HEADS = {
    "argmax": "27 tasks, frozen encoder,\nat argmax",
    "tuned": "thresholds tuned",
}
LAYERS = (
    ("CrossNER politics, all layers,\n68 steps", "crossner_politics", (0, 4)),
    ("136 steps", "crossner_politics", (0, 8)),
    ("WNUT 2017, all layers,\n128 steps", "wnut17", (1000, 4)),
    ("more sentences, 388 steps", "wnut17", (0, 4)),
)
COLOURS = {"light": ("white", "0.15", "0.8"), "dark": ("#121212", "0.92", "0.35")}


class Gain(NamedTuple):
    """F1 less that of cross entropy, in points, with its 95% interval."""

    where: str
    arm: str
    mean: float
    low: float
    high: float


def gains(results: Path) -> list[Gain]:
    """The gains that the picture shows, from top to bottom.

    Args:
        results: The records of all studies.
    """
    found = []
    heads = searched.read_tasks(results / "evidence_2")
    layers = Evidence.read_fine_tuned(results / "evidence")
    for how, where in HEADS.items():
        for arm in ARMS:
            mean = searched.less_start(heads, arm, how).over_all
            found.append(Gain(where, arm, mean.mean, mean.low, mean.high))
    for where, task, cell in LAYERS:
        for arm in ARMS:
            e = effect(layers[cell], less_ce(arm, "tuned"), task)
            assert e is not None
            found.append(Gain(where, arm, e.mean, e.low, e.high))
    return found


def described(shown: list[Gain]) -> str:
    """The picture in words."""
    rows = [
        f"{' '.join(g.where.split())}, {ARMS[g.arm]} {g.mean:+.1f} [{g.low:+.1f}, {g.high:+.1f}]"
        for g in shown
    ]
    return "F1 less that of cross entropy, points, 95% intervals: " + "; ".join(rows) + "."


def draw(shown: list[Gain], colours: tuple[str, str, str], out: Path) -> None:
    """Draw the gains as intervals, one row a setting and one colour a loss."""
    paper, ink, grid = colours
    use_style()
    plt.rcParams.update(
        dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), ink)
        | {"figure.facecolor": paper, "savefig.facecolor": paper, "axes.facecolor": paper}
        | {"grid.color": grid, "axes.edgecolor": ink}
    )
    figure, ax = plt.subplots(figsize=(6.4, 3.3))
    wheres = list(dict.fromkeys(g.where for g in shown))
    for g in shown:
        row = wheres.index(g.where) + 0.16 * (1 if g.arm == "wce" else -1)
        colour = style(g.arm if g.arm == "wce" else "dl")["color"]
        ax.plot([g.low, g.high], [row, row], color=colour, linewidth=2.4)
        name = ARMS[g.arm] if g.where == wheres[0] else None
        ax.plot(
            g.mean, row, "o" if g.arm == "dice" else "D", color=colour, markersize=7, label=name
        )
    ax.axvline(0, color=ink, linewidth=1)
    ax.set_yticks(range(len(wheres)), wheres)
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("points of F1 more than cross entropy, 95% interval")
    figure.legend(loc="outside upper right", ncols=2)
    figure.savefig(out, metadata={"Description": described(shown), "Software": None})
    plt.close(figure)


def main() -> int:
    """Draw both pictures."""
    shown = gains(ROOT / "results")
    for name, colours in COLOURS.items():
        draw(shown, colours, ROOT / "_static" / f"answer-{name}.png")
    print(described(shown))
    return 0


if __name__ == "__main__":
    sys.exit(main())

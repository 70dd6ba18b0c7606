"""Draw the picture of the front page: python -m tools.answer (writes _static/answer-*.png).

The F1 of dice loss, of class weights and of cross entropy with its bias near 0, minus that of cross
entropy started at the log prior, from the records of the evidence, for light pages and for dark
ones. The picture's metadata says what it shows, as text.

The label fear of GoEmotions is left out: dice ran there in one form and from one start alone.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt

from dicelab.figures import style, use_style
from dicelab.records import searched
from dicelab.records.speed import faster, read_corpora

ROOT = Path(__file__).resolve().parent.parent
ARMS = {"dice": "dice loss", "wce": "class weights", "ce": "cross entropy"}  # bias near 0
MARKERS = {"dice": "o", "wce": "D", "ce": "s"}
HEADS = {
    "argmax": "27 tasks, frozen encoder,\nat argmax",
    "tuned": "27 tasks, frozen encoder,\nthreshold tuned",
}
# Of runs of 19 to 614 steps, by the mean height of F1 over the logarithm of the steps.
LAYERS = {
    "crossner_politics": "CrossNER politics (entities),\nall layers, tuned",
    "wnut17": "WNUT 2017 (entities),\nall layers, tuned",
    "mrpc": "MRPC (yes or no),\nall layers, tuned",
}
EDGE = 8.0  # points of F1 that the picture shows to either side
XLABEL = "F1 minus that of cross entropy started at the log prior, points, 95% interval"
COLOURS = {"light": ("white", "0.15", "0.8"), "dark": ("#121212", "0.92", "0.35")}


class Gain(NamedTuple):
    """F1 minus that of cross entropy from the prior, in points, with its 95% interval."""

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
    for how, where in HEADS.items():
        for arm in ARMS:
            mean = searched.less_start(heads, arm, how).over_all
            found.append(Gain(where, arm, mean.mean, mean.low, mean.high))
    layers = read_corpora(results / "evidence_2")
    for task, where in LAYERS.items():
        for arm in ARMS:
            e = faster(layers[task], arm, "ce_start", "tuned")
            assert e is not None
            found.append(Gain(where, arm, e.mean, e.low, e.high))
    return found


def described(shown: list[Gain]) -> str:
    """The picture in words."""
    rows = [
        f"{' '.join(g.where.split())}, {ARMS[g.arm]} {g.mean:+z.1f} [{g.low:+z.1f}, {g.high:+z.1f}]"
        for g in shown
    ]
    return f"{XLABEL}. Bias near 0 at the start: " + "; ".join(rows) + "."


def draw(shown: list[Gain], colours: tuple[str, str, str], out: Path) -> None:
    """Draw the gains as intervals, one row a setting and one colour a loss."""
    paper, ink, grid = colours
    use_style()
    plt.rcParams.update(
        dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), ink)
        | {"figure.facecolor": paper, "savefig.facecolor": paper, "axes.facecolor": paper}
        | {"grid.color": grid, "axes.edgecolor": ink}
    )
    figure, ax = plt.subplots(figsize=(6.8, 3.9))
    wheres = list(dict.fromkeys(g.where for g in shown))
    for g in shown:
        row = wheres.index(g.where) + 0.24 * (list(ARMS).index(g.arm) - 1)
        colour = ink if g.arm == "ce" else style(g.arm)["color"]
        name = ARMS[g.arm] if g.where == wheres[0] else None
        ax.plot([g.low, g.high], [row, row], color=colour, linewidth=2.2)
        ax.plot(g.mean, row, MARKERS[g.arm], color=colour, markersize=6, label=name)
    ax.set_xlim(-EDGE, EDGE)
    ax.axvline(0, color=ink, linewidth=1)
    ax.set_yticks(range(len(wheres)), wheres)
    ax.set_ylim(len(wheres) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel(XLABEL, fontsize=9.5, loc="right")
    title = "all three with their output bias near 0 at the start"
    figure.legend(loc="outside upper center", ncols=3, fontsize=10, title=title)
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

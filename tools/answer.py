"""Draw the picture of the front page: python -m tools.answer (writes _static/answer-*.png).

The F1 of dice loss, of class weights and of cross entropy with its bias near 0, minus that of cross
entropy started at the log prior, from the records of the evidence, for light pages and for dark
ones. The picture's metadata says what it shows, as text.

Of yes-or-no tasks dice loss is that of the positive class alone. A mean beyond the picture's left
edge is an arrow there, with its number.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt

from dicelab.figures import style, use_style
from dicelab.records import searched
from dicelab.records.speed import faster, read_corpora

ROOT = Path(__file__).resolve().parent.parent
ARMS = {
    "dice_start": "dice loss, bias at log prior",
    "dice": "dice loss, bias near 0",
    "wce": "class weights, bias near 0",
    "ce": "cross entropy, bias near 0",
}
MARKERS = {"dice_start": "o", "dice": "o", "wce": "D", "ce": "s"}  # filled from the prior
HEADS = {
    "argmax": "27 tasks, frozen encoder,\nat argmax",
    "tuned": "27 tasks, frozen encoder,\nthreshold tuned",
}
# Of runs of 19 to 307 steps, by the mean height of F1 over the logarithm of the steps.
LAYERS = {
    "crossner_politics": "CrossNER politics (entities),\nall layers, tuned",
    "wnut17": "WNUT 2017 (entities),\nall layers, tuned",
    "mrpc": "MRPC (yes or no),\nall layers, tuned",
    "goemotions_fear": "GoEmotions fear (rare),\nall layers, tuned",
}
EDGES = (-10.5, 8.0)  # points of F1 that the picture shows
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
    every_gain = []
    heads = searched.read_tasks(results / "evidence_2")
    for how, where in HEADS.items():
        for arm in ARMS:
            mean = searched.pooled_minus_start(heads, arm, how).over_all
            every_gain.append(Gain(where, arm, mean.mean, mean.low, mean.high))
    layers = read_corpora(results / "evidence_2")
    for task, where in LAYERS.items():
        for arm in ARMS:
            e = faster(layers[task], arm, "ce_start", "tuned")
            assert e is not None
            every_gain.append(Gain(where, arm, e.mean, e.low, e.high))
    return every_gain


def described(intervals: list[Gain]) -> str:
    """The picture in words."""
    rows = [
        f"{' '.join(g.where.split())}, {ARMS[g.arm]}: "
        f"{g.mean:+z.1f} [{g.low:+z.1f}, {g.high:+z.1f}]"
        for g in intervals
    ]
    return f"{XLABEL}. " + "; ".join(rows) + "."


def draw(intervals: list[Gain], colours: tuple[str, str, str], out: Path) -> None:
    """Draw the gains as intervals, one row a setting and one colour a loss."""
    paper, ink, grid = colours
    use_style()
    look: dict[Any, Any] = {
        **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), ink),
        **dict.fromkeys(("figure.facecolor", "savefig.facecolor", "axes.facecolor"), paper),
        **{"grid.color": grid, "axes.edgecolor": ink},
    }
    plt.rcParams.update(look)
    figure, ax = plt.subplots(figsize=(6.8, 5.2))
    wheres = list(dict.fromkeys(g.where for g in intervals))
    for g in intervals:
        arms = [gain.arm for gain in intervals if gain.where == g.where]
        row = wheres.index(g.where) + 0.2 * (arms.index(g.arm) - (len(arms) - 1) / 2)
        colour = ink if g.arm == "ce" else style(g.arm)["color"]
        if g.mean < EDGES[0]:
            tip, tail = (EDGES[0], row), (EDGES[0] + 1.2, row)
            arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 2.2, "shrinkB": 0}
            ax.annotate("", tip, tail, arrowprops=arrow)
            number = f"{g.mean:.1f}".replace("-", "\u2212")
            ax.text(EDGES[0] + 1.35, row, number, va="center", color=ink, fontsize=9.5)
            continue
        ax.plot([g.low, g.high], [row, row], color=colour, linewidth=2.2)
        fill = colour if g.arm == "dice_start" else paper
        ax.plot(g.mean, row, MARKERS[g.arm], color=colour, markersize=6.5, markerfacecolor=fill)
    ax.set_xlim(*EDGES)
    ax.set_xticks(range(-10, 9, 2))
    ax.axvline(0, color=ink, linewidth=1)
    ax.set_yticks(range(len(wheres)), wheres)
    ax.set_ylim(len(wheres) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel(XLABEL, fontsize=9.5, loc="right")
    handles = []
    for arm, name in ARMS.items():
        colour = ink if arm == "ce" else style(arm)["color"]
        fill = colour if arm == "dice_start" else paper
        look = {"color": colour, "markersize": 6.5, "markerfacecolor": fill}
        handles += ax.plot([], [], MARKERS[arm], label=name, linestyle="-", linewidth=2.2, **look)
    figure.legend(handles=handles, loc="outside upper center", ncols=2, fontsize=10)
    figure.savefig(out, metadata={"Description": described(intervals), "Software": None})
    plt.close(figure)


def main() -> int:
    """Draw both pictures."""
    intervals = gains(ROOT / "results")
    for name, colours in COLOURS.items():
        draw(intervals, colours, ROOT / "_static" / f"answer-{name}.png")
    print(described(intervals))
    return 0


if __name__ == "__main__":
    sys.exit(main())

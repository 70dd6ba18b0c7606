"""Draw the picture of the front page: python -m tools.answer (writes _static/answer-*.png).

The F1 of dice loss, of class weights and of cross entropy with its bias near 0, minus that of cross
entropy started at the log prior, from the records of the evidence, for light pages and for dark
ones. The picture's metadata says what it shows, as text.

Of yes-or-no tasks dice loss is that of the positive class alone. A mean beyond a panel's left edge
is an arrow there, with its number.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from dicelab.figures import style, use_style
from dicelab.records import searched
from dicelab.records.speed import LONG, SHORT, faster, read_corpora

ROOT = Path(__file__).resolve().parent.parent
ARMS = {
    "dice_start": "dice loss, bias at log prior",
    "dice": "dice loss, bias near 0",
    "wce": "class weights, bias near 0",
    "ce": "cross entropy, bias near 0",
}
MARKERS = {"dice_start": "o", "dice": "o", "wce": "D", "ce": "s"}  # filled from the prior
# The panels, and the rows of each: above with a frozen encoder, below with all layers trained.
HEADS = {"argmax": "Frozen encoder, at argmax", "tuned": "Frozen encoder, threshold tuned"}
TASKS = "mean of 27 tasks"
LENGTHS = {
    SHORT: f"All layers, {SHORT} steps, threshold tuned",
    LONG: f"All layers, {LONG} steps, threshold tuned",
}
LAYERS = {
    "crossner_politics": "CrossNER politics\n(entities)",
    "wnut17": "WNUT 2017\n(entities)",
    "mrpc": "MRPC\n(yes or no)",
    "goemotions_fear": "GoEmotions, fear\n(rare)",
}
EDGES = (-12.5, 15.0)  # points of F1 that a panel shows
XLABEL = "F1 minus that of cross entropy started at the log prior, points, 95% interval"
COLOURS = {"light": ("white", "0.15", "0.8"), "dark": ("#121212", "0.92", "0.35")}


class Gain(NamedTuple):
    """F1 minus that of cross entropy from the prior, in points, with its 95% interval."""

    panel: str
    where: str
    arm: str
    mean: float
    low: float
    high: float


def gains() -> list[Gain]:
    """The gains that the picture shows, panel by panel, from top to bottom."""
    every_gain = []
    heads = searched.read_tasks()
    for how, panel in HEADS.items():
        for arm in ARMS:
            mean = searched.pooled_minus_start(heads, arm, how).over_all
            every_gain.append(Gain(panel, TASKS, arm, mean.mean, mean.low, mean.high))
    layers = read_corpora()
    for steps, panel in LENGTHS.items():
        for task, where in LAYERS.items():
            for arm in ARMS:
                e = faster(layers[task], arm, "ce_start", "tuned", after=steps)
                assert e is not None
                every_gain.append(Gain(panel, where, arm, e.mean, e.low, e.high))
    return every_gain


def described(intervals: list[Gain]) -> str:
    """The picture in words."""
    rows = [
        f"{g.panel}, {' '.join(g.where.split())}, {ARMS[g.arm]}: "
        f"{g.mean:+z.1f} [{g.low:+z.1f}, {g.high:+z.1f}]"
        for g in intervals
    ]
    return f"{XLABEL}. " + "; ".join(rows) + "."


def draw(intervals: list[Gain], colours: tuple[str, str, str], out: Path) -> None:
    """Draw the gains as intervals, one panel a setting, one row a corpus and one colour a loss."""
    paper, ink, grid = colours
    use_style()
    look: dict[Any, Any] = {
        **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), ink),
        **dict.fromkeys(("figure.facecolor", "savefig.facecolor", "axes.facecolor"), paper),
        **{"grid.color": grid, "axes.edgecolor": ink},
    }
    plt.rcParams.update(look)
    figure, axes = plt.subplots(
        2, 2, figsize=(8.2, 5.6), sharex=True, sharey="row", height_ratios=(1, len(LAYERS))
    )
    for ax, panel in zip(axes.flat, (*HEADS.values(), *LENGTHS.values()), strict=True):
        draw_panel(ax, [g for g in intervals if g.panel == panel], ink, paper)
        ax.set_title(panel, fontsize=10.5)
    figure.supxlabel(XLABEL, fontsize=9.5)
    handles = []
    for arm, name in ARMS.items():
        colour, fill = colours_of(arm, ink, paper)
        look = {"color": colour, "markersize": 6.5, "markerfacecolor": fill}
        handles += axes[0, 0].plot(
            [], [], MARKERS[arm], label=name, linestyle="-", linewidth=2.2, **look
        )
    figure.legend(handles=handles, loc="outside upper center", ncols=2, fontsize=10)
    figure.savefig(out, metadata={"Description": described(intervals), "Software": None})
    plt.close(figure)


def colours_of(arm: str, ink: str, paper: str) -> tuple[Any, Any]:
    """The colour of an arm's interval, and that within its mark."""
    colour = ink if arm == "ce" else style(arm)["color"]
    return colour, colour if arm == "dice_start" else paper


def draw_panel(ax: Axes, intervals: list[Gain], ink: str, paper: str) -> None:
    """Draw the gains of one setting."""
    wheres = list(dict.fromkeys(g.where for g in intervals))
    for g in intervals:
        row = wheres.index(g.where) + 0.2 * (list(ARMS).index(g.arm) - (len(ARMS) - 1) / 2)
        colour, fill = colours_of(g.arm, ink, paper)
        if g.mean < EDGES[0]:
            tip, tail = (EDGES[0], row), (EDGES[0] + 2.2, row)
            arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 2.2, "shrinkB": 0}
            ax.annotate("", tip, tail, arrowprops=arrow)
            number = f"{g.mean:.1f}".replace("-", "\u2212")
            ax.text(EDGES[0] + 2.5, row, number, va="center", color=ink, fontsize=9)
            continue
        ax.plot([g.low, g.high], [row, row], color=colour, linewidth=2.2)
        ax.plot(g.mean, row, MARKERS[g.arm], color=colour, markersize=6, markerfacecolor=fill)
    ax.set_xlim(*EDGES)
    ax.set_xticks(range(-10, 16, 5))
    ax.axvline(0, color=ink, linewidth=1)
    ax.set_yticks(range(len(wheres)), wheres)
    ax.set_ylim(len(wheres) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)


def main() -> int:
    """Draw both pictures."""
    intervals = gains()
    for name, colours in COLOURS.items():
        draw(intervals, colours, ROOT / "_static" / f"answer-{name}.png")
    print(described(intervals))
    return 0


if __name__ == "__main__":
    sys.exit(main())

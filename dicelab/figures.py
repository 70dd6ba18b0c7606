"""The look of the book's pictures, and the few plots that several chapters share.

Every plot draws into given axes and returns them, so that a chapter can put two side by side. A
loss has the same colour and the same dashes in every chapter; the colours are told apart by readers
who do not see red and green alike, the dashes in print without colour.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from dicelab.extras import need

need("book")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from dicelab.metrics.intervals import over_runs
from dicelab.records import speed
from dicelab.records.analysis import MARGIN, Record
from dicelab.records.searched import Estimate, Pooled, SearchEffect

NEGATIVE, POSITIVE = "#999999", "#D55E00"

# Okabe and Ito's palette, and a colour of its own for dice an example at a time: where a picture
# shows several forms of dice, the colour tells the level and the dashes the denominator.
_STYLES: dict[str, dict[str, Any]] = {
    "ce": {"color": "#0072B2", "linestyle": "-"},
    "wce": {"color": "#56B4E9", "linestyle": (0, (5, 1))},
    "fl": {"color": "#E69F00", "linestyle": "--"},
    "dl": {"color": "#009E73", "linestyle": "-."},
    "dl linear": {"color": "#009E73", "linestyle": (0, (2, 1))},
    "dl example": {"color": "#7A5195", "linestyle": "-."},
    "dl linear example": {"color": "#7A5195", "linestyle": (0, (2, 1))},
    "dl both": {"color": "#CC79A7", "linestyle": "-"},
    "tl": {"color": "#CC79A7", "linestyle": (0, (3, 1, 1, 1, 1, 1))},
    "dsc": {"color": "#D55E00", "linestyle": ":"},
}
# What a loss may be called: by its name, and by the number of its equation in the paper.
_NAMES = {
    **{name: name for name in ("ce", "wce", "fl", "dl", "tl", "dsc")},
    **{"cross entropy": "ce", "weighted cross entropy": "wce", "focal": "fl", "dice": "dl"},
    "dice of both": "dl both",
    **{"tversky": "tl", "self adjusting dice": "dsc", "eq 1": "ce", "eq 2": "wce"},
    **{"eq 6": "dl linear example", "eq 7": "dl example", "eq 8": "dl"},
    **{"eq 9": "tl", "eq 10": "tl", "eq 12": "dsc"},
}
_OTHERS = ("#000000", "#7F7F7F", "#8C564B", "#17BECF")


def use_style() -> None:
    """Set matplotlib's defaults to the book's.

    Pictures are narrow, with text that stays readable at the width of a phone, and stand on white,
    which the book keeps as a card behind them in dark mode.
    """
    plt.rcParams.update(
        {
            "figure.figsize": (5.6, 3.5),
            "figure.dpi": 140,
            "figure.facecolor": "white",
            "figure.constrained_layout.use": True,
            "savefig.facecolor": "white",
            "font.size": 11,
            "axes.titlesize": 11,
            "axes.grid": True,
            "axes.axisbelow": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "grid.color": "#E3E3E3",
            "legend.frameon": False,
            "lines.linewidth": 2.2,
        }
    )


def style(name: str) -> dict[str, Any]:
    """Colour and dashes of a loss.

    Args:
        name: A loss's abbreviation, such as ``"dsc"`` or ``"binary_dsc"``, its name, ``"cross
            entropy"``, or its equation in the paper, ``"eq8"`` or ``"Eq. 8"``; more may follow, as
            in ``"dsc, alpha=0.1"``. Of dice the words ``linear`` and ``example`` choose the form:
            ``"DL linear, set"``. An equation counts wherever it stands: ``"per example (Eq. 7)"``.
            Any other name gets a colour of its own, the same in every plot.

    Returns:
        Keyword arguments for ``Axes.plot``.
    """
    words = re.findall(r"[a-z]+|\d+", name.lower().removeprefix("binary_"))
    equations = ["eq " + number for eq, number in pairwise(words) if eq == "eq"]
    beginnings = [" ".join(words[:length]) for length in (3, 2, 1)]
    key = next((_NAMES[called] for called in equations + beginnings if called in _NAMES), None)
    if key is None:
        return {"color": _OTHERS[sum(map(ord, name)) % len(_OTHERS)], "linestyle": "-"}
    if key == "dl":
        forms = [form for form in ("linear", "example") if form in words]
        key = " ".join(["dl", *forms])
    return dict(_STYLES[key])


def loss_curves(
    curves: Mapping[str, ArrayLike],
    p: ArrayLike,
    *,
    ylabel: str = "loss",
    ax: Axes | None = None,
) -> Axes:
    """Losses, or their derivatives, as functions of the predicted probability.

    Args:
        curves: Values by name, each [n].
        p: Probabilities of the positive class, [n].
        ylabel: What the values are.
        ax: Axes to draw into; by default the current ones.

    Returns:
        The axes.
    """
    ax = ax or plt.gca()
    for name, values in curves.items():
        ax.plot(np.asarray(p), np.asarray(values), label=name, **style(name))
    ax.set(xlabel="predicted probability p", ylabel=ylabel, xlim=(0, 1))
    ax.legend()
    return ax


def precision_recall(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]], *, ax: Axes | None = None
) -> Axes:
    """Precision against recall over all thresholds, on lines of equal F1.

    Args:
        curves: By name, precision and recall, each [n] and in [0, 1]: the first two of what
            ``sklearn.metrics.precision_recall_curve`` returns.
        ax: Axes to draw into; by default the current ones.

    Returns:
        The axes.
    """
    ax = ax or plt.gca()
    for f1 in (0.2, 0.4, 0.6, 0.8):
        grid = np.linspace(f1 / (2 - f1), 1, 200)
        ax.plot(grid, f1 * grid / (2 * grid - f1), color="#C4C4C4", linewidth=1, zorder=1)
        text = ax.annotate(f"F1 {f1}", (1, f1 / (2 - f1)), (3, 0), textcoords="offset points")
        text.set(color="#6F6F6F", size=8, va="center")
    for name, (precision, recall) in curves.items():
        ax.plot(np.asarray(recall), np.asarray(precision), label=name, **style(name))
    ax.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1.02))
    ax.legend(loc="lower left")
    return ax


def training_curves(
    runs: Mapping[str, ArrayLike],
    steps: Sequence[float],
    *,
    xlabel: str = "epoch",
    ylabel: str = "F1",
    ax: Axes | None = None,
) -> Axes:
    """A score over training: the mean over seeds and its 95% interval as a band.

    Args:
        runs: By name, scores [seeds, steps]; with one seed no band is drawn.
        steps: Where the scores were taken, [steps].
        xlabel: What the steps are.
        ylabel: What the score is.
        ax: Axes to draw into; by default the current ones.

    Returns:
        The axes.

    Raises:
        ValueError: If a run's scores are not [seeds, steps].
    """
    ax = ax or plt.gca()
    for name, scores in runs.items():
        array = np.asarray(scores, dtype=float)
        if array.ndim != 2 or array.shape[1] != len(steps):
            raise ValueError(f"{name}: expected [seeds, {len(steps)}] scores, got {array.shape}")
        look = style(name)
        ax.plot(steps, array.mean(axis=0), label=name, **look)
        if len(array) > 1:
            bands = [over_runs(column) for column in array.T.tolist()]
            low, high = [b.low for b in bands], [b.high for b in bands]
            ax.fill_between(steps, low, high, color=look["color"], alpha=0.15, linewidth=0)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.legend()
    return ax


def by_steps(records: Sequence[Record], *, ax: Axes) -> Axes:
    """Test F1, threshold tuned, of runs with all layers trained, by how many steps they have.

    Args:
        records: Of one corpus of Stage B2.
        ax: Axes to draw into.

    Returns:
        The axes: of each arm but class weights the mean over draws and its 95% interval as a band,
        with a label for a legend; arms that start near 0 are dotted.
    """
    series = {
        name: speed.scores(records, arm, "tuned")
        for arm, name in speed.ARMS.items()
        if arm != "wce"
    }
    curves = {name: f1 for name, (_, f1) in series.items() if len(f1)}
    steps, _ = series[speed.ARMS["ce_start"]]
    training_curves(curves, steps, xlabel="step", ylabel="test F1, %", ax=ax)
    ax.legend().remove()
    for line in ax.lines:
        line.set_linestyle(":" if "near 0" in str(line.get_label()) else "-")
    ax.set(xscale="log", ylim=(max(0.0, ax.get_ylim()[0]), None))
    ax.set_xticks(steps, [str(n) for n in steps])
    ax.minorticks_off()
    return ax


def by_rate(records: Sequence[Record], arms: Sequence[str], length: int, *, ax: Axes) -> Axes:
    """Validation F1, threshold tuned, of runs with all layers trained, by their learning rate.

    Args:
        records: Of one corpus of Stage B2.
        arms: Keys of ``speed.ARMS``.
        length: Steps before the rate falls to zero, 64 or 256.
        ax: Axes to draw into.

    Returns:
        The axes: of each arm the mean over draws, with a label for a legend.
    """
    for arm in arms:
        rates, f1 = speed.by_rate(records, arm, length)
        name = speed.ARMS[arm]
        ax.plot(rates, f1.mean(0), "o", label=name, **style(name))
    ax.set(xscale="log", xlabel="learning rate", ylabel="validation F1, %")
    ax.set_xticks(
        rates, [f"{r:.1e}".replace(".0e", "e").replace("e-0", "e−") for r in rates], fontsize=8
    )
    ax.minorticks_off()
    return ax


def differences(by_task: Mapping[str, Mapping[tuple[str, str], SearchEffect]], *, ax: Axes) -> Axes:
    """Arms minus cross entropy from the log prior, task by task, at argmax and tuned.

    Args:
        by_task: By the task as the picture calls it, then by arm and way of deciding.
        ax: Axes to draw into.

    Returns:
        The axes, the first task on top. Black circles are argmax, diamonds in the arm's colour the
        tuned threshold, hollow marks arms that start near 0; each has a label for a legend.
    """
    labelled: set[str] = set()
    for row, effects in enumerate(by_task.values()):
        for place, ((arm, how), e) in enumerate(effects.items()):
            y = row + (place - (len(effects) - 1) / 2) * 0.7 / len(effects)
            name = speed.ARMS[arm]
            color = "black" if how == "argmax" else style(name)["color"]
            label = f"{name}, {'at argmax' if how == 'argmax' else how}"
            marks: dict[str, Any] = {
                "marker": "o" if how == "argmax" else "D",
                "ms": 5,
                "color": color,
            }
            if "near 0" in name:
                marks["markerfacecolor"] = "white"
            ax.plot([e.low, e.high], [y, y], color=color, lw=1.2)
            ax.plot(e.mean, y, ls="", label=None if label in labelled else label, **marks)
            labelled.add(label)
    ax.axvline(0, color="0.4", lw=0.8)
    ax.grid(axis="y", visible=False)
    ax.set_yticks(range(len(by_task)), list(by_task))
    ax.set_ylim(len(by_task) - 0.4, -0.6)
    ax.set_xlabel("F1 minus that of cross entropy from the log prior, points")
    return ax


def forest(groups: Mapping[str, Sequence[SearchEffect]], over: Pooled, *, ax: Axes) -> Axes:
    """A contrast task by task in strata, the mean of each below its tasks; at the foot over all.

    Args:
        groups: The effects of each stratum, in the order in which they are drawn from above.
        over: The same contrast over tasks.
        ax: Axes to draw into.

    Returns:
        The axes. Dark: the interval leaves out zero. Diamonds: means over tasks. The grey band is
        the margin of equivalence.
    """
    row, tasks, means = 0.0, {}, {}
    for stratum, effects in groups.items():
        for e in effects:
            color = "0.15" if e.low > 0 or e.high < 0 else "0.6"
            ax.plot([e.low, e.high], [row, row], color=color, lw=1.5)
            ax.plot(e.mean, row, "o", color=color, ms=4)
            tasks[row] = e.task
            row += 1
        means[row] = stratum, over.strata[stratum]
        row += 1.7
    means[row] = "over all", over.over_all
    color = style("dice")["color"]
    for y, (_, mean) in means.items():
        ax.plot([mean.low, mean.high], [y, y], color=color, lw=3)
        ax.plot(mean.mean, y, "D", color=color, ms=6)
    names = [*tasks.values(), *(name for name, _ in means.values())]
    ax.set_yticks([*tasks, *means], names, fontsize=8)
    for label in ax.get_yticklabels()[len(tasks) :]:
        label.set_fontweight("bold")
    _around_zero(ax)
    ax.set_ylim(row + 0.8, -0.8)
    return ax


def by_stratum(groups: Mapping[str, Mapping[str, Estimate]], *, ax: Axes) -> Axes:
    """The means of several losses, stratum by stratum.

    Args:
        groups: By stratum, and in it by the name of a loss, which sets its colour.
        ax: Axes to draw into.

    Returns:
        The axes, the first stratum on top, each loss with a label for a legend. The grey band is
        the margin of equivalence.
    """
    for row, means in enumerate(groups.values()):
        for place, (name, mean) in enumerate(means.items()):
            y = row + (place - (len(means) - 1) / 2) * 0.6 / len(means)
            color = style(name)["color"]
            ax.plot([mean.low, mean.high], [y, y], color=color, lw=2)
            ax.plot(mean.mean, y, "o", color=color, ms=5, label=None if row else name)
    ax.set_yticks(range(len(groups)), list(groups))
    _around_zero(ax)
    ax.set_ylim(len(groups) - 0.5, -0.5)
    return ax


def _around_zero(ax: Axes) -> None:
    ax.axvspan(-MARGIN, MARGIN, color="0.93", zorder=0)
    ax.axvline(0, color="0.4", lw=0.8)
    ax.grid(axis="y", visible=False)


def scores(
    values: Mapping[str, Sequence[float]], *, xlabel: str = "F1", ax: Axes | None = None
) -> Axes:
    """Scores of several methods: every seed as a dot, the mean with its 95% interval.

    Args:
        values: By name, one score a seed.
        xlabel: What the score is.
        ax: Axes to draw into; by default the current ones.

    Returns:
        The axes, the first method on top.
    """
    ax = ax or plt.gca()
    for row, (name, seeds) in enumerate(values.items()):
        color = style(name)["color"]
        ax.scatter(seeds, [row] * len(seeds), color=color, alpha=0.4, s=18)
        mean = over_runs(list(seeds))
        error = [[mean.mean - mean.low], [mean.high - mean.mean]] if len(seeds) > 1 else None
        ax.errorbar(mean.mean, row, xerr=error, fmt="D", color=color, capsize=4)
    ax.set_yticks(range(len(values)), list(values))
    ax.invert_yaxis()
    ax.set(xlabel=xlabel)
    return ax


def shares(counts: Mapping[str, tuple[int, int]], *, ax: Axes | None = None) -> Axes:
    """Negatives and positives of several corpora as bars of equal length.

    Args:
        counts: By corpus, the numbers of negatives and positives.
        ax: Axes to draw into; by default the current ones.

    Returns:
        The axes; behind each bar stands how many negatives there are to a positive.
    """
    ax = ax or plt.gca()
    names = list(counts)
    share = np.array([positive / (negative + positive) for negative, positive in counts.values()])
    ax.barh(names, 100 * share, color=POSITIVE, label="positive")
    ax.barh(names, 100 * (1 - share), left=100 * share, color=NEGATIVE, label="negative")
    for row, (negative, positive) in enumerate(counts.values()):
        ax.text(101, row, f"{negative / positive:.1f} : 1", va="center", size=9)
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.set(xlabel="share of the examples, %", xlim=(0, 100))
    ax.figure.legend(loc="outside upper center", ncols=2)
    return ax

"""The note's four figures, from the records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dicelab.figures import style, use_style
from dicelab.records.analysis import MARGIN, PRIMARY, WAYS, Evidence, effects_of, less_ce, pool
from tools.note.numbers import NAMES, all_layers, interval, over_tasks, signed

TITLES = {"argmax": "at argmax", "tuned": "threshold tuned"}
POINTS = "points of F1 more than cross entropy, 95% interval"


def draw(folder: Path, out: Path) -> dict[str, str]:
    """Draw all figures as PNG; what each shows, in words.

    Args:
        folder: The records of the evidence.
        out: Where ``note-NAME.png`` are written.
    """
    use_style()
    evidence = Evidence.read(folder)
    told = {}
    for name, figure, words in (
        ("primary", *_primary(evidence)),
        ("imbalance", *_imbalance(evidence)),
        ("rivals", *_rivals(evidence)),
        ("layers", *_layers(folder)),
    ):
        figure.savefig(out / f"note-{name}.png", metadata={"Software": None}, dpi=200)
        plt.close(figure)
        told[name] = words
    return told


def _intervals(ax: Axes, rows: list[str], effects: list[Any], colour: str) -> None:
    for y, e in enumerate(effects):
        low, mean, high = e
        ax.plot([low, high], [y, y], color=colour, linewidth=2)
        ax.plot(mean, y, "o", color=colour, markersize=5)
    ax.axvline(0, color="0.2", linewidth=0.8)
    ax.set_yticks(range(len(rows)), rows)
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)


def _primary(evidence: Evidence) -> tuple[Figure, str]:
    effects = sorted(effects_of(evidence, PRIMARY), key=lambda e: e.mean)
    pooled = pool(effects)
    assert pooled is not None
    figure, ax = plt.subplots(figsize=(6.4, 3.9))
    rows = [(e.low, e.mean, e.high) for e in effects]
    rows.append((pooled.mu_low, pooled.mu, pooled.mu_high))
    _intervals(ax, [*(e.task for e in effects), "over tasks"], rows, style("dl")["color"])
    ax.axvspan(-MARGIN, MARGIN, color="0.9", zorder=0)
    ax.axhline(len(effects) - 0.5, color="0.6", linewidth=0.6)
    ax.set_xlabel(POINTS)
    words = (
        f"{len(effects)} intervals, one a task, from {signed(effects[0].mean)} to "
        f"{signed(effects[-1].mean)} points; over tasks {signed(pooled.mu)} "
        f"{interval(pooled.mu_low, pooled.mu_high)}."
    )
    return figure, words


def _imbalance(evidence: Evidence) -> tuple[Figure, str]:
    figure, axes = plt.subplots(1, 2, figsize=(6.4, 2.8), sharex=True, sharey=True)
    slopes = []
    for ax, how in zip(axes, WAYS, strict=True):
        effects = effects_of(evidence, less_ce("dice", how))
        x = [e.imbalance for e in effects]
        error = np.array([[e.mean - e.low for e in effects], [e.high - e.mean for e in effects]])
        ax.errorbar(
            x, [e.mean for e in effects], error, fmt="o", ms=4, lw=1.2, color=style("dl")["color"]
        )
        found = over_tasks(evidence, "dice", how)
        grid = np.geomspace(min(x), max(x), 50)
        ax.plot(grid, found.mu + found.beta * np.log(grid / 10), color="0.3", lw=1)
        ax.axhline(0, color="0.2", lw=0.8)
        ax.set_xscale("log")
        ax.set_xticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])
        ax.minorticks_off()
        ax.set_title(TITLES[how])
        ax.set_xlabel("negatives for each positive")
        slopes.append(f"{TITLES[how]} {signed(found.beta)}")
    axes[0].set_ylabel("dice less cross entropy, F1")
    return figure, f"The gain by imbalance, points for each e-fold: {', '.join(slopes)}."


def _rivals(evidence: Evidence) -> tuple[Figure, str]:
    figure, axes = plt.subplots(1, 2, figsize=(6.4, 2.9), sharey=True)
    arms = [arm for arm in NAMES if arm != "negative_sampling"]
    words = []
    for ax, how in zip(axes, WAYS, strict=True):
        found = [over_tasks(evidence, arm, how) for arm in arms]
        rows = [(p.mu_low, p.mu, p.mu_high) for p in found]
        _intervals(ax, [NAMES[arm] for arm in arms], rows, "#333333")
        ax.set_title(TITLES[how])
        ax.set_xlabel("points of F1")
        each = ", ".join(f"{NAMES[a]} {signed(p.mu)}" for a, p in zip(arms, found, strict=True))
        words.append(f"{TITLES[how]}: {each}")
    axes[1].invert_yaxis()
    return figure, "; ".join(words) + "."


def _layers(folder: Path) -> tuple[Figure, str]:
    figure, axes = plt.subplots(1, 2, figsize=(6.4, 2.6), sharey=True)
    found = list(all_layers(folder))
    titles = {"crossner_politics": "CrossNER politics", "wnut17": "WNUT 2017"}
    words = []
    for ax, (task, title) in zip(axes, titles.items(), strict=True):
        for shift, arm in ((0.97, "dice"), (1.03, "wce")):
            here = [(steps, e) for t, steps, a, e in found if (t, a) == (task, arm)]
            colour = style("dl" if arm == "dice" else "wce")["color"]
            error = [[e.mean - e.low for _, e in here], [e.high - e.mean for _, e in here]]
            ax.errorbar(
                [steps * shift for steps, _ in here],
                [e.mean for _, e in here],
                error,
                fmt="o-" if arm == "dice" else "D--",
                color=colour,
                label=NAMES[arm],
            )
            words += [f"{title}, {steps} steps, {NAMES[arm]} {signed(e.mean)}" for steps, e in here]
        ax.axhline(0, color="0.2", lw=0.8)
        ax.set_xscale("log")
        ticks = list(_ticks(found, task))
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.minorticks_off()
        ax.set_title(title)
        ax.set_xlabel("optimiser steps")
    axes[0].set_ylabel("less cross entropy, F1")
    axes[0].legend(frameon=False)
    return figure, "; ".join(words) + "."


def _ticks(found: list[Any], task: str) -> Iterator[int]:
    yield from sorted({steps for t, steps, _, _ in found if t == task})

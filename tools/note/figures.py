"""The note's four figures, from the records."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from dicelab.figures import by_steps, by_stratum, forest, use_style
from dicelab.records import searched
from dicelab.records.speed import CORPORA, read_corpora
from tools.note.second import RIVALS, STRATA, Tasks
from tools.note.words import interval, signed

TITLES = {"argmax": "at argmax", "tuned": "threshold tuned"}


def draw(results: Path, out: Path) -> dict[str, str]:
    """Draw all figures as PNG; what each shows, in words.

    Args:
        results: The records of all studies.
        out: Where ``note-NAME.png`` are written.
    """
    use_style()
    tasks = searched.read_tasks(results / "evidence_2")
    descriptions = {}
    for name, figure, words in (
        ("primary", *_primary(tasks)),
        ("strata", *_strata(tasks)),
        ("threshold", *_threshold(tasks)),
        ("layers", *_layers(results / "evidence_2")),
    ):
        figure.savefig(out / f"note-{name}.png", metadata={"Software": None}, dpi=200)
        plt.close(figure)
        descriptions[name] = words
    return descriptions


def _primary(tasks: Tasks) -> tuple[Figure, str]:
    effects = sorted(searched.effects_of(tasks, searched.PRIMARY), key=lambda e: -e.mean)
    pooled = searched.pool(effects)
    figure, ax = plt.subplots(figsize=(6.4, 5.6))
    forest({s: [e for e in effects if e.stratum == s] for s in STRATA}, pooled, ax=ax)
    ax.set_xlabel("points of F1 more than cross entropy, 95% interval")
    mean = pooled.over_all
    words = (
        f"{len(effects)} intervals, one a task, from {signed(effects[-1].mean)} to "
        f"{signed(effects[0].mean)} points; over all {signed(mean.mean)} "
        f"{interval(mean.low, mean.high)}."
    )
    return figure, words


def _strata(tasks: Tasks) -> tuple[Figure, str]:
    figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.4), sharey=True)
    words = []
    for ax, how in zip(axes, ("argmax", "tuned"), strict=True):
        pooled = {
            name: searched.pooled_minus_start(tasks, arm, how) for arm, name in RIVALS.items()
        }
        groups = {s: {name: p.strata[s] for name, p in pooled.items()} for s in STRATA}
        groups["over all"] = {name: p.over_all for name, p in pooled.items()}
        by_stratum(groups, ax=ax)
        ax.set(title=TITLES[how], xlabel="points of F1")
        each = ", ".join(f"{name} {signed(p.over_all.mean)}" for name, p in pooled.items())
        words.append(f"over all {TITLES[how]}: {each}")
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=2, fontsize=9)
    return figure, "; ".join(words) + "."


def _threshold(tasks: Tasks) -> tuple[Figure, str]:
    effects = searched.effects_of(tasks, searched.PLUG_IN)
    figure, ax = plt.subplots(figsize=(5.6, 2.8))
    x = [e.positives for e in effects]
    error = np.array([[e.mean - e.low for e in effects], [e.high - e.mean for e in effects]])
    ax.errorbar(x, [e.mean for e in effects], error, fmt="o", ms=4, lw=1.2, color="0.3")
    ax.axhline(0, color="0.2", lw=0.8)
    ax.set(xscale="log", xlabel="positives in validation", ylabel="plug-in minus tuned, F1")
    mean = searched.pool(effects).over_all
    words = (
        f"{len(effects)} intervals against the positives in validation, {min(x):,} to {max(x):,}; "
        f"over all {signed(mean.mean)} {interval(mean.low, mean.high)}."
    )
    return figure, words


def _layers(folder: Path) -> tuple[Figure, str]:
    figure, axes = plt.subplots(1, 4, figsize=(6.8, 2.5))
    words: list[str] = []
    for ax, (task, records) in zip(axes, read_corpora(folder).items(), strict=True):
        by_steps(records, ax=ax)
        ax.set(ylabel="" if words else "test F1, %")
        ax.set_title(CORPORA[task], fontsize=9)
        ax.tick_params(labelsize=8)
        steps = ax.lines[0].get_xdata()
        ax.set_xticks(steps[::2], [str(n) for n in steps[::2]])
        each = ", ".join(
            f"{line.get_label()} {line.get_ydata()[0]:.0f} to {line.get_ydata()[-1]:.0f}"
            for line in ax.lines
        )
        words.append(f"{CORPORA[task]}, {steps[0]} to {steps[-1]} steps: {each}")
    handles = axes[-1].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, fontsize=8)
    return figure, "; ".join(words) + "."

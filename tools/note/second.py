"""The numbers of the second protocol, and what the text says of them, from its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dicelab.claims import claim
from dicelab.records import searched
from dicelab.records.analysis import Record
from dicelab.records.searched import PLUG_IN, PRIMARY, Contrast, Estimate, Pooled
from tools.note.words import interval, signed

# As the text calls a stratum, and as its braces do.
STRATA = {"tags": "tags", "yes or no": "decisions", "rare": "rare"}
RIVALS = {
    "dice": "dice, squared",
    "wce": "class weights",
    "logit_adjustment": "logit adjustment",
    "ce": "cross entropy, bias near 0",
}
COUNTS = ("none", "one", "two", "three", "four", "five")
Tasks = Mapping[str, Sequence[Record]]


def numbers(folder: Path) -> dict[str, Any]:
    """What braces of the text stand for.

    Args:
        folder: The records.

    Raises:
        AssertionError: A sentence does not hold for the records.
    """
    tasks = searched.read_tasks(folder)
    return _primary(tasks) | _rivals(tasks) | _threshold(tasks) | _spent(tasks)


def _primary(tasks: Tasks) -> dict[str, Any]:
    effects = searched.effects_of(tasks, PRIMARY)
    primary = searched.pool(effects)
    claim("equivalence is not shown", primary.equivalent > 0.05)
    claim("nor is a difference", primary.over_all.low < 0 < primary.over_all.high)
    without = searched.without_each_source(effects).values()
    of_rare = [
        size["rows"] / size["positive"] - 1
        for records in tasks.values()
        if records[0]["stratum"] == "rare"
        for size in [records[0]["sizes"]["train"]]
    ]
    claim("with more than twenty negatives for each positive", min(of_rare) > 20)
    return {
        **_pooled_values("primary", primary),
        "tasks": len(effects),
        **{f"tasks_{b}": sum(e.stratum == s for e in effects) for s, b in STRATA.items()},
        "sources": len({e.source for e in effects}),
        "rare_least": f"{min(of_rare):.0f}",
        "rare_most": f"{max(of_rare):.0f}",
        "see": f"{primary.detectable:.1f}",
        "equivalent": f"{primary.equivalent:.2f}",
        "wins": COUNTS[sum(e.low > 0 for e in effects)],
        "losses": COUNTS[sum(e.high < 0 for e in effects)],
        "least_without": signed(min(effect.mean for effect in without)),
        "most_without": signed(max(effect.mean for effect in without)),
    }


def _rivals(tasks: Tasks) -> dict[str, Any]:
    values: dict[str, Any] = {}
    pooled: dict[tuple[str, str], Pooled] = {}
    for arm in RIVALS:
        for how in ("argmax", "tuned"):
            effects = searched.effects_of(tasks, Contrast((arm, how), ("ce_start", how)))
            claim("For each task and loss five", {effect.searches for effect in effects} == {5})
            pooled[arm, how] = searched.pool(effects)
            means = _pooled_values(f"{arm}_{how}", pooled[arm, how])
            values |= {name: words.removeprefix("+") for name, words in means.items()}
    tuned = [pooled[arm, "tuned"].over_all for arm in RIVALS]
    claim(
        "no rival is distinguishable from it", all(effect.low < 0 < effect.high for effect in tuned)
    )
    dice, weights, adjusted = (pooled[arm, "argmax"] for arm in list(RIVALS)[:3])
    for stratum in ("yes or no", "rare"):
        ahead = dice.strata[stratum].mean
        claim(
            "dice is ahead, and class weights and logit adjustment further",
            0 < ahead < min(weights.strata[stratum].mean, adjusted.strata[stratum].mean),
        )
    claim(
        "For tags no loss is far from cross entropy",
        all(abs(p.strata["tags"].mean) < 1 for p in (dice, weights, adjusted)),
    )
    values["largest_tuned"] = f"{max(abs(estimate.mean) for estimate in tuned):.1f}"
    family = searched.secondary(tasks)
    lines = ["| question | points of F1 | p |", "|---|---|---|"]
    for name, (gap, p) in family.items():
        lines.append(f"| {name} | {signed(gap.mean)} {interval(gap.low, gap.high)} | {p:.3f} |")
    least = min(p for _, p in family.values())
    claim("corrected, no p is small", least > 0.05)
    return values | {"table_family": "\n".join(lines), "least_holm": f"{least:.3f}"}


def _threshold(tasks: Tasks) -> dict[str, str]:
    def mean(arm: str, how: str) -> float:
        """Points above cross entropy at argmax."""
        gains = []
        for records in tasks.values():
            arm_f1 = searched.mean_f1(records, arm, how)
            base_f1 = searched.mean_f1(records, "ce_start", "argmax")
            assert arm_f1 is not None
            assert base_f1 is not None
            gains.append(arm_f1 - base_f1)
        return float(np.mean(gains))

    worth = mean("ce_start", "tuned")
    best = max(mean(arm, "argmax") for arm in RIVALS)
    plug_in = searched.pool(searched.effects_of(tasks, PLUG_IN)).over_all
    values = {
        "worth": f"{worth:.1f}",
        "worth_said": (
            f"It was worth {worth:.1f} points on average, and the best loss at argmax {best:.1f}."
        ),
        "plug_in": signed(plug_in.mean),
        "plug_in_in": interval(plug_in.low, plug_in.high),
    }
    for arm, name in (("wce", "wce"), ("logit_adjustment", "la"), ("dice", "dice")):
        values[f"{name}_plain"] = f"{mean(arm, 'argmax'):.1f}"
    return values


def _spent(tasks: Tasks) -> dict[str, Any]:
    arms = ("ce_start", *RIVALS)  # the extension's arms are not in the note
    runs = [r for records in tasks.values() for r in records if r.get("arm") in arms]
    finals = [r for r in runs if r["kind"] == "final"]
    tuned_f1 = {
        (t, r["arm"], r["search"], r["seed"]): r["test"]["tuned"]["f1"]
        for t, records in tasks.items()
        for r in records
        if r["kind"] == "final" and "tuned" in r["chosen_for"]
    }
    scatter = [
        np.std(
            [
                f1 - tuned_f1[t, "ce_start", *rest]
                for (t, arm, *rest), f1 in tuned_f1.items()
                if t == task and arm == "dice" and (t, "ce_start", *rest) in tuned_f1
            ],
            ddof=1,
        )
        for task in tasks
    ]
    return {
        "finals": f"{len(finals):,}",
        "trials": f"{len(runs) - len(finals):,}",
        "hours": f"{sum(r['seconds'] for r in runs) / 3600:.0f}",
        "sd": f"{np.median(scatter):.1f}",
    }


def spent(folder: Path) -> list[tuple[str, int, float]]:
    """Of the primary arms and of the others: what they are, their runs, their core-hours.

    Args:
        folder: The records.
    """
    tasks = searched.read_tasks(folder)
    rows = []
    for name, arms in (
        ("dice and cross entropy from the prior", ("ce_start", "dice")),
        ("the other losses", [arm for arm in RIVALS if arm != "dice"]),
    ):
        runs = [r["seconds"] for records in tasks.values() for r in records if r.get("arm") in arms]
        rows.append((f"frozen encoder, {name}", len(runs), sum(runs) / 3600))
    return rows


def _pooled_values(name: str, pooled: Pooled) -> dict[str, str]:
    def values_of(key: str, estimate: Estimate) -> dict[str, str]:
        return {key: signed(estimate.mean), f"{key}_in": interval(estimate.low, estimate.high)}

    values = values_of(name, pooled.over_all)
    for stratum, braces in STRATA.items():
        values |= values_of(f"{name}_{braces}", pooled.strata[stratum])
    return values

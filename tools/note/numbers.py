"""Every number of the note, from the records and the paper's tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pybtex import format_from_file
from scipy.stats import t

from dicelab.claims import claim
from dicelab.records import paper
from dicelab.records.analysis import (
    CHECKPOINTS,
    MARGIN,
    ONE_SOURCE,
    OTHERS,
    PRIMARY,
    SECONDARY,
    Effect,
    Evidence,
    Pooled,
    effect,
    effects_of,
    holm,
    less_ce,
    pool,
    read,
)
from dicelab.records.runs import read_records

NAMES = {
    "dice": "dice, squared",
    "dsc": "self-adjusting dice",
    "tversky": "Tversky, linear",
    "wce": "class weights",
    "logit_adjustment": "logit adjustment",
    "ce_prior": "logit adjustment, post hoc",
    "focal": "focal loss",
    "negative_sampling": "negative sampling",
}
CITED = (
    "li2020dice",
    "milletari2016vnet",
    "sudre2017generalised",
    "ye2012",
    "lipton2014thresholding",
    "menon2021logit",
    "derczynski2017wnut",
    "dolan2005mrpc",
    "socher2013sst",
)


def signed(number: float) -> str:
    """With its sign, and a minus that is one."""
    return f"{number:+.1f}".replace("-", "−")


def interval(low: float, high: float) -> str:
    """In brackets."""
    return f"[{low:.1f}, {high:.1f}]".replace("-", "−")


def over_tasks(evidence: Evidence, arm: str, how: str) -> Pooled:
    """An arm less cross entropy over the tasks that have it, by the protocol's model."""
    found = pool(effects_of(evidence, less_ce(arm, how)))
    assert found is not None
    return found


def all_layers(folder: Path) -> list[tuple[str, int, str, Effect]]:
    """Of Stage B: corpus, steps of a run, arm, effect; tuned, cells with every draw alone.

    Args:
        folder: The records.
    """
    found = []
    steps = {("crossner_politics", 0, 4): 68, ("crossner_politics", 0, 8): 136}
    steps |= {("wnut17", 1000, 4): 128, ("wnut17", 0, 4): 388}
    cells = Evidence.read_fine_tuned(folder)
    for (task, size, passes), number in steps.items():
        for arm in ("dice", "wce"):
            e = effect(cells[size, passes], less_ce(arm, "tuned"), task)
            assert e is not None
            assert e.seeds == 8
            found.append((task, number, arm, e))
    return found


def numbers(root: Path) -> dict[str, str]:
    """What the text's braces stand for; its comparisons are asserted on the way.

    Args:
        root: The repository.

    Raises:
        AssertionError: A sentence does not hold for the records.
    """
    folder = root / "results" / "evidence"
    evidence = Evidence.read(folder)
    dice = {how: over_tasks(evidence, "dice", how) for how in ("argmax", "tuned")}
    wce = over_tasks(evidence, "wce", "argmax")
    tuned, argmax = dice["tuned"], dice["argmax"]
    effects = effects_of(evidence, PRIMARY)
    own = pool(effects, sources=ONE_SOURCE, task=True)
    assert own is not None
    wins, losses = sum(e.low > 0 for e in effects), sum(e.high < 0 for e in effects)
    claim(
        "Dice less cross entropy, tuned, could not be told from zero, nor shown to be equivalent",
        tuned.mu_low < 0 < tuned.mu_high,
        tuned.equivalent > 0.05,
        tuned.mu_low < -MARGIN,
    )
    claim("dice is ahead at argmax, weights more", argmax.mu_low > 0, wce.mu > argmax.mu)
    known = {c.name: p for c in SECONDARY if (p := pool(effects_of(evidence, c)))}
    adjusted = holm([p.p for p in known.values()])
    claim("no corrected p is small", min(adjusted) > 0.05)
    rivals = [abs(over_tasks(evidence, a, "tuned").mu) for a in OTHERS if a != "negative_sampling"]

    def plain(arm: str, how: str) -> float:
        return float(
            np.mean(
                [
                    evidence.mean_f1(task, arm, how) - evidence.mean_f1(task, "ce", "argmax")
                    for task in evidence.tasks
                ]
            )
        )

    everywhere = [a for a in ("dice", *OTHERS) if a != "negative_sampling"]
    claim(
        "It was worth more than any loss run on all of them was at argmax",
        all(plain("ce", "tuned") > plain(arm, "argmax") for arm in everywhere),
    )
    layers = {(task, steps, arm): e for task, steps, arm, e in all_layers(folder)}
    short, longer = layers["wnut17", 128, "dice"], layers["wnut17", 388, "dice"]
    claim("On WNUT 2017 the order turns", short.low > 0, longer.mean < 0)
    claim(
        "both start faster",
        all(layers["crossner_politics", 68, a].low > 0 for a in NAMES if a in ("dice", "wce")),
    )
    ratios = [evidence.imbalance(task) for task in evidence.tasks]
    half = float(np.median([(e.high - e.low) / 2 for e in effects]))
    # Back from Student's interval to the differences of which it is made.
    scatter = float(
        np.median([e.student / t.ppf(0.975, e.seeds - 1) * e.seeds**0.5 for e in effects])
    )
    gains = _gains()
    claim("more than many a published gain", sum(g < scatter for g in gains) > len(gains) / 2)
    found: dict[str, Any] = {
        "tasks": len(evidence.tasks),
        "corpora": tuned.corpora,
        "seeds": effects[0].seeds,
        "least": f"{min(ratios):.1f}",
        "most": f"{max(ratios):.0f}",
        "trials": f"{sum(map(len, evidence.search.values())):,}",
        "finals": f"{_finals(evidence):,}",
        "hours": f"{sum(hours for _, _, hours in spent(folder)):.0f}",
        "dice_tuned": signed(tuned.mu),
        "dice_tuned_in": interval(tuned.mu_low, tuned.mu_high),
        "dice_tuned_see": f"{tuned.detectable:.1f}",
        "dice_within": f"{tuned.within:.2f}",
        "dice_equivalent": f"{tuned.equivalent:.2f}",
        "dice_argmax": f"{argmax.mu:.1f}",
        "dice_argmax_in": interval(argmax.mu_low, argmax.mu_high),
        "dice_slope": f"{argmax.beta:.1f}",
        "dice_slope_in": interval(argmax.beta_low, argmax.beta_high),
        "dice_task": signed(own.mu),
        "dice_task_in": interval(own.mu_low, own.mu_high),
        "wce_argmax": f"{wce.mu:.1f}",
        "wce_argmax_in": interval(wce.mu_low, wce.mu_high),
        "tau": f"{tuned.tau:.1f}",
        "wins": ("none", "one", "two", "three", "four")[wins],
        "losses": ("none", "one", "two", "three", "four")[losses],
        "family": len(known),
        "least_holm": f"{min(adjusted):.2f}".removesuffix("0"),
        "largest_tuned": f"{max(rivals):.1f}",
        "worth": f"{plain('ce', 'tuned'):.1f}",
        "wce_plain": f"{plain('wce', 'argmax'):.1f}",
        "dice_plain": f"{plain('dice', 'argmax'):.1f}",
        "half": f"{half:.1f}",
        "sd": f"{scatter:.1f}",
        "few_steps": 68,
        "references": _references(root),
        "table_rivals": _rivals(evidence),
        "table_hours": "\n".join(f"| {a} | {n:,} | {h:.1f} |" for a, n, h in spent(folder)),
    }
    for name, key in {
        "politics_4": ("crossner_politics", 68, "dice"),
        "politics_4_wce": ("crossner_politics", 68, "wce"),
        "politics_8": ("crossner_politics", 136, "dice"),
    }.items():
        found[name] = f"{layers[key].mean:.1f}"
        found[f"{name}_in"] = interval(layers[key].low, layers[key].high)
    found |= _last_checkpoint(evidence) | _of_the_paper() | _first_try(root)
    second = sum(
        r["kind"] != "task"
        for path in (root / "results" / "evidence_2").glob("*.jsonl")
        for r in read(path)
    )
    found["second"] = (
        f"{second:,} of its runs are recorded, too few to say anything."
        if second
        else "None of its runs is recorded yet."
    )
    return {name: str(value) for name, value in found.items()}


def spent(folder: Path) -> list[tuple[str, int, float]]:
    """Of each stage: what it is, its runs, its core-hours.

    Args:
        folder: The records.
    """
    rows = []
    for title, letter, kind in (
        ("frozen encoder, trials", "a", "search"),
        ("frozen encoder, finals", "a", "final"),
        ("all layers, trials", "b", "search"),
        ("all layers, finals", "b", "final"),
    ):
        seconds = [
            r["seconds"]
            for path in sorted(folder.glob(f"{letter}-*.jsonl"))
            for r in read(path)
            if r["kind"] == kind
        ]
        rows.append((title, len(seconds), sum(seconds) / 3600))
    return rows


def _finals(evidence: Evidence) -> int:
    return len({id(r) for finals in evidence.finals.values() for r in finals.values()})


def _last_checkpoint(evidence: Evidence) -> dict[str, int]:
    last = {}
    for arm in ("dice", "ce"):
        finals = [
            r
            for (task, a, how), of_seeds in evidence.finals.items()
            if a == arm and how == "tuned" and evidence.tasks[task]["form"] == "tags"
            for r in of_seeds.values()
        ]
        last[f"last_{arm}"] = sum(
            r["validation"]["tuned"]["steps"] == CHECKPOINTS[-1] for r in finals
        )
        last["tag_finals"] = len(finals)
    return last


def _of_the_paper() -> dict[str, Any]:
    rows = [row for table in paper.tables().values() for row in table.rows]
    complete = [row for row in rows if row.precision is not None and row.f1 is not None]

    def f1(precision: float, recall: float) -> float:
        return 2 * precision * recall / (precision + recall)

    off, outside = 0, 0
    for row in complete:
        (p_low, p_high), (r_low, r_high) = row.bounds("precision"), row.bounds("recall")
        low, high = row.bounds("f1")
        off += not (f1(p_low, r_low) <= high and low <= f1(p_high, r_high))
        outside += not min(row.precision, row.recall) <= row.f1 <= max(row.precision, row.recall)
    gains = _gains()
    claim("each of the printed gains is positive", min(gains) > 0)
    return {
        "printed": len(complete),
        "inconsistent": off,
        "outside": outside,
        "gains": len(gains),
        "gain_least": f"{min(gains):.2f}",
        "gain_most": f"{max(gains):.2f}",
    }


def _gains() -> list[float]:
    return [
        float(row.value("delta") or 0)
        for number, table in paper.tables().items()
        for row in table.rows
        if row.loss == "dsc" and 3 <= number <= 8 and "delta" in row.printed
    ]


def _first_try(root: Path) -> dict[str, str]:
    usual = {"corpus": "wnut17", "learning_rate": 2e-4, "batch_size": 32, "precision": "bf16"}
    kept = [
        r
        for r in read_records(root / "results" / "first_try.jsonl")
        if usual.items() <= r["parameters"].items()
    ]

    def of(wanted: Callable[[dict[str, Any], dict[str, Any]], bool]) -> list[float]:
        scores = [
            r["metrics"]["test"]["f1"]
            for r in kept
            if wanted(r["parameters"], r["parameters"]["options"])
        ]
        assert len(scores) == 3, scores
        return scores

    def dice(squared: bool) -> list[float]:
        options = {"squared": squared, "smooth": 1.0, "absent": "keep", "outside": True}
        return of(
            lambda p, o: (
                p["loss"] == "dl"
                and options.items() <= o.items()
                and not (o.get("warm_start") or o.get("outside_bias"))
            )
        )

    linear, squares = dice(False), dice(True)
    claim("a tagger trained so finds no entities with any of three seeds", max(linear) == 0)
    ce = of(lambda p, o: p["loss"] == "ce" and not any(o.values()))
    return {
        "linear": "no",
        "ce_first": f"{np.mean(ce):.1f}",
        "squared_first": f"{np.mean(squares):.1f}",
    }


def _rivals(evidence: Evidence) -> str:
    lines = ["| loss | tasks | at argmax | tuned |", "|---|---|---|---|"]
    for arm, name in NAMES.items():
        both = [over_tasks(evidence, arm, how) for how in ("argmax", "tuned")]
        cells = [f"{signed(p.mu)} {interval(p.mu_low, p.mu_high)}" for p in both]
        tasks = " / ".join(dict.fromkeys(str(p.tasks) for p in both))
        lines.append(f"| {name} | {tasks} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _references(root: Path) -> str:
    text: str = format_from_file(
        root / "references.bib", "plain", output_backend="markdown", citations=list(CITED)
    )
    entries = [" ".join(entry.split()) for entry in re.split(r"^\[\d+\] ", text, flags=re.M)[1:]]
    return "\n".join(f"{n}. {entry}" for n, entry in enumerate(entries, 1))

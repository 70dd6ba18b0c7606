"""The page of the first protocol's evidence: every number of it, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dicelab.records import left_open, strata
from dicelab.records.analysis import (
    CHECKPOINTS,
    MARGIN,
    OTHERS,
    PRIMARY,
    SECONDARY,
    WAYS,
    Effect,
    Evidence,
    Pooled,
    effect,
    effects_of,
    expected_best,
    holm,
    less_ce,
    pool,
)
from tools.pages.cells import interval, table

HEAD = """# The records of the evidence

The first protocol's runs, whole: `make evidence` writes this page from `results/evidence`. The
[protocol](protocol.md) says what an arm, a trial and a final run are. Scores and differences are F1
in percent; the ratio is that of negatives to positives, the floor the best baseline."""
SEEN = "seen 4 of 5 times"
# Where nine arms stand beside one another.
SHORT = {"ce_prior": "prior", "logit_adjustment": "logit adj.", "negative_sampling": "sampling"}


def page(folder: Path) -> str:
    """The page of the evidence, as Markdown.

    Args:
        folder: The records.
    """
    runs = Evidence.read(folder)
    finals = Counter(arm for (_, arm, how), r in runs.finals.items() for _ in r if how == "tuned")
    told = ", ".join(f"{arm} {n}" for arm, n in finals.items())
    parts = [HEAD, f"{len(runs.tasks)} tasks, {sum(map(len, runs.search.values()))} trials."]
    parts.append(f"Final runs, tuned: {told}.")
    for how in WAYS:
        parts += [f"## Test F1, {how}: mean of the final runs", table(_scores(runs, how))]
    effects = effects_of(runs, PRIMARY)
    parts += [f"## {PRIMARY.name}", BY_TASK, table(map(_of_task, effects))]
    pooled = {c.name: pool(effects_of(runs, c)) for c in (PRIMARY, *SECONDARY)}
    known = {name: p for name, p in pooled.items() if p}
    if known:
        secondary = [name for name in known if name != PRIMARY.name]
        adjusted = dict(zip(secondary, holm([known[name].p for name in secondary]), strict=True))
        rows = [_over_tasks(name, p, adjusted.get(name, p.p)) for name, p in known.items()]
        parts += ["## Over tasks", OVER_TASKS, table(rows)]
    missing = [name for name, p in pooled.items() if p is None]
    if missing:
        parts.append(f"Not yet on four corpora: {'; '.join(missing)}.")
    if pooled[PRIMARY.name]:
        parts += ["## The primary contrast under other models", OTHER_MODELS]
        parts.append(table(_other_models(effects)))
    parts += [f"## {AT_ARGMAX.name}, by stratum", STRATA, table(_by_stratum(runs))]
    parts += ["## Where the search ends", ENDS, table(_ends(runs))]
    parts += ["## Search", SEARCH, table(_searches(runs))]
    parts += [ALL_LAYERS, table(_fine_tuned(folder))]
    return "\n\n".join(parts) + "\n"


BY_TASK = """The mean of the paired differences with the 95% interval of the two-way bootstrap and
its standard error; half the width of Student's paired and of Welch's unpaired interval over seeds;
and the difference that a paired test over these seeds would see four times in five."""

OVER_TASKS = f"""The gain at ten negatives for each positive, and the change for an e-fold
imbalance, each with its 95% interval after Hartung and Knapp; τ, the standard deviation over
corpora; p, and p after Holm's correction; the probability that the gain lies within {MARGIN:g} of
0, and the p-value of the equivalence tests; and the gain that would be seen four times in five."""


AT_ARGMAX = less_ce("dice", "argmax")
OTHER_MODELS = """Eight sources: the five domains of CrossNER are one, and so are UNER and EWT; each
task then has an effect of its own."""
STRATA = f"""Shifted: the shares of positives in training and test differ by a factor of
{strata.RATIO:g} or more. The last column is the primary contrast."""
ENDS = f"""Of the tuned final runs on tags those that choose the last checkpoint,
{CHECKPOINTS[-1]} steps; what validation F1 gains there over the checkpoint before it; and on all
tasks how far the winner of a search stands above its own final runs, on validation."""


def _of_task(found: Effect) -> dict[str, Any]:
    return {
        "task": found.task,
        "ratio": found.imbalance,
        "difference": interval(found.mean, found.low, found.high),
        "error": found.error,
        "Student": found.student,
        "Welch": found.welch,
        SEEN: found.detectable,
        "seeds": found.seeds,
    }


def _other_models(effects: list[Effect]) -> Iterator[dict[str, Any]]:
    for name, found in left_open.other_models(effects).items():
        if found is not None:
            yield {
                "model": name,
                "gain": interval(found.mu, found.mu_low, found.mu_high),
                "τ": found.tau,
                "equivalent": f"{found.equivalent:.2f}",
                "tasks": found.tasks,
            }


def _by_stratum(runs: Evidence) -> Iterator[dict[str, Any]]:
    tuned = {e.task: e for e in effects_of(runs, PRIMARY)}
    for name, found in strata.by_stratum(runs, effects_of(runs, AT_ARGMAX)).items():
        for e in found[::-1]:
            also = tuned[e.task]
            yield {
                "stratum": name,
                "task": e.task,
                "argmax": interval(e.mean, e.low, e.high),
                "tuned": interval(also.mean, also.low, also.high),
            }
        if mean := left_open.mean_over(found):
            shown = interval(mean.mu, mean.mu_low, mean.mu_high)
            yield {"stratum": name, "task": "mean", "argmax": shown, "tuned": ""}


def _ends(runs: Evidence) -> Iterator[dict[str, Any]]:
    for arm in ("ce", "dice"):
        tasks = [t for t in runs.tasks if (t, arm, "tuned") in runs.finals]
        tags = [t for t in tasks if runs.tasks[t]["form"] == "tags"]
        if tags:
            last, finals = left_open.at_last_checkpoint(runs, arm, tags)
            yield {
                "arm": arm,
                "at the last checkpoint": f"{last} of {finals}",
                "gained there": left_open.late_gain(runs, arm, tags),
                "winner above its finals": left_open.winner_above_finals(runs, arm, tasks),
            }


def _over_tasks(contrast: str, found: Pooled, adjusted: float) -> dict[str, Any]:
    return {
        "contrast": contrast.replace("_", " "),
        "gain": interval(found.mu, found.mu_low, found.mu_high),
        "by imbalance": interval(found.beta, found.beta_low, found.beta_high),
        "τ": found.tau,
        "p": found.p,
        "Holm": adjusted,
        "within": f"{found.within:.2f}",
        "equivalent": f"{found.equivalent:.2f}",
        SEEN: found.detectable,
        "tasks (corpora)": f"{found.tasks} ({found.corpora})",
    }


ALL_LAYERS = """## All layers trained

Stage B: mean test F1 over its final runs, and each arm minus cross entropy with the 95% interval of
the two-way bootstrap and the difference that would have been seen four times in five."""


def _fine_tuned(folder: Path) -> list[dict[str, Any]]:
    rows = []
    cells = Evidence.read_fine_tuned(folder)
    for size, passes in sorted(cells):
        runs = cells[size, passes]
        for task, arm, how in runs.finals:
            row: dict[str, Any] = {"task": task}
            row |= {"training sentences": size or "all", "passes": passes}
            row |= {"way": how, "arm": arm, "F1": runs.mean_f1(task, arm, how)}
            row["seeds"] = len(runs.finals[task, arm, how])
            found = effect(runs, less_ce(arm, how), task) if arm != "ce" else None
            if found:
                row["less ce"] = interval(found.mean, found.low, found.high)
                row[SEEN] = found.detectable
            rows.append(row)
    return rows


def _scores(runs: Evidence, how: str) -> list[dict[str, Any]]:
    rows = []
    for task, told in runs.tasks.items():
        row = {"task": task, "ratio": runs.imbalance(task)}
        row["floor"] = max(told["baselines"].values())
        for arm in ("ce", "dice", *OTHERS):
            if (task, arm, how) in runs.finals:
                row[SHORT.get(arm, arm)] = runs.mean_f1(task, arm, how)
        rows.append(row)
    return rows


SEARCH = """The trial that each arm chose, tuned: learning rate, dropout, the arm's own parameter;
the median of the steps that its final runs took; and the best validation F1 to expect after so
many trials."""


def _searches(runs: Evidence) -> list[dict[str, Any]]:
    rows = []
    for (task, arm), found in runs.search.items():
        best = expected_best([r["validation"]["tuned"]["f1"] for r in found])
        row: dict[str, Any] = {"task": task, "arm": arm.replace("_", " ")}
        if finals := runs.finals.get((task, arm, "tuned")):
            told = next(iter(finals.values()))["parameters"]
            row |= {"rate": f"{told['learning_rate']:.4f}", "dropout": told["dropout"]}
            row["parameter"] = told["value"] or ""
            row["steps"] = int(
                np.median([r["validation"]["tuned"]["steps"] for r in finals.values()])
            )
        rows.append(row | {str(n): best[n - 1] for n in (1, 2, 4, 8, 16) if n <= len(best)})
    return rows

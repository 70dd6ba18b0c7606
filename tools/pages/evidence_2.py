"""The page of the second protocol: what is recorded of it, and what the records say so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dicelab.records.analysis import Record, read
from dicelab.records.searched import (
    PRIMARY,
    Contrast,
    Estimate,
    SearchEffect,
    effects_of,
    mean_f1,
    pool,
    read_tasks,
    secondary,
    without_each_source,
)
from dicelab.records.speed import faster, scores
from studies.evidence_2 import runs, stage_b
from studies.evidence_2.arms import ARMS, EVERY, EXTENSION, WAYS
from studies.evidence_2.tasks import TASKS
from tools.pages.cells import interval, table

Tasks = Mapping[str, Sequence[Record]]
HEAD = """# The comparison of dice and cross entropy: records and protocol

**For** readers who want to check what chapter 17 and the guide conclude.

What `results/evidence_2` says; `make evidence` writes this page. The second protocol, at its end,
says what an arm, a search and a final are, and what was planned. Scores and differences are F1 in
percent.

## What is recorded

On each of {tasks} tasks, or of those that answer yes or no, an arm has {each} searches, and some
arms of the extension have {fewer}. Here are those that are planned, that are over, and that have
their finals, too."""
EDGES = """## Edges

Of an arm's first searches the share whose winner, tuned, sits on an edge: the last checkpoint, or
the lowest or highest sixteenth of the learning rates. The protocol's rule is for shares above a
third."""
BY_TASK = """The mean over searches of the paired differences, with the 95% interval of the
bootstrap and its standard error, which hold the scatter of the searches; and the standard deviation
of the searches' means."""
OVER_TASKS = """## Over tasks

The protocol's model, with intervals after Hartung and Knapp."""
FAMILY = """## The secondary questions

p after Holm's correction for all of them."""
EXTENDED = """## The extension

Arms from the log prior. Intervals are after Hartung and Knapp; they are not corrected for their
number."""
LAYERS = """## All layers trained

Stage B2: mean test F1, {how}, of finished runs by their steps, decay included, over the draws that
have all of an arm's lengths. The last column is the protocol's measure: their mean height over the
logarithm of the steps, minus that of `ce_start`, with the 95% interval of a bootstrap over draws
and test sentences. It mixes short and long runs, so chapter 17 and the guide read them apart."""
RATES = """## All layers trained: learning rates

The rate that the search chose for branches of up to 64 steps and for longer ones; and those rates
that lie at an end of what was tried."""

PROTOCOL = """```{include} protocol_2.md
:heading-offset: 1
```"""


def page(folder: Path) -> str:
    """The page, as Markdown.

    Args:
        folder: The records of both stages.
    """
    tasks = read_tasks(folder)
    effects = effects_of(tasks, PRIMARY)
    family = [_of_name(n, e) | {"Holm": p} for n, (e, p) in secondary(tasks).items()]
    sections = [
        *_section(
            HEAD.format(tasks=len(TASKS), each=runs.SEARCHES, fewer=runs.FEWER_SEARCHES),
            _recorded(tasks),
        ),
        *_section(EDGES, _edges(folder)),
        *_section(f"## {PRIMARY.name}\n\n{BY_TASK}", map(_of_task, effects)),
        *_over_tasks(effects),
        *_section(FAMILY, family),
        *_section(EXTENDED, _extended(tasks)),
    ]
    for how in WAYS:
        title = f"## Test F1, {how.replace('_', '-')}: mean of the finals"
        sections += _section(title, _scores(tasks, how, ARMS))
        sections += _section("The extension's arms:", _scores(tasks, how, EXTENSION))
    for how in WAYS:
        sections += _section(LAYERS.format(how=how.replace("_", "-")), _layers(folder, how))
    sections += _section(RATES, _rates(folder))
    return "\n\n".join([*sections, PROTOCOL]) + "\n"


def _section(head: str, rows: Iterable[dict[str, Any]]) -> list[str]:
    """Nothing, where nothing is recorded yet."""
    return [head, table(rows)] if (rows := list(rows)) else []


def _recorded(tasks: Tasks) -> Iterable[dict[str, Any]]:
    for arm in EVERY:
        over = dict.fromkeys(("search", "final"), 0)
        mine = runs.tasks_of(arm, list(TASKS))
        planned = runs.searches_of(arm) * len(mine)
        for name in tasks.keys() & set(mine):
            for number in range(runs.searches_of(arm)):
                units = [runs.Unit(kind, name, arm, number) for kind in over]
                if runs.wanted(tasks[name], units[0]):
                    continue
                over["search"] += 1
                over["final"] += not runs.wanted(tasks[name], units[1])
        of_arm = [r for records in tasks.values() for r in records if r.get("arm") == arm]
        yield {
            "arm": arm,
            "planned": planned,
            "searches": over["search"],
            "with finals": over["final"],
            "trials": sum(r["kind"] == "search" for r in of_arm),
            "final runs": sum(r["kind"] == "final" for r in of_arm),
            "core-hours": f"{sum(r['seconds'] for r in of_arm) / 3600:.1f}",
        }


def _edges(folder: Path) -> Iterable[dict[str, Any]]:
    for arm in EVERY:
        if shares := runs.edges(folder, arm, runs.tasks_of(arm, list(TASKS))):
            yield {"arm": arm} | {edge: f"{100 * share:.0f}%" for edge, share in shares.items()}


def _of_task(effect: SearchEffect) -> dict[str, Any]:
    return {
        "task": effect.task,
        "stratum": effect.stratum,
        "difference": interval(effect.mean, effect.low, effect.high),
        "error": effect.error,
        "of searches": effect.of_searches,
        "searches": effect.searches,
    }


def _of_name(name: str, estimate: Estimate) -> dict[str, Any]:
    return {"": name, "difference": interval(*estimate[:3]), "p": estimate.p}


def _over_tasks(effects: Sequence[SearchEffect]) -> list[str]:
    try:
        whole, without = pool(effects), without_each_source(effects)
    except ValueError:  # too few sources yet
        return []
    rows = [_of_name("all strata alike", whole.over_all)]
    rows += [_of_name(name, estimate) for name, estimate in whole.strata.items()]
    rows += [_of_name(f"without {name}", estimate) for name, estimate in without.items()]
    heterogeneity = (
        f"Standard deviations: {whole.source:.2f} over sources, {whole.task:.2f} over tasks of one "
        f"source. The test of equivalence has p = {whole.equivalent:.2f}; a difference of "
        f"{whole.detectable:.2f} would be seen four times in five."
    )
    return [*_section(OVER_TASKS, rows), heterogeneity]


def _extended(tasks: Tasks) -> Iterable[dict[str, Any]]:
    pairs = [(arm, "ce_start") for arm in EXTENSION]
    for arm, base in (pairs[0], ("dice_start", "dice"), *pairs[1:]):
        for how in WAYS:
            effects = effects_of(tasks, Contrast((arm, how), (base, how)))
            try:
                pooled = pool(effects)
            except ValueError:  # too few sources yet
                continue
            searches = sorted({e.searches for e in effects})
            row: dict[str, Any] = {"difference": f"{arm} minus {base}"}
            row |= {"decision": how.replace("_", "-")}
            row |= {"tasks": len(effects), "searches": " to ".join(map(str, searches))}
            row |= {"over all": interval(*pooled.over_all[:3])}
            yield row | {name: interval(*e[:3]) for name, e in pooled.strata.items()}


def _scores(tasks: Tasks, how: str, arms: Iterable[str]) -> Iterable[dict[str, Any]]:
    for name, records in tasks.items():
        means = {arm: mean_f1(records, arm, how) for arm in arms}
        if by_arm := {arm: mean for arm, mean in means.items() if mean is not None}:
            task_record = next(r for r in records if r["kind"] == "task")
            yield {"task": name, "floor": task_record["baseline"], **by_arm}


def _layers(folder: Path, how: str) -> Iterable[dict[str, Any]]:
    for task in stage_b.CORPORA:
        records = read(stage_b.file_of(folder, task))
        for arm in stage_b.arms_of(task):
            steps, of_draws = scores(records, arm, how)
            if not len(of_draws):
                continue
            row: dict[str, Any] = {"corpus": task, "arm": arm, "draws": len(of_draws)}
            row |= dict(zip(map(str, steps), of_draws.mean(0).tolist(), strict=True))
            whole = arm in stage_b.ARMS and arm != "ce_start"
            effect = faster(records, arm, "ce_start", how) if whole else None
            yield row | ({"area": interval(*effect[:3])} if effect else {})


def _rates(folder: Path) -> Iterable[dict[str, Any]]:
    for task in stage_b.CORPORA:
        known = read(stage_b.file_of(folder, task))
        for arm in stage_b.arms_of(task):
            tried = stage_b.rates_of(task, arm, known)
            lengths = stage_b.lengths_of(arm, stage_b.SEARCHED)
            if any(stage_b.mean_score(known, arm, n, tried[0]) is None for n in lengths):
                continue
            best = {n: stage_b.chosen_rate(task, known, arm, n) for n in lengths}
            row = {"corpus": task, "arm": arm}
            row |= {f"to {n} steps": f"{rate:.2g}" for n, rate in best.items()}
            edge = sorted(rate for rate in set(best.values()) if rate in (tried[0], tried[-1]))
            yield row | {"at an end": ", ".join(f"{rate:.2g}" for rate in edge)}

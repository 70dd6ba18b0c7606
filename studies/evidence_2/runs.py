"""Stage A2: five searches a task and arm, four finals each; see ``docs/protocol_2.md``."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from tqdm import tqdm

from dicelab.records.analysis import Record, read
from dicelab.records.runs import versions
from studies.evidence import heads
from studies.evidence.heads import Trial
from studies.evidence.records import append
from studies.evidence.scores import Gold, scored
from studies.evidence.tasks import Data, draw
from studies.evidence_2.arms import (
    ARMS,
    CHECKPOINTS,
    EVERY,
    EXTENSION,
    HIGH_RATE,
    LOW_RATE,
    TRIALS,
    WAYS,
    Half,
    decide,
    trials_of,
)
from studies.evidence_2.tasks import TASKS, labelled, load

SEARCHES, FINALS, SEARCH_SEED = 5, 4, 1000
PRIMARY_ARMS = ("ce_start", "dice")
EXTENDED_ARMS, FEWER_SEARCHES = ("dice_start", "dice_both"), 2
STACK = 8  # heads trained at a time: what a killed run loses
CODE = (
    "evidence/heads.py",
    "evidence/scores.py",
    "evidence/tasks.py",
    "evidence_2/arms.py",
    "evidence_2/runs.py",
    "evidence_2/tasks.py",
    "raw.py",
)


class Unit(NamedTuple):
    """A search of an arm on a task, or the finals of that search."""

    kind: str
    task: str
    arm: str
    search: int


def file_of(folder: Path, task: str) -> Path:
    """Where a task's records are."""
    return folder / f"{task}.jsonl"


def tasks_of(arm: str, tasks: Sequence[str]) -> list[str]:
    """The tasks that an arm runs on: all, or those that answer yes or no."""
    return [t for t in tasks if not (EVERY[arm].binary_only and TASKS[t].form == "tags")]


def searches_of(arm: str) -> int:
    """How many searches an arm has on each of its tasks."""
    return FEWER_SEARCHES if arm in EXTENSION and arm not in EXTENDED_ARMS else SEARCHES


def extension(tasks: Sequence[str]) -> list[Unit]:
    """What the extension adds, in order: search after search, each with its finals at once."""
    others = tuple(arm for arm in EXTENSION if arm not in EXTENDED_ARMS)
    return [
        Unit(kind, task, arm, search)
        for group in (EXTENDED_ARMS, others)
        for search in range(searches_of(group[0]))
        for task in tasks
        for arm in group
        if task in tasks_of(arm, tasks)
        for kind in ("search", "final")
    ]


def plan(tasks: Sequence[str]) -> list[Unit]:
    """What there is to do, in order: the first search of all; then search and finals in turn."""
    arms = [PRIMARY_ARMS, tuple(a for a in ARMS if a not in PRIMARY_ARMS)]
    units = [Unit("search", t, a, 0) for group in arms for t in tasks for a in group]
    for search in range(SEARCHES):
        for group in arms:
            for task in tasks:
                for arm in group:
                    if search:
                        units.append(Unit("search", task, arm, search))
                    units.append(Unit("final", task, arm, search))
    return units


def digest(tasks: Sequence[str]) -> str:
    """A digest of the plan: texts, labels, arms, trials, seeds and lengths; not of the code."""
    told = hashlib.sha256()
    for task in tasks:
        parts = labelled(task)
        rows = [[(list(row.texts), list(row.tags), row.group) for row in part] for part in parts]
        told.update(json.dumps([task, rows]).encode())
    trials = {arm: [[vars(t) for t in trials_of(arm, s)] for s in range(SEARCHES)] for arm in ARMS}
    told.update(json.dumps([plan(tasks), trials, CHECKPOINTS, FINALS, SEARCH_SEED]).encode())
    return told.hexdigest()[:12]


def code(*more: str) -> str:
    """A digest of the code that a result depends on: of ``CODE`` and some files beside it."""
    here = Path(__file__).parents[1]
    whole = b"".join((here / name).read_bytes() for name in (*CODE, *more))
    return hashlib.sha256(whole).hexdigest()[:12]


def chosen(found: Sequence[Record]) -> dict[str, int]:
    """For each way of deciding the trial with the best validation F1; among equals the first."""
    return {
        how: max(found, key=lambda r: (r["validation"][how]["f1"], -r["trial"]))["trial"]
        for how in WAYS
    }


def searched(known: Sequence[Record], unit: Unit) -> list[Record]:
    """The records of a unit's search."""
    return [
        r
        for r in known
        if (r["kind"], r.get("arm"), r.get("search")) == ("search", unit.arm, unit.search)
    ]


def wanted(known: Sequence[Record], unit: Unit) -> list[tuple[int, int, tuple[str, ...]]]:
    """Trial, seed and ways of the heads of a unit that have no record yet."""
    found = searched(known, unit)
    if unit.kind == "search":
        have = {r["trial"] for r in found}
        return [(i, SEARCH_SEED + unit.search, ()) for i in range(TRIALS) if i not in have]
    best = chosen(found)
    done = {
        (r["trial"], r["seed"])
        for r in known
        if (r["kind"], r.get("arm"), r.get("search")) == ("final", unit.arm, unit.search)
    }
    return [
        (trial, seed, tuple(how for how in WAYS if best[how] == trial))
        for trial in dict.fromkeys(best.values())
        for seed in range(unit.search * FINALS, (unit.search + 1) * FINALS)
        if (trial, seed) not in done
    ]


def edges(folder: Path, arm: str, tasks: Sequence[str]) -> dict[str, float]:
    """The share of an arm's winners, tuned, of the first search, that sit on an edge.

    Returns:
        ``last`` for the last checkpoint; ``low`` and ``high`` for the outer sixteenths of the
        learning rates; nothing before the first search is over on all tasks.
    """
    winners = []
    for task in tasks:
        found = searched(read(file_of(folder, task)), Unit("search", task, arm, 0))
        if len(found) < TRIALS:
            return {}
        best = chosen(found)["tuned"]
        winners.append(next(r for r in found if r["trial"] == best))
    rates = np.array([r["parameters"]["learning_rate"] for r in winners])
    step = (HIGH_RATE / LOW_RATE) ** (1 / TRIALS)
    last = [r["validation"]["tuned"]["steps"] == CHECKPOINTS[-1] for r in winners]
    return {
        "last": float(np.mean(last)),
        "low": float((rates < LOW_RATE * step).mean()),
        "high": float((rates > HIGH_RATE / step).mean()),
    }


def over_the_rule(folder: Path, tasks: Sequence[str]) -> list[str]:
    """Edges that more than a third of an arm's winners sit on."""
    return [
        f"{arm}: {100 * share:.0f}% of the winners at {edge}"
        for arm in ARMS
        for edge, share in edges(folder, arm, tasks).items()
        if share > 1 / 3
    ]


def run(tasks: Sequence[str], folder: Path, *, edges_moved: bool = False) -> None:
    """Run what is missing of the plan, in this process; it may be killed at any time.

    Args:
        tasks: Names of ``TASKS``.
        folder: Where the records are, and are added.
        edges_moved: Whether the rule about edges has been applied, as the protocol then says.

    Raises:
        RuntimeError: The rule asks for an edge to be moved before the first final.
    """
    units = plan(tasks)
    print(f"{len(units)} searches and sets of finals on {len(tasks)} tasks; code {code()}")
    with tqdm(total=len(units), desc="Stage A2", unit="unit", mininterval=30) as bar:
        for unit in units:
            if unit.kind == "final" and not edges_moved and (over := over_the_rule(folder, tasks)):
                raise RuntimeError("an edge has to move first: " + "; ".join(over))
            bar.set_postfix_str(" ".join(map(str, unit)))
            run_unit(unit, folder)
            bar.update()


def extend(tasks: Sequence[str], folder: Path) -> None:
    """Run what is missing of the extension; it may be killed at any time.

    Args:
        tasks: Names of ``TASKS``.
        folder: Where the records are, and are added.
    """
    for unit in tqdm(extension(tasks), "Extension of Stage A2", unit="unit", mininterval=30):
        run_unit(unit, folder)


def run_unit(unit: Unit, folder: Path) -> None:
    """One search, or its finals, from where they were left."""
    path = file_of(folder, unit.task)
    known = read(path)
    if not any(r["kind"] == "task" for r in known):
        append(path, [describe(unit.task)])
    todo = wanted(known, unit)
    for at in range(0, len(todo), STACK):
        append(path, run_stack(unit, todo[at : at + STACK]))


@lru_cache(maxsize=1)
def _data(task: str) -> Data:
    return load(task)


def describe(task: str) -> Record:
    """What a task is, and the score of those who learn nothing."""
    data, spec = _data(task), TASKS[task]
    gold = Gold.of(data.labels[data.test], data.sentence[data.test], data.names)
    parts = (*draw(data, spec.base, SEARCH_SEED), data.test)
    baseline = np.ones_like(gold.labels) if data.dictionary is None else data.dictionary
    return {
        "kind": "task",
        "task": task,
        "source": spec.source,
        "stratum": spec.stratum,
        "form": spec.form,
        "classes": len(data.names),
        "sizes": {
            name: {"rows": len(rows), "positive": int((data.labels[rows] > 0).sum())}
            for name, rows in zip(
                ("train", "validation_1", "validation_2", "test"), parts, strict=True
            )
        },
        "blocks": gold.by_block(gold.labels)[0],
        "baseline": scored(gold, baseline)["f1"],
        "versions": versions(),
        "code": code(),
    }


def run_stack(unit: Unit, todo: Sequence[tuple[int, int, tuple[str, ...]]]) -> Iterator[Record]:
    """Train heads together and score them; the test set is scored in finals alone."""
    data, spec, before = _data(unit.task), TASKS[unit.task], time.process_time()
    trials = trials_of(unit.arm, unit.search)
    seeds = [seed for _, seed, _ in todo]
    draws = {seed: draw(data, spec.base, seed) for seed in set(seeds)}
    states = heads.train(
        EVERY[unit.arm],
        [trials[number] for number, _, _ in todo],
        seeds,
        data.features,
        data.labels,
        [draws[seed][0] for seed in seeds],
        len(data.names),
        CHECKPOINTS,
    )
    results = []
    for k, (number, seed, ways) in enumerate(todo):
        one, two = (
            Half(
                gold_of(data, rows),
                [heads.logits_of(state, k, data.features[rows]) for state in states],
            )
            for rows in draws[seed][1:]
        )
        of_test = partial(_of_test, states, k, data)
        results.append(record_of(unit, (number, seed, ways), trials[number], (one, two), of_test))
    seconds = round((time.process_time() - before) / len(todo), 2)
    for record in results:
        yield {**record, "seconds": seconds, "code": code()}


def _of_test(states: Sequence[heads.State], head: int, data: Data, at: int) -> np.ndarray:
    return heads.logits_of(states[at], head, data.features[data.test])


def gold_of(data: Data, rows: np.ndarray) -> Gold:
    """The gold entities of some rows of a task."""
    return Gold.of(data.labels[rows], data.sentence[rows], data.names)


def record_of(
    unit: Unit,
    todo: tuple[int, int, tuple[str, ...]],
    parameters: Trial,
    halves: tuple[Half, Half],
    of_test: Callable[[int], np.ndarray],
    checkpoints: Sequence[int] | None = None,
) -> Record:
    """What is decided for a head on validation, and in finals its scores on the test set.

    Args:
        unit: What the head belongs to.
        todo: Its trial, its seed and, of finals, the ways of deciding that it was chosen for.
        parameters: Those of the trial.
        halves: Of validation, with the logits at each checkpoint.
        of_test: From a checkpoint's place to logits on the test set; called in finals alone.
        checkpoints: Numbers of steps; ``CHECKPOINTS`` if None.
    """
    number, seed, ways = todo
    steps = CHECKPOINTS if checkpoints is None else checkpoints
    picks, curve = decide(*halves, steps)
    record: Record = {
        "kind": unit.kind,
        "task": unit.task,
        "arm": unit.arm,
        "search": unit.search,
        "trial": number,
        "seed": seed,
        "parameters": vars(parameters),
        "validation": picks,
    }
    if ways:
        record |= {"chosen_for": ways, "curve": curve, "test": {}}
        data = _data(unit.task)
        gold = gold_of(data, data.test)
        for how in ways:
            logits = of_test(steps.index(picks[how]["steps"]))
            tags = gold.predicted(logits, np.array([picks[how]["threshold"]]))[0]
            record["test"][how] = scored(gold, tags) | {"blocks": gold.by_block(tags)}
    return record


def set_threads() -> None:
    """One thread, so that a seed gives the same scores however many cores there are."""
    torch.set_num_threads(1)

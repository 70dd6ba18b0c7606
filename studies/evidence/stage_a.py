"""Stage A: a frozen encoder and a trained head. Search, then finals; see ``docs/protocol.md``."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from studies.evidence import heads, records
from studies.evidence.heads import ARMS, CHECKPOINTS, Trial
from studies.evidence.records import Record
from studies.evidence.scores import (
    Gold,
    best_threshold,
    f1,
    precision_recall,
    scored,
)
from studies.evidence.tasks import TASKS, Data, draw, load

TRIALS, FINALS, SEARCH_SEED = 16, 20, 1000
WAYS = ("argmax", "tuned")
FIRST = ("ce", "dice")  # the primary contrast is run on every task before the other arms

Unit = tuple[str, str, Path]


def file_of(folder: Path, task: str) -> Path:
    """Where a task's records are."""
    return folder / f"a-{task}.jsonl"


def arms_of(task: str) -> list[str]:
    """The arms that a task has."""
    return [arm for arm in ARMS if not ARMS[arm].binary_only or TASKS[task].kind != "tags"]


def units(tasks: Sequence[str], folder: Path) -> list[Unit]:
    """What there is to do, in order."""
    first = [(task, arm, folder) for task in tasks for arm in FIRST]
    return first + [
        (task, arm, folder) for task in tasks for arm in arms_of(task) if arm not in FIRST
    ]


def choose(search: Sequence[Record]) -> dict[str, int]:
    """For each way of deciding the trial with the best validation F1; among equals the first."""
    return {
        how: max(search, key=lambda r: (r["validation"][how]["f1"], -r["trial"]))["trial"]
        for how in WAYS
    }


def run(tasks: Sequence[str], folder: Path, workers: int = 1) -> None:
    """Run what is missing.

    Args:
        tasks: Names of ``TASKS``.
        folder: Where the records are, and are added.
        workers: Processes of one thread each.
    """
    todo = units(tasks, folder)
    each = TRIALS + int(1.5 * FINALS)  # one trial for both ways of deciding, or one for each
    print(f"{len(todo)} searches with finals, about {each * len(todo)} heads; {estimate(todo)}")
    context = get_context("spawn")
    with (
        context.Pool(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool,
        tqdm(total=len(todo), desc="Stage A", unit="arm", smoothing=0.1) as bar,
    ):
        for name in pool.imap(run_unit, todo):
            bar.set_postfix_str(name)
            bar.update()


def estimate(todo: Sequence[Unit]) -> str:
    """Core hours of what is missing, from a short run on made-up data."""
    rows, k = np.arange(2000), 16
    labels = (rows % 10 == 0).astype(np.int64)
    features = torch.randn(2000, 256, generator=torch.Generator().manual_seed(0))
    trials = [Trial(1e-3, 0.1, 1.0)] * k
    before = time.process_time()  # of this process alone: others may share the cores
    heads.train("dice", trials, range(k), features, labels, [rows] * k, 2, checkpoints=(30,))
    a_head = (time.process_time() - before) / k * CHECKPOINTS[-1] / 30 * 1.5  # and evaluation
    left = sum(missing(unit) for unit in todo)
    return f"{left} missing, about {a_head:.2f} s each: {left * a_head / 3600:.1f} core-hours"


def missing(unit: Unit) -> int:
    """How many heads of a unit have no record; before the search is over an upper bound."""
    task, arm, folder = unit
    kinds = [r["kind"] for r in records.read(file_of(folder, task)) if r.get("arm") == arm]
    search, finals = kinds.count("search"), kinds.count("final")
    if search < TRIALS:
        return TRIALS - search + 2 * FINALS
    return len(_final_plan(unit)[0]) - finals


def run_unit(unit: Unit) -> str:
    """Search and finals of one arm on one task, from where they were left."""
    task, arm, folder = unit
    path = file_of(folder, task)
    known = records.read(path)
    if not any(r["kind"] == "task" for r in known):
        records.append(path, [describe(task)])
    done = {r["trial"] for r in known if r["kind"] == "search" and r["arm"] == arm}
    wanted = [i for i in range(TRIALS) if i not in done]
    if wanted:
        runs = run_stack(task, arm, wanted, [SEARCH_SEED] * len(wanted))
        records.append(path, ({"kind": "search", **r} for r in runs))
    plan, chosen = _final_plan(unit)
    have = {
        (r["trial"], r["seed"])
        for r in records.read(path)
        if r["kind"] == "final" and r["arm"] == arm
    }
    for trial in dict.fromkeys(chosen.values()):
        seeds = [seed for t, seed in plan if t == trial and (t, seed) not in have]
        if seeds:
            purpose = [how for how in WAYS if chosen[how] == trial]
            runs = run_stack(task, arm, [trial] * len(seeds), seeds, purpose)
            records.append(path, ({"kind": "final", "chosen_for": purpose, **r} for r in runs))
    return f"{task} {arm}"


def _final_plan(unit: Unit) -> tuple[list[tuple[int, int]], dict[str, int]]:
    task, arm, folder = unit
    found = records.read(file_of(folder, task))
    chosen = choose([r for r in found if r["kind"] == "search" and r["arm"] == arm])
    trials = dict.fromkeys(chosen.values())
    return [(trial, seed) for trial in trials for seed in range(FINALS)], chosen


@lru_cache(maxsize=1)
def _data(task: str) -> Data:
    return load(task)


def describe(task: str) -> Record:
    """What a task is, and the scores of those who learn nothing."""
    data, spec = _data(task), TASKS[task]
    gold = Gold.of(data.labels[data.test], data.sentence[data.test], data.names)
    train, first, second = draw(data, spec, SEARCH_SEED)
    everything = np.ones_like(gold.labels)
    baselines = {"majority": 0.0, "all_positive": scored(gold, everything)["f1"]}
    if data.dictionary is not None:
        baselines = {"majority": 0.0, "dictionary": scored(gold, data.dictionary)["f1"]}
    return {
        "kind": "task",
        "task": task,
        "corpus": spec.corpus,
        "form": spec.kind,
        "classes": len(data.names),
        "sizes": {
            name: {"rows": len(rows), "positive": int((data.labels[rows] > 0).sum())}
            for name, rows in (
                ("train", train),
                ("validation_1", first),
                ("validation_2", second),
                ("test", data.test),
            )
        },
        "blocks": gold.by_block(gold.labels)[0],
        "baselines": baselines,
        **records.provenance(),
    }


def run_stack(
    task: str,
    arm: str,
    numbers: Sequence[int],
    seeds: Sequence[int],
    purpose: Sequence[str] = (),
) -> Iterator[Record]:
    """Train heads together and score them.

    Args:
        task: One of ``TASKS``.
        arm: One of ``ARMS``.
        numbers: The trials.
        seeds: One for each.
        purpose: The ways of deciding for which the test set is scored; none in a search.

    Yields:
        A record for each head.
    """
    data, spec, before = _data(task), TASKS[task], time.perf_counter()
    trials = [Trial.random(arm, n) for n in numbers]
    draws = {seed: draw(data, spec, seed) for seed in set(seeds)}
    rows = [draws[seed][0] for seed in seeds]
    classes = len(data.names)
    states = heads.train(arm, trials, seeds, data.features, data.labels, rows, classes)
    told = records.provenance()
    results = []
    for k, (number, seed, trial) in enumerate(zip(numbers, seeds, trials, strict=True)):
        shift: Any = 0.0
        if arm == "ce_prior":
            shift = -trial.value * heads.log_prior(data.labels[draws[seed][0]], classes).numpy()
        halves = [
            _Half(data, half, [heads.logits_of(s, k, data.features[half]) + shift for s in states])
            for half in draws[seed][1:]
        ]
        picks, curve = _decide(*halves)
        record: Record = {
            "task": task,
            "arm": arm,
            "trial": number,
            "seed": seed,
            "parameters": vars(trial),
            "validation": picks,
            "curve": curve,
        }
        if purpose:
            test = data.features[data.test]
            gold = Gold.of(data.labels[data.test], data.sentence[data.test], data.names)
            record["test"] = {}
            for how in purpose:
                at = CHECKPOINTS.index(picks[how]["steps"])
                logits = heads.logits_of(states[at], k, test) + shift
                tags = gold.predicted(logits, np.array([picks[how]["threshold"]]))[0]
                record["test"][how] = scored(gold, tags, whole=True)
                if how == "tuned":
                    record["precision_recall"] = {
                        "validation": precision_recall(halves[0].gold, halves[0].logits[at]),
                        "test": precision_recall(gold, logits),
                    }
        results.append(record)
    seconds = round((time.perf_counter() - before) / len(numbers), 3)
    for record in results:
        yield {**record, "seconds": seconds, **told}


class _Half:
    """One half of validation: its gold entities, and the logits at every checkpoint."""

    def __init__(self, data: Data, rows: np.ndarray, logits: list[np.ndarray]) -> None:
        self.gold = Gold.of(data.labels[rows], data.sentence[rows], data.names)
        self.logits = logits

    def at(self, checkpoint: int, threshold: float) -> np.ndarray:
        """Found, predicted and gold entities."""
        found, predicted = self.gold.counts(self.logits[checkpoint], np.array([threshold]))
        return np.array([found[0], predicted[0], self.gold.entities])


def _decide(one: _Half, two: _Half) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """Steps from one half, the threshold from the other; F1 on both together chooses the trial."""
    curve = {
        "argmax": [float(f1(*one.at(i, 0.0))) for i in range(len(CHECKPOINTS))],
        "tuned": [best_threshold(one.gold, logits)[1] for logits in one.logits],
    }
    picks = {}
    for how in WAYS:
        at = int(np.argmax(curve[how]))
        threshold = best_threshold(two.gold, two.logits[at])[0] if how == "tuned" else 0.0
        value = float(f1(*(one.at(at, threshold) + two.at(at, threshold))))
        picks[how] = {
            "f1": round(value, 3),
            "steps": CHECKPOINTS[at],
            "threshold": round(threshold, 5),
        }
    return picks, {how: [round(v, 2) for v in values] for how, values in curve.items()}

"""Do dice losses cost accuracy? SST-2 and SST-5 as they come, on frozen sentence features.

    python -m studies.accuracy                # every run that is not recorded yet

Features, heads and draws are those of ``studies/evidence``, with the
treebank's train and dev parts as the pool and its test part for testing, classes in their natural
shares. For each loss and seed, learning rate and steps are those with the best accuracy on both
halves of validation; the decision is argmax. Dice losses have squared denominators and smoothing 1.
The corpora are those that ``dicebook data`` leaves in $DICEBOOK_DATA. One record a run is appended
to the results; what is recorded there is not run again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dicelab.corpora.trees import read_trees
from dicelab.records import runs
from studies import raw
from studies.evidence import heads, tasks

RATES, STEPS = (0.001, 0.003, 0.01), (30, 60, 120, 240, 480)
SEEDS = tuple(range(10))


def _of_all(arm: str) -> heads.Arm:
    """An arm of the evidence over all classes, where it would look at class 1 of two alone."""

    def loss(x: Tensor, y: Tensor, value: Tensor, prior: Tensor, classes: slice) -> Tensor:
        return heads.ARMS[arm].loss(x, y, value, prior, slice(None))

    return heads.Arm(loss)


#: By what is recorded, a loss of the library with its options, the arm that trains it.
ARMS = {
    ("ce", ""): "ce",
    ("fl", ""): "focal",
    ("dl", "all"): "dice of all",
    ("dl", "positive"): "dice",
    ("dsc", "all"): "dsc of all",
}
OF_ALL = {"dice of all": _of_all("dice"), "dsc of all": _of_all("dsc")}
VALUES = {"focal": 2.0}  # of an arm's one parameter; smoothing 1 for the others


def _sst5() -> tasks.Parts:
    """The roots of the trees with their five degrees."""
    rows = [
        [
            tasks.Row((row["sentence"],), ["O" if not row["label"] else f"B-{row['label']}"], i)
            for i, row in enumerate(part)
        ]
        for part in (
            [row for name in names for row in read_trees(raw.file("sst5", f"trees_{name}.txt"))]
            for names in (("train", "dev"), ("test",))
        )
    ]
    return rows[0], rows[1]


CORPORA = {
    "sst2": tasks.Task("sst2", "text", tasks.TASKS["sst2_10"].read),
    "sst5": tasks.Task("sst5", "text", _sst5),
}


def parameters_of(corpus: str, loss: str, classes: str, seed: int) -> dict[str, Any]:
    """What tells a run from the others."""
    options: dict[str, Any] = {"gamma": 2.0} if loss == "fl" else {}
    if classes:
        options = {"squared": True, "smooth": 1.0, "classes": classes}
    if loss == "dsc":
        options["alpha"] = 0.1
    return {
        "corpus": corpus,
        "loss": loss,
        "options": options,
        "seed": seed,
        "encoder": "all-MiniLM-L6, frozen",
        "learning_rates": list(RATES),
        "steps": list(STEPS),
    }


def records(name: str, loss: str, classes: str, seeds: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Train heads of all learning rates and seeds together; one record for each seed."""
    data, arm = tasks.load(name), ARMS[loss, classes]
    began = time.process_time()
    draws = {seed: tasks.draw(data, CORPORA[name], seed) for seed in seeds}
    plan = [(seed, rate) for seed in seeds for rate in RATES]
    states = heads.train(
        arm,
        [heads.Trial(rate, dropout=0.2, value=VALUES.get(arm, 1.0)) for _, rate in plan],
        [seed for seed, _ in plan],
        data.features,
        data.labels,
        [draws[seed][0] for seed, _ in plan],
        len(data.names),
        STEPS,
    )
    seconds = (time.process_time() - began) / len(seeds)

    def accuracy(state: heads.State, k: int, rows: np.ndarray) -> float:
        predicted = heads.logits_of(state, k, data.features[rows]).argmax(1)
        return float(100 * (predicted == data.labels[rows]).mean())

    for seed in seeds:
        train, *halves = draws[seed]
        validation = {
            (rate, steps): accuracy(state, k, np.concatenate(halves))
            for k, (s, rate) in enumerate(plan)
            if s == seed
            for steps, state in zip(STEPS, states, strict=True)
        }
        rate, steps = max(validation, key=lambda choice: validation[choice])
        state, k = states[STEPS.index(steps)], plan.index((seed, rate))
        gold = data.labels[data.test]
        largest = np.bincount(data.labels[train]).argmax()
        yield runs.make_record(
            chapter="studies/accuracy.py",
            parameters={**parameters_of(name, loss, classes, seed), "train_size": len(train)},
            metrics={
                "test": {"accuracy": accuracy(state, k, data.test), "sentences": len(gold)},
                "validation": {"accuracy": validation[rate, steps]},
                "majority": {"accuracy": float(100 * (gold == largest).mean())},
            },
            history=[{"learning_rate": rate, "steps": steps}],
            measured={"device": "cpu, 1 threads", "seconds": round(seconds, 2)},
        )


def main() -> None:
    """Run what is not yet recorded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--seed", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--out", type=Path, default=Path("results/accuracy.jsonl"))
    given = parser.parse_args()
    heads.ARMS.update(OF_ALL)
    tasks.TASKS.update(CORPORA)
    known = runs.read_records(given.out) if given.out.exists() else []
    done = [{k: v for k, v in r["parameters"].items() if k != "train_size"} for r in known]
    for name in given.corpus:
        for loss, classes in ARMS:
            if classes == "positive" and name != "sst2":
                continue
            left = [s for s in given.seed if parameters_of(name, loss, classes, s) not in done]
            for record in records(name, loss, classes, left) if left else ():
                runs.append_record(given.out, record)
                found = record["metrics"]["test"]["accuracy"]
                seed, seconds = record["parameters"]["seed"], record["measured"]["seconds"]
                print(f"{name} {loss} {classes}, seed {seed}: {found:.2f}, {seconds} s", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()

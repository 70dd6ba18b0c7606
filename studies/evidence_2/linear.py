"""Stage A2 with a linear head: logits are ``W dropout(x) + b``; see ``docs/protocol_2.md``.

Heads of one seed and trial see the same batch under the same dropout, whatever their arm is. They
stand side by side in one matrix product.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.linear_model import LogisticRegression
from torch import Tensor
from tqdm import tqdm

from dicelab.records.analysis import Record, read
from studies.evidence.heads import (
    BATCH,
    WARM_UP,
    Arm,
    Trial,
    _cross_entropy,
    _log_uniform,
    _order,
    _uniform,
    _weighted,
    adamw,
    log_prior,
)
from studies.evidence.records import append
from studies.evidence.tasks import Data, draw
from studies.evidence_2 import runs
from studies.evidence_2.arms import TRIALS, Half, _dice, _dice_of_both, hypercube
from studies.evidence_2.runs import Unit, file_of, gold_of, record_of, wanted
from studies.evidence_2.tasks import TASKS

RATES = (3e-4, 3e-2)
CHECKPOINTS = (30, 60, 120, 240, 480, 960, 1920, 3840, 7680)
PILOT = ("crossner_politics", "mrpc", "goemotions_fear")
_DICE = _dice(0.0)  # one loss for both starts, so that a stack computes it once
ARMS: dict[str, Arm] = {
    "ce_start": Arm(_cross_entropy, start=True),
    "ce": Arm(_cross_entropy),
    "dice": Arm(_DICE, _log_uniform(0.1, 10.0)),
    "dice_start": Arm(_DICE, _log_uniform(0.1, 10.0), start=True),
    "dice_both": Arm(_dice_of_both, _log_uniform(0.1, 10.0), start=True, binary_only=True),
    "dice_both_zero": Arm(_dice_of_both, _log_uniform(0.1, 10.0), binary_only=True),
    "wce": Arm(_weighted, _uniform(0.1, 1.0)),
    "wce_start": Arm(_weighted, _uniform(0.1, 1.0), start=True),
}
SOLVER = "logistic"  # scikit-learn's logistic regression; its one parameter is C
INVERSE_PENALTIES = tuple(round(float(c), 7) for c in np.geomspace(1e-5, 10, TRIALS))
MAX_ITERATIONS = 1000
State = tuple[Tensor, Tensor]  # [K, D, C], [K, 1, C]


class Head(NamedTuple):
    """A head to train: its arm, the number and the settings of its trial, and its seed."""

    arm: str
    number: int
    trial: Trial
    seed: int


def arms_of(task: str) -> list[str]:
    """The arms of a task that are trained step by step."""
    tags = TASKS[task].form == "tags"
    return [name for name, arm in ARMS.items() if not (tags and arm.binary_only)]


def trials_of(arm: str, search: int) -> list[Trial]:
    """The trials of a search; of the solver a grid of ``C``, the same in every search."""
    if arm == SOLVER:
        return [Trial(0.0, 0.0, c) for c in INVERSE_PENALTIES]
    return hypercube(ARMS[arm].sample, search, RATES)


def train(
    stack: Sequence[Head],
    features: Tensor,
    labels: np.ndarray,
    rows: Mapping[int, np.ndarray],
    classes: int,
    checkpoints: Sequence[int] = CHECKPOINTS,
) -> list[State]:
    """Train linear heads as `heads.train` does those with a hidden layer, of several arms at once.

    Args:
        stack: ``K`` heads; initialisation, order and dropout depend on the seed alone.
        features: ``[N, D]`` float32.
        labels: ``[N]`` int64.
        rows: The training rows of each seed.
        classes: ``C``; with two, ``dice`` is the loss of class 1 alone.
        checkpoints: Numbers of steps, ascending.

    Returns:
        The stack at each of the checkpoints.
    """
    width, last = features.shape[1], checkpoints[-1]
    # An input is the masked batch of a seed and a trial; its heads have a slot each.
    inputs = sorted({(head.seed, head.number) for head in stack})
    at = [inputs.index((head.seed, head.number)) for head in stack]
    slot = [at[:k].count(at[k]) for k in range(len(stack))]
    slots = max(slot) + 1
    seeds = sorted(rows)
    of_seed = [seeds.index(seed) for seed, _ in inputs]
    places = [
        slice(of_seed.index(s), of_seed.index(s) + of_seed.count(s)) for s in range(len(seeds))
    ]
    x = torch.empty(len(inputs), BATCH, width)
    streams = [torch.Generator().manual_seed(seed) for seed in seeds]
    order = torch.stack([_order(rows[s], s, last) for s in seeds])
    prior = torch.stack([log_prior(labels[rows[s]], classes) for s in seeds]).unsqueeze(1)
    start = [_initial(stream, width, classes) for stream in streams]
    weight = torch.stack([start[s][0] for s in of_seed]).repeat(1, 1, slots)
    bias = torch.stack([start[s][1] for s in of_seed]).repeat(1, 1, slots)
    of_trial = {at[k]: head.trial for k, head in enumerate(stack)}
    chosen = [of_trial[g] for g in range(len(inputs))]
    rate = torch.tensor([t.learning_rate for t in chosen]).view(-1, 1, 1)
    keep = torch.tensor([1 - t.dropout for t in chosen]).view(-1, 1, 1)
    losses = [_Group.of(loss, stack, at, slot, of_seed, prior) for loss in _losses(stack)]
    for k, head in enumerate(stack):
        if ARMS[head.arm].start:
            bias.view(len(inputs), 1, slots, classes)[at[k], :, slot[k]] = prior[of_seed[at[k]]]
    state: tuple[Tensor, ...] = (weight, bias)
    first, second = ([torch.zeros_like(p) for p in state] for _ in range(2))
    gold, only = torch.from_numpy(labels), slice(1, None) if classes == 2 else slice(None)
    kept = []
    for step in range(1, last + 1):
        index = order[:, step - 1]
        for mine, of_batch, stream in zip(places, index, streams, strict=True):
            # In place: comparing and multiplying into new memory takes ten times as long.
            kept_here = torch.lt(
                torch.rand(BATCH, width, generator=stream), keep[mine], out=x[mine]
            )
            kept_here.mul_(features[of_batch]).div_(keep[mine])
        one_hot = F.one_hot(gold[index], classes).float()
        logits = torch.baddbmm(state[1], x, state[0]).view(len(inputs), BATCH, slots, classes)
        slope = torch.zeros_like(logits)
        for group in losses:
            group.differentiate(logits, one_hot, only, slope)
        flat = slope.view(len(inputs), BATCH, slots * classes)
        slopes = x.transpose(1, 2) @ flat, flat.sum(1, keepdim=True)
        state = adamw(state, slopes, first, second, rate * min(1.0, step / WARM_UP), step)
        if step in checkpoints:
            kept.append(tuple(p.view(len(inputs), -1, slots, classes)[at, :, slot] for p in state))
    return kept  # type: ignore[return-value]


def _losses(stack: Sequence[Head]) -> list[Any]:
    return list(dict.fromkeys(ARMS[head.arm].loss for head in stack))


class _Group(NamedTuple):
    """The heads of a stack that have one loss, whatever their start is."""

    loss: Any
    at: Tensor
    slot: Tensor
    seed: Tensor
    value: Tensor
    prior: Tensor

    @classmethod
    def of(
        cls,
        loss: Any,
        stack: Sequence[Head],
        at: Sequence[int],
        slot: Sequence[int],
        of_seed: Sequence[int],
        prior: Tensor,
    ) -> _Group:
        mine = [k for k, head in enumerate(stack) if ARMS[head.arm].loss is loss]
        seed = torch.tensor([of_seed[at[k]] for k in mine])
        value = torch.tensor([[stack[k].trial.value] for k in mine])
        inputs, slots = (torch.tensor([of[k] for k in mine]) for of in (at, slot))
        return cls(loss, inputs, slots, seed, value, prior[seed])

    def differentiate(self, logits: Tensor, one_hot: Tensor, only: slice, out: Tensor) -> None:
        """Write the slopes of the losses by the logits of these heads to their places."""
        x = logits[self.at, :, self.slot].requires_grad_()
        total = self.loss(x, one_hot[self.seed], self.value, self.prior, only).sum()
        (out[self.at, :, self.slot],) = torch.autograd.grad(total, x)


def _initial(stream: torch.Generator, width: int, classes: int) -> State:
    def drawn(*shape: int) -> Tensor:
        return (torch.rand(shape, generator=stream) * 2 - 1) / width**0.5

    return drawn(width, classes), drawn(1, classes)


def logits_of(state: State, heads: Sequence[int], features: Tensor) -> np.ndarray:
    """Logits ``[len(heads), N, C]`` of some heads of a stack."""
    weight, bias = (part[list(heads)] for part in state)
    classes = bias.shape[-1]
    flat = features @ weight.transpose(0, 1).flatten(1) + bias.flatten()
    return flat.view(len(features), -1, classes).transpose(0, 1).contiguous().numpy()


def solve(c: float, features: Tensor, labels: np.ndarray, classes: int) -> tuple[State, int]:
    """Logistic regression by scikit-learn's solver, and the iterations that it took.

    Args:
        c: The inverse of the penalty's strength.
        features: ``[N, D]`` of the training rows.
        labels: ``[N]`` int64.
        classes: ``C``; one that is not among the labels is never predicted.
    """
    model = LogisticRegression(C=c, max_iter=MAX_ITERATIONS).fit(features.numpy(), labels)
    weight = torch.zeros(1, features.shape[1], classes)
    bias = torch.full((1, 1, classes), -1e4)
    there = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    bias[..., model.classes_] = 0.0
    weight[..., there] = torch.from_numpy(model.coef_.T).float()
    bias[..., there] = torch.from_numpy(model.intercept_).float()
    return (weight, bias), int(model.n_iter_.max())


def units(tasks: Sequence[str]) -> list[tuple[str, str, int]]:
    """Kind, task and search of what there is to do, in order: the pilot, then search by search."""
    pilot = [("search", task, 0) for task in PILOT if task in tasks]
    return pilot + [
        (kind, task, search)
        for search in range(runs.SEARCHES)
        for task in tasks
        for kind in ("search", "final")
    ]


def run(tasks: Sequence[str], folder: Path, *, pilot: bool = False) -> None:
    """Run what is missing; it may be killed at any time, and then loses a unit at most.

    Args:
        tasks: Names of ``TASKS``.
        folder: Where the records are, and are added.
        pilot: Whether to stop after the pilot.
    """
    todo = units(tasks)
    if pilot:
        todo = todo[: len(todo) - 2 * runs.SEARCHES * len(tasks)]
    for kind, task, search in tqdm(todo, "Linear heads", unit="unit", mininterval=30):
        path = file_of(folder, task)
        if not any(r["kind"] == "task" for r in read(path)):
            append(path, [runs.describe(task) | {"head": "linear", "code": code()}])
        for arms in (arms_of(task), [SOLVER]):
            group = [Unit(kind, task, arm, search) for arm in arms]
            known = read(path)
            missing = [(unit, *one) for unit in group for one in wanted(known, unit)]
            if missing:
                of_group = by_solver if arms == [SOLVER] else by_steps
                append(path, of_group(missing))


def code() -> str:
    """A digest of the code that a result depends on."""
    return runs.code("evidence_2/linear.py")


Missing = tuple[Unit, int, int, tuple[str, ...]]  # trial, seed, ways of deciding


def by_steps(todo: Sequence[Missing]) -> Iterator[Record]:
    """Train the heads of one task together, and score them."""
    before, task = time.process_time(), todo[0][0].task
    data = runs._data(task)
    draws = {seed: draw(data, TASKS[task].base, seed) for _, _, seed, _ in todo}
    stack = [
        Head(unit.arm, number, trials_of(unit.arm, unit.search)[number], seed)
        for unit, number, seed, _ in todo
    ]
    rows = {seed: parts[0] for seed, parts in draws.items()}
    states = train(stack, data.features, data.labels, rows, len(data.names), CHECKPOINTS)
    records = []
    for seed, (_, *halves) in draws.items():
        golds = [gold_of(data, half) for half in halves]
        inputs = [data.features[half] for half in halves]
        for arm in dict.fromkeys(head.arm for head in stack):
            mine = [k for k, h in enumerate(stack) if (h.seed, h.arm) == (seed, arm)]
            logits = [[logits_of(s, mine, x) for s in states] for x in inputs]
            for i, k in enumerate(mine):
                unit, number, _, ways = todo[k]
                one, two = (
                    Half(gold, [of_all[i] for of_all in of_half])
                    for gold, of_half in zip(golds, logits, strict=True)
                )
                of_test = partial(_of_test, states, k, data)
                told = (number, seed, ways)
                trial = stack[k].trial
                records.append(record_of(unit, told, trial, (one, two), of_test, CHECKPOINTS))
    seconds = round((time.process_time() - before) / len(todo), 2)
    for record in records:
        yield record | {"seconds": seconds, "code": code()}


def _of_test(states: Sequence[State], head: int, data: Data, at: int) -> np.ndarray:
    found: np.ndarray = logits_of(states[at], [head], data.features[data.test])[0]
    return found


def by_solver(todo: Sequence[Missing]) -> Iterator[Record]:
    """Logistic regression of one task, with the same halves and ways of deciding."""
    data, task = runs._data(todo[0][0].task), TASKS[todo[0][0].task]
    for unit, number, seed, ways in todo:
        before = time.process_time()
        train_rows, *halves = draw(data, task.base, seed)
        trial = trials_of(unit.arm, unit.search)[number]
        labels = data.labels[train_rows]
        state, steps = solve(trial.value, data.features[train_rows], labels, len(data.names))
        one, two = (
            Half(gold_of(data, half), [logits_of(state, [0], data.features[half])[0]])
            for half in halves
        )
        of_test = partial(_of_test, [state], 0, data)
        record = record_of(unit, (number, seed, ways), trial, (one, two), of_test, (steps,))
        record["parameters"] = {"C": trial.value}
        seconds = round(time.process_time() - before, 2)
        yield record | {"seconds": seconds, "code": code()}

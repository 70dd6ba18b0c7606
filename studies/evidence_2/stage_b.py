"""Stage B2: all layers trained, and every length a finished run; see ``docs/protocol_2.md``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from copy import deepcopy
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from datasets import Dataset, DatasetDict
from torch import Tensor
from tqdm import tqdm

from dicelab.records.analysis import Record, f1, read
from dicelab.records.runs import versions
from dicelab.tasks import pairs, tagging
from dicelab.tasks.outputs import outputs_of
from dicelab.training.encoders import load_tokenizer
from dicelab.training.experiment import Experiment
from dicelab.training.trainer import build_loss
from studies.evidence import stage_b as first
from studies.evidence.heads import log_prior
from studies.evidence.records import append
from studies.evidence.scores import best_threshold, scored
from studies.evidence.tasks import YES, Parts, Row
from studies.evidence_2.arms import WAYS, plug_in
from studies.evidence_2.tasks import TASKS, labelled

ENCODER = "minilm"
CORPORA = ("crossner_politics", "goemotions_fear", "wnut17", "mrpc")
SENTENCES = {"wnut17": 1000}  # to train on, at most
ARMS = {"ce": "ce", "ce_start": "ce", "wce": "wce", "dice": "dl"}  # by the names of their losses
RATES = (1e-4, 2e-4, 3e-4, 4e-4, 6e-4, 8e-4, 12e-4)
LENGTHS = (16, 32, 64, 128, 256, 512)
SEARCHED = (64, 256)  # each chooses the rate of the lengths up to it, the last also of longer ones
SEARCH_SEED, DRAWS = 1000, 6
BATCH, WARM_UP, TAIL, MOST = 32, 10, 5, 128
HALF = 4000  # sentences of either half of validation, at most

Batches = Callable[[int], dict[str, Tensor]]


class Run(NamedTuple):
    """One training, with a branch that ends it at each of its lengths."""

    kind: str
    task: str
    arm: str
    seed: int
    rate: float
    lengths: tuple[int, ...]


def file_of(folder: Path, task: str) -> Path:
    """Where a corpus's records are."""
    return folder / f"b-{task}.jsonl"


def searches(task: str) -> list[Run]:
    """The runs that choose each arm's learning rates."""
    return [Run("search", task, arm, SEARCH_SEED, rate, SEARCHED) for rate in RATES for arm in ARMS]


def chosen_rate(known: Sequence[Record], arm: str, length: int) -> float:
    """The rate with the best validation F1, tuned, of a search; among equals the lowest."""
    found = {
        r["rate"]: r["validation"]["tuned"]["f1"]
        for r in known
        if (r["kind"], r["arm"], r["length"]) == ("search", arm, length)
    }
    return max(RATES, key=lambda rate: (found[rate], -rate))


def finals(task: str, known: Sequence[Record], lengths: Sequence[int] = LENGTHS) -> Iterator[Run]:
    """The finals; arms of one draw stand together, so that pairs are whole."""
    for seed in range(DRAWS):
        for arm in ARMS:
            of_rate: dict[float, list[int]] = {}
            for length in lengths:
                by = next((n for n in SEARCHED if length <= n), SEARCHED[-1])
                of_rate.setdefault(chosen_rate(known, arm, by), []).append(length)
            for rate, some in of_rate.items():
                yield Run("final", task, arm, seed, rate, tuple(some))


def missing(runs: Sequence[Run], known: Sequence[Record]) -> list[Run]:
    """The runs with the lengths that have no record yet."""
    done = {tuple(r[name] for name in (*Run._fields[:-1], "length")) for r in known}
    left = [
        run._replace(lengths=tuple(n for n in run.lengths if (*run[:-1], n) not in done))
        for run in runs
    ]
    return [run for run in left if run.lengths]


def run(
    tasks: Sequence[str],
    folder: Path,
    lengths: Sequence[int] = LENGTHS,
    *,
    device: str = "cpu",
    workers: int = 1,
) -> None:
    """Run what is missing, search and finals of one corpus after the other.

    Args:
        tasks: Some of ``CORPORA``.
        folder: Where the records are, and are added.
        lengths: Of the finals.
        device: ``"cpu"`` or ``"cuda"``.
        workers: Processes of one thread each; on a GPU they share it.
    """
    # An executor, not a Pool, which waits for ever for a worker that was killed.
    with ProcessPoolExecutor(workers, get_context("spawn"), torch.set_num_threads, (1,)) as pool:
        for task in tasks:
            path = file_of(folder, task)
            for stage in ("search", "finals"):
                known = read(path)
                plan = searches(task) if stage == "search" else list(finals(task, known, lengths))
                todo = missing(plan, known)
                ended = pool.map(partial(_record, path, device), todo)
                list(tqdm(ended, f"Stage B2, {task}, {stage}", len(todo), unit="run"))


def _record(path: Path, device: str, wanted: Run) -> None:
    append(path, run_one(wanted, device))


@lru_cache(maxsize=2)
def _parts(task: str) -> Parts:
    return labelled(task)


class Draw(first._Task):
    """A draw of Stage A2 as a model reads it: ``train``, both halves of validation, ``test``."""

    def __init__(self, task: str, seed: int) -> None:
        rows, test = _parts(task)
        order = np.random.default_rng([17, seed]).permutation(len(rows))
        cuts = [int(len(rows) * share) for share in (0.7, 0.85)]
        train, one, two = ([rows[i] for i in part] for part in np.split(order, cuts))
        train = train[: SENTENCES.get(task)]
        parts = {"train": train, "one": one[:HALF], "two": two[:HALF], "test": test}
        form = TASKS[task].form
        self.corpus = DatasetDict({name: _dataset(form, part) for name, part in parts.items()})
        self.room: Any = tagging if form == "tags" else pairs
        texts = (text for row in rows for text in row.texts)
        self.tokenizer = load_tokenizer(ENCODER, texts, max_length=MOST)
        options = {"windowed": False} if form == "tags" else {}
        self.encoded = self.room.encode(self.corpus, self.tokenizer, max_length=MOST, **options)
        self.names = ["O", "B-yes"]
        if form == "tags":
            seen = {tag for part in self.corpus.values() for row in part["tags"] for tag in row}
            self.names = [*self.encoded.labels, *sorted(seen - set(self.encoded.labels))]
        self.rows = {name: split.to_list() for name, split in self.encoded.splits.items()}
        self.collate = self.room.collator(self.tokenizer)

    def batches(self, seed: int) -> Batches:
        """The batch of each step, counted from 1: one shuffled pass after the other."""
        rows, rng = self.rows["train"], np.random.default_rng([31, seed])
        order: list[int] = []

        def batch(step: int) -> dict[str, Tensor]:
            while len(order) < step * BATCH:
                order.extend(rng.permutation(len(rows)).tolist())
            return self.collate([rows[i] for i in order[(step - 1) * BATCH : step * BATCH]])

        return batch

    def logits(self, model: Any, name: str) -> np.ndarray:
        """Of a split, ``[rows, C]`` or, padded, ``[rows, sub-words, C]``."""
        lengths = [len(row["input_ids"]) for row in self.rows[name]]
        by_length, longest = np.argsort(lengths, kind="stable").tolist(), max(lengths)
        rows = [self.rows[name][i] for i in by_length]
        with torch.autocast(next(model.parameters()).device.type, torch.bfloat16):
            (outputs,) = outputs_of(model, rows, self.collate, ["logits"], 64)
        found: list[Any] = [None] * len(lengths)
        for i, row in zip(by_length, outputs, strict=True):
            blank = [(0, longest - len(row)), (0, 0)] if row.ndim == 2 else [(0, 0)]
            found[i] = np.pad(row, blank)
        return np.stack(found)


@lru_cache(maxsize=1)
def _draw(task: str, seed: int) -> Draw:
    """The arms and rates of a draw stand together, and share what was encoded."""
    return Draw(task, seed)


def _dataset(form: str, rows: Sequence[Row]) -> Dataset:
    if form == "tags":
        words, tags = [list(r.texts) for r in rows], [list(r.tags) for r in rows]
        return Dataset.from_dict({"tokens": words, "tags": tags})
    names = ["sentence"] if form == "text" else ["sentence1", "sentence2"]
    columns: dict[str, Any] = {name: [r.texts[i] for r in rows] for i, name in enumerate(names)}
    return Dataset.from_dict({**columns, "label": [int(r.tags == YES) for r in rows]})


def finished(
    model: Any, batches: Batches, loss: Any, rate: float, lengths: Sequence[int], seed: int
) -> Iterator[tuple[int, Any]]:
    """Train at a constant rate after a warm-up, and from each length on a branch to its end.

    A branch goes on with the same batches while its rate falls to zero over a fifth of the steps so
    far; the trunk does not notice.

    Args:
        model: With ``logits`` for a batch; it is trained on the device where it is.
        batches: The batch of a step.
        loss: Of logits and labels.
        rate: AdamW's.
        lengths: Steps of the trunk, ascending.
        seed: Of dropout.

    Yields:
        A length and the model that its branch ends with.
    """

    device = next(model.parameters()).device

    def step(of: Any, optimizer: Any, number: int, now: float) -> None:
        torch.manual_seed(100_000 * seed + number)
        of.train()
        batch = {name: value.to(device) for name, value in batches(number).items()}
        labels = batch.pop("labels")
        with torch.autocast(device.type, torch.bfloat16):
            logits = of(**batch).logits
        loss(logits.float(), labels).backward()
        torch.nn.utils.clip_grad_norm_(of.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = now
        optimizer.step()
        optimizer.zero_grad()

    def adamw(of: Any) -> Any:
        return torch.optim.AdamW(of.parameters(), lr=rate, weight_decay=0.01)

    trunk = adamw(model)
    for number in range(1, lengths[-1] + 1):
        step(model, trunk, number, rate * min(1.0, number / WARM_UP))
        if number in lengths:
            branch = deepcopy(model)
            own, tail = adamw(branch), number // TAIL
            own.load_state_dict(deepcopy(trunk.state_dict()))
            for i in range(1, tail + 1):
                step(branch, own, number + i, rate * (1 - i / (tail + 1)))
            yield number, branch


def run_one(wanted: Run, device: str = "cpu") -> Iterator[Record]:
    """Train, and score at every length; the test part is scored in finals alone."""
    before, task = time.process_time(), _draw(wanted.task, wanted.seed)
    on = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    torch.manual_seed(wanted.seed)
    model = task.room.model(ENCODER, task.tokenizer, task.encoded.labels)
    counts, binary = task.encoded.counts(), task.room is pairs
    if wanted.arm == "ce_start":
        labels = np.repeat(np.arange(len(counts)), counts)
        model.classifier.bias.data.copy_(log_prior(labels, len(counts)))
    name = ARMS[wanted.arm]
    options = {"classes": [1]} if binary and wanted.arm == "dice" else {}
    experiment = Experiment(corpus=wanted.task, encoder=ENCODER, loss=name, loss_options=options)
    model, loss = model.to(device), build_loss(experiment, name, counts).to(device)
    results = []
    batches = task.batches(wanted.seed)
    for length, ended in finished(model, batches, loss, wanted.rate, wanted.lengths, wanted.seed):
        told = _scores(task, ended, final=wanted.kind == "final")
        results.append({"length": length, "steps": length + length // TAIL, **told})
    seconds = round(time.process_time() - before, 1)
    for result in results:
        given = {k: v for k, v in wanted._asdict().items() if k != "lengths"}
        yield {**given, **result, "seconds": seconds, "device": on, "versions": versions()}


def _scores(task: Draw, model: Any, *, final: bool) -> dict[str, Any]:
    halves = [(task.gold(n), task.flat(task.logits(model, n), n)) for n in ("one", "two")]
    thresholds = {
        "argmax": 0.0,
        "tuned": best_threshold(*halves[1])[0],
        "plug_in": plug_in(np.concatenate([logits for _, logits in halves])),
    }
    found: dict[str, Any] = {"validation": {}}
    for how in WAYS:
        counted = [gold.counts(logits, np.array([thresholds[how]])) for gold, logits in halves]
        right, called = (sum(int(c[i][0]) for c in counted) for i in range(2))
        value = float(f1(right, called, sum(gold.entities for gold, _ in halves)))
        found["validation"][how] = {"f1": round(value, 3), "threshold": round(thresholds[how], 5)}
    if final:
        gold, logits = task.gold("test"), task.flat(task.logits(model, "test"), "test")
        tags = {h: gold.predicted(logits, np.array([t]))[0] for h, t in thresholds.items()}
        found["gold"] = gold.by_block(gold.labels)[0]
        found["test"] = {h: scored(gold, t) | {"blocks": gold.by_block(t)} for h, t in tags.items()}
    return found

"""Stage B: every layer trained, by the trainer of the book's chapters; see ``docs/protocol.md``."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from datasets import Dataset, DatasetDict
from tqdm import tqdm

from dicebook.losses import TrainerLoss
from dicelab.tasks import pairs, tagging
from dicelab.training.encoders import load_tokenizer
from dicelab.training.experiment import Experiment
from dicelab.training.trainer import build_loss, train
from studies.evidence import records
from studies.evidence.scores import Gold, best_threshold, f1, precision_recall, scored
from studies.evidence.tasks import TASKS, YES, Parts, Row

ENCODER = "minilm"
CORPORA = ("wnut17", "crossner_politics", "mrpc")
LOSSES: dict[str, tuple[str, dict[str, Any]]] = {
    "ce": ("ce", {}),
    "wce": ("wce", {}),
    "dice": ("dl", {"squared": True, "smooth": 1.0}),
    "dsc": ("dsc", {"squared": True, "smooth": 1.0, "alpha": 0.1}),
}
RATES, SEARCH_SEEDS, FINALS = (1e-4, 2e-4, 4e-4, 8e-4, 16e-4), (1000, 1001), 8
ALL = 0
# Sizes with four passes first, then the other numbers of passes.
CELLS = [(n, 4) for n in (ALL, 1000, 300)] + [(n, p) for n in (ALL, 1000, 300) for p in (1, 2, 8)]
FROZEN = ("tasks.py", "scores.py", "stage_b.py")


class Run(NamedTuple):
    """One run: what it is called by in the records."""

    kind: str
    task: str
    arm: str
    size: int
    passes: int
    seed: int
    rate: float


def file_of(folder: Path, task: str) -> Path:
    """Where a corpus's records are."""
    return folder / f"b-{task}.jsonl"


def searches(tasks: Sequence[str]) -> list[Run]:
    """The runs that choose each loss's learning rate."""
    return [
        Run("search", task, arm, 1000, 4, seed, rate)
        for task in tasks
        for seed in SEARCH_SEEDS
        for rate in RATES
        for arm in LOSSES
    ]


def finals(tasks: Sequence[str], folder: Path) -> Iterator[Run]:
    """The finals in order; losses of one seed stand together, so that pairs are whole."""
    for size, passes in CELLS:
        for seed in range(FINALS):
            for task in tasks:
                if size >= int(len(_parts(task)[0]) * 0.7):
                    continue  # that is all, once more
                known = records.read(file_of(folder, task))
                for arm in LOSSES:
                    rate = chosen_rate(known, arm)
                    yield Run("final", task, arm, size, passes, seed, rate)


def chosen_rate(known: Sequence[records.Record], arm: str) -> float:
    """The learning rate with the best mean validation F1, tuned; among equals the lowest."""
    found = [r for r in known if r["kind"] == "search" and r["arm"] == arm]
    mean = {
        rate: np.mean([r["validation"]["tuned"]["f1"] for r in found if r["rate"] == rate])
        for rate in RATES
    }
    return max(RATES, key=lambda rate: (mean[rate], -rate))


def run(tasks: Sequence[str], folder: Path, workers: int = 1) -> None:
    """Run what is missing: the search, then the finals.

    Args:
        tasks: Some of ``CORPORA``; none is all.
        folder: Where the records are, and are added.
        workers: Processes of one thread each.

    Raises:
        ValueError: A task that Stage B does not have.
    """
    tasks = list(tasks) or list(CORPORA)
    if not set(tasks) <= set(CORPORA):
        raise ValueError(f"expected some of {', '.join(CORPORA)}, got {', '.join(tasks)}")
    # An executor, not a Pool, which waits for ever for a worker that was killed.
    context = get_context("spawn")
    with ProcessPoolExecutor(workers, context, torch.set_num_threads, (1,)) as pool:
        for stage in ("search", "finals"):
            plan = searches(tasks) if stage == "search" else list(finals(tasks, folder))
            known = [r for task in tasks for r in records.read(file_of(folder, task))]
            done = {tuple(r[name] for name in Run._fields) for r in known}
            todo = [(r, folder) for r in plan if tuple(r) not in done]
            print(f"Stage B, {stage}: {len(todo)} of {len(plan)} runs; {estimate(todo, known)}")
            with tqdm(total=len(todo), desc=f"Stage B, {stage}", unit="run") as bar:
                for told in pool.map(run_one, todo):
                    bar.set_postfix_str(told)
                    bar.update()


def estimate(todo: Sequence[tuple[Run, Path]], known: Sequence[records.Record]) -> str:
    """Hours of what is missing, by the sentences that the recorded runs read a second."""
    read = sum(r["sentences"] * r["passes"] for r in known)
    if not read:
        return "the first runs will tell how long"
    rest = sum((r.size or 3000) * r.passes for r, _ in todo)
    return f"about {rest * sum(r['seconds'] for r in known) / read / 3600:.1f} core-hours"


@lru_cache(maxsize=3)
def _parts(task: str) -> Parts:
    return TASKS[task].read()


def splits_of(run: Run) -> tuple[DatasetDict, int]:
    """The draw of Stage A, in rows.

    Returns:
        ``train``; ``validation``, the first half; and ``test``, which is the second half and then,
        for a final, the test part; and how many rows of it are the second half.
    """
    rows, test = _parts(run.task)
    order = np.random.default_rng([17, run.seed]).permutation(len(rows))
    cuts = [int(len(rows) * share) for share in (0.7, 0.85)]
    first, one, two = ([rows[i] for i in part] for part in np.split(order, cuts))
    last = [*two, *test] if run.kind == "final" else two
    parts = {"train": first[: run.size or None], "validation": one, "test": last}
    return DatasetDict({name: _dataset(run.task, p) for name, p in parts.items()}), len(two)


def _dataset(task: str, rows: Sequence[Row]) -> Dataset:
    if TASKS[task].kind == "tags":
        words, tags = [list(r.texts) for r in rows], [list(r.tags) for r in rows]
        return Dataset.from_dict({"tokens": words, "tags": tags})
    columns = {f"sentence{i + 1}": [r.texts[i] for r in rows] for i in range(2)}
    return Dataset.from_dict({**columns, "label": [int(r.tags == YES) for r in rows]})


class _Task:
    """A draw as a model reads it, and the way from its logits to rows of tags."""

    def __init__(self, run: Run) -> None:
        self.corpus, self.second = splits_of(run)
        texts = (text for row in _parts(run.task)[0] for text in row.texts)
        self.tokenizer = load_tokenizer(ENCODER, texts, max_length=128)
        self.room: Any = tagging if TASKS[run.task].kind == "tags" else pairs
        options = {"windowed": False} if self.room is tagging else {}
        self.encoded = self.room.encode(self.corpus, self.tokenizer, max_length=128, **options)
        self.names = ["O", "B-yes"]
        if self.room is tagging:
            seen = {tag for part in self.corpus.values() for row in part["tags"] for tag in row}
            self.names = [*self.encoded.labels, *sorted(seen - set(self.encoded.labels))]

    def gold(self, name: str, start: int = 0, stop: int | None = None) -> Gold:
        """The gold entities of some sentences of a split."""
        part = self.corpus[name].select(range(start, stop or len(self.corpus[name])))
        if self.room is pairs:
            return Gold.of(np.array(part["label"]), np.arange(len(part)), self.names)
        index = {tag: i for i, tag in enumerate(self.names)}
        rows = part["tags"]
        labels = np.array([index[tag] for row in rows for tag in row])
        return Gold.of(labels, np.repeat(np.arange(len(rows)), [len(r) for r in rows]), self.names)

    def flat(self, logits: Any, name: str, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Logits ``[words or pairs, C]``; what the model could not read is ``O``."""
        if self.room is pairs:
            return np.asarray(logits[start:stop], dtype=np.float32)
        outside = np.full(len(self.names), -1e4, np.float32)
        outside[0] = 1e4
        rows = []
        for i, places in enumerate(self.encoded.splits[name]["first_subword"]):
            if start <= i < (stop or len(logits)):
                for place in places:
                    row = outside.copy()
                    if place >= 0:
                        row[: logits.shape[-1]] = logits[i][place]
                        row[logits.shape[-1] :] = -1e4
                    rows.append(row)
        return np.array(rows)

    def evaluate(self, logits: Any, split: Any) -> dict[str, float]:
        """F1 of the first half at argmax and at its best threshold, which chooses the pass."""
        gold, rows = self.gold("validation"), self.flat(logits, "validation")
        plain = float(f1(*gold.counts(rows, np.zeros(1)), gold.entities)[0])
        return {"f1": best_threshold(gold, rows)[1], "argmax_f1": plain}


def run_one(job: tuple[Run, Path]) -> str:
    """Train, score, record."""
    wanted, folder = job
    before, task = time.process_time(), _Task(wanted)
    name, options = LOSSES[wanted.arm]
    if task.room is pairs and wanted.arm in ("dice", "dsc"):
        options = {**options, "classes": [1]}
    experiment = Experiment(
        corpus=wanted.task,
        encoder=ENCODER,
        loss=name,
        start="zero",
        loss_options=options,
        seed=wanted.seed,
        epochs=wanted.passes,
        learning_rate=wanted.rate,
        device="cpu",
        threads=1,
        precision="bf16",
    )
    trained = train(
        experiment,
        build_model=lambda: task.room.model(ENCODER, task.tokenizer, task.encoded.labels),
        splits=task.encoded.splits,
        collator=task.room.collator(task.tokenizer),
        tokenizer=task.tokenizer,
        compute_loss=TrainerLoss(build_loss(experiment, name, task.encoded.counts())),
        evaluate=task.evaluate,
    )
    record = {
        **wanted._asdict(),
        "loss_options": options,
        "sentences": len(task.corpus["train"]),
        "history": trained.history,
        **_scores(task, trained.logits, final=wanted.kind == "final"),
        "seconds": round(time.process_time() - before, 1),
        **records.provenance(FROZEN),
    }
    records.append(file_of(folder, wanted.task), [record])
    return f"{wanted.task} {wanted.arm} {wanted.size or 'all'} x {wanted.passes}"


def _scores(task: _Task, logits: dict[str, Any], *, final: bool) -> dict[str, Any]:
    one, first = task.gold("validation"), task.flat(logits["validation"], "validation")
    two = task.gold("test", 0, task.second)
    second = task.flat(logits["test"], "test", 0, task.second)
    found: dict[str, Any] = {"validation": {}, "test": {}}
    for how in ("argmax", "tuned"):
        threshold = best_threshold(two, second)[0] if how == "tuned" else 0.0
        at = np.array([threshold])
        both = [a + b for a, b in zip(one.counts(first, at), two.counts(second, at), strict=True)]
        value = float(f1(both[0], both[1], one.entities + two.entities)[0])
        found["validation"][how] = {"f1": round(value, 3), "threshold": round(threshold, 5)}
        if final:
            gold = task.gold("test", task.second)
            rows = task.flat(logits["test"], "test", task.second)
            found["test"][how] = scored(gold, gold.predicted(rows, at)[0], whole=True)
    if not final:
        return {"validation": found["validation"]}
    lines = {"validation": precision_recall(one, first), "test": precision_recall(gold, rows)}
    return {**found, "precision_recall": lines}

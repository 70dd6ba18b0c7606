"""All layers trained, and every length a finished run: Stage B2 of ``docs/protocol_2.md``."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from copy import deepcopy
from functools import lru_cache, partial
from itertools import groupby
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
from dicelab.tasks.outputs import logits_of
from dicelab.training.encoders import load_tokenizer
from dicelab.training.experiment import Experiment
from dicelab.training.trainer import build_loss
from studies.whole_models.corpora import CORPORA, YES, Parts, Row
from studies.whole_models.scores import Gold, best_threshold, plug_in, scored

WAYS = ("argmax", "tuned", "plug_in")
SENTENCES = {"wnut17": 1000}  # to train on, at most
LENGTHS = (16, 32, 64, 128, 256)
SEARCHED = (64, 256)  # each chooses the rate of the lengths up to it
SEARCH_SEEDS, DRAWS = (1000, 1001), 6
# The first learning rates of tags and of a yes or no, and how often either end may move.
RATES = {
    "tags": (4e-5, 8e-5, 16e-5, 32e-5, 64e-5),
    "yes or no": (1e-5, 2e-5, 4e-5, 8e-5, 16e-5),
}
MOVES = 2
WARM_UP, TAIL, MOST = 10, 5, 128
HALF = 4000  # sentences of either half of validation, at most
PIECE = 4  # runs that a process takes at a time, of one draw

Batches = Callable[[int], dict[str, Tensor]]


class Arm(NamedTuple):
    """A loss, where it starts, and its batches.

    Attributes:
        loss: Its name in ``make_loss``.
        start: Whether the biases of the output start at the log prior.
        both: Of a yes or no, whether dice is over both classes, not over the positive one alone.
        batch: Examples a step.
        positives: How many of them are positive at least.
    """

    loss: str
    start: bool = False
    both: bool = False
    batch: int = 32
    positives: int = 0


ARMS = {
    "ce_start": Arm("ce", start=True),
    "ce": Arm("ce"),
    "wce": Arm("wce"),
    "dice_start": Arm("dl", start=True),
    "dice": Arm("dl"),
    "dice_both": Arm("dl", start=True, both=True),
    "dice_both_zero": Arm("dl", both=True),
}
# What an empty batch does to a loss: at least two positives in each, or batches four times as big.
OF_BATCHES = {
    f"{name}_{how}": ARMS[name]._replace(**change)
    for name in ("ce_start", "dice_start", "dice", "dice_both_zero")
    for how, change in (("two", {"positives": 2}), ("128", {"batch": 128}))
}
EVERY = ARMS | OF_BATCHES


class Settings(NamedTuple):
    """What another encoder or longer runs change of the protocol's Stage B2.

    Attributes:
        encoder: ``"minilm"``, or the folder of an encoder.
        lengths: Of the finals, in steps before the rate falls to zero.
        searched: Each chooses the rate of the lengths up to it; the last one, of all others.
        arms: Some of ``EVERY``; empty, all that a corpus has.
        draws: Of the finals.
    """

    encoder: str = "minilm"
    lengths: tuple[int, ...] = LENGTHS
    searched: tuple[int, ...] = SEARCHED
    arms: tuple[str, ...] = ()
    draws: int = DRAWS


PROTOCOL = Settings()


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


def _form(task: str) -> str:
    return CORPORA[task][0]


def append(path: Path, records: Iterable[Record]) -> None:
    """Add records, all or none of them seen by a reader; several processes may write."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(r, separators=(",", ":"), allow_nan=False) + "\n" for r in records]
    with path.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
        os.write(file.fileno(), "".join(lines).encode())
        os.fsync(file.fileno())


def arms_of(task: str, settings: Settings = PROTOCOL) -> list[str]:
    """The arms of a corpus; those about batches are tried on the label fear alone."""
    if _form(task) == "tags":
        found = [name for name, arm in ARMS.items() if not arm.both]
    else:
        found = list(EVERY if task == "goemotions_fear" else ARMS)
    return [name for name in found if not settings.arms or name in settings.arms]


def lengths_of(arm: str, lengths: Sequence[int]) -> tuple[int, ...]:
    """An arm's lengths among some; those about batches have the last one alone."""
    return tuple(lengths[-1:] if arm in OF_BATCHES else lengths)


def steps_of(length: int) -> int:
    """The steps of a finished run: those of the trunk and of its branch."""
    return length + length // TAIL


def mean_score(known: Sequence[Record], arm: str, length: int, rate: float) -> float | None:
    """Validation F1, tuned, over the search's draws; None before all of them are over."""
    found = [
        r["validation"]["tuned"]["f1"]
        for r in known
        if (r["kind"], r["arm"], r["length"], r["rate"]) == ("search", arm, length, rate)
    ]
    return float(np.mean(found)) if len(found) == len(SEARCH_SEEDS) else None


def rates_of(
    task: str, arm: str, known: Sequence[Record], settings: Settings = PROTOCOL
) -> list[float]:
    """The rates to try: where the best one is the first or the last, that end moves by two."""
    rates = sorted(RATES["tags" if _form(task) == "tags" else "yes or no"])
    low, high = rates[0] / 2**MOVES, rates[-1] * 2**MOVES
    while True:
        best = [_best(known, arm, length, rates) for length in lengths_of(arm, settings.searched)]
        below = rates[0] > low and rates[0] in best
        above = rates[-1] < high and rates[-1] in best
        if None in best or not (below or above):
            return rates
        rates = [rates[0] / 2] * below + rates + [rates[-1] * 2] * above


def _best(known: Sequence[Record], arm: str, length: int, rates: Sequence[float]) -> float | None:
    scores = {rate: mean_score(known, arm, length, rate) for rate in rates}
    if None in scores.values():
        return None
    return max(rates, key=lambda rate: (scores[rate], -rate))


def chosen_rate(
    task: str, known: Sequence[Record], arm: str, length: int, settings: Settings = PROTOCOL
) -> float:
    """The rate with the best mean validation F1, tuned, of a search; among equals the lowest.

    Raises:
        ValueError: The search is not over.
    """
    best = _best(known, arm, length, rates_of(task, arm, known, settings))
    if best is None:
        raise ValueError(f"{task}, {arm}: expected a search that is over at {length} steps")
    return best


def searches(task: str, known: Sequence[Record] = (), settings: Settings = PROTOCOL) -> list[Run]:
    """The runs that choose each arm's learning rates, as far as what is known says."""
    return [
        Run("search", task, arm, seed, rate, lengths_of(arm, settings.searched))
        for seed in SEARCH_SEEDS
        for arm in arms_of(task, settings)
        for rate in rates_of(task, arm, known, settings)
    ]


def finals(task: str, known: Sequence[Record], settings: Settings = PROTOCOL) -> Iterator[Run]:
    """The finals; arms of one draw stand together, so that pairs are whole."""
    of_rate: dict[tuple[str, float], list[int]] = {}
    for arm in arms_of(task, settings):
        searched = lengths_of(arm, settings.searched)
        best = {n: chosen_rate(task, known, arm, n, settings) for n in searched}
        for length in lengths_of(arm, settings.lengths):
            by = next((n for n in best if length <= n), searched[-1])
            of_rate.setdefault((arm, best[by]), []).append(length)
    for seed in range(settings.draws):
        for (arm, rate), some in of_rate.items():
            yield Run("final", task, arm, seed, rate, tuple(some))


def missing(runs: Sequence[Run], known: Sequence[Record]) -> list[Run]:
    """The runs with the lengths that have no record yet."""
    done = {tuple(r[name] for name in (*Run._fields[:-1], "length")) for r in known}
    left = [
        run._replace(lengths=tuple(n for n in run.lengths if (*run[:-1], n) not in done))
        for run in runs
    ]
    return [run for run in left if run.lengths]


def pieces(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs of one draw, some at a time: a process encodes a draw once for all of them."""
    by_seed = [list(some) for _, some in groupby(runs, key=lambda run: run.seed)]
    return [some[i : i + PIECE] for some in by_seed for i in range(0, len(some), PIECE)]


def run(
    tasks: Sequence[str],
    folder: Path,
    settings: Settings = PROTOCOL,
    *,
    device: str = "cpu",
    workers: int = 1,
) -> None:
    """Run what is missing, search and finals of one corpus after the other.

    Args:
        tasks: Some of ``CORPORA``.
        folder: Where the records are, and are added.
        settings: Records of other settings than the protocol's need a folder of their own.
        device: ``"cpu"`` or ``"cuda"``.
        workers: Processes of one thread each; on a GPU they share it.
    """
    # An executor, not a Pool, which waits for ever for a worker that was killed.
    with ProcessPoolExecutor(workers, get_context("spawn"), torch.set_num_threads, (1,)) as pool:
        for task in tasks:
            path = file_of(folder, task)

            def finish(name: str, todo: list[Run], path: Path = path) -> None:
                some = pieces(todo)
                ended = pool.map(partial(_record, path, device, settings.encoder), some)
                list(tqdm(ended, f"Stage B2, {name}", len(some), unit="piece"))

            while todo := missing(searches(task, known := read(path), settings), known):
                finish(f"{task}, search", todo)
            finish(f"{task}, finals", missing(list(finals(task, known, settings)), known))


def _record(path: Path, device: str, encoder: str, wanted: Sequence[Run]) -> None:
    for one in wanted:
        append(path, run_one(one, device, encoder))


@lru_cache(maxsize=2)
def _parts(task: str) -> Parts:
    return CORPORA[task][1]()


class Draw:
    """A draw of Stage A2 as a model reads it: ``train``, both halves of validation, ``test``."""

    def __init__(self, task: str, seed: int, encoder: str = PROTOCOL.encoder) -> None:
        rows, test = _parts(task)
        order = np.random.default_rng([17, seed]).permutation(len(rows))
        cuts = [int(len(rows) * share) for share in (0.7, 0.85)]
        train, one, two = ([rows[i] for i in part] for part in np.split(order, cuts))
        train = train[: SENTENCES.get(task)]
        parts = {"train": train, "one": one[:HALF], "two": two[:HALF], "test": test}
        form = _form(task)
        self.corpus = DatasetDict({name: _dataset(form, part) for name, part in parts.items()})
        self.room: Any = tagging if form == "tags" else pairs
        texts = (text for row in rows for text in row.texts)
        self.tokenizer = load_tokenizer(encoder, texts, max_length=MOST)
        options = {"windowed": False} if form == "tags" else {}
        self.encoded = self.room.encode(self.corpus, self.tokenizer, max_length=MOST, **options)
        self.names = ["O", "B-yes"]
        if form == "tags":
            seen = {tag for part in self.corpus.values() for row in part["tags"] for tag in row}
            self.names = [*self.encoded.labels, *sorted(seen - set(self.encoded.labels))]
        self.rows = {name: split.to_list() for name, split in self.encoded.splits.items()}
        self.collate = self.room.collator(self.tokenizer)

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

    def chosen(self, seed: int, arm: Arm) -> Callable[[int], list[int]]:
        """The training rows of each step, counted from 1: one shuffled pass after the other.

        Where a batch has fewer positives than the arm asks for, random ones take the place of its
        first negatives.
        """
        rng, size, train = np.random.default_rng([31, seed]), arm.batch, self.rows["train"]
        positive = [i for i, row in enumerate(train) if arm.positives and row["labels"] == 1]
        order: list[int] = []

        def rows(step: int) -> list[int]:
            while len(order) < step * size:
                order.extend(rng.permutation(len(train)).tolist())
            found = order[(step - 1) * size : step * size]
            held = set(positive).intersection(found)
            if len(held) < arm.positives:
                others = sorted(set(positive) - held)
                own = np.random.default_rng([43, seed, step])
                new = own.choice(others, arm.positives - len(held), replace=False).tolist()
                places = [place for place, row in enumerate(found) if row not in held]
                for place, row in zip(places, new, strict=False):
                    found[place] = row
            return found

        return rows

    def batches(self, seed: int, arm: Arm) -> Batches:
        """The batch of each step, counted from 1."""
        chosen, rows = self.chosen(seed, arm), self.rows["train"]
        return lambda step: self.collate([rows[i] for i in chosen(step)])

    def empty(self, seed: int, arm: Arm, steps: int) -> float:
        """The share of the first batches of a yes or no that hold no positive."""
        chosen, rows = self.chosen(seed, arm), self.rows["train"]
        held = [any(rows[i]["labels"] == 1 for i in chosen(n)) for n in range(1, steps + 1)]
        return round(1 - float(np.mean(held)), 3)

    def logits(self, model: Any, name: str) -> np.ndarray:
        """Of a split, ``[rows, C]`` or, padded, ``[rows, sub-words, C]``."""
        rows, device = self.rows[name], next(model.parameters()).device.type
        with torch.autocast(device, torch.bfloat16):
            outputs = logits_of(model, rows, self.collate, 256 if device == "cuda" else 64)
        if outputs[0].ndim == 2:
            longest = max(len(row["input_ids"]) for row in rows)
            outputs = [np.pad(row, [(0, longest - len(row)), (0, 0)]) for row in outputs]
        return np.stack(outputs)


@lru_cache(maxsize=1)
def _draw(task: str, seed: int, encoder: str) -> Draw:
    """The arms and rates of a draw stand together, and share what was encoded."""
    return Draw(task, seed, encoder)


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
        fused = device.type == "cuda"
        return torch.optim.AdamW(of.parameters(), lr=rate, weight_decay=0.01, fused=fused)

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


def run_one(wanted: Run, device: str = "cpu", encoder: str = PROTOCOL.encoder) -> Iterator[Record]:
    """Train, and score at every length; the test part is scored in finals alone."""
    before, task = time.process_time(), _draw(wanted.task, wanted.seed, encoder)
    on = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    torch.manual_seed(wanted.seed)
    model = task.room.model(encoder, task.tokenizer, task.encoded.labels)
    counts, binary, arm = task.encoded.counts(), task.room is pairs, EVERY[wanted.arm]
    if arm.start:
        shares = torch.as_tensor(counts) + 0.5
        model.classifier.bias.data.copy_((shares / shares.sum()).log())
    options = {"classes": [1]} if binary and arm.loss == "dl" and not arm.both else {}
    experiment = Experiment(
        corpus=wanted.task, encoder=encoder, loss=arm.loss, loss_options=options
    )
    model, loss = model.to(device), build_loss(experiment, arm.loss, counts).to(device)
    results = []
    batches = task.batches(wanted.seed, arm)
    for length, ended in finished(model, batches, loss, wanted.rate, wanted.lengths, wanted.seed):
        told = _scores(task, ended, final=wanted.kind == "final")
        steps = steps_of(length)
        empty = {"empty": task.empty(wanted.seed, arm, steps)} if binary else {}
        results.append({"length": length, "steps": steps, **empty, **told})
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
        found["test"] = {h: scored(gold, t) for h, t in tags.items()}
    return found

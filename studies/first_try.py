"""Do the losses train at the first try, and if not, which of their terms is to blame?

    python studies/first_try.py                          # every run of both tables
    python studies/first_try.py --task wnut17 --setup dl "dl, squared" --seed 0
    python studies/first_try.py --estimate               # what is left, and how long it takes

Every setup starts from a fresh head on a pretrained encoder, all-MiniLM-L6-v2, of which the upper
two of six layers are trained, at the learning rate that suits cross entropy, on a part of a real
corpus: small enough for one CPU thread. Setups are written out in full
and never lean on a default of the library, so a record stays true when a default changes. The
corpora are files of $DICEBOOK_CORPORA, a folder a corpus. One record a run is appended to the
results; what is recorded there is not run again, so a killed command goes on where it stopped and
loses the run it was in, a minute at most.

Parts are drawn by the seed, with the sentences added that hold the first example of a tag
otherwise missing. The validation part, by which epochs and defaults are chosen, and the test part
are the same for all seeds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from datasets import Dataset, DatasetDict, concatenate_datasets, disable_progress_bars
from torch import Tensor

from dicebook import TrainerLoss, WarmStart
from dicebook.losses import functional, make_loss
from dicelab.corpora.conll import read_conll
from dicelab.corpora.conllu import read_conllu
from dicelab.corpora.delimited import read_pairs
from dicelab.corpora.squad import read_squad
from dicelab.records import runs
from dicelab.tasks import pairs, reading, tagging
from dicelab.training.encoders import load_tokenizer
from dicelab.training.experiment import Experiment
from dicelab.training.frozen import freeze_lower
from dicelab.training.trainer import Trained, train

RATE = 2e-4
TRAINED_LAYERS = 2
PROBED_ROWS, PROBED_BATCH = 128, 32
STATES = ("predicted_outside", "p_gold_of_entities", "p_outside_of_outside")


@dataclass(frozen=True)
class Setup:
    """A loss with all its options, and what else a setup changes.

    Attributes:
        loss: ``ce``, ``dl``, ``tl`` or ``dsc``.
        squared: squares in the denominator; for Tversky, of the errors.
        smooth: γ.
        absent: ``"keep"`` or ``"skip"`` classes that the batch does not hold.
        outside: whether ``O`` counts in the mean over classes.
        alpha: exponent of the self-adjusting form.
        fp_weight: of Tversky.
        fn_weight: of Tversky.
        outside_bias: 1 starts the bias of ``O`` at its log-odds in the training part, -1 at minus
            that.
        warm_start: cross entropy hands over to the loss during the first epoch.
        rate: the learning rate as a multiple of cross entropy's.
        batch_size: 0 is the task's own.
        precision: of the encoder.
    """

    loss: str
    squared: bool = False
    smooth: float = 1.0
    absent: str = "keep"
    outside: bool = True
    alpha: float = 0.0
    fp_weight: float = 0.5
    fn_weight: float = 0.5
    outside_bias: int = 0
    warm_start: bool = False
    rate: float = 1.0
    batch_size: int = 0
    precision: Literal["fp32", "bf16"] = "bf16"


LINEAR = Setup("dl")
SQUARED = Setup("dl", squared=True)
ADJUSTED = Setup("dsc", alpha=0.1)
TVERSKY = Setup("tl")
#: One thing at a time, from the linear dice loss over all classes.
WHY = {
    "ce": Setup("ce"),
    "dl": LINEAR,
    "dl, squared": SQUARED,
    "dl, absent skipped": replace(LINEAR, absent="skip"),
    "dl, without O": replace(LINEAR, outside=False),
    "dl, without O, absent skipped": replace(LINEAR, outside=False, absent="skip"),
    "dl, smooth 1e-4": replace(LINEAR, smooth=1e-4),
    "dl, smooth 100": replace(LINEAR, smooth=100.0),
    "dl, bias of O at its log-odds": replace(LINEAR, outside_bias=1),
    "dl, bias of O against its log-odds": replace(LINEAR, outside_bias=-1),
    "dl, warm start": replace(LINEAR, warm_start=True),
    "dl, rate x3": replace(LINEAR, rate=3.0),
    "dl, batches of 8": replace(LINEAR, batch_size=8),
    "dl, batches of 128": replace(LINEAR, batch_size=128),
}
#: What the defaults were chosen from.
CANDIDATES = {
    "ce": Setup("ce"),
    "dl": LINEAR,
    "dl, squared": SQUARED,
    "dl, squared, absent skipped": replace(SQUARED, absent="skip"),
    "dl, squared, without O, absent skipped": replace(SQUARED, outside=False, absent="skip"),
    "dl, squared, smooth 1e-4": replace(SQUARED, smooth=1e-4),
    "dl, without O, absent skipped": WHY["dl, without O, absent skipped"],
    "dsc": ADJUSTED,
    "dsc, squared": replace(ADJUSTED, squared=True),
    "tl": TVERSKY,
    "tl, squared": replace(TVERSKY, squared=True),
    "tl .3/.7": replace(TVERSKY, fp_weight=0.3, fn_weight=0.7),
    "tl .3/.7, squared": replace(TVERSKY, fp_weight=0.3, fn_weight=0.7, squared=True),
    "dsc, squared, absent skipped": replace(ADJUSTED, squared=True, absent="skip"),
    "tl, squared, absent skipped": replace(TVERSKY, squared=True, absent="skip"),
    "tl, warm start": replace(TVERSKY, warm_start=True),
}
#: What the library's defaults come to, for many classes and for decisions of yes or no.
DEFAULTS = {
    "ce": "ce",
    "dl": "dl, squared, absent skipped",
    "dsc": "dsc, squared, absent skipped",
    "tl": "tl, squared, absent skipped",
}
BINARY_DEFAULTS = {"ce": "ce", "dl": "dl, squared", "dsc": "dsc, squared", "tl": "tl, squared"}
#: Does the precision matter? Two cells again in float32.
PRECISION = {
    "ce, fp32": Setup("ce", precision="fp32"),
    "dl, squared, absent skipped, fp32": replace(
        CANDIDATES["dl, squared, absent skipped"], precision="fp32"
    ),
}
SETUPS = {**WHY, **CANDIDATES, **PRECISION}


@dataclass(frozen=True)
class Task:
    """A part of a real corpus and how a model is trained on it.

    Attributes:
        corpus: from the folder of corpora to a pool of training rows, validation and test.
        kind: ``"tagging"``, ``"words"`` (one tag a word, no entities), ``"pairs"``, ``"reading"``.
        train_size: rows drawn from the pool; 0 is all of it.
        held_out: rows of validation and of test.
        epochs: passes over the training part.
        batch_size: rows a step.
        max_length: sub-words a row.
        seconds: of a run on one thread of a 2023 server, for the estimate until runs are recorded.
    """

    corpus: Callable[[Path], DatasetDict]
    kind: str
    train_size: int
    held_out: int
    epochs: int
    batch_size: int
    max_length: int
    seconds: int


def wnut17(folder: Path) -> DatasetDict:
    """The three official files."""
    names = ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated")
    return _parts(*(read_conll(folder / "wnut17" / name) for name in names))


def crossner_ai(folder: Path) -> DatasetDict:
    """100 sentences of train are few: train is train and dev; validation is half of test."""
    train, dev, test = (
        read_conll(folder / "crossner" / f"ai_{name}.txt") for name in ("train", "dev", "test")
    )
    return _halved(concatenate_datasets([train, dev]), test)


def ud_en_ewt(folder: Path) -> DatasetDict:
    """The treebank's own tags, 49 of them."""
    names = ("train", "dev", "test")
    files = (folder / "ud_en_ewt" / f"en_ewt-ud-{name}.conllu" for name in names)
    return _parts(*(read_conllu(file, column="xpos") for file in files))


def mrpc(folder: Path) -> DatasetDict:
    """The release has no validation part: validation is half of test, test the other half."""
    train, test = (
        read_pairs(folder / "mrpc" / f"msr_paraphrase_{name}.txt", quoting=False)
        for name in ("train", "test")
    )
    return _halved(train, test)


def squad11(folder: Path) -> DatasetDict:
    """Contexts below 500 characters of train: articles 0-299, 300-369 and 370-441 are the parts."""
    whole = read_squad(next((folder / "squad11").glob("train-v1.1*.json")))
    number = {title: i for i, title in enumerate(dict.fromkeys(whole["title"]))}
    part = np.searchsorted([300, 370], [number[title] for title in whole["title"]], side="right")
    short = np.array([len(context) < 500 for context in whole["context"]])
    return _parts(*(whole.select(np.flatnonzero(short & (part == i))) for i in range(3)))


TASKS = {
    "wnut17": Task(wnut17, "tagging", 1000, 400, 3, 32, 96, 30),
    "crossner_ai": Task(crossner_ai, "tagging", 320, 150, 3, 12, 96, 30),
    "ud_en_ewt": Task(ud_en_ewt, "words", 400, 200, 3, 16, 64, 20),
    "mrpc": Task(mrpc, "pairs", 400, 300, 2, 16, 128, 35),
    "squad11": Task(squad11, "reading", 300, 100, 2, 12, 160, 60),
}


#: The tasks of the table of reasons; on the first of them precisions are compared.
EXPLAINED = ("wnut17", "crossner_ai")


def _parts(train: Dataset, validation: Dataset, test: Dataset) -> DatasetDict:
    return DatasetDict({"train": train, "validation": validation, "test": test})


def _halved(train: Dataset, test: Dataset) -> DatasetDict:
    order = np.random.default_rng(0).permutation(len(test))
    half = len(test) // 2
    return _parts(train, test.select(sorted(order[:half])), test.select(sorted(order[half:])))


def drawn(corpus: DatasetDict, task: Task, seed: int) -> DatasetDict:
    """The training part by the seed, validation and test the same for every seed."""
    fixed = {
        name: corpus[name].select(
            sorted(np.random.default_rng(0).permutation(len(corpus[name]))[: task.held_out])
        )
        for name in ("validation", "test")
    }
    order = np.random.default_rng(seed).permutation(len(corpus["train"]))
    if not task.train_size:
        return DatasetDict({"train": corpus["train"].select(order), **fixed})
    rows = list(order[: task.train_size])
    if "tags" in corpus["train"].column_names:
        tags = corpus["train"]["tags"]
        seen = {tag for row in rows for tag in tags[row]}
        needed = {tag for split in fixed.values() for row in split["tags"] for tag in row} - seen
        for row in order[task.train_size :]:
            if needed & set(tags[row]):
                rows.append(row)
                needed -= set(tags[row])
    return DatasetDict({"train": corpus["train"].select(rows), **fixed})


def build(setup: Setup, labels: Sequence[str] | None, steps_an_epoch: int) -> Any:
    """The loss of a setup; ``labels`` is None for binary decisions."""
    binary = "" if labels is not None else "binary_"
    if setup.loss == "ce":
        return make_loss(f"{binary}ce")
    options: dict[str, Any] = {"smooth": setup.smooth, "squared": setup.squared}
    if labels is not None:
        inside = [i for i, label in enumerate(labels) if label != tagging.OUTSIDE]
        options |= {"absent": setup.absent, "classes": None if setup.outside else inside}
    if setup.loss == "tl":
        options |= {"fp_weight": setup.fp_weight, "fn_weight": setup.fn_weight}
    if setup.loss == "dsc":
        options["alpha"] = setup.alpha
    loss = make_loss(f"{binary}{setup.loss}", **options)
    if setup.warm_start:
        return WarmStart(make_loss(f"{binary}ce"), loss, end=steps_an_epoch)
    return loss


# What holds the model: the gradient on the logits of words, term by term.


@torch.enable_grad()
def pulls(setup: Setup, logits: np.ndarray, labels: np.ndarray, outside: int) -> dict[str, Any]:
    """Where a setup's loss pulls the words of some batches, and where the model stands.

    Args:
        setup: whose loss; a warm start is looked at as the loss it ends with.
        logits: ``[N, L, C]``.
        labels: ``[N, L]``, -100 where there is no word.
        outside: the class ``O``.

    Returns:
        ``predicted_outside`` (share of words), ``p_gold_of_entities`` and ``p_outside_of_outside``
        (means over entity words and ``O`` words); and for each term of the mean over classes
        (``O``, classes ``present`` in the batch, classes ``absent`` from it; for cross entropy the
        words of ``O`` and of the present classes), as means over batches of minus the gradient:
        ``outside_bias``, summed over all words on the logit of ``O``: above 0 the term pulls the
        whole batch to ``O``; ``entities``, summed over entity words on the margin of the gold class
        over ``O``: above 0 they are pulled to their class; ``outside``, summed over ``O`` words on
        the logit of ``O``; and ``norm``, that of the gradient.
    """
    seen: dict[str, list[float]] = {}
    states = []
    for start in range(0, len(logits), PROBED_BATCH):
        kept = labels[start : start + PROBED_BATCH] != tagging.IGNORED
        x = torch.tensor(logits[start : start + PROBED_BATCH][kept], dtype=torch.float64)
        y = torch.tensor(labels[start : start + PROBED_BATCH][kept])
        entity = y != outside
        p = x.softmax(-1)
        outside_best = (x.argmax(-1) == outside).double()
        gold = p.gather(1, y[:, None])[:, 0]
        states.append([outside_best.mean(), gold[entity].mean(), gold[~entity].mean()])
        x.requires_grad_()
        for name, term in _terms(setup, x, y, outside).items():
            (gradient,) = torch.autograd.grad(term, x, retain_graph=True)
            towards_gold = gradient.gather(1, y[:, None])[:, 0] - gradient[:, outside]
            values = {
                "outside_bias": -gradient[:, outside].sum(),
                "entities": -towards_gold[entity].sum(),
                "outside": -gradient[~entity, outside].sum(),
                "norm": gradient.norm(),
            }
            for key, value in values.items():
                seen.setdefault(f"{name} {key}", []).append(float(value))
    means = torch.tensor(states).nanmean(0).tolist()
    terms: dict[str, dict[str, float]] = {}
    for name, values_ in seen.items():
        term_, key = name.split(" ")
        terms.setdefault(term_, {})[key] = float(np.mean(values_))
    return {**dict(zip(STATES, means, strict=True)), "pulls": terms}


def _terms(setup: Setup, x: Tensor, y: Tensor, outside: int) -> dict[str, Tensor]:
    if setup.loss == "ce":
        each = torch.nn.functional.cross_entropy(x, y, reduction="none") / len(y)
        return {"O": each[y == outside].sum(), "present": each[y != outside].sum()}
    statistics = functional.dice_statistics(x, y, alpha=setup.alpha, squared=setup.squared)
    each = statistics.loss(
        smooth=setup.smooth,
        absent="keep",
        reduction="none",
        fp_weight=setup.fp_weight if setup.loss == "tl" else None,
        fn_weight=setup.fn_weight if setup.loss == "tl" else None,
    )
    present = torch.bincount(y, minlength=x.shape[-1]) > 0
    counted = present if setup.absent == "skip" else torch.ones_like(present)
    is_outside = torch.arange(x.shape[-1]) == outside
    counted = counted & (~is_outside if not setup.outside else torch.ones_like(counted))
    share = each * counted / counted.sum()
    return {
        "O": share[is_outside].sum(),
        "present": share[present & ~is_outside].sum(),
        "absent": share[~present & ~is_outside].sum(),
    }


# A run.


STATES_SEEN: dict[str, Tensor] = {}


def upper_layers_only(model: Any) -> Any:
    """Freeze all but the upper two layers and the head, and leave out dropout: much faster."""
    model.set_attn_implementation("eager")
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    freeze_lower(model, model.config.num_hidden_layers - TRAINED_LAYERS, STATES_SEEN)
    return model


def experiment_of(name: str, setup: Setup, seed: int) -> Experiment:
    """What dicebook's trainer is told."""
    task = TASKS[name]
    return Experiment(
        corpus=name,
        encoder="minilm",
        loss=setup.loss,
        start="zero",
        seed=seed,
        epochs=task.epochs,
        batch_size=setup.batch_size or task.batch_size,
        learning_rate=RATE * setup.rate,
        max_length=task.max_length,
        device="cpu",
        precision=setup.precision,
    )


def parameters_of(name: str, setup: Setup, seed: int) -> dict[str, Any]:
    """All that a run depends on, and nothing else: what tells it from the others."""
    task, experiment = TASKS[name], experiment_of(name, setup, seed)
    return {
        "corpus": name,
        "train_size": task.train_size,
        "held_out": task.held_out,
        **{k: getattr(experiment, k) for k in ("encoder", "seed", "epochs", "batch_size")},
        **{k: getattr(experiment, k) for k in ("learning_rate", "max_length", "precision")},
        "loss": setup.loss,
        "trained_layers": TRAINED_LAYERS,
        "dropout": 0.0,
        "options": options_of(setup),
    }


def options_of(setup: Setup) -> dict[str, Any]:
    """The fields of a setup that its loss reads."""
    unused = {"loss", "rate", "batch_size", "precision"}
    unused |= {
        "ce": {"squared", "smooth", "absent", "outside", "alpha", "fp_weight", "fn_weight"},
        "dl": {"alpha", "fp_weight", "fn_weight"},
        "tl": {"alpha"},
        "dsc": {"fp_weight", "fn_weight"},
    }[setup.loss]
    return {k: v for k, v in asdict(setup).items() if k not in unused}


def key(parameters: dict[str, Any]) -> str:
    """One string a run."""
    return json.dumps(parameters, sort_keys=True)


def tag(task: Task, prepared: Any, setup: Setup, experiment: Experiment) -> Any:
    """Train and score a tagger, probing its gradients at the start and after each epoch."""
    tokenizer, encoded = prepared
    probed = encoded.splits["validation"].select(range(min(PROBED_ROWS, task.held_out)))
    collate = tagging.collator(tokenizer)
    score = tagging.score if task.kind == "tagging" else tagging.score_words
    probes: list[dict[str, Any]] = []

    def probe(logits: np.ndarray) -> None:
        if tagging.OUTSIDE in encoded.labels:
            labels = collate(list(probed))["labels"].numpy()
            logits = logits[: len(labels), : labels.shape[1]]
            probes.append(pulls(setup, logits, labels, encoded.labels.index(tagging.OUTSIDE)))

    def build_model() -> Any:
        model = upper_layers_only(tagging.model(experiment.encoder, tokenizer, encoded.labels))
        if setup.outside_bias:
            counts = encoded.counts()
            odds = counts[0] / counts[1:].sum()
            with torch.no_grad():
                model.classifier.bias[0] = setup.outside_bias * math.log(odds)
        batch = collate(list(probed))
        batch.pop("labels")
        with torch.no_grad(), torch.autocast("cpu", enabled=experiment.precision == "bf16"):
            probe(model.eval()(**batch).logits.float().numpy())
        return model

    def evaluate(logits: np.ndarray, split: Any) -> dict[str, float]:
        found = score(split["tags"], tagging.decode(logits, split, encoded.labels))
        probe(logits)
        return found

    steps = math.ceil(len(encoded.splits["train"]) / experiment.batch_size)
    trained = train(
        experiment,
        build_model=build_model,
        splits=encoded.splits,
        collator=collate,
        tokenizer=tokenizer,
        compute_loss=TrainerLoss(build(setup, encoded.labels, steps)),
        evaluate=evaluate,
    )
    metrics: dict[str, Any] = {
        name: score(
            encoded.splits[name]["tags"],
            tagging.decode(trained.logits[name], encoded.splits[name], encoded.labels),
        )
        for name in ("validation", "test")
    }
    return trained, metrics, probes


def classify(task: Task, prepared: Any, setup: Setup, experiment: Experiment) -> Any:
    """Train and score a classifier of pairs."""
    tokenizer, encoded = prepared

    def evaluate(logits: np.ndarray, split: Any) -> dict[str, float]:
        return pairs.score(split["label"], pairs.decode(logits).tolist())

    steps = math.ceil(len(encoded.splits["train"]) / experiment.batch_size)
    trained = train(
        experiment,
        build_model=lambda: upper_layers_only(
            pairs.model(experiment.encoder, tokenizer, encoded.labels)
        ),
        splits=encoded.splits,
        collator=pairs.collator(tokenizer),
        tokenizer=tokenizer,
        compute_loss=TrainerLoss(build(setup, encoded.labels, steps)),
        evaluate=evaluate,
    )
    names = ("validation", "test")
    found = {name: evaluate(trained.logits[name], encoded.splits[name]) for name in names}
    gold = encoded.splits["validation"]["label"]
    return trained, {**found, "majority": pairs.score(gold, [1] * len(gold))}, []


def read(task: Task, prepared: Any, setup: Setup, experiment: Experiment) -> Any:
    """Train and score a reader by decisions: every position says yes or no to being a start."""
    tokenizer, encoded = prepared

    def score(logits: Any, split: str, threshold: float | None = None) -> dict[str, float]:
        answers = reading.decode(logits, encoded, split, as_choice=False)
        return reading.score(answers, encoded.corpus[split]["answers"], threshold=threshold)

    steps = math.ceil(len(encoded.splits["train"]) / experiment.batch_size)
    trained = train(
        experiment,
        build_model=lambda: upper_layers_only(reading.model(experiment.encoder, tokenizer)),
        splits=encoded.splits,
        collator=reading.collator(tokenizer, as_choice=False),
        tokenizer=tokenizer,
        compute_loss=reading.Decisions(build(setup, None, steps)),
        evaluate=lambda logits, _: score(logits, "validation"),
    )
    names = ("validation", "test")
    found = {name: score(trained.logits[name], name) for name in names}
    # Answers that the loss itself calls answers: both log-odds together above 0.
    at_zero = score(trained.logits["validation"], "validation", threshold=0.0)
    return trained, {**found, "validation_at_zero": at_zero}, []


RUNNERS = {"tagging": tag, "words": tag, "pairs": classify, "reading": read}


@lru_cache(maxsize=4)
def prepare(name: str, seed: int) -> tuple[Any, Any, str]:
    """Tokenizer, the encoded parts and a hash of the training part."""
    task = TASKS[name]
    if "DICEBOOK_CORPORA" not in os.environ:
        raise SystemExit("set DICEBOOK_CORPORA to the folder of corpora, a sub-folder each")
    part = drawn(task.corpus(Path(os.environ["DICEBOOK_CORPORA"])), task, seed)
    tokenizer = load_tokenizer("minilm", [], max_length=task.max_length)
    options = {"stride": 48} if task.kind == "reading" else {}
    encode = {"pairs": pairs, "reading": reading}.get(task.kind, tagging).encode
    encoded = encode(part, tokenizer, max_length=task.max_length, **options)
    return tokenizer, encoded, hashlib.sha256(repr([*part["train"]]).encode()).hexdigest()[:16]


def run(name: str, setup: Setup, seed: int) -> dict[str, Any]:
    """One run's record."""
    task, experiment = TASKS[name], experiment_of(name, setup, seed)
    *prepared, part = prepare(name, seed)
    began = time.process_time()
    trained: Trained
    trained, metrics, probes = RUNNERS[task.kind](task, prepared, setup, experiment)
    history = [dict(entry) for entry in trained.history]
    record = runs.make_record(
        chapter="studies/first_try.py",
        parameters=parameters_of(name, setup, seed),
        metrics=metrics,
        history=history,
        measured={**trained.measured, "cpu_seconds": round(time.process_time() - began, 1)},
    )
    record["train_part"] = part
    if probes:  # at the start, and after each epoch
        record["probes"] = _rounded(probes[: 1 + experiment.epochs])
    return record


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_rounded(v) for v in value]
    return float(f"{value:.4g}")


def fits(name: str, setup: Setup) -> bool:
    """Whether a setup says anything on a task that another does not: without O there is no O."""
    kind = TASKS[name].kind
    about_outside = not setup.outside or setup.outside_bias
    if kind == "reading" and setup.absent == "skip":
        return False
    return kind == "tagging" or not about_outside


def defaults(name: str) -> dict[str, str]:
    """The setup that each loss's defaults come to on a task."""
    return BINARY_DEFAULTS if TASKS[name].kind == "reading" else DEFAULTS


def planned(options: argparse.Namespace) -> Iterator[tuple[str, str, int]]:
    """Task, setup and seed of every run, in order: each seed through all before the next.

    Unless setups are asked for, the table of defaults comes first, then that of the reasons.
    """
    tasks, wanted = options.task, options.setup
    every = options.seed
    plans = [(every, {name: list(wanted or defaults(name).values()) for name in tasks})]
    if not wanted:
        plans += [(every, {name: list(WHY) for name in tasks if name in EXPLAINED})]
        plans += [(every[:1], {name: list(PRECISION) for name in tasks if name in EXPLAINED[:1]})]
    for seeds, plan in plans:
        for seed in seeds:
            for name, setups in plan.items():
                yield from ((name, s, seed) for s in setups if fits(name, SETUPS[s]))


def tables(records: Sequence[dict[str, Any]]) -> str:
    """The two tables in Markdown, of whatever is recorded: why, and losses by tasks."""
    names: dict[str, str] = {}
    for task in TASKS:
        for setup in SETUPS:
            names.setdefault(key({**parameters_of(task, SETUPS[setup], 0), "seed": None}), setup)
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        setup = names.get(key({**record["parameters"], "seed": None}), "?")
        cells.setdefault((record["parameters"]["corpus"], setup), []).append(record)
    lines = [
        "| corpus | setup | seeds | F1 after each epoch | accuracy | O predicted | p of gold "
        "| pull to O after epoch 1: O's term | present | absent |",
        "|" + "---|" * 10,
    ]
    for corpus, setup in ((task, setup) for task in TASKS for setup in SETUPS):
        found = cells.get((corpus, setup), [{}])
        if "probes" not in found[0]:
            continue
        f1 = np.mean([[e["validation_f1"] for e in r["history"]] for r in found], axis=0)
        accuracy = np.mean([r["history"][-1]["validation_accuracy"] for r in found])
        state = [np.mean([r["probes"][-1][k] for r in found]) for k in STATES[:2]]
        pull = [
            np.mean([r["probes"][1]["pulls"][term]["outside_bias"] for r in found])
            if term in found[0]["probes"][1]["pulls"]
            else math.nan
            for term in ("O", "present", "absent")
        ]
        lines.append(
            f"| {corpus} | {setup} | {len(found)} | {' / '.join(f'{x:.1f}' for x in f1)} "
            f"| {accuracy:.1f} | {state[0]:.3f} | {state[1]:.3f} | "
            + " | ".join("" if math.isnan(x) else f"{x:+.4f}" for x in pull)
            + " |"
        )
    lines += ["", "| setup | " + " | ".join(TASKS) + " |", "|---" * (1 + len(TASKS)) + "|"]
    for setup in SETUPS:
        row = []
        for task in TASKS:
            found = cells.get((task, setup), [])
            best = [r["metrics"]["validation"]["f1"] for r in found]
            row.append(f"{np.mean(best):.1f} ({len(best)})" if best else "")
        if any(row):
            lines.append(f"| {setup} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run what is planned and not yet recorded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--setup", nargs="+", choices=SETUPS, help="default: those of both tables")
    parser.add_argument("--seed", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--estimate", action="store_true", help="say what is left, run nothing")
    parser.add_argument("--table", action="store_true", help="show what is recorded, run nothing")
    parser.add_argument("--out", type=Path, default=Path("results/first_try.jsonl"))
    options = parser.parse_args()
    records = runs.read_records(options.out) if options.out.exists() else []
    if options.table:
        print(tables(records))
        return
    done = {key(record["parameters"]) for record in records}
    runs_planned = {key(parameters_of(r[0], SETUPS[r[1]], r[2])): r for r in planned(options)}
    left = [r for name, r in runs_planned.items() if name not in done]
    taken: dict[str, list[float]] = {}
    for record in records:
        taken.setdefault(record["parameters"]["corpus"], []).append(
            record["measured"]["cpu_seconds"]
        )

    def seconds(runs_left: Sequence[tuple[str, str, int]]) -> float:
        return sum(float(np.median(taken.get(r[0], [TASKS[r[0]].seconds]))) for r in runs_left)

    print(f"{len(left)} runs left, about {seconds(left) / 60:.0f} minutes", flush=True)
    if options.estimate:
        return
    for number, (name, setup, seed) in enumerate(left):
        began = time.monotonic()
        record = run(name, SETUPS[setup], seed)
        runs.append_record(options.out, record)
        taken.setdefault(name, []).append(record["measured"]["cpu_seconds"])
        f1 = {split: round(record["metrics"][split]["f1"], 1) for split in ("validation", "test")}
        print(
            f"{name}, seed {seed}: {setup}: {f1}, {time.monotonic() - began:.0f} s; "
            f"{len(left) - number - 1} left, about {seconds(left[number + 1 :]) / 60:.0f} minutes",
            flush=True,
        )


if __name__ == "__main__":
    torch.set_num_threads(1)
    disable_progress_bars()
    main()

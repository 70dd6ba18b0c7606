"""What do the remedies for rare labels do on GoEmotions, twenty draws, equal search for each?

    python -m studies.labels                  # every run that is not recorded yet
    python -m studies.labels --table          # what is recorded
    python -m studies.labels --encoder minilm
    python -m studies.labels --count          # how many training comments have each label
    python -m studies.labels --comments       # differences over draws and test comments

28 labels, several a comment, on frozen features: 256 directions of a bag of words (TF-IDF of words
and of pairs of words), or of what all-MiniLM-L6 says of a comment. A draw takes 16,000 comments to
train on, 4,000 to choose a trial by and 4,000 to set thresholds on, out of the training and the
validation split; the test comments are always the same 5,427. In every draw every remedy gets four
trials with the same learning rates and dropouts. Five ways of deciding are each chosen and scored
for themselves: probability one half, one threshold for all labels, a threshold a label, the same
drawn to the one of all where positives are few, and the plug-in threshold a label. The corpus is
prepared by ``dicebook data goemotions``. One record a draw and remedy is appended to the results;
what is recorded there is not run again.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from torch import Tensor

from dicelab.corpora import load
from dicelab.metrics.counts import Counts
from dicelab.metrics.goal import Goal
from dicelab.metrics.intervals import two_way_bootstrap
from dicelab.records import runs
from dicelab.tasks import labels as task
from studies import decisions, frozen
from studies.decisions import Arm, Trial
from studies.evidence.heads import adamw

PARTS = (16_000, 4_000, 4_000)
ENCODERS = {"tfidf": "bag of words, TF-IDF", "minilm": "all-MiniLM-L6, frozen"}
COMPONENTS, HIDDEN, BATCH, WARM_UP = 256, 64, 256, 20
TRIALS, STEPS, DRAWS, SHRINK = 4, (150, 300), 20, 10.0
ARMS: dict[str, Arm] = {
    "bce": Arm(decisions.cross_entropy, start="zero"),
    "bce_prior": Arm(decisions.cross_entropy, start="prior"),
    "pos_weight": Arm(decisions.weighted, decisions.uniform(0.1, 1.0)),
    "logit_adjustment": Arm(decisions.adjusted, decisions.uniform(0.1, 1.0)),
    "focal": Arm(decisions.focal, decisions.uniform(0.5, 4.0)),
    "dice_micro": Arm(decisions.dice((1, 2)), decisions.log_uniform(0.1, 10.0)),
    "dice_macro": Arm(decisions.dice((1,)), decisions.log_uniform(0.1, 10.0)),
}
WAYS = ("half", "one", "each", "shrunk", "plug_in")
METRICS = ("micro", "macro")
#: The remedies of which differences over draws and test comments are recorded.
COMPARED = ("bce_prior", "pos_weight", "dice_micro", "dice_macro")
#: What is compared across ways of deciding, over draws and test comments.
CONTRASTS = (
    *(((arm, way), (arm, "half")) for arm in ("bce_prior", "dice_macro") for way in WAYS[1:]),
    *((("bce_prior", way), ("bce_prior", "each")) for way in ("one", "shrunk", "plug_in")),
    (("dice_macro", "shrunk"), ("dice_macro", "each")),
    *((("dice_macro", "half"), ("bce_prior", way)) for way in ("one", "each", "shrunk")),
    *((("dice_micro", "half"), ("bce_prior", way)) for way in ("one", "each", "shrunk")),
)


class Data(NamedTuple):
    """Features and labels; the first ``pool`` rows are drawn from, the rest is the test."""

    features: Tensor
    gold: Tensor
    names: list[str]
    pool: int


@cache
def truth() -> tuple[Tensor, list[str], int]:
    """What is right: 0 or 1 ``[N, C]``, the labels' names, and how many rows are drawn from.

    The rows are those of the training, the validation and then the test split.
    """
    splits = load("goemotions", task="labels")
    label_sets = [
        names for split in ("train", "validation", "test") for names in splits[split]["labels"]
    ]
    pool = len(label_sets) - len(splits["test"])
    names = sorted({label for row in label_sets[:pool] for label in row})
    index = {name: i for i, name in enumerate(names)}
    gold = torch.zeros(len(label_sets), len(names))
    for row, label_set in zip(gold, label_sets, strict=True):
        row[[index[name] for name in label_set]] = 1
    return gold, names, pool


@cache
def corpus(encoder: str) -> Data:
    """GoEmotions as an encoder of ``ENCODERS`` sees it."""
    gold, names, pool = truth()
    splits = load("goemotions", task="labels")
    texts = [t for name in ("train", "validation", "test") for t in splits[name]["sentence"]]
    if encoder == "minilm":
        return Data(frozen.principal(frozen.texts(texts), pool, COMPONENTS), gold, names, pool)
    bag = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), max_features=20_000)
    svd = TruncatedSVD(COMPONENTS, random_state=0).fit(bag.fit_transform(texts[:pool]))
    features = torch.from_numpy(svd.transform(bag.transform(texts))).float()
    return Data(features / features[:pool].std(), gold, names, pool)


def draw(pool: int, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of the pool: to train on, to choose a trial by, to set thresholds on."""
    order = np.random.default_rng([43, number]).permutation(pool)[: sum(PARTS)]
    first, second, _ = PARTS
    return tuple(np.split(order, [first, first + second]))  # type: ignore[return-value]


def train(
    arm: Arm, trials: Sequence[Trial], features: Tensor, gold: Tensor, seed: int
) -> list[list[Tensor]]:
    """A stack of heads with AdamW: a short warm-up, then a constant learning rate.

    Returns:
        The weights of the stack at each of ``STEPS``.
    """
    decisions.seeded(seed)
    stream = torch.Generator().manual_seed(seed)
    k, width, classes = len(trials), features.shape[1], gold.shape[1]
    prior = decisions.log_prior(gold)
    state: Any = tuple(
        ((torch.rand(shape, generator=stream) * 2 - 1) / fan**0.5).repeat(k, 1, 1)
        for shape, fan in (
            ((width, HIDDEN), width),
            ((1, HIDDEN), width),
            ((HIDDEN, classes), HIDDEN),
            ((1, classes), HIDDEN),
        )
    )
    for i, trial in enumerate(trials):
        state[3][i] = prior if trial.start == "prior" else 0.0
    numbers = [[t.learning_rate, 1 - t.dropout, t.value] for t in trials]
    rate, keep, value = torch.tensor(numbers).view(-1, 3, 1, 1).unbind(1)
    first, second = ([torch.zeros_like(p) for p in state] for _ in range(2))
    snapshots, order = [], torch.empty(0, dtype=torch.long)
    for step in range(1, STEPS[-1] + 1):
        if len(order) < BATCH:
            order = torch.cat([order, torch.randperm(len(features), generator=stream)])
        index, order = order[:BATCH], order[BATCH:]
        live = [p.detach().requires_grad_() for p in state]
        mask = (torch.rand(BATCH, HIDDEN, generator=stream) < keep) / keep
        logits = _logits(live, features[index], mask)
        slopes = torch.autograd.grad(arm.loss(logits, gold[index], value, prior).sum(), live)
        now = rate * min(1.0, step / WARM_UP)
        state = adamw(state, slopes, first, second, now, step)
        if step in STEPS:
            snapshots.append([p.clone() for p in state])
    return snapshots


def _logits(state: Sequence[Tensor], features: Tensor, mask: Tensor | float = 1.0) -> Tensor:
    w, b, v, c = state
    return torch.matmul((torch.matmul(features, w) + b).relu() * mask, v) + c


def decided(logits: np.ndarray, way: str, tuned_on: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Which labels are given, bool ``[N, C]``, when a way of deciding has seen some other rows.

    Args:
        logits: ``[N, C]``.
        way: one of ``WAYS``.
        tuned_on: logits and gold of the rows that thresholds are set on.
    """
    ways: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
        "half": lambda x, y: 0.0,
        "one": task.tune_threshold,
        "each": task.tune_thresholds,
        "shrunk": lambda x, y: task.tune_thresholds(x, y, shrink=SHRINK),
        "plug_in": lambda x, y: task.plug_in_thresholds(logits),
    }
    return np.asarray(logits > ways[way](*tuned_on))


def scored(gold: np.ndarray, hard: np.ndarray) -> dict[str, float]:
    """Micro and macro F1 in percent."""
    right, total = (gold * hard).sum(0), gold.sum(0) + hard.sum(0)
    return {
        "micro": 200 * float(right.sum() / max(1, total.sum())),
        "macro": 100 * float(np.mean(2 * right / np.maximum(total, 1))),
    }


def parameters_of(arm: str, number: int, encoder: str) -> dict[str, Any]:
    """What tells a run from the others."""
    return {
        "corpus": "goemotions",
        "encoder": ENCODERS[encoder],
        "loss": arm,
        "seed": number,
        "train_size": PARTS[0],
        "eval_size": PARTS[1],
        "trials": TRIALS,
        "steps": list(STEPS),
    }


class Searched(NamedTuple):
    """The trials of one remedy on one draw.

    Attributes:
        logits: by part (``"choose"``, ``"tune"``, ``"test"``), ``[steps, trials, N, C]``.
        gold: by part, ``[N, C]``.
        trials: what was tried.
    """

    logits: dict[str, np.ndarray]
    gold: dict[str, np.ndarray]
    trials: list[Trial]

    @property
    def places(self) -> list[tuple[int, int]]:
        """Every step and trial."""
        return [(s, t) for s in range(len(STEPS)) for t in range(len(self.trials))]

    def decided(self, part: str, place: tuple[int, int], way: str) -> np.ndarray:
        """Which labels a trial gives to the comments of a part. Shape ``[N, C]``."""
        return decided(
            self.logits[part][place], way, (self.logits["tune"][place], self.gold["tune"])
        )

    def best(self, way: str) -> dict[str, tuple[tuple[int, int], float, np.ndarray]]:
        """By metric: the place that is chosen, its score there, and what it gives on test."""
        on_choose = {
            p: scored(self.gold["choose"], self.decided("choose", p, way)) for p in self.places
        }
        by_metric = {}
        for metric in METRICS:
            place = max(self.places, key=lambda p: on_choose[p][metric])
            hard = self.decided("test", place, way)
            by_metric[metric] = (place, on_choose[place][metric], hard)
        return by_metric


def search(arm: str, number: int, encoder: str) -> Searched:
    """Train every trial of one remedy on one draw."""
    data = corpus(encoder)
    rows, choose, tune = draw(data.pool, number)
    trials = [Trial.random(ARMS[arm], number, i) for i in range(TRIALS)]
    states = train(ARMS[arm], trials, data.features[rows], data.gold[rows], number)
    parts: dict[str, Any] = {"choose": choose, "tune": tune, "test": slice(data.pool, None)}
    logits = {
        name: torch.stack([_logits(s, data.features[part]) for s in states]).numpy()
        for name, part in parts.items()
    }
    return Searched(logits, {n: data.gold[part].numpy() for n, part in parts.items()}, trials)


def run(arm: str, number: int, encoder: str) -> dict[str, Any]:
    """Search, decide and test one remedy on one draw; the record."""
    data, began = corpus(encoder), time.process_time()
    searched = search(arm, number, encoder)
    logits, gold = searched.logits, searched.gold
    metrics: dict[str, Any] = {"ranking": {}}
    history = []
    for way in WAYS:
        metrics[way] = {}
        for metric, (best, validation, hard) in searched.best(way).items():
            metrics[way][metric] = round(scored(gold["test"], hard)[metric], 3)
            setting = {"steps": STEPS[best[0]], **vars(searched.trials[best[1]])}
            history.append({"way": way, "metric": metric, "validation": validation, **setting})
            if metric == "macro":
                right = (gold["test"] * hard).sum(0)
                f1 = 200 * right / np.maximum(gold["test"].sum(0) + hard.sum(0), 1)
                metrics[way]["each"] = np.round(f1, 1).tolist()
                metrics[way]["said"] = int(hard.sum())
    ranked = {
        p: np.nanmean(task.average_precision(gold["choose"], logits["choose"][p]))
        for p in searched.places
    }
    best = max(searched.places, key=lambda p: ranked[p])
    precision = task.average_precision(gold["test"], logits["test"][best])
    metrics["ranking"] = {"average_precision": round(float(np.nanmean(precision)), 3)}
    metrics["labels"] = data.names
    metrics["positives"] = {n: g.sum(0).astype(int).tolist() for n, g in gold.items()}
    rows, _, _ = draw(data.pool, number)
    metrics["positives"]["train"] = data.gold[rows].sum(0).int().tolist()
    return runs.make_record(
        chapter="studies/labels.py",
        parameters=parameters_of(arm, number, encoder),
        metrics=metrics,
        history=history,
        measured={"device": "cpu, 1 threads", "seconds": round(time.process_time() - began, 2)},
    )


Term = tuple[str, str]  # a remedy, and how it decides


def resampled(
    right: np.ndarray, predicted: np.ndarray, gold: np.ndarray, metric: str, resamples: int
) -> np.ndarray:
    """The mean over draws of a score, in draws and test comments drawn with replacement.

    Args:
        right: labels rightly given, ``[draws, comments, C]``.
        predicted: labels given, of the same shape.
        gold: labels to be given, ``[comments, C]``.
        metric: ``"micro"`` or ``"macro"``.
        resamples: how many.

    Returns:
        Shape ``[resamples]``, in percent. The same comments and draws are in a resample whatever
        the first two arguments are, so that differences are paired.
    """
    actual = np.broadcast_to(gold, predicted.shape)
    counts = Counts(*(part.astype(np.int64) for part in (right, predicted, actual)))[None]
    goal = Goal("f1" if metric == "micro" else "macro-f1", tuple(range(gold.shape[1])), absent=True)
    return two_way_bootstrap(counts, goal.value, resamples=resamples)


def over_comments(
    encoder: str, draws: int, arms: Sequence[str] = COMPARED, resamples: int = 1000
) -> dict[str, Any]:
    """How far the scores' differences depend on the draw and on the test comments; a record.

    The remedies are run again: a record holds no decision. The differences are those of every
    remedy from ``bce_prior`` decided alike, and those of ``CONTRASTS``.
    """
    data = corpus(encoder)
    gold = data.gold[data.pool :].numpy()  # of the test comments
    by_term: dict[tuple[Term, str], tuple[float, np.ndarray]] = {}
    for arm in arms:
        by_way: dict[tuple[str, str], list[np.ndarray]] = {}
        for number in range(draws):
            searched = search(arm, number, encoder)
            for way in WAYS:
                for metric, (_, _, predicted) in searched.best(way).items():
                    by_way.setdefault((way, metric), []).append(predicted)
        for (way, metric), hard in by_way.items():
            stacked = np.stack(hard)
            mean = float(np.mean([scored(gold, predicted)[metric] for predicted in hard]))
            scores = resampled(stacked & (gold == 1), stacked, gold, metric, resamples)
            by_term[(arm, way), metric] = mean, scores
        print(f"{arm}: {draws} draws", flush=True)
    contrasts = [((arm, way), ("bce_prior", way)) for way in WAYS for arm in arms]
    rows = []
    for first, second in [*contrasts, *CONTRASTS]:
        for metric in METRICS:
            (a, xs), (b, ys) = by_term[first, metric], by_term[second, metric]
            low, high = np.percentile(xs - ys, [2.5, 97.5])
            ends = {"mean": round(a - b, 3), "low": round(low, 3), "high": round(high, 3)}
            if first != second:
                rows.append({"arm": first, "over": second, "metric": metric, **ends})
    parameters = parameters_of("several", 0, encoder) | {"draws": draws, "resamples": resamples}
    return runs.make_record(
        chapter="studies/labels.py",
        parameters=parameters,
        metrics={"differences": rows},
        history=[],
        measured={"device": "cpu, 1 threads"},
    )


def count() -> dict[str, Any]:
    """How many comments of each split have each label; a record."""
    splits = load("goemotions", task="labels")
    label_counts = {
        name: dict(Counter(label for row in split["labels"] for label in row).most_common())
        for name, split in splits.items()
    }
    sizes = {name: len(split) for name, split in splits.items()}
    return runs.make_record(
        chapter="studies/labels.py",
        parameters={"corpus": "goemotions", "loss": "none", "seed": 0},
        metrics={"labels": label_counts, "comments": sizes},
        history=[],
        measured={},
    )


def table(records: Sequence[dict[str, Any]], metric: str) -> pd.DataFrame:
    """Mean test F1 of each remedy, by how it decides."""
    frame = pd.DataFrame(
        [
            {"loss": r["parameters"]["loss"], **{w: r["metrics"][w][metric] for w in WAYS}}
            for r in records
        ]
    )
    return frame.groupby("loss").mean().reindex([arm for arm in ARMS if arm in set(frame["loss"])])


def main() -> None:
    """Run what is not yet recorded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--encoder", choices=ENCODERS, default="tfidf")
    parser.add_argument("--table", action="store_true", help="print what is recorded")
    parser.add_argument("--out", type=Path, default=Path("results/labels.jsonl"))
    parser.add_argument("--count", action="store_true", help="write results/label_counts.jsonl")
    parser.add_argument(
        "--comments", action="store_true", help="write results/labels_comments.jsonl"
    )
    options = parser.parse_args()
    if options.comments:
        record = over_comments(options.encoder, options.draws)
        runs.append_record(options.out.with_name("labels_comments.jsonl"), record)
        return
    if options.count:
        counts = options.out.with_name("label_counts.jsonl")
        counts.unlink(missing_ok=True)
        runs.append_record(counts, count())
        return
    records = runs.read_records(options.out) if options.out.exists() else []
    if options.table:
        for metric in METRICS:
            print(metric, table(records, metric).round(2), sep="\n")
        return
    recorded = [record["parameters"] for record in records]
    for number in range(options.draws):
        for arm in options.arms:
            if parameters_of(arm, number, options.encoder) not in recorded:
                record = run(arm, number, options.encoder)
                runs.append_record(options.out, record)
                macro_f1 = {way: record["metrics"][way]["macro"] for way in WAYS}
                print(f"draw {number}, {arm}: {macro_f1}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()

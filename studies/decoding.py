"""What do other ways to decode add to a tagger that is trained already?

    python -m studies.decoding                # every run that is not recorded yet
    python -m studies.decoding --table        # what is recorded

The taggers are heads on a frozen encoder, trained with cross entropy and with dice on the draws of
ten seeds; ``CHOSEN`` holds the trial and the steps that a search on validation chose for argmax.
Each is decoded in five ways:

- ``argmax``: the best tag of each word;
- ``valid``: the best sequence in which every ``I-`` continues an entity of its type;
- ``bias``: argmax, with a bias on the logit of ``O``;
- ``bias, valid``: both;
- ``confidence``: the same, and an entity is kept if the mean log-probability of its tags is above a
  threshold. A bias below 0 adds entities, the threshold drops the doubtful ones.

Biases and thresholds are those with the best F1 on both halves of validation. The corpora are
those that ``dicebook data`` leaves in $DICEBOOK_DATA. One record a run is appended to the results;
what is recorded there is not run again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.special import log_softmax

from dicelab.corpora.tags import Span, spans
from dicelab.records import analysis, runs
from dicelab.records.analysis import CHECKPOINTS
from dicelab.tasks import thresholds
from dicelab.tasks.valid_tags import best_valid
from studies.evidence import heads, tasks

CORPORA = ("wnut17", "crossner_ai", "wikigold")
ARMS = {"ce": "ce", "dl": "dice"}  # by the names of losses, those of the heads
SEEDS = tuple(range(10))
# The trial, and the steps of each seed.
CHOSEN = {
    ("wnut17", "ce"): (13, (480, 480, 960, 960, 960, 480, 480, 480, 480, 960)),
    ("wnut17", "dl"): (6, (960, 960, 960, 960, 960, 960, 960, 960, 960, 960)),
    ("crossner_ai", "ce"): (13, (960, 960, 960, 960, 960, 960, 480, 960, 960, 480)),
    ("crossner_ai", "dl"): (15, (960, 960, 480, 480, 960, 960, 960, 480, 960, 960)),
    ("wikigold", "ce"): (4, (960, 960, 480, 480, 960, 240, 960, 960, 960, 960)),
    ("wikigold", "dl"): (7, (960, 960, 240, 960, 960, 480, 960, 480, 960, 960)),
}
BIASES = 24  # besides 0
WAYS = {
    "argmax": "test",
    "valid": "test_valid",
    "bias": "test_tuned",
    "bias, valid": "test_tuned_valid",
    "confidence": "test_confidence",
}


class Part:
    """The log-probabilities of some words, and what is right about their sentences.

    Args:
        logits: ``[words, C]``.
        gold: ``[words]``, indices into ``labels``.
        sentence: ``[words]``, equal and side by side for the words of a sentence.
        labels: the C tags, ``O`` first.
    """

    def __init__(
        self, logits: np.ndarray, gold: np.ndarray, sentence: np.ndarray, labels: Sequence[str]
    ) -> None:
        self.labels = labels
        starts = np.flatnonzero(np.append(True, sentence[1:] != sentence[:-1]))
        self.lengths = np.diff(np.append(starts, len(sentence)))
        row = np.repeat(np.arange(len(starts)), self.lengths)
        place = (row, np.arange(len(sentence)) - starts[row])
        # Past a sentence's end O is sure.
        self.scores = np.full((len(starts), self.lengths.max(), len(labels)), -np.inf)
        self.scores[..., 0] = 0.0
        self.scores[place] = log_softmax(logits.astype(float), axis=-1)
        right = np.zeros(self.scores.shape[:2], dtype=int)
        right[place] = gold
        self.gold = [spans(tags, strict=True) for tags in self._named(right)]
        margin = logits[:, 1:].max(1) - logits[:, 0]
        share = max((gold > 0).mean(), 1 / len(gold))
        called = np.geomspace(share / 8, min(8 * share, 1), BIASES)
        #: Biases with which from an eighth to eight times the gold share is called, and 0.
        self.biases = np.append(np.quantile(margin, 1 - called), 0.0)

    def _named(self, indices: np.ndarray) -> list[list[str]]:
        return [
            [self.labels[i] for i in row[:n]]
            for row, n in zip(indices.tolist(), self.lengths, strict=True)
        ]

    def tags(self, bias: float = 0.0, *, valid: bool = False) -> list[list[str]]:
        """The tags of each sentence, the logit of ``O`` raised by a bias."""
        scores = self.scores.copy()
        scores[..., 0] += bias
        return self._named(best_valid(scores, self.labels) if valid else scores.argmax(-1))

    def entities(self, bias: float = 0.0, *, valid: bool = False) -> list[list[Span]]:
        """What :meth:`tags` name, by the strict rule."""
        return [spans(tags, strict=True) for tags in self.tags(bias, valid=valid)]

    def confidence(self, row: int, span: Span) -> float:
        """The mean log-probability of an entity's tags, in nats a word."""
        tags = [f"B-{span.type}", *[f"I-{span.type}"] * (span.end - span.start - 1)]
        columns = [self.labels.index(tag) for tag in tags]
        return float(self.scores[row, range(span.start, span.end), columns].mean())

    def kept(self, found: list[list[Span]], threshold: float) -> list[list[Span]]:
        """The entities whose confidence is above a threshold."""
        return [
            [span for span in of_row if self.confidence(row, span) > threshold]
            for row, of_row in enumerate(found)
        ]

    def counts(self, found: list[list[Span]]) -> np.ndarray:
        """Right, predicted and gold entities of each sentence, ``[N, 3]``."""
        pairs = zip(found, self.gold, strict=True)
        return np.array([(len({*f} & {*g}), len(f), len(g)) for f, g in pairs])


def f1(counts: np.ndarray) -> Any:
    """F1 in percent of counts ``[..., 3]`` of right, predicted and gold entities."""
    return analysis.f1(*np.moveaxis(counts, -1, 0))


def tuned(part: Part) -> dict[str, dict[str, float]]:
    """For each way the bias, and for confidence the threshold, with the best F1 on a part."""
    chosen: dict[str, dict[str, float]] = {"argmax": {"bias": 0.0}, "valid": {"bias": 0.0}}
    for way in ("bias", "bias, valid"):
        found = [part.entities(bias, valid=way != "bias") for bias in part.biases]
        values = [f1(part.counts(of_bias).sum(0)) for of_bias in found]
        chosen[way] = {"bias": thresholds.best(part.biases, values)}
    cuts, values = [], []
    for of_bias in found:  # of the valid sequences
        each = [
            (part.confidence(row, span), span in part.gold[row])
            for row, of_row in enumerate(of_bias)
            for span in of_row
        ]
        confidence, right = zip(*each, strict=True) if each else ((), ())
        cuts.append(thresholds.best_f1(confidence, right, sum(map(len, part.gold))))
        values.append(f1(part.counts(part.kept(of_bias, cuts[-1])).sum(0)))
    bias = thresholds.best(part.biases, values)
    threshold = cuts[int(np.flatnonzero(part.biases == bias)[0])]
    chosen["confidence"] = {"bias": bias, "threshold": threshold}
    return chosen


def decoded(part: Part, way: str, chosen: dict[str, float]) -> list[list[Span]]:
    """The entities that a way of decoding finds."""
    found = part.entities(chosen["bias"], valid=way not in ("argmax", "bias"))
    return part.kept(found, chosen["threshold"]) if "threshold" in chosen else found


def scored(part: Part, chosen: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Scores of each way, with the standard error of its gain over other sentences like these."""
    draws = np.random.default_rng(0).integers(len(part.gold), size=(500, len(part.gold)))
    counts = {way: part.counts(decoded(part, way, given)) for way, given in chosen.items()}
    again = {way: f1(of_way[draws].sum(1)) for way, of_way in counts.items()}
    metrics: dict[str, Any] = {}
    for way, of_way in counts.items():
        right, predicted, gold = of_way.sum(0).tolist()
        metrics[WAYS[way]] = {
            "precision": 100 * right / max(1, predicted),
            "recall": 100 * right / gold,
            "f1": float(f1(of_way.sum(0))),
            "entities": predicted,
            "se_less_argmax": float((again[way] - again["argmax"]).std()),
        }
    # By conlleval's rule an I- that continues nothing begins an entity.
    lenient = part.counts([spans(tags) for tags in part.tags()]).sum(0)
    metrics["test"]["f1_conlleval"] = float(f1(lenient))
    metrics["test"]["broken"] = int(lenient[1] - counts["argmax"].sum(0)[1])
    return metrics


def parameters_of(corpus: str, loss: str, trial: int, seed: int) -> dict[str, Any]:
    """What tells a run from the others."""
    value = heads.Trial.random(ARMS[loss], trial).value
    return {
        "corpus": corpus,
        "loss": loss,
        "seed": seed,
        "encoder": "all-MiniLM-L6, frozen",
        "trial": trial,
        "options": {"smooth": value, "squared": True} if loss == "dl" else {},
        "biases": BIASES + 1,
    }


def records(corpus: str, loss: str, seeds: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Train the heads of some seeds together; one record for each."""
    began, (trial, steps) = time.process_time(), CHOSEN[corpus, loss]
    data, task, arm = tasks.load(corpus), tasks.TASKS[corpus], ARMS[loss]
    draws = [tasks.draw(data, task, seed) for seed in seeds]
    stacks = heads.train(
        arm,
        [heads.Trial.random(arm, trial)] * len(seeds),
        seeds,
        data.features,
        data.labels,
        [train for train, *_ in draws],
        len(data.names),
        [s for s in CHECKPOINTS if s <= max(steps[seed] for seed in seeds)],
    )
    training = (time.process_time() - began) / len(seeds)
    for k, seed in enumerate(seeds):
        began = time.process_time()
        state = stacks[CHECKPOINTS.index(steps[seed])]
        validation, test = (
            Part(
                heads.logits_of(state, k, data.features[rows]),
                data.labels[rows],
                data.sentence[rows],
                data.names,
            )
            for rows in (np.sort(np.concatenate(draws[k][1:])), data.test)
        )
        chosen = tuned(validation)
        metrics = scored(test, chosen)
        metrics["validation"] = {
            way: float(f1(validation.counts(decoded(validation, way, given)).sum(0)))
            for way, given in chosen.items()
        }
        seconds = training + time.process_time() - began
        yield runs.make_record(
            chapter="studies/decoding.py",
            parameters=parameters_of(corpus, loss, trial, seed),
            metrics=metrics,
            history=[{"way": way, **given} for way, given in chosen.items()],
            measured={"device": "cpu, 1 threads", "seconds": round(seconds, 2)},
        )


def gains(kept: Sequence[dict[str, Any]], corpus: str, loss: str) -> dict[str, list[float]]:
    """Of each way, by seed, test F1 minus that of argmax; of argmax its F1."""
    of = [
        r["metrics"]
        for r in kept
        if (r["parameters"]["corpus"], r["parameters"]["loss"]) == (corpus, loss)
    ]
    return {
        way: [m[part]["f1"] - (m["test"]["f1"] if way != "argmax" else 0) for m in of]
        for way, part in WAYS.items()
    }


def table(kept: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """The gains with 95% intervals over seeds."""
    rows = {
        f"{corpus}, {loss}": {
            way: str(runs.interval(values)) for way, values in gains(kept, corpus, loss).items()
        }
        for corpus in CORPORA
        for loss in ARMS
    }
    return pd.DataFrame(rows).T


def main() -> None:
    """Run what is not yet recorded."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--table", action="store_true", help="show what is recorded, run nothing")
    parser.add_argument("--out", type=Path, default=Path("results/decoding.jsonl"))
    given = parser.parse_args()
    kept = runs.read_records(given.out) if given.out.exists() else []
    if given.table:
        print(table(kept).to_string())
        return
    done = [
        (r["parameters"]["corpus"], r["parameters"]["loss"], r["parameters"]["seed"]) for r in kept
    ]
    for corpus in given.corpus:
        for loss in ARMS:
            left = [seed for seed in SEEDS if (corpus, loss, seed) not in done]
            for record in records(corpus, loss, left) if left else ():
                runs.append_record(given.out, record)
                found = {way: round(record["metrics"][WAYS[way]]["f1"], 1) for way in WAYS}
                seed, seconds = record["parameters"]["seed"], record["measured"]["seconds"]
                print(f"{corpus}, {loss}, {seed}: {found}, {seconds} s", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()

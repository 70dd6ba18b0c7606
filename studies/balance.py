"""Does a dice loss gain more where positives are rarer? Number and ratio varied one at a time.

    python studies/balance.py                 # every run that is not recorded yet
    python studies/balance.py --corpus sst2 --seed 0

Two designs on frozen sentence features of QQP and SST-2. *Added negatives*: 80 positives in every
training set, and 1, 3, 10 or 30 negatives for each. *Fixed size*: 880 examples in every training
set at the same ratios. The designs meet at ten to one. Validation and test are the same for every
set of a seed and hold 10% positives.

Features, heads, draws and scores are those of ``studies/evidence``. For
each set, loss, seed and way of deciding, learning rate and steps are those with the best F1 on the
first half of validation; a tuned threshold is chosen on the second half, a shifted one is what
Bayes' rule gives for the other ratio. Dice is the library's default: squared denominators,
smoothing 1, of the positive class. The corpora are those that ``dicebook data`` leaves in
$DICEBOOK_DATA. One record a run is appended to the results; what is recorded there is not run
again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from datasets import Dataset

from dicelab.corpora import rebalance
from dicelab.records import runs
from studies.evidence import heads, scores, tasks

CORPORA = {"qqp": "qqp_10", "sst2": "sst2_10"}
RATIOS = (1, 3, 10, 30)
POSITIVES, SIZE = 80, 880
ARMS = {"ce": "ce", "dl": "dice"}  # by the names of losses, those of the evidence
RATES, STEPS = (0.001, 0.003, 0.01), (30, 60, 120, 240, 480)
SEEDS = tuple(range(5))
NATURAL = 9  # negatives for each positive of validation and test


class Cell(NamedTuple):
    """A training set's size and the negatives for each of its positives."""

    size: int
    ratio: int


ADDED = tuple(Cell(POSITIVES * (1 + ratio), ratio) for ratio in RATIOS)
FIXED = tuple(Cell(SIZE, ratio) for ratio in RATIOS)


def training_rows(labels: np.ndarray, rows: np.ndarray, cell: Cell, seed: int) -> np.ndarray:
    """Those of some rows that a training set holds.

    Args:
        labels: ``[N]``, 1 for a positive.
        rows: what is drawn from.
        cell: size and ratio.
        seed: of the draw.
    """
    pool = Dataset.from_dict({"row": rows, "label": labels[rows]})
    drawn = rebalance(pool, cell.ratio, task="pairs", size=cell.size, seed=seed)
    return np.array(drawn["row"])


def parameters_of(corpus: str, cell: Cell, loss: str, seed: int) -> dict[str, Any]:
    """What tells a run from the others."""
    return {
        "corpus": corpus,
        "train_size": cell.size,
        "ratio": cell.ratio,
        "loss": loss,
        "seed": seed,
        "encoder": "all-MiniLM-L6, frozen",
        "learning_rates": list(RATES),
        "steps": list(STEPS),
        "options": {"smooth": 1.0, "squared": True} if loss == "dl" else {},
    }


class Corpus:
    """A corpus with its features, and the rows and gold of each seed."""

    def __init__(self, name: str) -> None:
        self.data = tasks.load(CORPORA[name])
        # The pool as it comes for training; 10% positives in validation and test.
        self.task = replace(tasks.TASKS[CORPORA[name]], share=None)
        self.test = self.gold(self.data.test)

    def gold(self, rows: np.ndarray) -> scores.Gold:
        """What is right about some rows."""
        data = self.data
        return scores.Gold.of(data.labels[rows], data.sentence[rows], data.names)

    def records(self, name: str, cell: Cell, loss: str, seeds: Sequence[int]) -> Iterator[Any]:
        """Train heads of all learning rates and seeds together; one record for each seed."""
        began, data = time.process_time(), self.data
        draws = {seed: tasks.draw(data, self.task, seed) for seed in seeds}
        sets = {s: training_rows(data.labels, draws[s][0], cell, s) for s in seeds}
        plan = [(seed, rate) for seed in seeds for rate in RATES]
        states = heads.train(
            ARMS[loss],
            [heads.Trial(rate, dropout=0.2, value=1.0) for _, rate in plan],
            [seed for seed, _ in plan],
            data.features,
            data.labels,
            [sets[seed] for seed, _ in plan],
            len(data.names),
            STEPS,
        )
        seconds = (time.process_time() - began) / len(seeds)
        for seed in seeds:
            of_seed = {
                (rate, steps): (state, k)
                for k, (s, rate) in enumerate(plan)
                if s == seed
                for steps, state in zip(STEPS, states, strict=True)
            }
            positive = int(data.labels[sets[seed]].sum())
            negative = len(sets[seed]) - positive
            shift = float(np.log(negative / positive / NATURAL))
            metrics, chosen = self.decide(of_seed, *draws[seed][1:], shift)
            metrics["majority"] = scores.scored(self.test, np.ones_like(self.test.labels))
            metrics["train"] = {"positive": positive, "negative": negative}
            yield runs.make_record(
                chapter="studies/balance.py",
                parameters=parameters_of(name, cell, loss, seed),
                metrics=metrics,
                history=[{"way": way, **told} for way, told in chosen.items()],
                measured={"device": "cpu, 1 threads", "seconds": round(seconds, 2)},
            )

    def decide(
        self, heads_of: dict[Any, Any], first: np.ndarray, second: np.ndarray, shift: float
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Test scores for each way of deciding, and what was chosen on validation for it.

        Args:
            heads_of: of each learning rate and number of steps, a stack of heads and a place in it.
            first: the half of validation that chooses among them.
            second: the half that chooses the threshold.
            shift: what Bayes' rule adds to the log-odds, the training set's ratio being another.
        """
        one, two = self.gold(first), self.gold(second)
        at_one = {c: self.logits(head, first) for c, head in heads_of.items()}
        found = {
            way: {c: float(scores.f1(*_counts(one, x, t))) for c, x in at_one.items()}
            for way, t in (("test", 0.0), ("test_shifted", -shift))
        }
        found["test_tuned"] = {c: scores.best_threshold(one, x)[1] for c, x in at_one.items()}
        metrics, chosen = {}, {}
        for way, f1 in found.items():
            best = max(f1, key=lambda choice: f1[choice])
            head = heads_of[best]
            threshold = {"test": 0.0, "test_shifted": -shift}.get(way)
            if threshold is None:
                threshold = scores.best_threshold(two, self.logits(head, second))[0]
            logits = self.logits(head, self.data.test)
            metrics[way] = scores.scored(
                self.test, self.test.predicted(logits, np.array([threshold]))[0]
            )
            rate, steps = best
            chosen[way] = {"learning_rate": rate, "steps": steps, "threshold": round(threshold, 4)}
        return metrics, chosen

    def logits(self, head: tuple[heads.State, int], rows: np.ndarray) -> np.ndarray:
        """Logits ``[N, 2]`` of a head of a stack."""
        return heads.logits_of(*head, self.data.features[rows])


def _counts(
    gold: scores.Gold, logits: np.ndarray, threshold: float
) -> tuple[np.ndarray, np.ndarray, int]:
    found, predicted = gold.counts(logits, np.array([threshold]))
    return found[0], predicted[0], gold.entities


def main() -> None:
    """Run what is not yet recorded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--seed", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--out", type=Path, default=Path("results/balance.jsonl"))
    options = parser.parse_args()
    done = [r["parameters"] for r in runs.read_records(options.out)] if options.out.exists() else []
    for name in options.corpus:
        corpus = None
        for cell in dict.fromkeys((*ADDED, *FIXED)):
            for loss in ARMS:
                left = [s for s in options.seed if parameters_of(name, cell, loss, s) not in done]
                if not left:
                    continue
                corpus = corpus or Corpus(name)
                for record in corpus.records(name, cell, loss, left):
                    runs.append_record(options.out, record)
                    p, m = record["parameters"], record["metrics"]
                    f1 = {way: round(m[way]["f1"], 1) for way in ("test", "test_tuned")}
                    seconds = record["measured"]["seconds"]
                    print(f"{name} {cell}, {loss}, seed {p['seed']}: {f1}, {seconds} s", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()

"""Does what the span study found on frozen features hold where every layer is trained?

    python -m studies.spans_all_layers            # every run that is not recorded yet
    python -m studies.spans_all_layers --table    # what is recorded

WNUT 2017, a span head on all-MiniLM-L6 with all layers trained: four of the remedies of
``studies.spans``, the same pool, test sentences and losses. Nothing is searched: the encoder's
learning rate is the one that a search of the evidence found best for cross entropy and for dice on
1,000 sentences of this corpus, the head has ten times as much, and all start at the prior. The
threshold is tuned on sentences that are not trained on. A run takes a minute or two of one core;
one record a draw and remedy is appended, and what is recorded is not run again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset, DatasetDict
from torch import Tensor, nn

from dicelab.corpora.tags import Span
from dicelab.corpora.tags import spans as spans_of
from dicelab.records import runs
from dicelab.tasks import spans as task
from dicelab.tasks import thresholds
from dicelab.tasks.outputs import outputs_of
from dicelab.training.encoders import load_tokenizer
from studies import decisions, spans
from studies.decisions import StackedLoss
from studies.evidence import tasks
from studies.evidence.tasks import Row

CORPUS, ENCODER = "wnut17", "minilm"
SENTENCES, TUNE = 600, 300  # of a draw: to train on, to tune the threshold on
DRAWS, STEPS, WARM_UP, BATCH, MAX_LENGTH = 3, 100, 10, 16, 64
RATE, HEAD_RATE = 2e-4, 2e-3
#: The loss, and the value of its one parameter.
ARMS: dict[str, tuple[StackedLoss, float]] = {
    "bce_prior": (decisions.cross_entropy, 0.0),
    "focal_25": (decisions.retina, 0.0),
    "dice_element": (decisions.element_dice, 0.0),
    "dice_set": (decisions.dice((1, 2)), 1.0),
}


def drawn(pool: Sequence[Row], test: Sequence[Row], number: int) -> DatasetDict:
    """A draw: the first sentences of the parts that a draw of ``studies.spans`` has."""
    train, _, tune = spans.draw(len(pool), number)
    parts = {
        "train": [pool[i] for i in train[:SENTENCES]],
        "validation": [pool[i] for i in tune[:TUNE]],
        "test": test,
    }
    return DatasetDict(
        {
            name: Dataset.from_dict(
                {"tokens": [list(r.texts) for r in rows], "tags": [list(r.tags) for r in rows]}
            )
            for name, rows in parts.items()
        }
    )


def batches(lengths: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """Rows of one batch after another, without end, for each of which lengths are alike.

    Args:
        lengths: lengths of the rows, ``[N]``; at least ``BATCH`` of them.
        seed: seed of the order.
    """
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(lengths))
        order = order[np.argsort(lengths[order], kind="stable")]
        groups = order[: len(order) // BATCH * BATCH].reshape(-1, BATCH)
        yield from groups[rng.permutation(len(groups))]


def loss_of(arm: str, logits: Tensor, labels: Tensor, prior: Tensor) -> Tensor:
    """A remedy's loss over the decisions of a batch that count.

    Args:
        arm: one of ``ARMS``.
        logits: ``[B, W, K, T]``.
        labels: labels of the same shape; 1, 0, or -100 for what does not count.
        prior: log-odds of the types, ``[T]``.
    """
    inside = labels[..., 0] >= 0
    stacked, value = ARMS[arm]
    x, y = logits[inside][None], labels[inside].float()
    return stacked(x, y, torch.full((1, 1, 1), value), prior)[0]


def train(arm: str, encoded: task.Encoded, tokenizer: Any, seed: int) -> task.SpanTagger:
    """AdamW, a short warm-up and a linear decay; both rates of all layers."""
    torch.manual_seed(seed)
    model = task.model(ENCODER, tokenizer, encoded)
    rows = list(encoded.splits["train"])
    collate = task.collator(tokenizer, len(encoded.types), encoded.max_width)
    gold = collate(rows)["labels"]
    prior = decisions.log_prior(gold[gold[..., 0] >= 0].float())
    with torch.no_grad():
        model.head.out.bias.copy_(prior)
    optimizer = torch.optim.AdamW(
        [
            {"params": model.encoder.parameters(), "lr": RATE},
            {"params": model.head.parameters(), "lr": HEAD_RATE},
        ]
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min((step + 1) / WARM_UP, (STEPS - step) / max(1, STEPS - WARM_UP)),
    )
    lengths = np.array([len(row["input_ids"]) for row in rows])
    model.train()
    for _, chosen in zip(range(STEPS), batches(lengths, seed), strict=False):
        batch = collate([rows[i] for i in chosen])
        labels = batch.pop("labels")
        optimizer.zero_grad()
        loss_of(arm, model(**batch).logits, labels, prior).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model.eval()


def logits_of(model: task.SpanTagger, split: Dataset, collate: Any) -> list[np.ndarray]:
    """Logits of each sentence, read in the order of their lengths, given in their own."""
    order = np.argsort([len(row) for row in split["input_ids"][:]], kind="stable")
    logits = outputs_of(model, list(split.select(order)), collate, ["logits"], 2 * BATCH)[0]
    return [logits[i] for i in np.argsort(order)]


def counted(gold: Sequence[Sequence[Span]], predicted: Sequence[Sequence[Span]]) -> dict[str, Any]:
    """F1, and by block of neighbouring sentences how many were found and how many predicted."""
    block = np.arange(len(gold)) * spans.BLOCKS // len(gold)
    hits = [len(set(a) & set(b)) for a, b in zip(gold, predicted, strict=True)]
    sizes = [len(row) for row in predicted]
    return {
        "f1": round(task.score(gold, predicted)["f1"], 3),
        "found": np.bincount(block, hits, spans.BLOCKS).astype(int).tolist(),
        "predicted": np.bincount(block, sizes, spans.BLOCKS).astype(int).tolist(),
    }


def parameters_of(arm: str, number: int) -> dict[str, Any]:
    """What tells a run from the others."""
    return {
        "corpus": CORPUS,
        "encoder": "all-MiniLM-L6, all layers",
        "loss": arm,
        "seed": number,
        "sentences": SENTENCES,
        "steps": STEPS,
        "batch_size": BATCH,
        "learning_rate": RATE,
        "head_learning_rate": HEAD_RATE,
    }


@cache
def read() -> tuple[Sequence[Row], Sequence[Row]]:
    """The pool and the test sentences."""
    return tasks.TASKS[CORPUS].read()


def run(arm: str, number: int) -> dict[str, Any]:
    """Train, decide and test one remedy on one draw; the record."""
    began = time.process_time()
    corpus = drawn(*read(), number)
    tokenizer = load_tokenizer(ENCODER, (word for r in corpus["train"]["tokens"] for word in r))
    encoded = task.encode(corpus, tokenizer, max_length=MAX_LENGTH)
    collate = task.collator(tokenizer, len(encoded.types), encoded.max_width)
    model = train(arm, encoded, tokenizer, number)
    validation, test = encoded.splits["validation"], encoded.splits["test"]
    logits = logits_of(model, test, collate)
    inside = [
        x[: len(words)][task.span_mask(torch.ones(1, len(words)) > 0, encoded.max_width)[0]]
        for x, words in zip(logits, test["tokens"], strict=True)
    ]
    cuts = {
        "half": 0.0,
        "tuned": task.tune_threshold(
            logits_of(model, validation, collate), validation, encoded.types
        ),
        "plug_in": thresholds.plug_in(np.concatenate([x.ravel() for x in inside])),
    }
    gold = [spans_of(tags) for tags in test["tags"]]
    metrics: dict[str, Any] = {
        way: counted(gold, task.decode(logits, test, encoded.types, threshold=cut))
        for way, cut in cuts.items()
    }
    entities = np.array([len(row) for row in gold])
    block = np.arange(len(gold)) * spans.BLOCKS // len(gold)
    metrics["gold"] = np.bincount(block, entities, spans.BLOCKS).astype(int).tolist()
    metrics["missed"] = 0  # no entity is left out of ``gold``
    negative, positive = encoded.counts().sum(0).tolist()
    metrics["train"] = {"positive": positive, "decisions": negative + positive}
    metrics["max_width"] = encoded.max_width
    return runs.make_record(
        chapter="studies/spans_all_layers.py",
        parameters=parameters_of(arm, number),
        metrics=metrics,
        history=[{"way": way, "threshold": round(float(cut), 4)} for way, cut in cuts.items()],
        measured={"device": "cpu, 1 threads", "seconds": round(time.process_time() - began, 2)},
    )


def main() -> None:
    """Run what is not yet recorded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, nargs="+", default=list(range(DRAWS)))
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--table", action="store_true", help="print what is recorded")
    parser.add_argument("--out", type=Path, default=Path("results/spans_all_layers.jsonl"))
    options = parser.parse_args()
    known = runs.read_records(options.out) if options.out.exists() else []
    if options.table:
        print(spans.table(known, CORPUS).round(2))
        return
    recorded = [record["parameters"] for record in known]
    for number in options.draws:
        for arm in options.arms:
            if parameters_of(arm, number) not in recorded:
                record = run(arm, number)
                runs.append_record(options.out, record)
                scores = {way: record["metrics"][way]["f1"] for way in spans.WAYS}
                print(
                    f"draw {number}, {arm}: {scores}, {record['measured']['seconds']} s", flush=True
                )


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()

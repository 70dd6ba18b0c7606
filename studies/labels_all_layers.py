"""Are the remedies for rare labels worth the same where every layer of the encoder is trained?

    python -m studies.labels_all_layers             # every run that is not recorded yet
    python -m studies.labels_all_layers --table     # what is recorded

all-MiniLM-L6 with all its layers, on GoEmotions, at one setting: 4,000 training comments of a draw
of ``studies.labels``, two passes in batches of 32, one learning rate for every loss, which none of
them chose. The comments that thresholds are set on, and the test comments, are those of
``studies.labels``, so its five ways of deciding have as many positives as there. One record a
draw and loss is appended to the results; what is recorded there is not run again.
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
from torch import Tensor

from dicelab.corpora import load
from dicelab.records import runs
from dicelab.tasks import labels as task
from dicelab.training.encoders import load_tokenizer, pad
from studies import decisions, labels

ENCODER = "all-MiniLM-L6, all layers"
TRAIN, PASSES, BATCH, RATE, WARM_UP, LONGEST = 4_000, 2, 32, 3e-4, 0.1, 48
DRAWS = 3
#: Each loss's one parameter: the square root of the ratio as weight, and the library's γ.
ARMS = {"bce": 0.0, "bce_prior": 0.0, "pos_weight": 0.5, "dice_macro": 1.0}


@cache
def texts() -> list[dict[str, list[int]]]:
    """The comments as sub-words, in the order of ``labels.corpus``."""
    tokenizer = load_tokenizer("minilm", [])
    splits = load("goemotions", task="labels")
    rows = [row for name in ("train", "validation", "test") for row in splits[name]["sentence"]]
    encoded = tokenizer(rows, truncation=True, max_length=LONGEST)
    return [{name: encoded[name][i] for name in encoded} for i in range(len(rows))]


def batches(rows: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """One pass after the other in a new order, comments of like length together."""
    rng = np.random.default_rng([47, seed])
    for _ in range(PASSES):
        order = rng.permutation(rows)
        for chunk in np.array_split(order, max(1, len(order) // (20 * BATCH))):
            alike = chunk[np.argsort([len(texts()[i]["input_ids"]) for i in chunk], kind="stable")]
            parts = [alike[start : start + BATCH] for start in range(0, len(alike), BATCH)]
            yield from (parts[i] for i in rng.permutation(len(parts)))


@torch.no_grad()
def logits_of(model: Any, read: Any, rows: np.ndarray) -> np.ndarray:
    """Logits ``[len(rows), C]``, float32."""
    model.eval()
    order = np.argsort([len(texts()[i]["input_ids"]) for i in rows], kind="stable")
    chunks = [read(rows[order[start : start + 128]]) for start in range(0, len(rows), 128)]
    logits = np.empty((len(rows), model.config.num_labels), np.float32)
    logits[order] = torch.cat(chunks).numpy()
    return logits


def train(arm: str, rows: np.ndarray, gold: Tensor, names: Sequence[str], seed: int) -> Any:
    """A fine-tuned model, and how it reads rows."""
    torch.manual_seed(seed)
    tokenizer = load_tokenizer("minilm", [])
    model = task.model("minilm", tokenizer, names)
    prior, value = decisions.log_prior(gold[rows]), torch.tensor([[[ARMS[arm]]]])
    with torch.no_grad():
        model.classifier.bias.copy_(torch.zeros_like(prior) if arm == "bce" else prior)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, fused=True)
    order = list(batches(rows, seed))
    warm = WARM_UP * len(order)

    def read(batch: np.ndarray) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return model(**pad(tokenizer, [texts()[i] for i in batch])).logits.float()

    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, (len(order) - step) / (len(order) - warm))
    )
    model.train()
    for batch in order:
        optimizer.zero_grad()
        labels.ARMS[arm].loss(read(batch)[None], gold[batch], value, prior).sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
    return model, read


def parameters_of(arm: str, number: int) -> dict[str, Any]:
    """What tells a run from the others."""
    return {
        "corpus": "goemotions",
        "encoder": ENCODER,
        "loss": arm,
        "value": ARMS[arm],
        "seed": number,
        "train_size": TRAIN,
        "eval_size": labels.PARTS[2],
        "learning_rate": RATE,
        "epochs": PASSES,
        "batch_size": BATCH,
        "max_length": LONGEST,
        "precision": "bf16",
    }


def run(arm: str, number: int) -> dict[str, Any]:
    """Train, decide and test one loss on one draw; the record."""
    gold, names, pool = labels.truth()
    began = time.process_time()
    drawn, _, tune = labels.draw(pool, number)
    rows = drawn[:TRAIN]
    model, read = train(arm, rows, gold, names, number)
    parts = {"tune": tune, "test": np.arange(pool, len(gold))}
    logits = {name: logits_of(model, read, part) for name, part in parts.items()}
    truth = {name: gold[part].numpy() for name, part in parts.items()}
    metrics: dict[str, Any] = {}
    for way in labels.WAYS:
        hard = labels.decided(logits["test"], way, (logits["tune"], truth["tune"]))
        scores = labels.scored(truth["test"], hard)
        metrics[way] = {name: round(value, 3) for name, value in scores.items()}
    ranked = task.average_precision(truth["test"], logits["test"])
    metrics["ranking"] = {"average_precision": round(float(np.nanmean(ranked)), 3)}
    metrics["positives"] = {name: g.sum(0).astype(int).tolist() for name, g in truth.items()}
    metrics["positives"]["train"] = gold[rows].sum(0).int().tolist()
    return runs.make_record(
        chapter="studies/labels_all_layers.py",
        parameters=parameters_of(arm, number),
        metrics=metrics,
        history=[],
        measured={"device": "cpu, 1 threads", "seconds": round(time.process_time() - began, 2)},
    )


def main() -> None:
    """Run what is not yet recorded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--table", action="store_true", help="print what is recorded")
    parser.add_argument("--out", type=Path, default=Path("results/labels_all_layers.jsonl"))
    options = parser.parse_args()
    records = runs.read_records(options.out) if options.out.exists() else []
    if options.table:
        for metric in labels.METRICS:
            print(metric, labels.table(records, metric).round(2), sep="\n")
        return
    recorded = [record["parameters"] for record in records]
    for number in range(options.draws):
        for arm in options.arms:
            if parameters_of(arm, number) not in recorded:
                record = run(arm, number)
                runs.append_record(options.out, record)
                macro_f1 = {way: record["metrics"][way]["macro"] for way in labels.WAYS}
                seconds = record["measured"]["seconds"]
                print(f"draw {number}, {arm}, {seconds} s: {macro_f1}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()

"""Does the guide lead a stranger to the best of a grid, on corpora that it was not made from?

    python -m studies.monday                  # every run that is not recorded yet
    python -m studies.monday --table          # what is recorded

Two questions with rare answers. *Rare tags*: which words of Ritter's tweets have a tag that less
than two words in a hundred have, and which? *Answer sentences*: which sentence of a text holds the
answer to a question of Quoref? For the tags two layers of MiniLM are trained, for the sentences a
head on what MiniLM says of both; every loss with every learning rate. A loss and a rate
are chosen by validation F1, at argmax and at a tuned threshold apart. The guide
(``docs/what_to_do.md``) names one loss for either way: cross entropy where the threshold may be
tuned, the dice loss with its defaults where it may not. The corpora are prepared ones of the data
folder. One record a run is appended to the results; what is recorded there is not run again.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from datasets import Dataset, DatasetDict, disable_progress_bars
from torch import Tensor
from transformers import AutoModel, AutoTokenizer

from dicebook import TrainerLoss, log_ratio_weights, make_loss
from dicelab.corpora import load
from dicelab.records import runs
from dicelab.tasks import pairs, tagging
from dicelab.training.encoders import load_tokenizer, minilm_folder
from dicelab.training.experiment import Experiment
from dicelab.training.trainer import train
from studies.evidence.tasks import sentences_of
from studies.first_try import TRAINED_LAYERS, upper_layers_only

RARE = 0.02
QUESTIONS = {"train": 200, "validation": 60, "test": 150}
RATES = {"rare_tags": (2e-4, 4e-4, 8e-4), "answer_sentences": (1e-3, 3e-3, 1e-2)}
HIDDEN = 64
SEEDS = (0, 1)
#: A loss and its options, written out in full, so that a record stays true when a default changes.
DICE = {"squared": True, "smooth": 1.0, "absent": "skip"}
SETUPS: dict[str, tuple[str, dict[str, Any]]] = {
    "ce": ("ce", {}),
    "wce": ("wce", {}),
    "fl": ("fl", {"gamma": 2.0}),
    "dl": ("dl", DICE),
    "dl, smooth 1e-4": ("dl", {**DICE, "smooth": 1e-4}),
    "dl, linear, smooth 1e-4": ("dl", {**DICE, "squared": False, "smooth": 1e-4}),
    "dsc": ("dsc", {**DICE, "alpha": 0.1}),
    "tl 0.3/0.7": ("tl", {**DICE, "fp_weight": 0.3, "fn_weight": 0.7}),
}
Scored = Callable[[str, str], dict[str, float]]  # from a part and a way of deciding to scores
GUIDE = {"tuned": "ce", "argmax": "dl"}
SETTINGS = {"rare_tags": (3, 16, 64), "answer_sentences": (10, 128, 96)}  # passes, batch, sub-words


def rare_tags(seed: int) -> DatasetDict:
    """Tweets; a tag that is rare in training is an entity of one word, the others are ``O``."""
    corpus = load("ritter", task="tagging")
    counts = Counter(tag for tags in corpus["train"]["tags"] for tag in tags)
    rare = {tag for tag, n in counts.items() if n < RARE * counts.total()}

    def marked(row: dict[str, Any]) -> dict[str, Any]:
        return {"tags": [f"B-{tag}" if tag in rare else "O" for tag in row["tags"]]}

    return corpus.map(marked)


def answer_sentences(seed: int) -> DatasetDict:
    """Pairs of a question with one answer and a sentence of its text, as MiniLM sees both."""
    corpus = load("quoref", task="reading")
    parts = {}
    for name, questions in QUESTIONS.items():
        order = np.random.default_rng(seed if name == "train" else 0).permutation(len(corpus[name]))
        rows = [corpus[name][i] for i in order.tolist()]
        rows = [row for row in rows if len(row["answers"]["text"]) == 1][:questions]
        asked, sentences, labels = [], [], []
        for row in rows:
            start = row["answers"]["answer_start"][0]
            for at, text in sentences_of(row["context"]):
                asked.append(row["question"])
                sentences.append(text)
                labels.append(int(at <= start < at + len(text)))
        u, v = seen(asked), seen(sentences)
        features = torch.cat([u, v, (u - v).abs(), u * v], 1)
        parts[name] = Dataset.from_dict({"features": features.tolist(), "label": labels})
    return DatasetDict(parts)


@torch.no_grad()
def seen(texts: list[str]) -> Tensor:
    """What MiniLM makes of some texts: the mean of its last hidden states, ``[N, 384]``."""
    tokenizer = AutoTokenizer.from_pretrained(minilm_folder())
    model = AutoModel.from_pretrained(minilm_folder()).eval()
    known: dict[str, Tensor] = {}
    kinds = sorted(set(texts), key=len)
    for at in range(0, len(kinds), 32):
        some = kinds[at : at + 32]
        batch = tokenizer(some, padding=True, truncation=True, max_length=96, return_tensors="pt")
        mask = batch["attention_mask"][..., None]
        states = (model(**batch).last_hidden_state * mask).sum(1) / mask.sum(1)
        known |= dict(zip(some, states, strict=True))
    return torch.stack([known[text] for text in texts])


@lru_cache(maxsize=1)
def tagged(seed: int) -> tuple[Any, tagging.Encoded]:
    """Tokenizer and the encoded tweets."""
    tokenizer = load_tokenizer("minilm", [], max_length=SETTINGS["rare_tags"][2])
    parts = rare_tags(seed)
    return tokenizer, tagging.encode(parts, tokenizer, max_length=SETTINGS["rare_tags"][2])


@lru_cache(maxsize=1)
def paired(seed: int) -> dict[str, tuple[Tensor, Tensor]]:
    """Features and labels of the sentences."""
    parts = answer_sentences(seed).with_format("torch")
    return {name: (part["features"][:], part["label"][:]) for name, part in parts.items()}


def parameters_of(task: str, setup: str, rate: float, seed: int) -> dict[str, Any]:
    """What tells a run from the others."""
    loss, options = SETUPS[setup]
    epochs, batch, length = SETTINGS[task]
    tags = task == "rare_tags"
    return {
        "corpus": task,
        "encoder": "minilm",
        "loss": loss,
        "options": options,
        "learning_rate": rate,
        "seed": seed,
        "epochs": epochs,
        "batch_size": batch,
        "max_length": length,
        "train_size": 0 if tags else QUESTIONS["train"],
        "trained_layers": TRAINED_LAYERS if tags else 0,
        "precision": "bf16" if tags else "fp32",
    }


def loss_of(given: dict[str, Any], counts: list[int]) -> torch.nn.Module:
    """A setup's loss; weights are the paper's."""
    options = dict(given["options"])
    if given["loss"] == "wce":
        options["weight"] = log_ratio_weights(torch.as_tensor(counts))
    return make_loss(given["loss"], **options)


def tag(given: dict[str, Any]) -> Scored:
    """Train a tagger."""
    tokenizer, encoded = tagged(given["seed"])
    names = ["corpus", "encoder", "loss", "learning_rate", "seed", "epochs", "batch_size"]
    names += ["max_length", "precision"]
    experiment = Experiment(**{name: given[name] for name in names}, start="zero", device="cpu")
    splits = encoded.splits

    def score(logits: Any, split: Any, bias: float = 0.0) -> dict[str, float]:
        found = tagging.decode(logits, split, encoded.labels, outside_bias=bias)
        return tagging.score(split["tags"], found)

    trained = train(
        experiment,
        build_model=lambda: upper_layers_only(tagging.model("minilm", tokenizer, encoded.labels)),
        splits=splits,
        collator=tagging.collator(tokenizer),
        tokenizer=tokenizer,
        compute_loss=TrainerLoss(loss_of(given, encoded.counts().tolist())),
        evaluate=score,
    )
    logits = trained.logits
    cut = tagging.tune_outside_bias(logits["validation"], splits["validation"], encoded.labels)[0]
    return lambda name, way: score(logits[name], splits[name], cut if way == "tuned" else 0.0)


def answer(given: dict[str, Any]) -> Scored:
    """Train a head on the features; the pass with the best validation F1 is kept."""
    parts = paired(given["seed"])
    features, labels = parts["train"]
    torch.manual_seed(given["seed"])
    head = torch.nn.Sequential(
        torch.nn.Linear(features.shape[1], HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 2)
    )
    loss = loss_of(given, torch.bincount(labels).tolist())
    optimizer = torch.optim.AdamW(head.parameters(), lr=given["learning_rate"])
    best: dict[str, tuple[float, dict[str, np.ndarray], float]] = {}
    for _ in range(given["epochs"]):
        for rows in torch.randperm(len(labels)).split(given["batch_size"]):
            optimizer.zero_grad()
            loss(head(features[rows]), labels[rows]).backward()
            optimizer.step()
        with torch.no_grad():
            logits = {name: head(parts[name][0]).numpy() for name in ("validation", "test")}
        gold = parts["validation"][1].tolist()
        cuts = {"argmax": 0.0, "tuned": pairs.tune_threshold(logits["validation"], gold)}
        for way, cut in cuts.items():
            said = pairs.decode(logits["validation"], threshold=cut).tolist()
            f1 = pairs.score(gold, said)["f1"]
            if way not in best or f1 > best[way][0]:
                best[way] = (f1, logits, cut)

    def scored(name: str, way: str) -> dict[str, float]:
        _, logits, cut = best[way]
        said = pairs.decode(logits[name], threshold=cut).tolist()
        return pairs.score(parts[name][1].tolist(), said)

    return scored


def run(task: str, setup: str, rate: float, seed: int) -> dict[str, Any]:
    """One run's record."""
    given = parameters_of(task, setup, rate, seed)
    began = time.process_time()
    scored = (tag if task == "rare_tags" else answer)(given)
    metrics = {
        f"{part}_tuned" if way == "tuned" else part: scored(part, way)
        for part in ("validation", "test")
        for way in GUIDE
    }
    seconds = round(time.process_time() - began, 1)
    return runs.make_record(
        chapter="studies/monday.py",
        parameters=given,
        metrics=metrics,
        history=[],
        measured={"device": "cpu, 1 threads", "seconds": seconds},
    )


def chosen(records: list[dict[str, Any]], way: str) -> dict[str, Any]:
    """The record with the best validation F1 in a way of deciding."""
    part = "validation" + ("_tuned" if way == "tuned" else "")
    return max(records, key=lambda r: r["metrics"][part]["f1"])


def table(records: list[dict[str, Any]]) -> pd.DataFrame:
    """Of each corpus, seed and way: test F1 by the guide, and of the grid's choice."""
    rows = []
    names = {repr(SETUPS[name]): name for name in SETUPS}
    for task in SETTINGS:
        for seed in SEEDS:
            of = [
                r
                for r in records
                if (r["parameters"]["corpus"], r["parameters"]["seed"]) == (task, seed)
            ]
            for way, name in GUIDE.items() if len(of) == len(SETUPS) * len(RATES[task]) else ():
                part = "test" + ("_tuned" if way == "tuned" else "")
                grid = chosen(of, way)
                loss, options = SETUPS[name]
                told = {"loss": loss, "options": options}
                guide = chosen([r for r in of if told.items() <= r["parameters"].items()], way)
                setup = repr((grid["parameters"]["loss"], grid["parameters"]["options"]))
                rows.append(
                    {
                        "corpus": task,
                        "seed": seed,
                        "way": way,
                        "the guide's": guide["metrics"][part]["f1"],
                        "the grid's": grid["metrics"][part]["f1"],
                        "which is": names[setup],
                        "best on test": max(r["metrics"][part]["f1"] for r in of),
                    }
                )
    return pd.DataFrame(rows)


def planned() -> Iterator[tuple[str, str, float, int]]:
    """Every run: task, setup, learning rate, seed."""
    for seed in SEEDS:
        for task in SETTINGS:
            for setup in SETUPS:
                for rate in RATES[task]:
                    yield task, setup, rate, seed


def main() -> None:
    """Run what is not recorded."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("results/monday.jsonl"))
    parser.add_argument("--table", action="store_true", help="show what is recorded, run nothing")
    given = parser.parse_args()
    records = runs.read_records(given.out) if given.out.exists() else []
    if given.table:
        print(table(records).round(1).to_string())
        return
    done = {repr(sorted(r["parameters"].items())) for r in records}
    todo = [p for p in planned() if repr(sorted(parameters_of(*p).items())) not in done]
    for number, plan in enumerate(todo, start=1):
        record = run(*plan)
        runs.append_record(given.out, record)
        f1 = {name: round(m["f1"], 1) for name, m in record["metrics"].items()}
        print(f"{number} of {len(todo)}: {plan}: {f1}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    disable_progress_bars()
    main()

"""A part of SQuAD 1.1, read by choice and by decisions: the records of chapter 10.

    python studies/reading.py train-v1.1.json --encoder minilm --reader choice
    python studies/reading.py train-v1.1.json --encoder minilm --reader dl --squared

The first articles with 4,000 questions together: nine tenths of them for training, the last tenth
for testing; the article after them for choosing the epoch. No article is in two splits. Each run
is appended to results/squad11.jsonl; a killed one goes on from its checkpoint.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
from datasets import DatasetDict

from dicelab.corpora.squad import read_squad
from dicelab.records import runs
from dicelab.tasks import reading
from dicelab.training.encoders import load_tokenizer
from dicelab.training.experiment import Experiment
from dicelab.training.trainer import build_loss, train


def articles(path: Path, questions: int) -> DatasetDict:
    """The three splits, article by article."""
    whole = read_squad(path)
    of_row = whole["title"]
    count = Counter(of_row)
    titles = list(dict.fromkeys(of_row))
    used = 1 + sum(total < questions for total in accumulate(count[title] for title in titles))
    tenth = max(1, round(used / 10))
    split = dict.fromkeys(titles[: used - tenth], "train")
    split |= dict.fromkeys(titles[used - tenth : used], "test")
    split[titles[used]] = "validation"
    rows: dict[str, list[int]] = {"train": [], "validation": [], "test": []}
    for number, title in enumerate(of_row):
        if title in split:
            rows[split[title]].append(number)
    return DatasetDict({name: whole.select(numbers) for name, numbers in rows.items()})


def run(corpus: DatasetDict, experiment: Experiment, as_choice: bool) -> dict[str, Any]:
    """Train a reader; returns its record."""
    tokenizer = load_tokenizer(experiment.encoder, [], max_length=experiment.max_length)
    encoded = reading.encode(corpus, tokenizer, max_length=experiment.max_length, stride=64)

    def score(logits: Any, split: str) -> dict[str, float]:
        answers = reading.decode(logits, encoded, split, as_choice=as_choice)
        return reading.score(answers, corpus[split]["answers"])

    def evaluate(logits: Any, rows: Any) -> dict[str, float]:
        return score(logits, "validation" if rows is encoded.splits["validation"] else "test")

    loss = build_loss(experiment, experiment.loss, encoded.counts(), binary=True)
    trained = train(
        experiment,
        build_model=lambda: reading.model(experiment.encoder, tokenizer),
        splits=encoded.splits,
        collator=reading.collator(tokenizer, as_choice=as_choice),
        tokenizer=tokenizer,
        compute_loss=reading.choice if as_choice else reading.Decisions(loss),
        evaluate=evaluate,
    )
    found = score(trained.logits["test"], "test")
    parameters = {**asdict(experiment), "encoder": Path(experiment.encoder).name, "output_dir": ""}
    return runs.make_record(
        chapter="10_reading",
        parameters={
            **parameters,
            "reader": "choice" if as_choice else "decisions",
            "train_size": len(corpus["train"]),
        },
        metrics={"test": {**found, "em": found["exact_match"], "questions": len(corpus["test"])}},
        history=trained.history,
        measured=trained.measured,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="train-v1.1.json")
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--reader", default="choice", help="choice, or the loss of decisions")
    parser.add_argument("--squared", action="store_true")
    parser.add_argument("--questions", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", default="runs/squad11")
    parser.add_argument("--out", type=Path, default=Path("results/squad11.jsonl"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    as_choice = given.reader == "choice"
    experiment = Experiment(
        corpus="squad11",
        encoder=given.encoder,
        loss="ce" if as_choice else given.reader,
        start="zero",
        loss_options={"squared": True} if given.squared else {},
        seed=given.seed,
        epochs=2,
        batch_size=16,
        learning_rate=2e-4,
        max_length=256,
        output_dir=f"{given.work}-{given.reader}",
    )
    record = run(articles(given.file, given.questions), experiment, as_choice)
    runs.append_record(given.out, record)
    print(record["metrics"]["test"])


if __name__ == "__main__":
    main()

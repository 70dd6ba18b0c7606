"""Readers by decisions with the controls for imbalance, and the reader by choice.

    python -m studies.readers                 # every run that is not recorded yet
    python -m studies.readers --reader choice "bce, prior" --seed 0

The task is `squad11` of ``first_try.py``, to the letter: its questions, encoder, trained layers,
learning rate and seeds. So these runs stand beside the records that it has of plain cross entropy
and of dice over the same decisions. The corpus is a file of $DICEBOOK_CORPORA. One record a run is
appended to the results; what is recorded there is not run again.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from datasets import disable_progress_bars

from dicebook import log_ratio_weights
from dicebook.losses import make_loss
from dicelab.records import runs
from dicelab.tasks import reading
from dicelab.training.experiment import Experiment
from dicelab.training.trainer import train
from studies import first_try
from studies.first_try import TASKS, TRAINED_LAYERS, upper_layers_only

QUESTIONS = TASKS["squad11"]
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Reader:
    """A way to read.

    Attributes:
        loss: by its name in the library, without ``binary_``.
        options: what is recorded of it, and handed to the loss where it is one of its arguments.
        choice: a softmax over the positions in the place of decisions.
        prior: the bias starts at the log-odds of a position in the training part.
    """

    loss: str
    options: dict[str, Any] = field(default_factory=dict)
    choice: bool = False
    prior: bool = False


#: Written out in full, so that a record stays true when a default changes.
READERS = {
    "choice": Reader("ce", {"choice": True}, choice=True),
    "bce, prior": Reader("ce", {"prior_bias": True}, prior=True),
    "weighted": Reader("wce", {"weights": "log ratio"}),
    "focal": Reader("fl", {"gamma": 2.0}),
}


def experiment_of(reader: Reader, seed: int) -> Experiment:
    """What first_try.py tells the trainer of cross entropy, but for the loss."""
    return first_try.experiment_of("squad11", first_try.Setup(reader.loss), seed)


def parameters_of(reader: Reader, seed: int) -> dict[str, Any]:
    """What tells a run from the others."""
    given = experiment_of(reader, seed)
    names = ("corpus", "encoder", "loss", "seed", "epochs", "batch_size", "learning_rate")
    return {
        **{name: getattr(given, name) for name in (*names, "max_length", "precision")},
        "train_size": QUESTIONS.train_size,
        "held_out": QUESTIONS.held_out,
        "trained_layers": TRAINED_LAYERS,
        "options": reader.options,
    }


def criterion_of(reader: Reader, counts: tuple[int, int]) -> Any:
    """The reader's loss of a batch."""
    if reader.choice:
        return reading.choice
    options: dict[str, Any] = {}
    if reader.loss == "fl":
        options = reader.options
    if reader.loss == "wce":
        options = {"weight": log_ratio_weights(torch.tensor(counts))}
    return reading.Decisions(make_loss(f"binary_{reader.loss}", **options))


def run(reader: Reader, seed: int) -> dict[str, Any]:
    """One run's record."""
    (tokenizer, encoded, _), began = first_try.prepare("squad11", seed), time.process_time()
    negative, positive = encoded.counts()

    def build_model() -> Any:
        model = upper_layers_only(reading.model("minilm", tokenizer))
        if reader.prior:
            torch.nn.init.constant_(model.qa_outputs.bias, math.log(positive / negative))
        return model

    def score(logits: Any, split: str, threshold: float | None = None) -> dict[str, float]:
        answers = reading.decode(logits, encoded, split, as_choice=reader.choice)
        return reading.score(answers, encoded.corpus[split]["answers"], threshold=threshold)

    trained = train(
        experiment_of(reader, seed),
        build_model=build_model,
        splits=encoded.splits,
        collator=reading.collator(tokenizer, as_choice=reader.choice),
        tokenizer=tokenizer,
        compute_loss=criterion_of(reader, (negative, positive)),
        evaluate=lambda logits, _: score(logits, "validation"),
    )
    found = {name: score(trained.logits[name], name) for name in ("validation", "test")}
    # The answers that the reader itself calls answers: both log-odds together above 0.
    at_zero = score(trained.logits["test"], "test", threshold=0.0)
    return runs.make_record(
        chapter="studies/readers.py",
        parameters=parameters_of(reader, seed),
        metrics={
            **{name: {**of, "em": of["exact_match"]} for name, of in found.items()},
            "test_at_zero": at_zero,
            "decisions": {"negative": negative, "positive": positive},
        },
        history=[dict(entry) for entry in trained.history],
        measured={**trained.measured, "cpu_seconds": round(time.process_time() - began, 1)},
    )


def main() -> None:
    """Run what is not yet recorded, one seed after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reader", nargs="+", choices=READERS, default=list(READERS))
    parser.add_argument("--seed", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--out", type=Path, default=Path("results/readers.jsonl"))
    given = parser.parse_args()
    done = [r["parameters"] for r in runs.read_records(given.out)] if given.out.exists() else []
    for seed in given.seed:
        for name in given.reader:
            if parameters_of(READERS[name], seed) in done:
                continue
            record = run(READERS[name], seed)
            runs.append_record(given.out, record)
            f1 = {part: round(record["metrics"][part]["f1"], 1) for part in ("validation", "test")}
            print(f"{name}, seed {seed}: {f1}, {record['measured']['cpu_seconds']} s", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    disable_progress_bars()
    main()

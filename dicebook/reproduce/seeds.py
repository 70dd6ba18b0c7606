"""The losses over several seeds, all else equal: the records that the chapters read.

    python -m dicebook.reproduce.seeds wnut17 --encoder minilm --train-size 1700
    python -m dicebook.reproduce.seeds ud_zh --by-character --learning-rate 2e-3
    python -m dicebook.reproduce.seeds mrpc --task pairs --encoder minilm --train-size 2000

One record a run is appended to results/CORPUS.jsonl. A run recorded there is not repeated, so
a killed command goes on where it stopped; within a run it goes on from the last checkpoint.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dicebook import TrainerLoss
from dicebook.corpora import load
from dicebook.reproduce import runs
from dicebook.reproduce.grid import CONFIGURATIONS
from dicebook.tasks import pairs, tagging
from dicebook.training.encoders import load_tokenizer
from dicebook.training.experiment import Experiment
from dicebook.training.sampling import sample
from dicebook.training.trainer import Trained, build_loss, train

CHAPTERS = {"wnut17": "09_named_entities", "ud_zh": "08_part_of_speech", "mrpc": "11_paraphrases"}


def key(parameters: dict[str, Any]) -> str:
    """What tells one run from another, wherever it was made."""
    parameters = {k: v for k, v in parameters.items() if k not in ("output_dir", "device")}
    parameters["encoder"] = Path(parameters["encoder"]).name
    return repr(sorted(parameters.items()))


def tag(experiment: Experiment, by_character: bool) -> tuple[Trained, dict[str, Any]]:
    """Train and score a tagger."""
    corpus = sample(load(experiment.corpus, task="tagging"), experiment)
    corpus = tagging.by_character(corpus) if by_character else corpus
    texts = (" ".join(tokens) for tokens in corpus["train"]["tokens"])
    tokenizer = load_tokenizer(experiment.encoder, texts, max_length=experiment.max_length)
    encoded = tagging.encode(corpus, tokenizer, max_length=experiment.max_length)

    def evaluate(logits: np.ndarray, split: Any) -> dict[str, float]:
        return tagging.score(split["tags"], tagging.decode(logits, split, encoded.labels))

    trained = fit(experiment, tagging, encoded, tokenizer, evaluate)
    test = encoded.splits["test"]
    metrics: dict[str, Any] = {"test": evaluate(trained.logits["test"], test)}
    if tagging.OUTSIDE in encoded.labels:
        bias, _ = tagging.tune_outside_bias(
            trained.logits["validation"], encoded.splits["validation"], encoded.labels
        )
        tags = tagging.decode(trained.logits["test"], test, encoded.labels, outside_bias=bias)
        metrics["test_tuned"] = {**tagging.score(test["tags"], tags), "bias of O": bias}
        nothing = [[tagging.OUTSIDE] * len(tags) for tags in test["tags"]]
        metrics["majority"] = tagging.score(test["tags"], nothing)
    return trained, metrics


def classify(experiment: Experiment) -> tuple[Trained, dict[str, Any]]:
    """Train and score a classifier of pairs."""
    corpus = sample(load(experiment.corpus, task="pairs"), experiment)
    texts = (" ".join((row["sentence1"], row["sentence2"])) for row in corpus["train"])
    tokenizer = load_tokenizer(experiment.encoder, texts, max_length=experiment.max_length)
    encoded = pairs.encode(corpus, tokenizer, max_length=experiment.max_length)

    def evaluate(logits: np.ndarray, split: Any) -> dict[str, float]:
        return pairs.score(split["label"], pairs.decode(logits).tolist())

    trained = fit(experiment, pairs, encoded, tokenizer, evaluate)
    gold = {name: encoded.splits[name]["label"] for name in ("validation", "test")}
    threshold = pairs.tune_threshold(trained.logits["validation"], gold["validation"])
    tuned = pairs.decode(trained.logits["test"], threshold=threshold).tolist()
    return trained, {
        "test": evaluate(trained.logits["test"], encoded.splits["test"]),
        "test_tuned": {**pairs.score(gold["test"], tuned), "threshold": threshold},
        "majority": pairs.score(gold["test"], [1] * len(gold["test"])),
    }


def fit(experiment: Experiment, task: Any, encoded: Any, tokenizer: Any, evaluate: Any) -> Trained:
    """Train a task's model with the experiment's loss."""
    loss = build_loss(experiment, experiment.loss, encoded.counts())
    return train(
        experiment,
        build_model=lambda: task.model(experiment.encoder, tokenizer, encoded.labels),
        splits=encoded.splits,
        collator=task.collator(tokenizer),
        tokenizer=tokenizer,
        compute_loss=TrainerLoss(loss),
        evaluate=evaluate,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is not yet recorded, loss by loss."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--task", choices=("tagging", "pairs"), default="tagging")
    parser.add_argument("--by-character", action="store_true", help="joint labels, as for Chinese")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--losses", type=int, default=None, metavar="N", help="the first N alone")
    parser.add_argument("--encoder", default="tiny", help="tiny, minilm, a folder or a hub name")
    parser.add_argument("--train-size", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=2e-4)
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--work", default="runs", help="folder of checkpoints")
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = vars(parser.parse_args(arguments))
    task, by_character, out = (options.pop(name) for name in ("task", "by_character", "out"))
    seeds, work, losses = (options.pop(name) for name in ("seeds", "work", "losses"))
    file = out / f"{options['corpus']}.jsonl"
    done = {key(r["parameters"]) for r in runs.read_records(file)} if file.exists() else set()
    for number, (name, loss_options) in enumerate(CONFIGURATIONS[:losses]):
        for seed in seeds:
            folder = f"{work}/{options['corpus']}-{seed}-{number}"
            experiment = Experiment(
                loss=name, loss_options=loss_options, seed=seed, output_dir=folder, **options
            )
            if key(asdict(experiment)) in done:
                continue
            print(f"{options['corpus']}, seed {seed}: {name} {loss_options}", flush=True)
            run = tag(experiment, by_character) if task == "tagging" else classify(experiment)
            trained, metrics = run
            record = runs.make_record(
                chapter=CHAPTERS.get(experiment.corpus, "dicebook.reproduce.seeds"),
                parameters={**asdict(experiment), "encoder": Path(experiment.encoder).name},
                metrics=metrics,
                history=trained.history,
                measured=trained.measured,
            )
            record["parameters"]["output_dir"] = ""
            runs.append_record(file, record)
            print(f"  test F1 {metrics['test']['f1']:.1f}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()

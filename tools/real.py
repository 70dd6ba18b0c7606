"""A chapter's run on a real corpus, from which its page shows what a trained model does.

    python tools/real.py 09 --device cuda     # writes results/real/09_named_entities.json

The notebook itself is executed by papermill, with the parameters that stand here. The corpus has to
be there (``dicebook data wnut17``); of its text nothing is kept.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import jupytext
import numpy as np
import papermill
from papermill.exceptions import PapermillExecutionError

from dicebook import MultiLabelDiceLoss, TrainerLoss, make_loss
from dicelab import corpora
from dicelab.atomic import write_json
from dicelab.corpora import registry
from dicelab.tasks import labels, pairs, reading, spans, tagging
from dicelab.training.encoders import load_tokenizer
from dicelab.training.experiment import Experiment
from dicelab.training.trainer import build_loss, train

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "results" / "real"
SETTINGS: dict[str, dict[str, Any]] = {
    "09_named_entities": {
        "corpus": "wnut17",
        "encoder": "minilm",
        "loss": "ce,dl",
        "epochs": 4,
        "learning_rate": 1e-4,
        "max_length": 128,
        "reader_epochs": 0,
    },
    "10_reading": {
        "corpus": "data/squad_draw",  # drawn as results/README.md says
        "encoder": "minilm",
        "loss": "ce,dl",
        "train_size": 4000,
        "eval_size": 1000,
        "epochs": 2,
        "learning_rate": 1e-4,
        "max_length": 256,
        "language": "en",
    },
    "11_paraphrases": {
        "corpus": "qqp_wang",
        "encoder": "minilm",
        "loss": "ce,dl",
        "epochs": 3,
        "learning_rate": 1e-4,
        "max_length": 64,
        "eval_size": 2000,
    },
    "12_degrees_of_imbalance": {
        "corpus": "qqp_wang",
        "encoder": "minilm",
        "loss": "ce,dl",
        "train_size": 880,
        "degrees": "1,30",
        "epochs": 6,
        "learning_rate": 1e-4,
        "max_length": 64,
        "eval_size": 2000,
    },
    "13_accuracy_tasks": {
        "corpus": "sst2",
        "encoder": "minilm",
        "loss": "ce,dl",
        "epochs": 3,
        "learning_rate": 5e-5,
        "max_length": 64,
    },
    "20_spans": {
        "corpus": "wnut17",
        "encoder": "minilm",
        "only": "cross entropy;cross entropy, prior;dice, set",
        "steps": 639,
        "batch_size": 16,
        "learning_rate": 1e-4,
        "max_length": 128,
    },
    "21_many_labels": {
        "corpus": "goemotions",
        "encoder": "minilm",
        "epochs": 3,
        "batch_size": 32,
        "train_size": 12000,
        "encoder_rate": 1e-4,
        "max_length": 48,
    },
}
# The embedded corpus on which the first steps of a chapter's system are repeated.
STEPS_ON = {
    "09_named_entities": "embedded-entities-en",
    "10_reading": "embedded-reading-en",
    "11_paraphrases": "embedded-paraphrases-en",
    "12_degrees_of_imbalance": "embedded-paraphrases-en",
    "13_accuracy_tasks": "embedded-sentiment-en",
    "20_spans": "embedded-entities-en",
    "21_many_labels": "embedded-labels-en",
}
SYSTEMS: dict[str, Any] = {
    "09_named_entities": tagging,
    "10_reading": reading,
    "20_spans": spans,
    "21_many_labels": labels,
}


def run(chapter: str, device: str, folder: Path = KEPT) -> Path:
    """Execute a chapter with its settings, and keep what its page shows.

    Args:
        chapter: A key of `SETTINGS`.
        device: ``"auto"``, ``"cpu"`` or ``"cuda"``.
        folder: The folder of the record.

    Returns:
        The record.

    Raises:
        PapermillExecutionError: A cell failed.
    """
    out = ROOT / "_build" / "real" / chapter
    out.mkdir(parents=True, exist_ok=True)
    papermill.execute_notebook(
        jupytext.read(ROOT / "notebooks" / f"{chapter}.py"),
        out / f"{chapter}.ipynb",
        parameters={**SETTINGS[chapter], "device": device, "output_dir": str(out)},
        cwd=ROOT,
    )
    page = json.loads((out / "page.json").read_text(encoding="utf-8"))
    write_json(folder / f"{chapter}.json", {**page, "first losses": first_losses(chapter)})
    return folder / f"{chapter}.json"


def first_losses(chapter: str) -> dict[str, float]:
    """The mean loss of three steps of a chapter's system on an embedded corpus, by loss.

    A test repeats them: whoever changes the losses, the start or the training sees that a record is
    no longer of this code.

    Args:
        chapter: A key of `SETTINGS`, whose settings are used but for the corpus.
    """
    settings = SETTINGS[chapter]
    known = {field.name for field in fields(Experiment)} - {"train_size", "eval_size"}
    of_run = {name: value for name, value in settings.items() if name in known}
    of_run["learning_rate"] = settings.get("encoder_rate", settings.get("learning_rate"))
    short = {"corpus": STEPS_ON[chapter], "loss": "ce,dl", "max_steps": 3, "device": "cpu"}
    experiment = Experiment(**{**of_run, **short})
    task = registry.corpus_named(experiment.corpus).task
    rows = corpora.load(experiment.corpus, task=task)
    for split in ("validation", "test"):
        rows[split] = rows[split].select(range(8))
    tokenizer = load_tokenizer(experiment.encoder, (), max_length=experiment.max_length)
    system = SYSTEMS.get(chapter, pairs)
    encoded = system.encode(rows, tokenizer, max_length=experiment.max_length)
    counts = np.asarray(encoded.counts())
    kinds: tuple[Any, ...] = ()
    options: dict[str, Any] = {}
    if system is reading:
        of_logits = [counts.tolist()] * 2
    elif system is spans:
        kinds, options = (encoded,), {"types": len(encoded.types), "max_width": encoded.max_width}
        of_logits = [counts.sum(0).tolist()] * len(encoded.types)
    else:
        kinds, of_logits = (encoded.labels,), counts.tolist()
    if system is labels:
        of_logits = np.stack([len(rows["train"]) - counts, counts], axis=1).tolist()

    def compute_loss(name: str) -> TrainerLoss:
        if system is labels:
            return TrainerLoss(make_loss("binary_ce") if name == "ce" else MultiLabelDiceLoss())
        binary = system in (reading, spans)
        loss = build_loss(experiment, name, counts.tolist(), binary=binary)
        return reading.Decisions(loss) if system is reading else TrainerLoss(loss)

    return {
        name: train(
            experiment.only(name),
            build_model=lambda: system.model(experiment.encoder, tokenizer, *kinds),
            counts=of_logits,
            splits=encoded.splits,
            collator=system.collator(tokenizer, **options),
            tokenizer=tokenizer,
            compute_loss=compute_loss(name),
            evaluate=lambda logits, split: {"f1": 0.0},
        ).history[0]["loss"]
        for name in experiment.losses
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 if the chapter failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    numbers = {name[:2]: name for name in SETTINGS}
    parser.add_argument("chapter", choices=sorted(numbers), help="the chapter's number")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    args = parser.parse_args(arguments)
    try:
        print(f"written: {run(numbers[args.chapter], args.device).relative_to(ROOT)}")
    except PapermillExecutionError as error:
        print(f"error: {error.ename}: {error.evalue}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

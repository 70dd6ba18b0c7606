"""A tagger without dropout on a corpus of one rule, and on one of rare entities, for tests."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset, DatasetDict

from dicebook import TrainerLoss, make_loss
from dicelab.corpora import embedded
from dicelab.tasks import tagging
from dicelab.training.encoders import load_tokenizer
from dicelab.training.experiment import Experiment
from dicelab.training.sampling import sample
from dicelab.training.trainer import Trained, train


def sentences(n: int, seed: int) -> list[dict[str, list[str]]]:
    """A capitalised word after "near" is a place."""
    draw = random.Random(seed)
    rows = []
    for _ in range(n):
        tokens, tags = [], []
        for _ in range(draw.randint(2, 5)):
            tokens += [draw.choice(["we", "they", "bees"]), draw.choice(["swim", "near", "sing"])]
            tags += ["O", "O"]
            if tokens[-1] == "near":
                tokens.append(draw.choice(["Ulm", "Ghent", "Lodz"]))
                tags.append("B-LOC")
        rows.append({"tokens": tokens, "tags": tags})
    return rows


@cache
def prepared(train_size: int = 0, eval_size: int = 0) -> tuple[Any, tagging.Encoded]:
    sizes = {"train": 96, "validation": 24, "test": 24}
    corpus = DatasetDict(
        {name: Dataset.from_list(sentences(n, seed=n)) for name, n in sizes.items()}
    )
    experiment = Experiment(corpus="x", train_size=train_size, eval_size=eval_size)
    corpus = sample(corpus, experiment)
    texts = [" ".join(tokens) for tokens in corpus["train"]["tokens"]]
    tokenizer = load_tokenizer("tiny", texts, max_length=32)
    return tokenizer, tagging.encode(corpus, tokenizer, max_length=32)


@cache
def rare_entities(rows: int = 400) -> tuple[Any, tagging.Encoded]:
    """Of an embedded corpus, in which eight words in ten are none."""
    corpus = embedded.load("embedded-entities-en")
    corpus["train"] = corpus["train"].select(range(rows))
    corpus["validation"] = corpus["test"] = corpus["validation"].select(range(rows // 2))
    texts = (" ".join(tokens) for tokens in corpus["train"]["tokens"])
    tokenizer = load_tokenizer("tiny", texts, max_length=64)
    return tokenizer, tagging.encode(corpus, tokenizer, max_length=64)


def train_tagger(
    experiment: Experiment, compute_loss: Callable[..., torch.Tensor] | None = None, **given: Any
) -> Trained:
    """Train it; `given` replaces what the trainer is given here."""
    made = given.pop("made", None) or prepared(experiment.train_size, experiment.eval_size)
    tokenizer, encoded = made

    def build_model() -> Any:
        model = tagging.model("tiny", tokenizer, encoded.labels)
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        return model

    usual = {
        "build_model": build_model,
        "splits": encoded.splits,
        "collator": tagging.collator(tokenizer),
        "tokenizer": tokenizer,
        "counts": encoded.counts().tolist(),
        "compute_loss": compute_loss or TrainerLoss(make_loss(experiment.loss)),
        "evaluate": lambda logits, split: tagging.score(
            split["tags"], tagging.decode(logits, split, encoded.labels)
        ),
    }
    return train(experiment, **(usual | given))


def train_share(loss: str, out: Path) -> None:
    """Train one process's share; rank 0 saves what came of it."""
    trained = train_tagger(Experiment(corpus="x", loss=loss, epochs=2, batch_size=8, device="cpu"))
    if os.environ["RANK"] == "0":
        logits = torch.as_tensor(trained.logits["test"])
        torch.save({"history": trained.history, "logits": logits}, out)
    torch.distributed.destroy_process_group()

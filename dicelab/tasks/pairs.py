"""One label for a sentence or a pair of sentences: paraphrases and sentiment.

The four steps are :func:`encode`, :func:`model`, :func:`decode` and :func:`score`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from datasets import DatasetDict
from scipy.special import log_softmax
from sklearn.metrics import accuracy_score, f1_score
from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerBase

from dicelab.tasks import thresholds
from dicelab.training.encoders import load_model, pad

POSITIVE = 1


@dataclass(frozen=True)
class Encoded:
    """Pairs or sentences as a model reads them.

    Attributes:
        splits: per split ``input_ids``, ``attention_mask``, perhaps ``token_type_ids``, and
            ``labels``, beside the original columns.
        labels: the classes, 0 to the largest of the training split, as text.
        cut: examples longer than ``max_length``, per split. The longer sentence was cut.
    """

    splits: DatasetDict
    labels: list[str]
    cut: dict[str, int]

    def counts(self) -> np.ndarray:
        """How often each class occurs in the training split. Shape ``[len(labels)]``."""
        return np.bincount(self.splits["train"]["labels"], minlength=len(self.labels))


def encode(
    corpus: DatasetDict, tokenizer: PreTrainedTokenizerBase, *, max_length: int = 128
) -> Encoded:
    """Sentences to sub-words, a pair as one sequence.

    Args:
        corpus: rows of ``sentence`` or of ``sentence1`` and ``sentence2``, and ``label``.
        tokenizer: a fast tokenizer.
        max_length: sub-words an example, special tokens included.

    Returns:
        The encoded corpus, its classes and the number of examples cut.

    Raises:
        ValueError: if a split holds a class that the training split does not. Classes are few and
            part of the task, so that an unknown one is a mistake in the corpus.
    """
    known = set(corpus["train"]["label"])
    for name, split in corpus.items():
        for number, label in enumerate(split["label"], start=1):
            if label not in known:
                raise ValueError(
                    f"split {name!r}, example {number}: label {label} never occurs in the training "
                    f"split, whose labels are {', '.join(map(str, sorted(known)))}"
                )
    single = "sentence" in corpus["train"].column_names
    columns = ["sentence"] if single else ["sentence1", "sentence2"]

    def encode_batch(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        texts = [batch[column] for column in columns]
        encoded = tokenizer(*texts, truncation=True, max_length=max_length)
        too_long = [bool(encoding.overflowing) for encoding in encoded.encodings]
        return {**encoded, "labels": batch["label"], "too_long": too_long}

    splits = corpus.map(encode_batch, batched=True, load_from_cache_file=False)
    cut = {name: int(np.sum(split["too_long"])) for name, split in splits.items()}
    labels = [str(label) for label in range(max(known) + 1)]
    return Encoded(splits.remove_columns("too_long"), labels, cut)


def model(
    encoder: str, tokenizer: PreTrainedTokenizerBase, labels: Sequence[str], **config: Any
) -> Any:
    """An encoder with a linear layer over the classes.

    Args:
        encoder: see :class:`dicelab.training.experiment.Experiment`.
        tokenizer: the encoder's tokenizer.
        labels: the classes, in the order of the logits.
        **config: further entries of the model's config, such as ``hidden_dropout_prob``.

    Returns:
        A ``...ForSequenceClassification`` model whose logits have shape ``[B, len(labels)]``.

    Raises:
        EncoderError: if there is no such encoder.
    """
    return load_model(
        AutoModelForSequenceClassification, encoder, tokenizer, labels=labels, **config
    )


def collator(
    tokenizer: PreTrainedTokenizerBase,
) -> Callable[[list[dict[str, Any]]], dict[str, Any]]:
    """Pads a batch to its longest example."""

    def collate(rows: list[dict[str, Any]]) -> dict[str, Any]:
        labels = torch.tensor([row["labels"] for row in rows])
        return {**pad(tokenizer, rows, padding_side=None), "labels": labels}

    return collate


def margins(logits: np.ndarray) -> np.ndarray:
    """How far each example is on the positive side: the log-odds of class 1.

    Args:
        logits: shape ``[examples, 2]``.

    Returns:
        Shape ``[examples]``; above 0 where class 1 is the more probable one.
    """
    log_p = log_softmax(np.asarray(logits, dtype=np.float64), axis=-1)
    return log_p[:, POSITIVE] - log_p[:, 1 - POSITIVE]


def decode(logits: np.ndarray, *, threshold: float = 0.0) -> np.ndarray:
    """The class of every example.

    Args:
        logits: shape ``[examples, classes]``.
        threshold: with two classes, the log-odds above which an example is positive; 0 is the
            more probable class. With more classes it must be 0.

    Returns:
        Classes, shape ``[examples]``.

    Raises:
        ValueError: if a threshold is given for more than two classes.
    """
    logits = np.asarray(logits)
    if logits.shape[-1] == 2:
        return (margins(logits) > threshold).astype(np.int64)
    if threshold:
        raise ValueError(f"a threshold needs two classes, the logits have {logits.shape[-1]}")
    return logits.argmax(-1)


def score(gold: Sequence[int], predicted: Sequence[int]) -> dict[str, float]:
    """Accuracy, and F1: of class 1 with two classes, else averaged over the classes; in percent.

    Args:
        gold: the correct classes.
        predicted: the predicted classes.
    """
    gold = gold[:]  # of a column of a dataset, which is slow to read row by row
    binary = max(*gold, *predicted) <= 1
    f1 = f1_score(gold, predicted, average="binary" if binary else "macro", zero_division=0)
    return {"f1": 100 * float(f1), "accuracy": 100 * float(accuracy_score(gold, predicted))}


def tune_threshold(logits: np.ndarray, gold: Sequence[int]) -> float:
    """The log-odds threshold with the best F1 on a split: the baseline of every comparison.

    Args:
        logits: those of the validation split, never of the test split. Shape ``[examples, 2]``.
        gold: its classes.

    Returns:
        The middle between two neighbouring log-odds; of thresholds that are equally good, the one
        nearest to 0.
    """
    return thresholds.best_f1(margins(logits), gold, sum(gold))

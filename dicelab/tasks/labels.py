"""Any number of labels for a sentence: topics, emotions, codes.

The four steps are :func:`encode`, :func:`model`, :func:`decode` and :func:`score`. Each label is a
decision of its own, for which the model has a log-odds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from datasets import DatasetDict
from numpy.typing import ArrayLike
from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerBase

from dicelab.metrics.counts import Counts
from dicelab.tasks import thresholds
from dicelab.training.encoders import load_model, pad


@dataclass(frozen=True)
class Encoded:
    """Sentences with their labels as a model reads them.

    Attributes:
        splits: per split ``input_ids``, ``attention_mask``, perhaps ``token_type_ids``, and
            ``labels``, 0 or 1 for each of ``labels`` below; beside the original columns, of which
            ``labels`` is now called ``names``.
        labels: the labels of the training split, by name.
        cut: sentences longer than ``max_length``, per split.
        unseen: labels that the training split does not have, with their number, per split. There
            is no logit for them; :func:`score` counts them where it is given them.
    """

    splits: DatasetDict
    labels: list[str]
    cut: dict[str, int]
    unseen: dict[str, Counter[str]]

    def counts(self) -> np.ndarray:
        """Sentences of the training split with each label. Shape ``[len(labels)]``, int64."""
        return np.asarray(self.splits["train"]["labels"][:], dtype=np.int64).sum(0)

    def prior(self) -> torch.Tensor:
        """Log-odds of each label in the training split, half a sentence added to either side."""
        counts = torch.from_numpy(self.counts()).double()
        without = len(self.splits["train"]) - counts
        return ((counts + 0.5) / (without + 0.5)).log().float()


def encode(
    corpus: DatasetDict, tokenizer: PreTrainedTokenizerBase, *, max_length: int = 128
) -> Encoded:
    """Sentences to sub-words, sets of labels to rows of 0 and 1.

    Args:
        corpus: rows of ``sentence`` and ``labels`` (names), with a split ``train``.
        tokenizer: a fast tokenizer.
        max_length: sub-words a sentence, special tokens included; what is longer is cut.

    Returns:
        The encoded corpus, its labels, and what it cannot say: sentences cut and labels unseen.

    Raises:
        ValueError: if no sentence of the training split has a label.
    """
    labels = sorted({name for names in corpus["train"]["labels"] for name in names})
    if not labels:
        raise ValueError("expected sentences with labels in the training split, got none with any")
    index = {label: i for i, label in enumerate(labels)}
    unseen = {
        name: Counter(label for row in split["labels"] for label in row if label not in index)
        for name, split in corpus.items()
    }

    def encode_batch(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        encoded = tokenizer(batch["sentence"], truncation=True, max_length=max_length)
        rows = np.zeros((len(batch["names"]), len(labels)), dtype=np.int64)
        for row, names in zip(rows, batch["names"], strict=True):
            row[[index[name] for name in names if name in index]] = 1
        too_long = [bool(encoding.overflowing) for encoding in encoded.encodings]
        return {**encoded, "labels": rows.tolist(), "too_long": too_long}

    splits = corpus.rename_column("labels", "names").map(
        encode_batch, batched=True, load_from_cache_file=False
    )
    cut = {name: int(np.sum(split["too_long"])) for name, split in splits.items()}
    return Encoded(splits.remove_columns("too_long"), labels, cut, unseen)


def model(
    encoder: str, tokenizer: PreTrainedTokenizerBase, labels: Sequence[str], **config: Any
) -> Any:
    """An encoder, or a decoder such as GPT-2 or Qwen, with a linear layer over the labels.

    A decoder reads its logits off the last token that is no padding, so its config must know the
    padding token; this function tells it.

    Args:
        encoder: see :class:`dicelab.training.experiment.Experiment`.
        tokenizer: the encoder's tokenizer. One without a padding token, as many decoders have it,
            pads with its end-of-text token from now on.
        labels: the labels, in the order of the logits.
        **config: further entries of the model's config.

    Returns:
        A ``...ForSequenceClassification`` model for several labels, logits ``[B, len(labels)]``;
        ``transformers.pipeline`` gives each label its sigmoid.

    Raises:
        EncoderError: if there is no such encoder.
    """
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    config = {"problem_type": "multi_label_classification", **config}
    made = load_model(
        AutoModelForSequenceClassification, encoder, tokenizer, labels=labels, **config
    )
    if made.config.pad_token_id is None:
        made.config.pad_token_id = tokenizer.pad_token_id
    return made


def collator(
    tokenizer: PreTrainedTokenizerBase,
) -> Callable[[list[dict[str, Any]]], dict[str, Any]]:
    """Pads a batch to its longest sentence, on the side where the model expects it."""

    def collate(rows: list[dict[str, Any]]) -> dict[str, Any]:
        labels = torch.tensor([row["labels"] for row in rows])
        return {**pad(tokenizer, rows, padding_side=None), "labels": labels}

    return collate


def decode(
    logits: np.ndarray, labels: Sequence[str], *, threshold: ArrayLike = 0.0
) -> list[list[str]]:
    """The labels of every sentence: those whose log-odds exceed the threshold.

    Args:
        logits: shape ``[sentences, len(labels)]``.
        labels: the labels, in the order of the logits.
        threshold: log-odds, one for all labels or one each, shape ``[len(labels)]``; 0 is a
            probability of one half.

    Returns:
        For each sentence its labels, in their order; none where nothing exceeds its threshold.
    """
    chosen = _checked(logits, labels) > np.asarray(threshold, dtype=np.float64)
    return [[labels[i] for i in np.flatnonzero(row).tolist()] for row in chosen]


def score(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], labels: Sequence[str]
) -> dict[str, float]:
    """Micro-averaged precision, recall and F1, macro F1, and exact match, in percent.

    Micro counts every decision alike, so common labels rule; macro F1 is the mean of the labels'
    own F1, so each label counts alike, however rare. A label that is neither in gold nor predicted
    has an F1 of 0 here, as in scikit-learn with ``zero_division=0``.

    Args:
        gold: the correct labels of each sentence.
        predicted: those found, in as many sentences.
        labels: over which labels macro F1 is the mean. A label of ``gold`` that is not among them
            counts for micro recall and exact match.
    """
    f1 = [row["f1"] for row in score_each(gold, predicted, labels)]
    same = [set(g) == set(p) for g, p in zip(gold, predicted, strict=True)]
    return {
        **Counts.of_sets(gold, predicted).percent(),
        "macro_f1": float(np.mean(f1)),
        "exact": 100 * float(np.mean(same)),
    }


def score_each(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], labels: Sequence[str]
) -> list[dict[str, Any]]:
    """For each label ``label``, ``count`` in gold, ``predicted``, ``right``, and ``f1`` in percent.

    Args:
        gold: see :func:`score`.
        predicted: see :func:`score`.
        labels: the labels, in the order wanted.
    """
    if len(gold) != len(predicted):
        raise ValueError(f"expected as many rows in both, got {len(gold)} and {len(predicted)}")
    has_label = (
        np.array([[label in row for label in labels] for row in map(set, rows)], dtype=bool)
        for rows in (gold, predicted)
    )
    counts = Counts.of_labels(*has_label).sum(0)
    return [
        {
            "label": label,
            "count": int(counts.actual[i]),
            "predicted": int(counts.predicted[i]),
            "right": int(counts.true_positive[i]),
            "f1": 100 * float(counts.f1[i]),
        }
        for i, label in enumerate(labels)
    ]


def tune_threshold(logits: np.ndarray, gold: ArrayLike) -> float:
    """The one threshold for all labels with the best micro F1 on a split.

    Args:
        logits: those of the validation split, never of the test split. Shape ``[sentences, C]``.
        gold: 0 or 1, of the same shape.
    """
    truth = np.asarray(gold)
    return thresholds.best_f1(np.asarray(logits).ravel(), truth.ravel(), int(truth.sum()))


def tune_thresholds(logits: np.ndarray, gold: ArrayLike, *, shrink: float = 0.0) -> np.ndarray:
    """A threshold for each label, with the best F1 of that label on a split.

    A label with few positives is tuned to chance. ``shrink`` draws each label's threshold to
    :func:`tune_threshold`, the more the fewer positives it has: ``n / (n + shrink)`` of it is its
    own.

    Args:
        logits: see :func:`tune_threshold`.
        gold: see :func:`tune_threshold`.
        shrink: in positives; 0 leaves each label its own threshold.

    Returns:
        Shape ``[C]``. A label without a positive on the split has the threshold of all.

    Raises:
        ValueError: if ``shrink`` is negative.
    """
    if shrink < 0:
        raise ValueError(f"shrink: expected a number of positives from 0, got {shrink}")
    scores, truth = np.asarray(logits, dtype=np.float64), np.asarray(gold)
    common, counts = tune_threshold(scores, truth), truth.sum(0)
    own = [
        thresholds.best_f1(x, y, int(n)) if n else common
        for x, y, n in zip(scores.T, truth.T, counts, strict=True)
    ]
    return shrunk(np.array(own), common, counts, shrink)


def shrunk(
    own: np.ndarray, common: float | np.ndarray, counts: np.ndarray, shrink: float
) -> np.ndarray:
    """Thresholds drawn to a common one, the more the fewer positives a label has.

    Args:
        own: the best threshold of each label. Shape ``[C]``.
        common: the one to which it is drawn, for all labels or for each.
        counts: positives of each label. Shape ``[C]``; with 0 the threshold is the common one.
        shrink: the positives that the common threshold is worth.
    """
    weight = counts / np.maximum(counts + shrink, 1)
    return np.asarray(common + np.where(counts > 0, weight, 0) * (own - common))


def plug_in_thresholds(logits: np.ndarray) -> np.ndarray:
    """For each label the threshold with the largest F1 by the model's own probabilities.

    It needs no labelled sentence, and is as good as the probabilities are; see
    :func:`dicelab.tasks.thresholds.plug_in`.

    Args:
        logits: those of any sentences, such as those to be decided. Shape ``[sentences, C]``.

    Returns:
        Shape ``[C]``.
    """
    return np.array([thresholds.plug_in(column) for column in np.asarray(logits).T])


def _checked(logits: np.ndarray, labels: Sequence[str]) -> np.ndarray:
    scores = np.asarray(logits, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[1] != len(labels):
        raise ValueError(
            f"logits: expected shape [sentences, {len(labels)}], got {list(scores.shape)}"
        )
    return scores

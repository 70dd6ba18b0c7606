"""One tag a word: named entities by a tagger, and part-of-speech tagging.

The four steps are :func:`encode`, :func:`model`, :func:`decode` and :func:`score`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch
from datasets import Dataset, DatasetDict
from sklearn.metrics import accuracy_score, f1_score
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModelForTokenClassification, PreTrainedTokenizerBase

from dicebook.corpora.tags import by_character as tag_characters
from dicebook.corpora.tags import spans
from dicebook.tasks import thresholds
from dicebook.tasks.entity_scores import score_spans
from dicebook.tasks.valid_tags import best_valid
from dicebook.training.encoders import load_model, pad

OUTSIDE = "O"
IGNORED = -100


@dataclass(frozen=True)
class Encoded:
    """A tagging corpus as a model reads it.

    Attributes:
        splits: per split ``input_ids``, ``attention_mask``, ``labels`` (the tag's index on the
            first sub-word of a word, -100 elsewhere) and ``first_subword`` (its position for each
            word, or -1 where the word was cut off), beside the original ``tokens`` and ``tags``.
        labels: the tags of the training split, ``O`` first, then by name.
        cut: words beyond ``max_length``, per split. They are scored as ``O``.
        unseen: tags that the training split does not have, with their number, per split. No
            prediction can be one of them, so each counts as an error of the model; the loss on the
            validation split leaves them out (label -100), for there is no logit to ask for.
    """

    splits: DatasetDict
    labels: list[str]
    cut: dict[str, int]
    unseen: dict[str, Counter[str]]

    def counts(self) -> np.ndarray:
        """How often each label occurs in the training split. Shape ``[len(labels)]``."""
        flat = np.concatenate([np.asarray(row) for row in self.splits["train"]["labels"]])
        return np.bincount(flat[flat != IGNORED], minlength=len(self.labels))


def encode(
    corpus: DatasetDict, tokenizer: PreTrainedTokenizerBase, *, max_length: int = 128
) -> Encoded:
    """Words to sub-words; the first sub-word of a word carries its tag, the others are ignored.

    Args:
        corpus: rows of ``tokens`` and ``tags``, with a split ``train``.
        tokenizer: a fast tokenizer.
        max_length: sub-words a sentence, special tokens included; what is longer is cut.

    Returns:
        The encoded corpus, its labels, and what it cannot say: words cut and tags unseen.
    """
    seen = {tag for tags in corpus["train"]["tags"] for tag in tags}
    labels = sorted(seen, key=lambda tag: (tag != OUTSIDE, tag))
    index = {label: i for i, label in enumerate(labels)}
    unseen = {
        name: Counter(tag for tags in split["tags"] for tag in tags if tag not in seen)
        for name, split in corpus.items()
    }

    def encode_batch(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        encoded = tokenizer(
            batch["tokens"], is_split_into_words=True, truncation=True, max_length=max_length
        )
        label_rows, first_rows = [], []
        for row, tags in enumerate(batch["tags"]):
            label_row = [IGNORED] * len(encoded["input_ids"][row])
            first_row = [-1] * len(tags)
            for position, word in enumerate(encoded.word_ids(row)):
                if word is not None and first_row[word] == -1:
                    first_row[word] = position
                    label_row[position] = index.get(tags[word], IGNORED)
            label_rows.append(label_row)
            first_rows.append(first_row)
        return {**encoded, "labels": label_rows, "first_subword": first_rows}

    splits = corpus.map(encode_batch, batched=True, load_from_cache_file=False)
    cut = {
        name: sum(position == -1 for row in split["first_subword"] for position in row)
        for name, split in splits.items()
    }
    return Encoded(splits, labels, cut, unseen)


def model(
    encoder: str,
    tokenizer: PreTrainedTokenizerBase,
    labels: Sequence[str],
    **config: Any,
) -> Any:
    """An encoder with a linear layer over the labels at every position.

    Args:
        encoder: see :class:`dicebook.training.experiment.Experiment`.
        tokenizer: the encoder's tokenizer.
        labels: the labels, in the order of the logits.
        **config: further entries of the model's config, such as ``hidden_dropout_prob``.

    Returns:
        A ``...ForTokenClassification`` model whose logits have shape ``[B, L, len(labels)]``.

    Raises:
        EncoderError: if there is no such encoder.
    """
    return load_model(AutoModelForTokenClassification, encoder, tokenizer, labels=labels, **config)


def collator(
    tokenizer: PreTrainedTokenizerBase,
) -> Callable[[list[dict[str, Any]]], dict[str, Any]]:
    """Pads a batch to its longest sentence; padded positions get the label -100."""

    def collate(rows: list[dict[str, Any]]) -> dict[str, Tensor]:
        labels = [torch.tensor(row["labels"]) for row in rows]
        padded = pad_sequence(labels, batch_first=True, padding_value=IGNORED)
        return {**pad(tokenizer, rows), "labels": padded}

    return collate


def decode(
    logits: np.ndarray,
    split: Dataset | Mapping[str, Any],
    labels: Sequence[str],
    *,
    outside_bias: float = 0.0,
    valid: bool = False,
) -> list[list[str]]:
    """The most probable tag of every word, or the most probable valid tags of every sentence.

    Args:
        logits: shape ``[sentences, L, len(labels)]``, in the order of ``split``.
        split: a split of :class:`Encoded`.
        labels: the labels, in the order of the logits.
        outside_bias: added to the logit of ``O`` first. Below 0 more entities are found; tuned on
            the validation split it is the decision threshold of a tagger.
        valid: of all sequences in which every ``I-`` continues an entity of its type, take the most
            probable one. It costs no training; chapter 09 measures what it adds.

    Returns:
        For each sentence a tag for each word; ``O`` where the word was cut off.

    Raises:
        ValueError: if ``valid`` is asked of labels without ``O``, which are not IOB2.
    """
    if valid and OUTSIDE not in labels:
        raise ValueError(f"valid: expected IOB2 labels, with {OUTSIDE!r}; got {list(labels)}")
    scores = np.array(logits, dtype=np.float32, copy=True)
    if OUTSIDE in labels:
        scores[..., labels.index(OUTSIDE)] += outside_bias
    rows = split["first_subword"][:]
    if valid:
        indices = best_valid(_by_word(scores, rows, labels.index(OUTSIDE)), labels)
        return [
            [labels[i] for i in tags[: len(row)]] for tags, row in zip(indices, rows, strict=True)
        ]
    best = scores.argmax(-1)
    return [
        [labels[best[row, position]] if position >= 0 else OUTSIDE for position in positions]
        for row, positions in enumerate(rows)
    ]


def _by_word(scores: np.ndarray, rows: Sequence[Sequence[int]], outside: int) -> np.ndarray:
    """Scores ``[sentences, words, C]``; ``O`` is sure where a word was cut off or there is none."""
    longest = max(map(len, rows), default=0)
    words = np.full((len(rows), longest, scores.shape[-1]), -np.inf, dtype=np.float32)
    words[..., outside] = 0.0
    for row, positions in enumerate(rows):
        for word, position in enumerate(positions):
            if position >= 0:
                words[row, word] = scores[row, position]
    return words


def score(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, float]:
    """Entity-level scores in percent, micro-averaged, by both rules that are in use.

    An entity counts as found if its first word, its last word and its type are right. The rules
    differ in a predicted ``I-`` that continues nothing. In strict IOB2 it starts no entity; this is
    seqeval's strict mode and the score that chooses epochs here. In conlleval, the script of the
    CoNLL shared tasks, it starts one; results in papers are mostly counted so.

    Args:
        gold: the correct tags, a list per sentence.
        predicted: the predicted tags, of the same lengths.

    Returns:
        Strict ``precision``, ``recall`` and ``f1`` of entities, ``f1_conlleval``, and the
        ``accuracy`` of tags.

    Raises:
        ValueError: if the lengths differ.
    """
    gold = gold[:]  # of a column of a dataset, which is slow to read row by row
    if [len(row) for row in gold] != [len(row) for row in predicted]:
        raise ValueError("gold and predicted tags differ in the number of sentences or words")
    strict, lenient = (
        score_spans(*([spans(row, strict=rule) for row in rows] for rows in (gold, predicted)))
        for rule in (True, False)
    )
    right = sum(g == p for g, p in zip(chain(*gold), chain(*predicted), strict=True))
    accuracy = 100 * right / max(1, sum(map(len, gold)))
    return {**strict, "f1_conlleval": lenient["f1"], "accuracy": accuracy}


def score_words(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> dict[str, float]:
    """Scores of one tag a word, in percent, as for English parts of speech.

    Every word gets exactly one tag, so micro-averaged precision, recall and F1 are all the
    accuracy. ``macro_f1`` averages F1 over the tags of the gold instead: there rare tags count.

    Args:
        gold: the correct tags, a list per sentence.
        predicted: the predicted tags, of the same lengths.
    """
    truth, guess = ([tag for row in rows for tag in row] for rows in (gold, predicted))
    accuracy = 100 * float(accuracy_score(truth, guess))
    macro = f1_score(truth, guess, labels=sorted(set(truth)), average="macro", zero_division=0)
    return {"f1": accuracy, "accuracy": accuracy, "macro_f1": 100 * float(macro)}


def by_character(corpus: DatasetDict) -> DatasetDict:
    """Tagged words as characters with joint labels, ``B-NN`` and ``I-NN``, as for Chinese.

    Segmentation and tagging become one task, and :func:`score` counts a word as right if its
    boundaries and its tag are. The paper reports such span-level scores; whether its gold words
    were given or predicted it leaves open. Here they are predicted.

    Args:
        corpus: rows of ``tokens`` (words) and plain ``tags``.

    Returns:
        Rows of ``tokens`` (characters) and IOB2 ``tags``.
    """

    def split(row: dict[str, list[str]]) -> dict[str, list[str]]:
        tokens, tags = tag_characters(row["tokens"], row["tags"])
        return {"tokens": tokens, "tags": tags}

    return corpus.map(split, load_from_cache_file=False)


def tune_outside_bias(
    logits: np.ndarray,
    split: Dataset,
    labels: Sequence[str],
    biases: Sequence[float] = tuple(np.linspace(-6, 6, 25)),
) -> tuple[float, list[dict[str, float]]]:
    """The bias of ``O`` with the best F1 on a split: the threshold baseline of every comparison.

    Args:
        logits: see :func:`decode`.
        split: the validation split; never the test split.
        labels: the labels, in the order of the logits.
        biases: the candidates.

    Returns:
        The best bias (the one nearest 0 among equals) and, for the precision-recall picture, the
        scores at each candidate with the candidate as ``"outside_bias"``.
    """
    gold, rows = split["tags"][:], {"first_subword": split["first_subword"][:]}
    curve = []
    for bias in biases:
        predicted = decode(logits, rows, labels, outside_bias=float(bias))
        curve.append({"outside_bias": float(bias), **score(gold, predicted)})
    return thresholds.best(biases, [point["f1"] for point in curve]), curve

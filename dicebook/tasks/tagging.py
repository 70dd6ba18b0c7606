"""One tag a word: named entities by a tagger, and part-of-speech tagging.

The four steps are :func:`encode`, :func:`model`, :func:`decode` and :func:`score`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from datasets import Dataset, DatasetDict
from seqeval.metrics.v1 import precision_recall_fscore_support
from seqeval.scheme import IOB2
from sklearn.metrics import accuracy_score, f1_score
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModelForTokenClassification, PreTrainedTokenizerBase

from dicebook.corpora.tags import by_character as tag_characters
from dicebook.corpora.tags import is_entity_tag, spans
from dicebook.tasks.outputs import longest_input, outputs_of
from dicebook.tasks.raw_text import Entity, sentences_of
from dicebook.training import saving
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
    """

    splits: DatasetDict
    labels: list[str]
    cut: dict[str, int]

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
        The encoded corpus, its labels and the number of words cut.

    Raises:
        ValueError: if a split holds a tag that the training split does not.
    """
    labels = _labels(corpus)
    index = {label: i for i, label in enumerate(labels)}

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
                    label_row[position] = index[tags[word]]
            label_rows.append(label_row)
            first_rows.append(first_row)
        return {**encoded, "labels": label_rows, "first_subword": first_rows}

    splits = corpus.map(encode_batch, batched=True, load_from_cache_file=False)
    cut = {
        name: sum(position == -1 for row in split["first_subword"] for position in row)
        for name, split in splits.items()
    }
    return Encoded(splits, labels, cut)


def model(
    encoder: str,
    tokenizer: PreTrainedTokenizerBase,
    labels: Sequence[str],
) -> Any:
    """An encoder with a linear layer over the labels at every position.

    Args:
        encoder: see :class:`dicebook.training.experiment.Experiment`.
        tokenizer: the encoder's tokenizer.
        labels: the labels, in the order of the logits.

    Returns:
        A ``...ForTokenClassification`` model whose logits have shape ``[B, L, len(labels)]``.

    Raises:
        EncoderError: if there is no such encoder.
    """
    return load_model(AutoModelForTokenClassification, encoder, tokenizer, labels=labels)


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
) -> list[list[str]]:
    """The most probable tag of every word.

    Args:
        logits: shape ``[sentences, L, len(labels)]``, in the order of ``split``.
        split: a split of :class:`Encoded`.
        labels: the labels, in the order of the logits.
        outside_bias: added to the logit of ``O`` first. Below 0 more entities are found; tuned on
            the validation split it is the decision threshold of a tagger.

    Returns:
        For each sentence a tag for each word; ``O`` where the word was cut off.
    """
    scores = np.array(logits, dtype=np.float32, copy=True)
    if OUTSIDE in labels:
        scores[..., labels.index(OUTSIDE)] += outside_bias
    best = scores.argmax(-1)
    return [
        [labels[best[row, position]] if position >= 0 else OUTSIDE for position in positions]
        for row, positions in enumerate(split["first_subword"])
    ]


def score(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, float]:
    """Entity-level scores in percent: strict IOB2, micro-averaged, as the shared tasks report.

    An entity counts as found if its first word, its last word and its type are right. A predicted
    ``I-`` tag that continues nothing starts no entity.

    Args:
        gold: the correct tags, a list per sentence.
        predicted: the predicted tags, of the same lengths.

    Returns:
        ``precision``, ``recall`` and ``f1`` of entities, and the ``accuracy`` of tags.

    Raises:
        ValueError: if the lengths differ.
    """
    if [len(row) for row in gold] != [len(row) for row in predicted]:
        raise ValueError("gold and predicted tags differ in the number of sentences or words")
    gold, predicted = [list(row) for row in gold], [list(row) for row in predicted]
    precision, recall, f1, _ = precision_recall_fscore_support(
        gold, predicted, average="micro", scheme=IOB2, zero_division=0
    )
    pairs = [
        (g, p) for rows in zip(gold, predicted, strict=True) for g, p in zip(*rows, strict=True)
    ]
    accuracy = sum(g == p for g, p in pairs) / max(1, len(pairs))
    values = {"precision": precision, "recall": recall, "f1": f1, "accuracy": accuracy}
    return {name: 100 * float(value) for name, value in values.items()}


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
    curve = []
    for bias in biases:
        predicted = decode(logits, split, labels, outside_bias=float(bias))
        curve.append({"outside_bias": float(bias), **score(split["tags"], predicted)})
    best = max(curve, key=lambda point: (point["f1"], -abs(point["outside_bias"])))
    return best["outside_bias"], curve


@dataclass(frozen=True)
class Tagged:
    """A tagged sentence.

    Attributes:
        words: its words.
        tags: a tag for each word.
        entities: what IOB2 tags mark; empty for other tags.
    """

    words: list[str]
    tags: list[str]
    entities: list[Entity]


def predict(
    trained: Any,
    sentences: str | Sequence[str | Sequence[str]],
    *,
    tokenizer: PreTrainedTokenizerBase | None = None,
    outside_bias: float = 0.0,
    max_length: int | None = None,
    batch_size: int = 32,
) -> list[Tagged]:
    """Tag sentences that a trained model has not seen.

    A sentence longer than the model reads at once is read in overlapping windows; each word is
    tagged in the window in which it stands farthest from an edge.

    Args:
        trained: a folder that :func:`dicebook.training.saving.save` wrote, or a model.
        sentences: raw sentences, or lists of words; one string is one sentence. Words split as
            in the training corpus give the best tags; for a corpus :func:`by_character` give
            ``list(text)``.
        tokenizer: a model's tokenizer; of a folder it is known.
        outside_bias: see :func:`decode`.
        max_length: sub-words of a window; None is as many as the model reads.
        batch_size: windows in a batch.

    Returns:
        Words, tags and entities of each sentence.

    Raises:
        EncoderError: if the folder holds no model.
        ValueError: if a word is empty, or a model comes without tokenizer.
    """
    model, tokenizer = saving.load(AutoModelForTokenClassification, trained, tokenizer)
    labels = [model.config.id2label[i] for i in range(model.config.num_labels)]
    given = sentences_of(sentences)
    length = max_length or longest_input(model, tokenizer)
    rows, places = _windows(tokenizer, [sentence.words for sentence in given], length)
    (logits,) = outputs_of(model, rows, partial(pad, tokenizer), ["logits"], batch_size)
    iob2 = all(map(is_entity_tag, labels))
    found = []
    for number, sentence in enumerate(given):
        by_word = np.zeros((1, len(sentence.words), len(labels)))
        positions = [-1] * len(sentence.words)
        for word in range(len(sentence.words)):
            if (number, word) in places:
                window, position = places[number, word]
                by_word[0, word] = logits[window][position]
                positions[word] = word
        split = {"first_subword": [positions]}
        (tags,) = decode(by_word, split, labels, outside_bias=outside_bias)
        entities = sentence.entities(spans(tags, strict=True)) if iob2 else []
        found.append(Tagged(sentence.words, tags, entities))
    return found


def _windows(
    tokenizer: PreTrainedTokenizerBase, sentences: Sequence[list[str]], max_length: int
) -> tuple[list[dict[str, Any]], dict[tuple[int, int], tuple[int, int]]]:
    """Rows for a model, and for each (sentence, word) the row and position to read it at."""
    rows: list[dict[str, Any]] = []
    best: dict[tuple[int, int], tuple[int, tuple[int, int]]] = {}
    for number, words in enumerate(sentences):
        if not words:
            continue
        encoded = tokenizer(
            words,
            is_split_into_words=True,
            truncation=True,
            max_length=max_length,
            stride=max_length // 4,
            return_overflowing_tokens=True,
        )
        for window, ids in enumerate(encoded["input_ids"]):
            before = None
            for position, word in enumerate(encoded.word_ids(window)):
                edge = min(position, len(ids) - 1 - position)
                place = (edge, (len(rows), position))
                known = best.get((number, word), (-1, (0, 0)))
                if word is not None and word != before and edge > known[0]:
                    best[number, word] = place
                before = word
            rows.append({name: encoded[name][window] for name in encoded})
    return rows, {word: place for word, (_, place) in best.items()}


def _labels(corpus: Mapping[str, Dataset]) -> list[str]:
    seen = {tag for tags in corpus["train"]["tags"] for tag in tags}
    for name, split in corpus.items():
        for number, tags in enumerate(split["tags"], start=1):
            for tag in tags:
                if tag not in seen:
                    raise ValueError(
                        f"split {name!r}, sentence {number}: tag {tag!r} never occurs in the "
                        f"training split, whose tags are {', '.join(sorted(seen))}"
                    )
    return sorted(seen, key=lambda tag: (tag != OUTSIDE, tag))

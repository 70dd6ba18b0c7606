"""One tag a word: named entities by a tagger, and part-of-speech tagging.

The four steps are :func:`encode`, :func:`model`, :func:`decode` and :func:`score`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from datasets import Dataset, DatasetDict
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModelForTokenClassification, PreTrainedTokenizerBase

from dicelab.corpora.errors import CorpusError
from dicelab.corpora.tags import by_character as tag_characters
from dicelab.corpora.tags import is_entity_tag
from dicelab.metrics.counts import Counts
from dicelab.tasks import thresholds
from dicelab.tasks.valid_tags import valid_tags
from dicelab.tasks.windows import pieces
from dicelab.training.encoders import load_model, pad

OUTSIDE = "O"
IGNORED = -100


@dataclass(frozen=True)
class Encoded:
    """A tagging corpus as a model reads it.

    A sentence longer than ``max_length`` has several rows, its windows. The first of them has all
    its ``tokens`` and ``tags``; in the rows that go on with it these are empty, and so are the tags
    that :func:`decode` gives them, so that gold and prediction stay row by row.

    Attributes:
        splits: per split ``input_ids``, ``attention_mask``, ``labels`` (the tag's index on the
            first sub-word of a word, -100 elsewhere), ``first_subword`` (its position for each
            word, or -1 where the word is in no window or in a later one), ``first_word`` (the word
            of the sentence that the first of these positions is of; 0 but in a later window) and
            ``sentence`` (the row in the corpus), beside the original ``tokens`` and ``tags``.
        labels: the tags of the training split, ``O`` first, then by name.
        cut: words that no row holds, per split. They are scored as ``O``.
        best_recall: what a perfect model would reach on each split, in percent of its entities, or
            of its words where the tags are plain.
        unseen: tags that the training split does not have, with their number, per split. No
            prediction can be one of them, so each counts as an error of the model; the loss on the
            validation split leaves them out (label -100), for there is no logit to ask for.
    """

    splits: DatasetDict
    labels: list[str]
    cut: dict[str, int]
    best_recall: dict[str, float]
    unseen: dict[str, Counter[str]]

    def counts(self) -> np.ndarray:
        """How often each label occurs in the training split. Shape ``[len(labels)]``."""
        flat = np.concatenate([np.asarray(row) for row in self.splits["train"]["labels"]])
        return np.bincount(flat[flat != IGNORED], minlength=len(self.labels))


def encode(
    corpus: DatasetDict,
    tokenizer: PreTrainedTokenizerBase,
    *,
    max_length: int = 128,
    windowed: bool = True,
    outside: str | None = OUTSIDE,
) -> Encoded:
    """Words to sub-words; the first sub-word of a word carries its tag, the others are ignored.

    Args:
        corpus: rows of ``tokens`` and ``tags``, with a split ``train``.
        tokenizer: a fast tokenizer.
        max_length: sub-words a row, special tokens included.
        windowed: read a longer sentence in overlapping windows, in which each word has its tag
            once; False cuts it off.
        outside: the tag that comes first among the labels.

    Returns:
        The encoded corpus, its labels, and what it cannot say: words cut and tags unseen.

    Raises:
        ValueError: if ``max_length`` leaves no room for a word.
    """
    known = {tag for tags in corpus["train"]["tags"] for tag in tags}
    labels = sorted(known, key=lambda tag: (tag != outside, tag))
    index = {label: i for i, label in enumerate(labels)}
    unseen = {
        name: Counter(tag for tags in split["tags"] for tag in tags if tag not in known)
        for name, split in corpus.items()
    }

    def encode_batch(batch: dict[str, list[Any]], numbers: list[int]) -> dict[str, list[Any]]:
        encoded, rows = pieces(tokenizer, batch["tokens"], max_length, windowed=windowed)
        columns: dict[str, list[Any]] = defaultdict(list)
        for number, (row, first, places) in enumerate(rows):
            label_row = [IGNORED] * len(encoded["input_ids"][number])
            for tag, position in zip(batch["tags"][row][first:], places, strict=False):
                if position >= 0:
                    label_row[position] = index.get(tag, IGNORED)
            columns["labels"].append(label_row)
            columns["first_subword"].append(places)
            columns["first_word"].append(first)
            columns["sentence"].append(numbers[row])
            for name, values in batch.items():
                whole = name not in ("tokens", "tags") or not first
                columns[name].append(values[row] if whole else [])
        return {**encoded, **columns}

    splits = corpus.map(
        encode_batch,
        batched=True,
        with_indices=True,
        remove_columns=corpus["train"].column_names,
        load_from_cache_file=False,
    )
    held = {name: _held(split) for name, split in splits.items()}
    cut = {name: sum(not word for row in rows for word in row) for name, rows in held.items()}
    best_recall = {
        name: _best_recall(split["tags"][:], held[name], labels) for name, split in splits.items()
    }
    return Encoded(splits, labels, cut, best_recall, unseen)


def _held(split: Dataset) -> list[list[bool]]:
    """For each row, of each word of the sentence that it begins, whether a row holds it."""
    rows, first_words = split["first_subword"][:], split["first_word"][:]
    held = [
        [p >= 0 for p in row] if not first else []
        for row, first in zip(rows, first_words, strict=True)
    ]
    for home, row, first in _placed(rows, first_words):
        for word, position in enumerate(row, start=first):
            held[home][word] |= position >= 0
    return held


def _best_recall(
    gold: Sequence[Sequence[str]], held: Sequence[Sequence[bool]], labels: Sequence[str]
) -> float:
    predicted = [
        [
            tag if is_held and tag in labels else OUTSIDE
            for tag, is_held in zip(tags, row, strict=True)
        ]
        for tags, row in zip(gold, held, strict=True)
    ]
    entities = all(label == OUTSIDE or label[:2] in ("B-", "I-") for label in labels)
    return score(gold, predicted)["recall"] if entities else score_words(gold, predicted)["f1"]


def model(
    encoder: str,
    tokenizer: PreTrainedTokenizerBase,
    labels: Sequence[str],
    **config: Any,
) -> Any:
    """An encoder with a linear layer over the labels at every position.

    Args:
        encoder: see :class:`dicelab.training.experiment.Experiment`.
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
        valid: take the most probable of the sequences in which every ``I-`` continues an entity of
            its type. It costs no training; chapter 09 measures what it adds.

    Returns:
        For each row the tags of the sentence that it begins, ``O`` where a word was cut off; none
        for a row that goes on with a sentence.

    Raises:
        ValueError: if ``valid`` is asked of labels without ``O``, which are not IOB2.
    """
    if valid and OUTSIDE not in labels:
        raise ValueError(f"valid: expected IOB2 labels, with {OUTSIDE!r}; got {list(labels)}")
    scores, held, lengths = word_scores(logits, split)
    if OUTSIDE in labels:
        outside = labels.index(OUTSIDE)
        scores[:, outside] += outside_bias
    if valid:
        scores[~held] = -np.inf
        scores[~held, outside] = 0.0
        best = valid_tags(scores, lengths, labels)
    else:
        best = scores.argmax(-1)
    tags = np.array(labels, dtype=object)[best]
    tags[~held] = OUTSIDE
    words = iter(tags.tolist())
    return [list(islice(words, length)) for length in lengths.tolist()]


def word_scores(
    logits: np.ndarray, split: Dataset | Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The logits of each word, from the window that answers for it.

    Args:
        logits: see :func:`decode`.
        split: see :func:`decode`.

    Returns:
        Logits ``[words, labels]`` of the words of all sentences, float32; whether a row holds the
        word, bool ``[words]``, without which its logits are 0; and the words of the sentence that
        each row begins, ``[rows]``, 0 for a row that goes on with a sentence.
    """
    rows = split["first_subword"][:]
    first_words = split["first_word"][:] if "first_word" in _columns(split) else [0] * len(rows)
    lengths = np.array(
        [0 if first else len(row) for row, first in zip(rows, first_words, strict=True)], dtype=int
    )
    starts = np.cumsum(lengths) - lengths
    width = np.shape(logits[0])[-1] if len(logits) else 0
    scores = np.zeros((lengths.sum(), width), dtype=np.float32)
    held = np.zeros(len(scores), dtype=bool)
    for number, (home, row, first) in enumerate(_placed(rows, first_words)):
        positions = np.asarray(row, dtype=np.int64)
        words = np.flatnonzero(positions >= 0)
        scores[starts[home] + first + words] = logits[number][positions[words]]
        held[starts[home] + first + words] = True
    return scores, held, lengths


def _columns(split: Dataset | Mapping[str, Any]) -> Any:
    return split.column_names if isinstance(split, Dataset) else split


def _placed(
    rows: Sequence[Sequence[int]], first_words: Sequence[int]
) -> Iterator[tuple[int, Sequence[int], int]]:
    """Each row, with the row that begins its sentence and its place in there."""
    home = 0
    for number, (row, first) in enumerate(zip(rows, first_words, strict=True)):
        home = home if first else number
        yield home, row, first


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
    numbers, tags, rows = _numbered(gold, predicted)
    wrong = next((tag for tag in tags if not is_entity_tag(tag)), None)
    if wrong is not None:
        raise CorpusError(f"expected an IOB2 tag such as O, B-PER or I-PER, got {wrong!r}")
    types = sorted({tag[2:] for tag in tags if tag != OUTSIDE})
    strict, lenient = (
        Counts.of_tags(*numbers, rows, tags, types, len(gold), strict=rule).sum(0).sum(0)
        for rule in (True, False)
    )
    accuracy = 100 * float(np.sum(numbers[0] == numbers[1])) / max(1, len(rows))
    return {**strict.percent(), "f1_conlleval": lenient.percent()["f1"], "accuracy": accuracy}


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
    (truth, guess), tags, rows = _numbered(gold, predicted)
    counts = Counts.of_classes(truth, guess, len(tags)).sum(0)
    accuracy = 100 * float(counts.sum(0).f1)
    macro = float(counts.f1[counts.actual > 0].mean()) if len(rows) else 0.0
    return {"f1": accuracy, "accuracy": accuracy, "macro_f1": 100 * macro}


def _numbered(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> tuple[tuple[np.ndarray, np.ndarray], list[str], np.ndarray]:
    """Tags as numbers, one a word of all sentences; what they mean; the sentence of each word."""
    both = [gold[:], predicted[:]]  # a column of a dataset is slow to read row by row
    lengths, found = ([len(row) for row in rows] for rows in both)
    if lengths != found:
        raise ValueError("gold and predicted tags differ in the number of sentences or words")
    tags = sorted({tag for rows in both for row in rows for tag in row})
    index = {tag: number for number, tag in enumerate(tags)}
    truth, guess = (np.array([index[t] for row in rows for t in row], dtype=int) for rows in both)
    return (truth, guess), tags, np.repeat(np.arange(len(lengths)), lengths)


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
    gold = split["tags"][:]
    rows = {name: split[name][:] for name in ("first_subword", "first_word")}
    curve = []
    for bias in biases:
        predicted = decode(logits, rows, labels, outside_bias=float(bias))
        curve.append({"outside_bias": float(bias), **score(gold, predicted)})
    return thresholds.best(biases, [point["f1"] for point in curve]), curve

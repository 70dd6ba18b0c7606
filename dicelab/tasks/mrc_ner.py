"""Named entities as reading (BERT-MRC): for each type a question, the entities are its answers.

The four steps are :func:`encode`, :func:`model`, :func:`decode` and :func:`score`. A
sentence is read once for every type. At each word the model says whether an entity starts there and
whether one ends there, and for pairs of a likely start and a likely end whether they belong
together. All three are binary decisions with few positives.

Source: Li et al. (2020), A Unified MRC Framework for Named Entity Recognition, which Section 4.2 of
the dice loss paper builds on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from datasets import Dataset, DatasetDict
from torch import Tensor, nn
from transformers import AutoModel, PreTrainedTokenizerBase

from dicelab.corpora.tags import Span, spans
from dicelab.tasks.entity_queries import query
from dicelab.tasks.entity_reader import EntityReader, MatchHead, marks
from dicelab.tasks.entity_scores import score_spans, taken, tune_certainty
from dicelab.tasks.outputs import longest_input, outputs_of
from dicelab.tasks.raw_text import Entity, sentences_of
from dicelab.tasks.windows import windows, word_lengths
from dicelab.training.encoders import load_model, pad
from dicelab.training.trainer import RowLoss

__all__ = [
    "Encoded",
    "EntityReader",
    "MatchHead",
    "MrcLoss",
    "collator",
    "decode",
    "encode",
    "model",
    "predict",
    "score",
    "tune_threshold",
]

IGNORED = -100


@dataclass(frozen=True)
class Encoded:
    """A corpus of entities as questions.

    Attributes:
        splits: per split one row for each sentence and type, or for each window of a sentence that
            is longer than ``max_length``: ``input_ids``, ``attention_mask``, perhaps
            ``token_type_ids``; ``first_subword``, the position of each word of the sentence, or -1
            where the row does not hold it; ``spans``, the positions of the first sub-word of each
            entity's first and last word; ``sentence`` and ``type``, the row and the index.
        corpus: the corpus itself.
        queries: the question asked for each type of the training split.
        cut: words that no row holds, per split.
        best_recall: what a perfect model would reach on each split, in percent of its entities.
        unseen: entities of types that the training split does not have, by type, per split. They
            are asked for by no question, so each counts as an error of the model.
    """

    splits: DatasetDict
    corpus: DatasetDict
    queries: dict[str, str]
    cut: dict[str, int]
    best_recall: dict[str, float]
    unseen: dict[str, Counter[str]]

    @property
    def types(self) -> list[str]:
        """The entity types, in the order of the column ``type``."""
        return list(self.queries)

    def counts(self) -> tuple[int, int]:
        """Negative and positive start and end decisions of the training split."""
        train = self.splits["train"]
        decisions = 2 * sum(position >= 0 for row in train["first_subword"] for position in row)
        positive = 2 * sum(map(len, train["spans"]))
        return decisions - positive, positive


def encode(
    corpus: DatasetDict,
    tokenizer: PreTrainedTokenizerBase,
    *,
    queries: Mapping[str, str] | None = None,
    language: str = "en",
    max_length: int = 128,
    windowed: bool = True,
) -> Encoded:
    """Sentences and types to pairs of a question and a sentence.

    Args:
        corpus: rows of ``tokens`` and ``tags`` in IOB2.
        tokenizer: a fast tokenizer.
        queries: the question for each type; types without one get a default.
        language: that of the default questions, ``"en"`` or ``"zh"``.
        max_length: sub-words of question and sentence together.
        windowed: read a longer sentence in overlapping windows; False cuts it off.

    Returns:
        The questions.

    Raises:
        ValueError: if ``max_length`` leaves no room beside a question.
    """
    types = sorted({span.type for tags in corpus["train"]["tags"] for span in spans(tags)})
    asked = {name: (queries or {}).get(name) or query(name, language) for name in types}

    def encode_batch(batch: dict[str, list[Any]], rows: list[int]) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = defaultdict(list)
        for row, tokens, tags in zip(rows, batch["tokens"], batch["tags"], strict=True):
            entities = spans(tags, strict=True)
            for question in _questions(tokenizer, asked, tokens, max_length, windowed):
                first, name = question["first_subword"], types[question["type"]]
                inside = [(first[s.start], first[s.end - 1]) for s in entities if s.type == name]
                question["spans"] = [pair for pair in inside if min(pair) >= 0]
                for column, value in {**question, "sentence": row}.items():
                    columns[column].append(value)
        return columns

    splits = corpus.map(
        encode_batch,
        batched=True,
        with_indices=True,
        remove_columns=corpus["train"].column_names,
        load_from_cache_file=False,
    )
    cut = {
        name: sum(map(len, corpus[name]["tokens"])) - _words_held(split)
        for name, split in splits.items()
    }
    best_recall = {
        name: _best_recall(corpus[name]["tags"][:], split, types) for name, split in splits.items()
    }
    unseen = {
        name: Counter(s.type for tags in split["tags"] for s in spans(tags) if s.type not in asked)
        for name, split in corpus.items()
    }
    return Encoded(splits, corpus, asked, cut, best_recall, unseen)


def _words_held(split: Dataset) -> int:
    """Words that a row of every type holds."""
    kinds: dict[int, set[tuple[int, int]]] = defaultdict(set)
    columns = (split[name][:] for name in ("sentence", "type", "first_subword"))
    for sentence, kind, first in zip(*columns, strict=True):
        kinds[kind].update((sentence, word) for word, p in enumerate(first) if p >= 0)
    return len(set.intersection(*kinds.values())) if kinds else 0


def _best_recall(tags: Sequence[Sequence[str]], split: Dataset, types: Sequence[str]) -> float:
    """Percent of the entities whose first and last word stand in one row that asks for them."""
    gold = [set(spans(row, strict=True)) for row in tags]
    readable: list[set[Span]] = [set() for _ in gold]
    columns = (split[name][:] for name in ("sentence", "type", "first_subword"))
    for sentence, kind, first in zip(*columns, strict=True):
        readable[sentence] |= {
            span
            for span in gold[sentence]
            if span.type == types[kind] and min(first[span.start], first[span.end - 1]) >= 0
        }
    return score_spans([list(row) for row in gold], [list(row) for row in readable])["recall"]


def model(
    encoder: str,
    tokenizer: PreTrainedTokenizerBase,
    *,
    config: Mapping[str, Any] | None = None,
    **options: Any,
) -> EntityReader:
    """An :class:`EntityReader` on an encoder by name.

    Args:
        encoder: see :class:`dicelab.training.experiment.Experiment`.
        tokenizer: the encoder's tokenizer.
        config: further entries of the encoder's config, such as ``hidden_dropout_prob``.
        **options: of :class:`EntityReader`; give it ``queries=encoded.queries``, and the model
            knows what to ask wherever it is loaded.

    Raises:
        EncoderError: if there is no such encoder.
    """
    return EntityReader(load_model(AutoModel, encoder, tokenizer, **(config or {})), **options)


def collator(
    tokenizer: PreTrainedTokenizerBase,
) -> Callable[[list[dict[str, Any]]], dict[str, Any]]:
    """Pads questions; ``labels`` are the entities, ``[B, S, 2]``, padded with -1."""

    def collate(rows: list[dict[str, Any]]) -> dict[str, Any]:
        batch = pad(tokenizer, rows)
        word_mask = torch.zeros(batch["input_ids"].shape, dtype=torch.bool)
        most = max(1, *(len(row["spans"]) for row in rows))
        gold = torch.full((len(rows), most, 2), -1)
        for i, row in enumerate(rows):
            word_mask[i, [p for p in row["first_subword"] if p >= 0]] = True
            if row["spans"]:
                gold[i, : len(row["spans"])] = torch.tensor(row["spans"])
        return {**batch, "word_mask": word_mask, "spans": gold, "labels": gold}

    return collate


@dataclass
class MrcLoss(RowLoss):
    """The weighted sum of the losses over starts, ends and pairs, as a Trainer calls it.

    Exact under gradient accumulation: logits and targets are held until the step's last question,
    and that micro-batch returns the loss of them all.

    Attributes:
        loss: from logits and 0/1 targets to a scalar; targets of -100 do not count.
        weights: the factors of starts, ends and pairs.
        answerable: weight of whether there is an entity, for a reader with that head.
        masked: whether only words are decisions; else question and padding are negatives, too.
    """

    loss: Callable[[Tensor, Tensor], Tensor]
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0)
    answerable: float = 0.0
    masked: bool = True
    _held: list[list[tuple[Tensor, Tensor]]] = field(default_factory=list, init=False, repr=False)

    def reset(self) -> None:
        """Forget the micro-batches of a step that was never finished."""
        self._held = []

    def __call__(
        self, outputs: Any, labels: Tensor, num_items_in_batch: Tensor | int | None = None
    ) -> Tensor:
        """The loss of a batch.

        Args:
            outputs: those of :class:`EntityReader`.
            labels: the entities, ``[B, S, 2]``, padded with -1.
            num_items_in_batch: questions in the whole step; None: those of this batch.

        Returns:
            A scalar; 0 until the step's last micro-batch.
        """
        now = _decisions(outputs, labels, self.masked)
        held = [now]
        if num_items_in_batch is not None and torch.is_grad_enabled():
            self._held.append(now)
            if sum(len(parts[0][0]) for parts in self._held) < num_items_in_batch:
                # Not a leaf: the Trainer multiplies what it gets in place.
                return torch.zeros((), device=labels.device, requires_grad=True) + 0
            held, self._held = self._held, []
        total = torch.zeros((), device=labels.device)
        weights = (*self.weights, *([self.answerable] if "answerable" in outputs else []))
        for weight, parts in zip(weights, zip(*held, strict=True), strict=True):
            total = total + weight * self.loss(*_as_one(parts))
        return total


def _decisions(outputs: Any, labels: Tensor, masked: bool) -> list[tuple[Tensor, Tensor]]:
    """Logits and targets of starts, of ends and of pairs."""
    logits, pairs = outputs["logits"], outputs["pairs"]
    target = marks(labels, logits).long()
    if masked:
        target = target.masked_fill(~outputs["word_mask"][..., None], IGNORED)
    equal = (pairs[:, :, None] == labels[:, None]).all(-1) & (labels[:, None, :, 0] >= 0)
    match = equal.any(-1).long().masked_fill(pairs[..., 0] < 0, IGNORED)
    sides = [(logits[..., side], target[..., side]) for side in (0, 1)]
    heads = [*sides, (outputs["match_logits"], match)]
    if "answerable" in outputs:
        heads.append((outputs["answerable"][:, None], (labels[:, :1, 0] >= 0).long()))
    return heads


def _as_one(parts: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Micro-batches below one another, padded to the longest row."""
    longest = max(logits.shape[1] for logits, _ in parts)
    padded = [
        (
            nn.functional.pad(logits, (0, longest - logits.shape[1])),
            nn.functional.pad(target, (0, longest - target.shape[1]), value=IGNORED),
        )
        for logits, target in parts
    ]
    logits, target = zip(*padded, strict=True)
    return torch.cat(logits), torch.cat(target)


def decode(
    outputs: Sequence[np.ndarray],
    encoded: Encoded,
    split: str,
    *,
    threshold: float = 0.0,
    nested: bool = False,
) -> list[list[Span]]:
    """The entities of every sentence.

    Args:
        outputs: ``logits``, ``pairs``, ``match_logits`` of a split, in the order of its rows.
        encoded: the encoded corpus.
        split: the split's name.
        threshold: log-odds that start, end and pair must all exceed.
        nested: whether entities may overlap. If not, of two that do the more certain one stays.

    Returns:
        For each sentence its entities, in words.
    """
    return [taken(c, nested) for c in _candidates(outputs, encoded, split, threshold)]


def tune_threshold(outputs: Sequence[np.ndarray], encoded: Encoded, split: str) -> float:
    """The threshold of flat decoding with the best F1, over all there are.

    Args:
        outputs: see :func:`decode`.
        encoded: the encoded corpus.
        split: the validation split, never the test split.
    """
    gold = [spans(tags) for tags in encoded.corpus[split]["tags"]]
    return tune_certainty(_candidates(outputs, encoded, split, -np.inf), gold)


def predict(
    reader: EntityReader,
    tokenizer: PreTrainedTokenizerBase,
    sentences: str | Sequence[str | Sequence[str]],
    *,
    threshold: float = 0.0,
    nested: bool = False,
    max_length: int | None = None,
    batch_size: int = 32,
) -> list[list[Entity]]:
    """Find the entities of sentences that a trained reader has not seen.

    A sentence longer than the model reads at once is read in overlapping windows.

    Args:
        reader: a reader with ``queries``.
        tokenizer: its tokenizer.
        sentences: raw sentences, or lists of words; one string is one sentence.
        threshold: see :func:`decode`.
        nested: see :func:`decode`.
        max_length: sub-words of question and window; None is as many as the model reads.
        batch_size: questions in a batch.

    Returns:
        The entities of each sentence, in order.

    Raises:
        ValueError: if the reader knows no questions, or a word is empty.
    """
    if not reader.queries:
        raise ValueError("expected a reader with questions: model(..., queries=encoded.queries)")
    tokenized = sentences_of(sentences)
    length = max_length or longest_input(reader, tokenizer)
    rows: list[dict[str, Any]] = []
    for number, sentence in enumerate(tokenized):
        if sentence.words:
            asked = _questions(tokenizer, reader.queries, sentence.words, length)
            rows += [{**question, "spans": [], "sentence": number} for question in asked]
    names = ("logits", "pairs", "match_logits")
    outputs = outputs_of(reader, rows, collator(tokenizer), names, batch_size)
    candidates: list[list[tuple[float, Span]]] = [[] for _ in tokenized]
    types = list(reader.queries)
    for row, logits, pairs, match in zip(rows, *outputs, strict=True):
        name = types[row["type"]]
        candidates[row["sentence"]] += _entities(
            row["first_subword"], name, logits, pairs, match, threshold
        )
    return [s.entities(taken(c, nested)) for s, c in zip(tokenized, candidates, strict=True)]


score = score_spans


def _candidates(
    outputs: Sequence[np.ndarray], encoded: Encoded, split: str, threshold: float
) -> list[list[tuple[float, Span]]]:
    """For each sentence all entities above a threshold, with their certainty."""
    candidates: list[list[tuple[float, Span]]] = [[] for _ in range(len(encoded.corpus[split]))]
    rows = encoded.splits[split]
    columns = (rows[name][:] for name in ("sentence", "type", "first_subword"))
    for sentence, kind, first, logits, pairs, match in zip(*columns, *outputs[:3], strict=True):
        name = encoded.types[kind]
        candidates[sentence] += _entities(first, name, logits, pairs, match, threshold)
    return candidates


def _questions(
    tokenizer: PreTrainedTokenizerBase,
    queries: Mapping[str, str],
    tokens: list[str],
    max_length: int,
    windowed: bool = True,
) -> list[dict[str, Any]]:
    """The rows of one sentence: for each type one, or as many as it has windows."""

    def tokenized(asked: Sequence[str], chunks: list[list[str]]) -> Any:
        return tokenizer(
            [text.split() for text in asked],
            chunks,
            is_split_into_words=True,
            truncation="only_second",
            max_length=max_length,
        )

    texts = list(queries.values())
    encoded = tokenized(texts, [tokens] * len(texts))
    pieces = [(kind, 0, len(tokens)) for kind in range(len(texts))]
    if windowed and any(encoding.overflowing for encoding in encoded.encodings):
        lengths, special = (
            word_lengths(tokenizer, tokens),
            tokenizer.num_special_tokens_to_add(True),
        )
        pieces = [
            (kind, *words)
            for kind, text in enumerate(texts)
            for words in windows(
                lengths, max_length - special - sum(word_lengths(tokenizer, text.split()))
            )
        ]
        encoded = tokenized([texts[k] for k, _, _ in pieces], [tokens[a:b] for _, a, b in pieces])
    return [
        {
            **{name: values[row] for name, values in encoded.items()},
            "first_subword": [-1] * first + _first_subwords(encoded, row, len(tokens) - first),
            "type": kind,
        }
        for row, (kind, first, _) in enumerate(pieces)
    ]


def _first_subwords(encoded: Any, row: int, n_words: int) -> list[int]:
    first = [-1] * n_words
    sequences, words = encoded.sequence_ids(row), encoded.word_ids(row)
    for position, (sequence, word) in enumerate(zip(sequences, words, strict=True)):
        if sequence == 1 and word is not None and first[word] == -1:
            first[word] = position
    return first


def _entities(
    first_subword: Sequence[int],
    name: str,
    logits: np.ndarray,
    pairs: np.ndarray,
    match: np.ndarray,
    threshold: float,
) -> list[tuple[float, Span]]:
    """The answers to one question, with their certainty."""
    word_at = {p: word for word, p in enumerate(first_subword) if p >= 0}
    entities = []
    for (s, e), m in zip(pairs, match, strict=True):
        if s in word_at and e in word_at:
            certainty = float(min(logits[s, 0], logits[e, 1], m))
            if certainty > threshold:
                entities.append((certainty, Span(name, word_at[s], word_at[e] + 1)))
    return entities

"""Named entities as decisions over spans: for every span of up to K words and every type yes or no.

The four steps are :func:`encode`, :func:`model`, :func:`decode` and :func:`score`. Of the words of
a sentence nearly every span is no entity, so the decisions are far less balanced than the tags of a
tagger. Entities may overlap.

Source: the span head is that of Sohrab and Miwa (2018), Deep Exhaustive Model for Nested Named
Entity Recognition, with the sum in the place of the concatenation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset, DatasetDict
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoModel, PreTrainedTokenizerBase
from transformers.utils import ModelOutput

from dicelab.corpora.tags import Span
from dicelab.corpora.tags import spans as spans_of
from dicelab.tasks.entity_scores import score_spans, taken, tune_certainty
from dicelab.training.encoders import from_pretrained, load_model, pad

IGNORED = -100
COVERED = 0.99
HEAD, OPTIONS = "span_head.safetensors", "span_tagger.json"

score = score_spans


@dataclass(frozen=True)
class Encoded:
    """A corpus of entities as spans.

    Attributes:
        splits: per split ``input_ids``, ``attention_mask``, perhaps ``token_type_ids``,
            ``first_subword`` (its position for each word, or -1 where the word was cut off) and
            ``spans``: for each entity that can be found its first word, its width less one and the
            index of its type, beside the original ``tokens`` and ``tags``.
        types: the entity types of the training split, by name.
        max_width: K, the words of the widest span that is asked about.
        missed: gold entities that no scored span matches, per split: wider than K, cut off, or of
            a type that the training split does not have. Each counts as an error of the model.
    """

    splits: DatasetDict
    types: list[str]
    max_width: int
    missed: dict[str, int]

    def counts(self, split: str = "train") -> np.ndarray:
        """Negative and positive decisions by width. Shape ``[max_width, 2]``, int64."""
        rows = self.splits[split]
        decisions = np.zeros(self.max_width, dtype=np.int64)
        for first in rows["first_subword"][:]:
            n = sum(position >= 0 for position in first)
            decisions += len(self.types) * np.maximum(n - np.arange(self.max_width), 0)
        widths = [width for row in rows["spans"][:] for _, width, _ in row]
        positive = np.bincount(np.array(widths, dtype=np.int64), minlength=self.max_width)
        return np.stack([decisions - positive, positive], axis=1)


def encode(
    corpus: DatasetDict,
    tokenizer: PreTrainedTokenizerBase,
    *,
    max_width: int | None = None,
    max_length: int = 128,
) -> Encoded:
    """Words to sub-words, tags to spans.

    Args:
        corpus: rows of ``tokens`` and IOB2 ``tags``, with a split ``train``.
        tokenizer: a fast tokenizer.
        max_width: K; None takes the smallest that covers 99% of the training split's entities.
        max_length: sub-words a sentence, special tokens included; what is longer is cut.

    Returns:
        The encoded corpus, its types, K, and the gold entities that no scored span matches.

    Raises:
        ValueError: if the training split has no entity, or ``max_width`` is less than 1.
    """
    entities = [span for tags in corpus["train"]["tags"] for span in spans_of(tags)]
    if not entities:
        raise ValueError("expected IOB2 tags with entities in the training split, got none")
    widest = max_width or covering(span.end - span.start for span in entities)
    if widest < 1:
        raise ValueError(f"max_width: expected a number of words from 1, got {max_width}")
    types = sorted({span.type for span in entities})
    index = {name: i for i, name in enumerate(types)}

    def encode_batch(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        encoded = tokenizer(
            batch["tokens"], is_split_into_words=True, truncation=True, max_length=max_length
        )
        first_rows, span_rows = [], []
        for row, tags in enumerate(batch["tags"]):
            first = [-1] * len(tags)
            for position, word in enumerate(encoded.word_ids(row)):
                if word is not None and first[word] == -1:
                    first[word] = position
            first_rows.append(first)
            span_rows.append(
                [
                    [span.start, span.end - span.start - 1, index[span.type]]
                    for span in spans_of(tags)
                    if span.type in index
                    and span.end - span.start <= widest
                    and first[span.end - 1] >= 0
                ]
            )
        return {**encoded, "first_subword": first_rows, "spans": span_rows}

    splits = corpus.map(encode_batch, batched=True, load_from_cache_file=False)
    missed = {
        name: sum(len(spans_of(tags)) for tags in split["tags"][:])
        - sum(map(len, split["spans"][:]))
        for name, split in splits.items()
    }
    return Encoded(splits, types, widest, missed)


def covering(widths: Iterable[int], share: float = COVERED) -> int:
    """The smallest width that a share of some widths does not exceed."""
    ordered = sorted(widths)
    return ordered[max(0, int(np.ceil(share * len(ordered))) - 1)]


class SpanHead(nn.Module):
    """Scores every span of up to K words for every type.

    A span is the sum of what its first word, its last word and its width give, so a word is
    projected twice and not once for each span: ``[B, W, K, hidden]`` is the largest tensor, in the
    place of the ``[B, W, K, 2 * width]`` of a concatenation.

    Args:
        width: the size of a word's vector.
        max_width: K.
        types: T.
        hidden: the size of a span's vector.
    """

    def __init__(self, width: int, max_width: int, types: int, hidden: int = 128) -> None:
        super().__init__()
        self.start = nn.Linear(width, hidden)
        self.end = nn.Linear(width, hidden, bias=False)
        self.width = nn.Embedding(max_width, hidden)
        self.out = nn.Linear(hidden, types)

    def forward(self, words: Tensor) -> Tensor:
        """Logits ``[B, W, K, T]`` of words ``[B, W, width]``.

        Place ``[b, i, k, t]`` is the span of ``k + 1`` words from word ``i``. One that would end
        beyond ``W`` is given the last word's end; :func:`span_mask` tells which these are.
        """
        last = words.shape[1] - 1
        ends = torch.arange(last + 1, device=words.device)[:, None]
        ends = (ends + torch.arange(self.width.num_embeddings, device=words.device)).clamp(max=last)
        spans = self.start(words)[:, :, None] + self.end(words)[:, ends] + self.width.weight
        logits: Tensor = self.out(nn.functional.gelu(spans))
        return logits


def span_mask(words: Tensor, max_width: int) -> Tensor:
    """Which spans lie within their sentence. Bool ``[B, W, K]``.

    Args:
        words: which words there are, bool ``[B, W]``; a span with a word that is not there counts
            as outside, by its first and its last word.
        max_width: K.
    """
    ends = nn.functional.pad(words, (0, max_width - 1)).unfold(1, max_width, 1)
    return words[..., None] & ends


class SpanTagger(nn.Module):
    """An encoder with a span head.

    Args:
        encoder: a transformers model that gives ``last_hidden_state``.
        types: the entity types, in the order of the logits.
        max_width: K.
        hidden: see :class:`SpanHead`.
        dropout: applied to the words' vectors.
    """

    def __init__(
        self,
        encoder: Any,
        *,
        types: Sequence[str],
        max_width: int,
        hidden: int = 128,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.types = list(types)
        self.max_width = max_width
        self.dropout = nn.Dropout(dropout)
        self.head = SpanHead(encoder.config.hidden_size, max_width, len(types), hidden)

    @property
    def config(self) -> Any:
        """The encoder's config."""
        return self.encoder.config

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        first_subword: Tensor,
        token_type_ids: Tensor | None = None,
    ) -> ModelOutput:
        """Score all spans of a batch.

        Args:
            input_ids: ``[B, L]``.
            attention_mask: ``[B, L]``.
            first_subword: the position of each word's first sub-word, ``[B, W]``, -1 for no word.
            token_type_ids: ``[B, L]``, for encoders that have them.

        Returns:
            ``logits`` ``[B, W, K, T]``.
        """
        segments = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        states = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, **segments
        ).last_hidden_state
        rows = torch.arange(len(states), device=states.device)[:, None]
        words = self.dropout(states[rows, first_subword.clamp(min=0)])
        return ModelOutput(logits=self.head(words))

    def gradient_checkpointing_enable(self) -> None:
        """Recompute the encoder's activations in the backward pass."""
        old = self.encoder.gradient_checkpointing_enable
        getattr(self.encoder, "activation_checkpointing_enable", old)()

    def save_pretrained(self, folder: Path | str) -> None:
        """Write the encoder as transformers does, the head and its options beside it."""
        self.encoder.save_pretrained(folder)
        save_file({k: v.contiguous() for k, v in self.head.state_dict().items()}, _in(folder, HEAD))
        options = {
            "types": self.types,
            "max_width": self.max_width,
            "hidden": self.head.out.in_features,
            "dropout": self.dropout.p,
        }
        text = json.dumps(options, ensure_ascii=False, indent=2) + "\n"
        _in(folder, OPTIONS).write_text(text, encoding="utf-8")

    @classmethod
    def from_pretrained(cls, folder: Path | str) -> SpanTagger:
        """Read what :meth:`save_pretrained` wrote.

        Raises:
            OSError: if a file is missing.
        """
        options = json.loads(_in(folder, OPTIONS).read_text(encoding="utf-8"))
        tagger = cls(from_pretrained(AutoModel, str(folder)), **options)
        tagger.head.load_state_dict(load_file(_in(folder, HEAD)))
        return tagger.eval()


def _in(folder: Path | str, name: str) -> Path:
    return Path(folder) / name


def model(
    encoder: str,
    tokenizer: PreTrainedTokenizerBase,
    encoded: Encoded,
    *,
    hidden: int = 128,
    **config: Any,
) -> SpanTagger:
    """An encoder with a span head for the types and the K of an encoded corpus.

    Args:
        encoder: see :class:`dicelab.training.experiment.Experiment`.
        tokenizer: the encoder's tokenizer.
        encoded: what :func:`encode` made.
        hidden: see :class:`SpanHead`.
        **config: further entries of the encoder's config.

    Raises:
        EncoderError: if there is no such encoder.
    """
    body = load_model(AutoModel, encoder, tokenizer, **config)
    return SpanTagger(body, types=encoded.types, max_width=encoded.max_width, hidden=hidden)


def collator(
    tokenizer: PreTrainedTokenizerBase, types: int, max_width: int
) -> Callable[[list[dict[str, Any]]], dict[str, Any]]:
    """Pads a batch to its longest sentence.

    Args:
        tokenizer: the encoder's tokenizer.
        types: T.
        max_width: K.

    Returns:
        A function to a batch with ``first_subword`` ``[B, W]`` and ``labels`` ``[B, W, K, T]``: 1
        for an entity, 0 for a span that is none, -100 for one outside its sentence. So the losses,
        which leave out -100, take the whole batch as one set.
    """

    def collate(rows: list[dict[str, Any]]) -> dict[str, Any]:
        n = max(len(row["first_subword"]) for row in rows)
        first = torch.full((len(rows), n), -1)
        for b, row in enumerate(rows):
            first[b, : len(row["first_subword"])] = torch.tensor(row["first_subword"])
        inside = span_mask(first >= 0, max_width)
        labels = torch.where(inside, 0, IGNORED)[..., None].repeat(1, 1, 1, types)
        for b, row in enumerate(rows):
            for start, width, kind in row.get("spans", ()):
                labels[b, start, width, kind] = 1
        return {**pad(tokenizer, rows), "first_subword": first, "labels": labels}

    return collate


def decode(
    logits: Sequence[np.ndarray],
    split: Dataset | Mapping[str, Any],
    types: Sequence[str],
    *,
    threshold: float = 0.0,
    nested: bool = False,
) -> list[list[Span]]:
    """The entities of every sentence: spans whose log-odds exceed the threshold.

    Args:
        logits: for each sentence ``[W, K, T]``, ``W`` at least the number of its words.
        split: a split of :class:`Encoded`; its ``first_subword`` is read.
        types: the types, in the order of the logits.
        threshold: log-odds; 0 is a probability of one half.
        nested: whether entities may overlap. If not, of two that overlap the more certain one
            stays, from the most certain one down; equals in the order of their words.

    Returns:
        For each sentence its entities, in words.
    """
    return [taken(c, nested) for c in _candidates(logits, split, types, threshold)]


def tune_threshold(
    logits: Sequence[np.ndarray], split: Dataset, types: Sequence[str], *, nested: bool = False
) -> float:
    """The threshold with the best F1 on a split, over all there are.

    Args:
        logits: see :func:`decode`.
        split: the validation split, never the test split.
        types: see :func:`decode`.
        nested: see :func:`decode`.
    """
    gold = [spans_of(tags) for tags in split["tags"][:]]
    return tune_certainty(_candidates(logits, split, types, -np.inf), gold, nested)


def _candidates(
    logits: Sequence[np.ndarray],
    split: Dataset | Mapping[str, Any],
    types: Sequence[str],
    threshold: float,
) -> list[list[tuple[float, Span]]]:
    """For each sentence all spans above a threshold that lie within it, with their certainty."""
    rows = split["first_subword"][:]
    by_sentence = []
    for scores, first in zip(logits, rows, strict=True):
        is_word = np.asarray(first) >= 0
        candidates = []
        for start, width, kind in np.argwhere(np.asarray(scores)[: len(first)] > threshold):
            end = start + width + 1
            if end <= len(first) and is_word[start] and is_word[end - 1]:
                span = Span(types[kind], int(start), int(end))
                candidates.append((float(scores[start, width, kind]), span))
        by_sentence.append(candidates)
    return by_sentence

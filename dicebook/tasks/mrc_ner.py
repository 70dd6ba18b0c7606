"""Named entities as reading (BERT-MRC): for each type a question, the entities are its answers.

The four steps are :func:`encode`, :class:`EntityReader`, :func:`decode` and :func:`score`. A
sentence is read once for every type. At each word the model says whether an entity starts there and
whether one ends there, and for pairs of a likely start and a likely end whether they belong
together. All three are binary decisions with few positives.

Source: Li et al. (2020), A Unified MRC Framework for Named Entity Recognition, which Section 4.2 of
the dice loss paper builds on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import DatasetDict
from torch import Tensor, nn
from transformers import AutoModel, PreTrainedTokenizerBase
from transformers.utils import ModelOutput

from dicebook.corpora.tags import Span, from_spans, spans
from dicebook.encoders import load_model, pad
from dicebook.tasks.entity_queries import query

IGNORED = -100


@dataclass(frozen=True)
class Encoded:
    """A corpus of entities as questions.

    Attributes:
        splits: per split one row for each sentence and type: ``input_ids``, ``attention_mask``,
            perhaps ``token_type_ids``; ``first_subword``, the position of each word of the
            sentence, or -1 where it was cut off; ``spans``, the positions of the first sub-word of
            each entity's first and last word; ``sentence`` and ``type``, the row and the index.
        corpus: the corpus itself.
        types: the entity types of the training split.
        cut: words beyond ``max_length``, per split.
    """

    splits: DatasetDict
    corpus: DatasetDict
    types: list[str]
    cut: dict[str, int]

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
) -> Encoded:
    """Sentences and types to pairs of a question and a sentence.

    Args:
        corpus: rows of ``tokens`` and ``tags`` in IOB2.
        tokenizer: a fast tokenizer.
        queries: the question for each type; types without one get a default.
        language: of the default questions, ``"en"`` or ``"zh"``.
        max_length: sub-words of question and sentence together.

    Returns:
        The questions.

    Raises:
        ValueError: if a split holds a type that the training split does not.
    """
    types = sorted({span.type for tags in corpus["train"]["tags"] for span in spans(tags)})
    asked = [(queries or {}).get(name) or query(name, language) for name in types]

    def encode_batch(batch: dict[str, list[Any]], rows: list[int]) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = defaultdict(list)
        for row, tokens, tags in zip(rows, batch["tokens"], batch["tags"], strict=True):
            found = spans(tags, strict=True)
            unseen = {span.type for span in found} - set(types)
            if unseen:
                raise ValueError(
                    f"sentence {row + 1}: type {min(unseen)!r} never occurs in the training split, "
                    f"whose types are {', '.join(types)}"
                )
            questions = [text.split() for text in asked]
            encoded = tokenizer(
                questions,
                [tokens] * len(types),
                is_split_into_words=True,
                truncation="only_second",
                max_length=max_length,
            )
            for name, values in encoded.items():
                columns[name].extend(values)
            for index, name in enumerate(types):
                first = _first_subwords(encoded, index, len(tokens))
                inside = [(first[s.start], first[s.end - 1]) for s in found if s.type == name]
                columns["spans"].append([pair for pair in inside if min(pair) >= 0])
                columns["first_subword"].append(first)
                columns["sentence"].append(row)
                columns["type"].append(index)
        return columns

    splits = corpus.map(
        encode_batch,
        batched=True,
        with_indices=True,
        remove_columns=corpus["train"].column_names,
        load_from_cache_file=False,
    )
    cut = {
        name: sum(p < 0 for row in split["first_subword"] for p in row) // max(1, len(types))
        for name, split in splits.items()
    }
    return Encoded(splits, corpus, types, cut)


class MatchHead(nn.Module):
    """Scores whether a start and an end belong to one entity.

    The usual head is ``v · gelu(W [h_i; h_j] + b)`` over all pairs, which builds a tensor
    ``[B, L, L, 2H]``. Since ``W [h_i; h_j] = W1 h_i + W2 h_j``, it is enough to project every
    position twice and to add the projections of the pairs that matter.

    Args:
        width: H, the size of a hidden state.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.start = nn.Linear(width, width)
        self.end = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, 1)

    def forward(self, hidden: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
        """Score pairs.

        Args:
            hidden: ``[B, L, H]``.
            starts: positions, ``[B, K]``.
            ends: positions, ``[B, K]``.

        Returns:
            Logits ``[B, K]``.
        """
        rows = torch.arange(hidden.shape[0], device=hidden.device)[:, None]
        pairs = self.start(hidden)[rows, starts] + self.end(hidden)[rows, ends]
        return self.out(nn.functional.gelu(pairs)).squeeze(-1)


class EntityReader(nn.Module):
    """An encoder with the three heads.

    Args:
        encoder: a transformers model that gives ``last_hidden_state``.
        candidates: starts and ends a row of which pairs are scored.
        dropout: applied to the hidden states.
    """

    def __init__(self, encoder: Any, *, candidates: int = 8, dropout: float = 0.1) -> None:
        super().__init__()
        width = encoder.config.hidden_size
        self.encoder = encoder
        self.candidates = candidates
        self.dropout = nn.Dropout(dropout)
        self.boundaries = nn.Linear(width, 2)
        self.match = MatchHead(width)

    def gradient_checkpointing_enable(self) -> None:
        """Recompute the encoder's activations in the backward pass."""
        old = self.encoder.gradient_checkpointing_enable
        getattr(self.encoder, "activation_checkpointing_enable", old)()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        word_mask: Tensor,
        token_type_ids: Tensor | None = None,
        spans: Tensor | None = None,
    ) -> ModelOutput:
        """Score a batch of questions.

        Args:
            input_ids: ``[B, L]``.
            attention_mask: ``[B, L]``.
            word_mask: ``[B, L]``, true at the first sub-word of each word of the sentence.
            token_type_ids: ``[B, L]``, for encoders that have them.
            spans: the entities, ``[B, S, 2]``, padded with -1. In training their starts and ends
                are always among the candidates; otherwise they are not looked at.

        Returns:
            ``logits`` ``[B, L, 2]`` of starts and ends; ``pairs`` ``[B, K, 2]``, the candidates,
            -1 where there is none; ``match_logits`` ``[B, K]``; ``word_mask``.
        """
        segments = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        hidden = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, **segments
        ).last_hidden_state
        hidden = self.dropout(hidden)
        logits = self.boundaries(hidden)
        with torch.no_grad():
            likely = logits.float().masked_fill(~word_mask[..., None], -torch.inf)
            if spans is not None and self.training:
                likely = likely.masked_fill(_at(spans, likely) > 0, torch.inf)
            k = min(self.candidates, likely.shape[1])
            top = likely.topk(k, dim=1)
            starts = top.indices[:, :, None, 0].expand(-1, k, k).flatten(1)
            ends = top.indices[:, None, :, 1].expand(-1, k, k).flatten(1)
            real = word_mask.gather(1, starts) & word_mask.gather(1, ends) & (starts <= ends)
            pairs = torch.stack([starts, ends], -1).masked_fill(~real[..., None], -1)
        return ModelOutput(
            logits=logits,
            pairs=pairs,
            match_logits=self.match(hidden, starts, ends),
            word_mask=word_mask,
        )


def model(encoder: str, tokenizer: PreTrainedTokenizerBase, **options: Any) -> EntityReader:
    """An :class:`EntityReader` on an encoder by name.

    Raises:
        EncoderError: if there is no such encoder.
    """
    return EntityReader(load_model(AutoModel, encoder, tokenizer), **options)


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


@dataclass(frozen=True)
class MrcLoss:
    """The weighted sum of the losses over starts, ends and pairs, as a Trainer calls it.

    Attributes:
        loss: from logits and 0/1 targets to a scalar; targets of -100 do not count.
        weights: of starts, ends and pairs.
    """

    loss: Callable[[Tensor, Tensor], Tensor]
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def __call__(self, outputs: Any, labels: Tensor, num_items_in_batch: Any = None) -> Tensor:
        """The loss of a batch.

        Args:
            outputs: of :class:`EntityReader`.
            labels: the entities, ``[B, S, 2]``, padded with -1.
            num_items_in_batch: not used: which pairs count is known only after the forward pass.
        """
        logits, pairs = outputs["logits"], outputs["pairs"]
        target = _at(labels, logits).long()
        target = target.masked_fill(~outputs["word_mask"][..., None], IGNORED)
        equal = (pairs[:, :, None] == labels[:, None]).all(-1) & (labels[:, None, :, 0] >= 0)
        match = equal.any(-1).long().masked_fill(pairs[..., 0] < 0, IGNORED)
        losses = (
            self.loss(logits[..., 0], target[..., 0]),
            self.loss(logits[..., 1], target[..., 1]),
            self.loss(outputs["match_logits"], match),
        )
        weights = torch.tensor(self.weights, device=logits.device)
        return (weights * torch.stack(losses)).sum()


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
    found: list[list[tuple[float, Span]]] = [[] for _ in encoded.corpus[split]]
    rows = encoded.splits[split].select_columns(["first_subword", "sentence", "type"])
    for row, logits, pairs, match in zip(rows, *outputs[:3], strict=True):
        word_at = {p: word for word, p in enumerate(row["first_subword"]) if p >= 0}
        for (s, e), m in zip(pairs, match, strict=True):
            if s < 0 or s not in word_at or e not in word_at:
                continue
            certainty = min(logits[s, 0], logits[e, 1], m)
            if certainty > threshold:
                span = Span(encoded.types[row["type"]], word_at[s], word_at[e] + 1)
                found[row["sentence"]].append((float(certainty), span))
    return [_kept(candidates, nested) for candidates in found]


def to_tags(entities: Sequence[Span], length: int) -> list[str]:
    """Flat entities as IOB2 tags of a sentence of ``length`` words.

    Raises:
        CorpusError: if entities overlap or lie outside of the sentence.
    """
    return from_spans(entities, length)


def score(gold: Sequence[Sequence[Span]], predicted: Sequence[Sequence[Span]]) -> dict[str, float]:
    """Micro-averaged precision, recall and F1 of entities, flat or nested, in percent."""
    pairs = [(set(g), set(p)) for g, p in zip(gold, predicted, strict=True)]
    right = sum(len(g & p) for g, p in pairs)
    n_gold, n_predicted = (sum(len(pair[side]) for pair in pairs) for side in (0, 1))
    return {
        "precision": 100 * right / max(1, n_predicted),
        "recall": 100 * right / max(1, n_gold),
        "f1": 200 * right / max(1, n_gold + n_predicted),
    }


def save(reader: EntityReader, folder: Path | str) -> None:
    """Save a trained reader: the encoder as transformers does, the heads beside it."""
    from safetensors.torch import save_file

    reader.encoder.save_pretrained(folder)
    heads = {k: v.contiguous() for k, v in reader.state_dict().items() if not k.startswith("enc")}
    save_file(heads, Path(folder) / "heads.safetensors")


def reload(folder: Path | str, **options: Any) -> EntityReader:
    """Load what :func:`save` saved."""
    from safetensors.torch import load_file

    reader = EntityReader(AutoModel.from_pretrained(folder), **options)
    reader.load_state_dict(load_file(Path(folder) / "heads.safetensors"), strict=False)
    return reader.eval()


def _first_subwords(encoded: Any, row: int, n_words: int) -> list[int]:
    first = [-1] * n_words
    sequences, words = encoded.sequence_ids(row), encoded.word_ids(row)
    for position, (sequence, word) in enumerate(zip(sequences, words, strict=True)):
        if sequence == 1 and word is not None and first[word] == -1:
            first[word] = position
    return first


def _at(spans_: Tensor, like: Tensor) -> Tensor:
    """0/1 in the shape ``[B, L, 2]`` of ``like``: 1 at the starts and at the ends of entities."""
    marks = torch.zeros_like(like)
    return marks.scatter_reduce_(1, spans_.clamp(min=0), (spans_ >= 0).to(like.dtype), "amax")


def _kept(candidates: list[tuple[float, Span]], nested: bool) -> list[Span]:
    kept: list[Span] = []
    for _, span in sorted(candidates, key=lambda item: (-item[0], item[1])):
        free = all(span.end <= other.start or other.end <= span.start for other in kept)
        if nested or free:
            kept.append(span)
    return sorted(kept, key=lambda span: (span.start, span.end, span.type))

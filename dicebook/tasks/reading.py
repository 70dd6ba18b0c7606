"""Extractive reading: the span of a text that answers a question, or that there is none.

The four steps are :func:`encode`, :func:`model`, :func:`decode` and :func:`score`. A span can be
learned in two ways. As a *choice*, the start is one of L positions, a softmax runs over them, and
cross entropy asks for the right one. As *decisions*, each position says yes or no to being a start,
and any binary loss, the dice family included, asks for the right answers; this is where one
positive meets hundreds of negatives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from datasets import DatasetDict
from torch import Tensor
from transformers import AutoModelForQuestionAnswering, PreTrainedTokenizerBase

from dicebook.encoders import load_model, pad
from dicebook.losses import TrainerLoss
from dicebook.tasks import span_scores

IGNORED = -100


@dataclass(frozen=True)
class Encoded:
    """A reading corpus as a model reads it: one row a window of a context.

    Attributes:
        splits: per split ``input_ids``, ``attention_mask``, perhaps ``token_type_ids``;
            ``starts`` and ``ends``, the positions of the answers in the window (empty where none
            lies in it); ``context_span``, the first position of the context and the one after its
            last; ``offsets``, a pair of characters for each position of that span; ``question``,
            the row of the question in ``corpus``.
        corpus: the corpus itself.
        lost: answers that end in no window, per split: their offsets do not fall on sub-words.
    """

    splits: DatasetDict
    corpus: DatasetDict
    lost: dict[str, int]

    def counts(self) -> tuple[int, int]:
        """Negative and positive decisions of the training split, start and end together."""
        train = self.splits["train"]
        positions = sum(2 * (end - start) for start, end in train["context_span"])
        positive = sum(map(len, train["starts"])) + sum(map(len, train["ends"]))
        return positions - positive, positive


def encode(
    corpus: DatasetDict,
    tokenizer: PreTrainedTokenizerBase,
    *,
    max_length: int = 384,
    stride: int = 128,
) -> Encoded:
    """Questions and contexts to sub-words, a long context in overlapping windows.

    Args:
        corpus: rows of ``question``, ``context`` and ``answers``.
        tokenizer: a fast tokenizer.
        max_length: sub-words of a window, question and special tokens included.
        stride: sub-words that neighbouring windows share.

    Returns:
        The windows. An answer counts as inside of a window if all of it is.

    Raises:
        ValueError: if a question leaves no room for a context.
    """

    def encode_batch(batch: dict[str, list[Any]], rows: list[int]) -> dict[str, list[Any]]:
        questions = [question.strip() for question in batch["question"]]
        longest = max(len(ids) for ids in tokenizer(questions)["input_ids"])
        if longest + stride + 8 > max_length:
            raise ValueError(
                f"max_length {max_length} leaves no room for a context: a question of {longest} "
                f"sub-words and a stride of {stride} need more than {longest + stride + 8}"
            )
        encoded = tokenizer(
            questions,
            batch["context"],
            truncation="only_second",
            max_length=max_length,
            stride=stride,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        sources = encoded.pop("overflow_to_sample_mapping")
        all_offsets = encoded.pop("offset_mapping")
        columns: dict[str, list[Any]] = defaultdict(list)
        for window, source in enumerate(sources):
            second = [i for i, which in enumerate(encoded.sequence_ids(window)) if which == 1]
            first, last = (second[0], second[-1] + 1) if second else (0, 0)
            offsets = all_offsets[window][first:last]
            starts, ends = _positions(batch["answers"][source], offsets)
            columns["starts"].append([first + s for s in starts])
            columns["ends"].append([first + e for e in ends])
            columns["context_span"].append((first, last))
            columns["offsets"].append(offsets)
            columns["question"].append(rows[source])
        return {**encoded, **columns}

    splits = corpus.map(
        encode_batch,
        batched=True,
        with_indices=True,
        remove_columns=corpus["train"].column_names,
        load_from_cache_file=False,
    )
    lost = {}
    for name, split in splits.items():
        found = {
            row for row, starts in zip(split["question"], split["starts"], strict=True) if starts
        }
        asked = {row for row, answers in enumerate(corpus[name]["answers"]) if answers["text"]}
        lost[name] = len(asked - found)
    return Encoded(splits, corpus, lost)


def model(encoder: str, tokenizer: PreTrainedTokenizerBase) -> Any:
    """An encoder with two numbers at every position: to be a start, to be an end.

    Returns:
        A ``...ForQuestionAnswering`` model with ``start_logits`` and ``end_logits`` ``[B, L]``.

    Raises:
        EncoderError: if there is no such encoder.
    """
    return load_model(AutoModelForQuestionAnswering, encoder, tokenizer)


def collator(
    tokenizer: PreTrainedTokenizerBase,
) -> Callable[[list[dict[str, Any]]], dict[str, Any]]:
    """Pads windows and makes ``labels`` ``[B, L, 2]``.

    1 where an answer starts (first column) or ends (second), 0 at the other positions of the
    context, -100 at the question, the special tokens and the padding.
    """

    def collate(rows: list[dict[str, Any]]) -> dict[str, Any]:
        batch = pad(tokenizer, rows)
        labels = torch.full((*batch["input_ids"].shape, 2), IGNORED)
        for i, row in enumerate(rows):
            first, last = row["context_span"]
            labels[i, first:last] = 0
            labels[i, row["starts"], 0] = 1
            labels[i, row["ends"], 1] = 1
        return {**batch, "labels": labels}

    return collate


class Decisions(TrainerLoss):
    """A binary loss over all positions as a Trainer calls it; starts and ends form one set.

    Exact under gradient accumulation and on several processes, as ``TrainerLoss`` is.

    Args:
        loss: a binary loss, from logits and 0/1 targets to a scalar; -100 does not count.
    """

    def __call__(
        self, outputs: Any, labels: Tensor | None, num_items_in_batch: Tensor | int | None = None
    ) -> Tensor:
        """The loss of a batch.

        Args:
            outputs: a model's, with ``start_logits`` and ``end_logits`` ``[B, L]``.
            labels: ``[B, L, 2]``, see :func:`collator`.
            num_items_in_batch: decisions in the whole step.
        """
        logits = torch.stack([outputs.start_logits, outputs.end_logits], dim=-1)
        return super().__call__({"logits": logits}, labels, num_items_in_batch)


def choice(outputs: Any, labels: Tensor, num_items_in_batch: Any = None) -> Tensor:
    """Cross entropy over positions, the usual loss of extractive readers, as a Trainer calls it.

    A window without an answer chooses its first position, the classification token. Of several
    answers the model may choose any: the loss is the negative logarithm of their joint probability.

    Args:
        outputs: a model's, with ``start_logits`` and ``end_logits`` ``[B, L]``.
        labels: ``[B, L, 2]``, see :func:`collator`.
        num_items_in_batch: not used: this is a mean over windows, not over decisions.

    Returns:
        The mean of starts and ends over windows.
    """
    losses = []
    for side, logits in enumerate((outputs.start_logits, outputs.end_logits)):
        target = labels[..., side]
        first = torch.zeros_like(target, dtype=torch.bool)
        first[:, 0] = True
        gold = target == 1
        gold = torch.where(gold.any(-1, keepdim=True), gold, first)
        scores = logits.float().masked_fill((target == IGNORED) & ~first, -torch.inf)
        losses.append(scores.logsumexp(-1) - scores.masked_fill(~gold, -torch.inf).logsumexp(-1))
    return torch.stack(losses).mean()


@dataclass(frozen=True)
class Answer:
    """The best span of a question.

    Attributes:
        text: its text.
        score: sum of the start's and the end's logit, less that of "no answer".
    """

    text: str
    score: float


def decode(
    logits: tuple[np.ndarray, np.ndarray],
    encoded: Encoded,
    split: str,
    *,
    as_choice: bool,
    max_answer_length: int = 30,
    candidates: int = 20,
) -> list[Answer]:
    """The best span of every question, over all its windows.

    Args:
        logits: of starts and of ends, ``[windows, L]`` each, in the order of the split.
        encoded: the encoded corpus.
        split: the split's name.
        as_choice: whether the model was trained by :func:`choice`. Then "no answer" scores what
            the first position scores; with :class:`Decisions` it scores 0.
        max_answer_length: longest span, in sub-words.
        candidates: starts and ends per window that are combined.

    Returns:
        An answer for each question, in the order of the corpus.
    """
    best: dict[int, Answer] = {}
    contexts = encoded.corpus[split]["context"]
    for window, (starts, ends) in enumerate(zip(*logits, strict=True)):
        row = encoded.splits[split][window]
        (first, last), question = row["context_span"], row["question"]
        null = float(starts[0] + ends[0]) if as_choice else 0.0
        span, score_ = _best_span(
            starts[first:last], ends[first:last], max_answer_length, candidates
        )
        text = ""
        if span:
            begin, end = row["offsets"][span[0]][0], row["offsets"][span[1]][1]
            text = contexts[question][begin:end]
        answer = Answer(text, score_ - null)
        if question not in best or answer.score > best[question].score:
            best[question] = answer
    return [best[question] for question in range(len(contexts))]


def score(
    answers: Sequence[Answer],
    gold: Sequence[dict[str, Sequence[Any]]],
    *,
    threshold: float | None = None,
    language: str = "en",
) -> dict[str, float]:
    """Exact match and F1 in percent, against the best of a question's alternative answers.

    Args:
        answers: one a question.
        gold: the column ``answers`` of the corpus.
        threshold: an answer that scores below it is "no answer"; None answers every question.
        language: ``"en"`` counts as SQuAD's scorer, ``"zh"`` as CMRC 2018's.
    """
    pairs = [
        span_scores.best_of(
            truth["text"],
            "" if threshold is not None and answer.score < threshold else answer.text,
            language,
        )
        for answer, truth in zip(answers, gold, strict=True)
    ]
    exact, f1 = np.array(pairs).mean(0) if pairs else (0.0, 0.0)
    return {"exact_match": 100 * float(exact), "f1": 100 * float(f1)}


def tune_threshold(
    answers: Sequence[Answer], gold: Sequence[dict[str, Sequence[Any]]], language: str = "en"
) -> float:
    """The "no answer" threshold with the best F1 on the validation split.

    Args:
        answers: of the validation split, never of the test split.
        gold: its column ``answers``.
        language: see :func:`score`.
    """
    answered = np.array(
        [
            span_scores.best_of(g["text"], a.text, language)[1]
            for a, g in zip(answers, gold, strict=True)
        ]
    )
    silent = np.array([span_scores.best_of(g["text"], "", language)[1] for g in gold])
    scores = np.array([answer.score for answer in answers])
    order = np.argsort(scores)
    # Cutting before rank k: the k lowest stay silent, the others answer.
    f1 = np.concatenate([[0], np.cumsum(silent[order] - answered[order])]) + answered.sum()
    edges = np.concatenate([[scores.min() - 1], scores[order], [scores.max() + 1]])
    k = int(np.where(edges[:-1] < edges[1:], f1, -np.inf).argmax())
    return float((edges[k] + edges[k + 1]) / 2)


def _positions(
    answers: dict[str, Sequence[Any]], offsets: Sequence[tuple[int, int]]
) -> tuple[list[int], list[int]]:
    """Sub-words, counted within the context, at which answers start and end."""
    starts, ends = set(), set()
    for text, begin in zip(answers["text"], answers["answer_start"], strict=True):
        end = begin + len(text)
        if not offsets or begin < offsets[0][0] or end > offsets[-1][1]:
            continue
        start = next((i for i, (s, e) in enumerate(offsets) if s <= begin < e), None)
        stop = next((i for i, (s, e) in enumerate(offsets) if s < end <= e), None)
        if start is not None and stop is not None:
            starts.add(start)
            ends.add(stop)
    return sorted(starts), sorted(ends)


def _best_span(
    starts: np.ndarray, ends: np.ndarray, longest: int, candidates: int
) -> tuple[tuple[int, int] | None, float]:
    best, best_score = None, -np.inf
    for s in np.argsort(-starts)[:candidates]:
        for e in np.argsort(-ends)[:candidates]:
            if s <= e < s + longest and starts[s] + ends[e] > best_score:
                best, best_score = (int(s), int(e)), float(starts[s] + ends[e])
    return best, best_score

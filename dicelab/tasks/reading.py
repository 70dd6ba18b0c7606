"""Extractive reading: the span of a text that answers a question, or that there is none.

The four steps are :func:`encode`, :func:`model`, :func:`decode` and :func:`score`. A span can be
learned in two ways. As a *choice*, the start is one of L positions, a softmax runs over them, and
cross entropy asks for the right one. As *decisions*, each position says yes or no to being a start,
and any binary loss, the dice family included, asks for the right answers; this is where one
positive meets hundreds of negatives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from datasets import Dataset, DatasetDict
from torch import Tensor
from transformers import AutoModelForQuestionAnswering, PreTrainedTokenizerBase

from dicebook.losses import TrainerLoss
from dicelab.tasks import span_scores, thresholds
from dicelab.tasks.outputs import longest_input, outputs_of
from dicelab.training.encoders import load_model, pad
from dicelab.training.trainer import RowLoss

IGNORED = -100
# The label of the position that stands for "no answer", where it is not the first one.
NO_ANSWER = -101


@dataclass(frozen=True)
class Encoded:
    """A reading corpus as a model reads it: one row a window of a context.

    Attributes:
        splits: per split ``input_ids``, ``attention_mask``, perhaps ``token_type_ids``;
            ``starts`` and ``ends``, the positions of the answers in the window (empty where none
            lies in it); ``context_span``, the first position of the context and the one after its
            last; ``offsets``, a pair of characters for each position of that span; ``no_answer``,
            the position of the classification token; ``question``, the row in ``corpus``.
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
    windows = partial(_windows, tokenizer, max_length, stride)
    splits = corpus.map(
        windows,
        batched=True,
        with_indices=True,
        remove_columns=next(iter(corpus.values())).column_names,
        load_from_cache_file=False,
    )
    lost = {}
    for name, split in splits.items():
        in_window = {
            row for row, starts in zip(split["question"], split["starts"], strict=True) if starts
        }
        asked = {row for row, answers in enumerate(corpus[name]["answers"]) if answers["text"]}
        lost[name] = len(asked - in_window)
    return Encoded(splits, corpus, lost)


def model(encoder: str, tokenizer: PreTrainedTokenizerBase, **config: Any) -> Any:
    """An encoder with two numbers at every position: to be a start, to be an end.

    Returns:
        A ``...ForQuestionAnswering`` model with ``start_logits`` and ``end_logits`` ``[B, L]``.

    Raises:
        EncoderError: if there is no such encoder.
    """
    return load_model(AutoModelForQuestionAnswering, encoder, tokenizer, **config)


def collator(
    tokenizer: PreTrainedTokenizerBase, *, as_choice: bool = True, marked: bool = False
) -> Callable[[list[dict[str, Any]]], dict[str, Any]]:
    """Pads windows and makes ``labels`` ``[B, L, 2]``.

    1 where an answer starts (first column) or ends (second), 0 at the other positions of the
    context, -100 at the question, the special tokens and the padding.

    Args:
        tokenizer: the encoder's tokenizer.
        as_choice: for :func:`choice`, mark a classification token that is not the first token
            (XLNet's is the last) with -101. :class:`Decisions` has no use for the mark and refuses
            it.
        marked: for :class:`ChoiceDecisions`, mark it wherever it is.
    """

    def collate(rows: list[dict[str, Any]]) -> dict[str, Any]:
        batch = pad(tokenizer, rows)
        labels = torch.full((*batch["input_ids"].shape, 2), IGNORED)
        for i, row in enumerate(rows):
            first, last = row["context_span"]
            labels[i, first:last] = 0
            labels[i, row["starts"], 0] = 1
            labels[i, row["ends"], 1] = 1
            if marked or (as_choice and row["no_answer"]):
                labels[i, row["no_answer"]] = NO_ANSWER
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

        Raises:
            ValueError: if the labels mark the position of "no answer".
        """
        if labels is not None and bool((labels == NO_ANSWER).any()):
            raise ValueError("expected labels of collator(tokenizer, as_choice=False)")
        logits = torch.stack([outputs.start_logits, outputs.end_logits], dim=-1)
        return super().__call__({"logits": logits}, labels, num_items_in_batch)


class Choice(RowLoss):
    """Cross entropy over positions, the usual loss of extractive readers, as a Trainer calls it.

    A window without an answer chooses the classification token, its first position or the one that
    :func:`collator` marked. Of several answers the model may choose any: the loss is the negative
    logarithm of their joint probability. It is a mean over windows, exact under gradient
    accumulation.
    """

    def __call__(
        self, outputs: Any, labels: Tensor, num_items_in_batch: Tensor | int | None = None
    ) -> Tensor:
        """The loss of a batch.

        Args:
            outputs: a model's, with ``start_logits`` and ``end_logits`` ``[B, L]``.
            labels: ``[B, L, 2]``, see :func:`collator`.
            num_items_in_batch: windows in the whole step; None: those of this batch.

        Returns:
            The sum over the windows of the mean of start and end, divided by
            ``num_items_in_batch``.
        """
        total = torch.zeros((), device=labels.device)
        for side, logits in enumerate((outputs.start_logits, outputs.end_logits)):
            target = labels[..., side]
            null = target == NO_ANSWER
            null[:, 0] |= ~null.any(-1)
            gold = target == 1
            gold = torch.where(gold.any(-1, keepdim=True), gold, null)
            scores = logits.float().masked_fill((target < 0) & ~null, -torch.inf)
            right = scores.masked_fill(~gold, -torch.inf)
            total = total + (scores.logsumexp(-1) - right.logsumexp(-1)).sum() / 2
        return total / (len(labels) if num_items_in_batch is None else num_items_in_batch)


choice = Choice()


class ChoiceDecisions(TrainerLoss):
    """Any binary loss over the probabilities of a choice.

    As in :class:`Choice` the positions of a window share a softmax with the classification token,
    which is right where there is no answer. Each of its probabilities is then a decision for the
    loss. With cross entropy that is not :class:`Choice`, for it also punishes each wrong position.
    """

    def __call__(
        self, outputs: Any, labels: Tensor | None, num_items_in_batch: Tensor | int | None = None
    ) -> Tensor:
        """The loss of a batch; arguments as of :class:`Decisions`.

        Raises:
            ValueError: if the labels do not mark the position of "no answer" in each window.
        """
        if labels is None or not bool((labels == NO_ANSWER).any(1).all()):
            raise ValueError("expected labels of collator(tokenizer, marked=True)")
        candidate = labels != IGNORED
        null = labels == NO_ANSWER
        gold = torch.where(null, ~(labels == 1).any(1, keepdim=True), labels == 1)
        target = gold.long().masked_fill(~candidate, IGNORED)
        scores = torch.stack([outputs.start_logits, outputs.end_logits], dim=-1).float()
        log_p = scores.masked_fill(~candidate, -torch.inf).log_softmax(1)
        # The log-odds of a probability; at 1 they would be infinite.
        log_p = log_p.masked_fill(~candidate, -1.0).clamp(max=-1e-6)
        log_odds = log_p - torch.log(-torch.expm1(log_p))
        return super().__call__({"logits": log_odds}, target, num_items_in_batch)


@dataclass(frozen=True)
class Answer:
    """The best span of a question.

    Attributes:
        text: its text.
        score: sum of the start's and the end's logit, less that of "no answer".
        start: its first character in the context; -1 where that is not known.
    """

    text: str
    score: float
    start: int = -1


def decode(
    logits: tuple[Sequence[np.ndarray], Sequence[np.ndarray]],
    encoded: Encoded,
    split: str,
    *,
    as_choice: bool,
    max_answer_length: int = 30,
    candidates: int = 20,
) -> list[Answer]:
    """The best span of every question, over all its windows.

    Args:
        logits: those of starts and of ends, ``[windows, L]`` each, in the order of the split.
        encoded: the encoded corpus.
        split: the split's name.
        as_choice: whether the model was trained by :func:`choice`. Then "no answer" scores what
            the classification token scores; with :class:`Decisions` it scores 0.
        max_answer_length: longest span, in sub-words.
        candidates: starts and ends per window that are combined.

    Returns:
        An answer for each question, in the order of the corpus.
    """
    best: dict[int, Answer] = {}
    places = _places(encoded, split)
    columns = (places.questions, places.context_spans, places.offsets)
    windows = zip(*logits, encoded.splits[split]["no_answer"][:], *columns, strict=True)
    for starts, ends, cls, question, (first, last), offsets in windows:
        null = float(starts[cls] + ends[cls]) if as_choice else 0.0
        span, score_ = _best_span(
            starts[first:last], ends[first:last], max_answer_length, candidates
        )
        answer = _answer(places.contexts[question], offsets, span, score_ - null)
        if question not in best or answer.score > best[question].score:
            best[question] = answer
    return [best[question] for question in range(len(places.contexts))]


def decode_several(
    logits: tuple[Sequence[np.ndarray], Sequence[np.ndarray]],
    encoded: Encoded,
    split: str,
    *,
    threshold: float = 0.0,
    max_answer_length: int = 30,
) -> list[list[Answer]]:
    """All answers of every question, as decisions give them; for Quoref.

    A position whose log-odds exceed the threshold is a start or an end. An end belongs to the
    nearest start before it; of the ends of one start the most certain one counts, and a start
    without an end is dropped. Of spans that overlap, which windows can give, the more certain one
    stays.

    Args:
        logits: logits of starts and of ends from a model trained with :class:`Decisions`,
            ``[windows, L]`` each, in the order of the split.
        encoded: the encoded corpus.
        split: the split's name.
        threshold: log-odds.
        max_answer_length: longest span, in sub-words.

    Returns:
        For each question its answers, in the order of the context; none is "no answer".
    """
    return _several(logits, _places(encoded, split), threshold, max_answer_length)


def predict(
    model: Any,
    tokenizer: PreTrainedTokenizerBase,
    questions: Sequence[tuple[str, str]],
    *,
    as_choice: bool,
    threshold: float | None = None,
    max_length: int | None = None,
    batch_size: int = 32,
) -> list[Answer]:
    """Answer questions that a trained reader has not seen.

    Args:
        model: the reader.
        tokenizer: its tokenizer.
        questions: pairs of a question and the text that may answer it, of any length.
        as_choice: whether the model was trained by :func:`choice`, see :func:`decode`.
        threshold: an answer that scores below it becomes "no answer", an empty text; None answers
            every question.
        max_length: sub-words of a window; None is as many as the model reads, at most 384.
        batch_size: windows in a batch.

    Returns:
        The best answer to each question.

    Raises:
        ValueError: if something else than pairs of strings comes, or a question leaves no room for
            its text.
    """
    for pair in questions:
        if len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise ValueError(f"expected pairs of a question and a text, got {pair!r}")
    if not questions:
        return []
    length = max_length or min(384, longest_input(model, tokenizer))
    none: dict[str, list[Any]] = {"text": [], "answer_start": []}
    rows = [{"question": q, "context": text, "answers": none} for q, text in questions]
    corpus = DatasetDict(test=Dataset.from_list(rows))
    encoded = encode(corpus, tokenizer, max_length=length, stride=length // 3)
    names, collate = ("start_logits", "end_logits"), partial(pad, tokenizer)
    starts, ends = outputs_of(model, list(encoded.splits["test"]), collate, names, batch_size)
    answers = decode((starts, ends), encoded, "test", as_choice=as_choice)
    silent = -np.inf if threshold is None else threshold
    return [a if a.score >= silent else Answer("", a.score) for a in answers]


def score(
    answers: Sequence[Answer] | Sequence[Sequence[Answer]],
    gold: Sequence[dict[str, Sequence[Any]]],
    *,
    threshold: float | None = None,
    language: str = "en",
    all_of: bool = False,
) -> dict[str, float]:
    """Exact match and F1 in percent.

    Args:
        answers: one a question; with ``all_of`` a list of them a question.
        gold: the column ``answers`` of the corpus.
        threshold: an answer that scores below it is left out; None keeps every answer.
        language: ``"en"`` counts as SQuAD's scorer, ``"zh"`` as CMRC 2018's.
        all_of: False, and the answers in ``gold`` are alternatives, of which the best counts
            (SQuAD, CMRC); True, and all of them are asked for (Quoref, whose scorer is followed).

    Raises:
        ValueError: for ``all_of`` in Chinese, for which there is no rule.
    """
    if all_of:
        if language != "en":
            raise ValueError(f"all_of counts as Quoref's scorer, for 'en'; got {language!r}")
        lists: list[list[Answer]] = [[a] if isinstance(a, Answer) else list(a) for a in answers]
        predictions = [
            [a.text for a in several if a.text and (threshold is None or a.score >= threshold)]
            for several in lists
        ]
        return _percent(
            span_scores.all_of(truth["text"], texts)
            for truth, texts in zip(gold, predictions, strict=True)
        )
    single = [answer for answer in answers if isinstance(answer, Answer)]
    if len(single) < len(answers):
        raise ValueError("expected one answer a question; for lists of them set all_of=True")
    return _percent(
        span_scores.best_of(
            truth["text"],
            "" if threshold is not None and answer.score < threshold else answer.text,
            language,
        )
        for answer, truth in zip(single, gold, strict=True)
    )


def tune_threshold(
    answers: Sequence[Answer], gold: Sequence[dict[str, Sequence[Any]]], language: str = "en"
) -> float:
    """The "no answer" threshold with the best F1 on the validation split.

    Args:
        answers: those of the validation split, never of the test split.
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
    tried, counts = thresholds.counts_above(scores, answered - silent, 0)
    return thresholds.best(tried, counts.true_positive)


def tune_threshold_of_several(
    logits: tuple[Sequence[np.ndarray], Sequence[np.ndarray]],
    encoded: Encoded,
    split: str,
    *,
    candidates: int = 40,
    max_answer_length: int = 30,
) -> float:
    """The threshold of :func:`decode_several` with the best F1 over all answers.

    Args:
        logits: see :func:`decode_several`.
        encoded: the encoded corpus.
        split: the validation split, never the test split.
        candidates: how many thresholds are tried: quantiles of the highest log-odds of the
            windows, so that each silences some more of them.
        max_answer_length: longest span, in sub-words.
    """
    places = _places(encoded, split)
    highest = [
        min(starts[first:last].max(), ends[first:last].max())
        for starts, ends, (first, last) in zip(*logits, places.context_spans, strict=True)
    ]
    # Just below a log-odds, its span is still said.
    tried = np.unique(np.quantile(highest, np.linspace(0, 1, candidates)) - 1e-4)
    gold = encoded.corpus[split]["answers"][:]
    f1 = []
    for threshold in tried:
        predictions = _several(logits, places, threshold, max_answer_length)
        f1.append(score(predictions, gold, all_of=True)["f1"])
    return thresholds.best(tried, f1)


def _windows(
    tokenizer: PreTrainedTokenizerBase,
    max_length: int,
    stride: int,
    batch: Mapping[str, list[Any]],
    rows: Sequence[int],
) -> dict[str, list[Any]]:
    """The columns of :class:`Encoded` for some questions."""
    questions = [question.strip() for question in batch["question"]]
    longest = max((len(ids) for ids in tokenizer(questions)["input_ids"]), default=0)
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
        ids = encoded["input_ids"][window]
        cls = tokenizer.cls_token_id
        columns["starts"].append([first + s for s in starts])
        columns["ends"].append([first + e for e in ends])
        columns["context_span"].append((first, last))
        columns["offsets"].append(offsets)
        columns["no_answer"].append(ids.index(cls) if cls in ids else 0)
        columns["question"].append(rows[source])
    return {**encoded, **columns}


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


class _Places(NamedTuple):
    """Where the windows of a split lie: read once, for a row of a dataset is slow to get."""

    contexts: list[str]
    questions: list[int]
    context_spans: list[tuple[int, int]]
    offsets: list[np.ndarray]


def _places(encoded: Encoded, split: str) -> _Places:
    windows = encoded.splits[split]
    offsets = [np.array(pairs, dtype=np.int32) for pairs in windows["offsets"]]
    contexts = encoded.corpus[split]["context"][:]
    return _Places(contexts, windows["question"][:], windows["context_span"][:], offsets)


def _several(logits: Any, places: _Places, threshold: float, longest: int) -> list[list[Answer]]:
    answers: list[list[Answer]] = [[] for _ in places.contexts]
    windows = zip(*logits, places.questions, places.context_spans, places.offsets, strict=True)
    for starts, ends, question, (first, last), offsets in windows:
        starts, ends = starts[first:last], ends[first:last]
        for s, e in _all_spans(starts, ends, threshold, longest):
            score_ = float(starts[s] + ends[e])
            answers[question].append(_answer(places.contexts[question], offsets, (s, e), score_))
    return [_apart(several) for several in answers]


def _percent(pairs: Iterable[tuple[float, float]]) -> dict[str, float]:
    rows = list(pairs)
    exact, f1 = np.array(rows).mean(0) if rows else (0.0, 0.0)
    return {"exact_match": 100 * float(exact), "f1": 100 * float(f1)}


def _answer(
    context: str,
    offsets: np.ndarray,
    span: tuple[int, int] | None,
    score_: float,
) -> Answer:
    if span is None:
        return Answer("", score_)
    begin, end = int(offsets[span[0]][0]), int(offsets[span[1]][1])
    # Some tokenizers count the space before a word to the word.
    text = context[begin:end]
    return Answer(text.strip(), score_, begin + len(text) - len(text.lstrip()))


def _all_spans(
    starts: np.ndarray, ends: np.ndarray, threshold: float, longest: int
) -> list[tuple[int, int]]:
    likely = np.flatnonzero(starts > threshold).tolist()
    spans = []
    for start, following in pairwise([*likely, len(starts)]):
        reach = ends[start : min(following, start + longest)]
        end = start + int(reach.argmax())
        if ends[end] > threshold:
            spans.append((start, end))
    return spans


def _apart(answers: list[Answer]) -> list[Answer]:
    disjoint: list[Answer] = []
    for answer in sorted(answers, key=lambda a: (-a.score, a.start)):
        end = answer.start + len(answer.text)
        if all(end <= k.start or k.start + len(k.text) <= answer.start for k in disjoint):
            disjoint.append(answer)
    return sorted(disjoint, key=lambda a: a.start)


def _best_span(
    starts: np.ndarray, ends: np.ndarray, longest: int, candidates: int
) -> tuple[tuple[int, int] | None, float]:
    if not len(starts):
        return None, -np.inf
    likely_starts = np.argsort(-starts)[:candidates, None]
    likely_ends = np.argsort(-ends)[None, :candidates]
    length = likely_ends - likely_starts
    allowed = (length >= 0) & (length < longest)
    scores = np.where(allowed, starts[likely_starts] + ends[likely_ends], -np.inf)
    s, e = np.unravel_index(scores.argmax(), scores.shape)
    if not scores[s, e] > -np.inf:
        return None, -np.inf
    return (int(likely_starts[s, 0]), int(likely_ends[0, e])), float(scores[s, e])

"""The four tasks in one form: rows to inputs, logits to scores, scores to a decision.

A decision is a bias for each logit. That is all that a threshold is, and it can be added to the
bias of a model's last layer for good.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from datasets import DatasetDict
from scipy.special import log_softmax
from transformers import PreTrainedTokenizerBase

from dicebook import MultiLabelDiceLoss, log_ratio_weights, make_loss
from dicebook.decision import FEW_POSITIVES
from dicelab.fit.calibration import calibrated
from dicelab.fit.data import Data
from dicelab.fit.options import FitError, Options
from dicelab.metrics.counts import Counts, average_precision
from dicelab.metrics.goal import Goal
from dicelab.own_loss import own_loss
from dicelab.tasks import labels as multi_label
from dicelab.tasks import pairs, tagging, thresholds
from dicelab.tasks.thresholds import best_threshold, calibrated_plug_in
from dicelab.tasks.valid_tags import valid_tags

#: Of the background, that tuning of tags tries. They are more than those of ``tune_outside_bias``,
#: which are the points of a curve too, and from which the stored numbers of chapters follow.
BIASES = np.linspace(-8, 8, 65)
SHRINK = 20  # positives that the common threshold is worth, beside those of a label


class Problem(abc.ABC):
    """A task of some data.

    Args:
        data: what was read.
        options: for the metric and the way to decide.
        scored_classes: what the counts are of, in the order of their classes; the labels unless
            given.
    """

    usual_metric = "f1"
    has_accuracy = True
    has_threshold = True
    what = ""
    untuned_rule = "at argmax"  # a decision without a threshold
    text_columns: Sequence[str] = ("sentence",)
    module: Any  # of the task, with its model and its collator
    splits: DatasetDict

    def __init__(
        self, data: Data, options: Options, scored_classes: Sequence[str] | None = None
    ) -> None:
        self.data = data
        self.options = options
        self.labels = data.labels
        self.score_columns = len(data.labels)
        self.scored_classes = list(scored_classes or data.labels)
        metric = "fbeta" if options.beta != 1 else options.metric or self.usual_metric
        if metric == "accuracy" and not self.has_accuracy:
            raise FitError(f"--metric: expected f1, macro-f1 or f2 for {self.what}, got accuracy")
        if (options.at_recall or options.at_precision) and not self.has_threshold:
            raise FitError(
                f"--at-recall and --at-precision: expected a decision of yes or no, got {self.what}"
            )
        asked = options.beta, options.at_recall, options.at_precision
        self.goal = Goal(metric, self.focus, *asked, self.macro, data.task == "labels")

    @property
    def focus(self) -> tuple[int, ...]:
        """The classes that F1 counts."""
        return tuple(range(len(self.scored_classes)))

    @property
    def macro(self) -> tuple[int, ...] | None:
        """The classes of macro F1; None for all."""
        return None

    def encode(self, tokenizer: PreTrainedTokenizerBase, max_length: int) -> dict[str, int]:
        """Encode the splits into :attr:`splits`; how many words or rows of each were cut."""

        def encode_batch(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
            texts = [batch[column] for column in self.text_columns]
            encoded = tokenizer(*texts, truncation=True, max_length=max_length)
            too_long = [bool(encoding.overflowing) for encoding in encoded.encodings]
            return {**encoded, "labels": self._targets(batch), "too_long": too_long}

        splits = self.data.splits.map(encode_batch, batched=True, load_from_cache_file=False)
        cut = {name: int(np.sum(split["too_long"][:])) for name, split in splits.items()}
        self.splits = splits.remove_columns("too_long")
        return cut

    def _targets(self, batch: dict[str, list[Any]]) -> list[Any]:
        """What a loss compares the logits of some texts with."""
        return batch["labels"]

    def model(self, encoder: str, tokenizer: PreTrainedTokenizerBase) -> Any:
        """A model with one logit a label."""
        return self.module.model(encoder, tokenizer, self.labels)

    def collator(self, tokenizer: PreTrainedTokenizerBase) -> Callable[[list[Any]], Any]:
        """Makes a batch of rows."""
        return self.module.collator(tokenizer)

    @abc.abstractmethod
    def class_counts(self) -> np.ndarray:
        """Training examples of each logit's class. Shape ``[labels]``."""

    def scores(self, logits: np.ndarray, split: Any) -> np.ndarray:
        """What is kept of a split's logits: one row a decision. Shape ``[n, labels]``."""
        return np.asarray(logits, dtype=np.float32)

    @abc.abstractmethod
    def decide(self, scores: np.ndarray, bias: np.ndarray) -> np.ndarray:
        """The decisions with a bias added to each logit."""

    @abc.abstractmethod
    def gold(self, split: Any) -> np.ndarray:
        """The gold decisions of a split."""

    @abc.abstractmethod
    def counts(self, split: Any, decisions: np.ndarray) -> Counts:
        """Counts of the decisions of a split. Shape ``[rows, classes]``."""

    def value(self, scores: np.ndarray, bias: np.ndarray, split: Any) -> float:
        """The goal's score of a split that is decided with a bias."""
        return float(self.goal.value(self.counts(split, self.decide(scores, bias)).sum(0)))

    @abc.abstractmethod
    def tuned(self, scores: np.ndarray, split: Any) -> np.ndarray:
        """The bias of each logit that is best on a split, which is never the test split.

        Of a task without a threshold it is 0.
        """

    def best_decision(self, scores: np.ndarray, split: Any) -> tuple[np.ndarray, float]:
        """The bias of :meth:`tuned`, and the goal's score of the same split with it."""
        bias = self.tuned(scores, split)
        return bias, self.value(scores, bias, split)

    @property
    def ranks(self) -> bool:
        """Whether models are chosen by average precision: few positives make a threshold noisy."""
        return self.data.binary and self.goal.metric in ("f1", "fbeta")

    @property
    def chosen_by(self) -> str:
        """What settings and passes are chosen by."""
        return "average_precision" if self.ranks else self.goal.metric

    def ranked(self, scores: np.ndarray, split: Any) -> Counts:
        """Counts ``[rows, thresholds]`` of a yes-or-no decision, for average precision."""
        return Counts.at_positives(np.asarray(self.margins(scores)), self.is_positive(split))

    def quality(self, scores: np.ndarray, split: Any) -> float:
        """The value of :attr:`chosen_by`, a score with the best decision."""
        if self.ranks:
            return float(average_precision(self.ranked(scores, split).sum(0)))
        return self.best_decision(scores, split)[1]

    def start_bias(self) -> np.ndarray:
        """The log prior of each class."""
        counts = self.class_counts().astype(np.float64)
        return np.log(np.maximum(counts, 0.5) / counts.sum())

    def loss(self, name: str) -> Any:
        """The loss of an arm.

        Args:
            name: a loss of the book, with the options of the guide; or ``MODULE:NAME``: a class to
                be called without arguments, or anything that takes logits and labels.

        Raises:
            FitError: there is no such module or name.
        """
        if ":" not in name:
            return self._loss(name)
        try:
            return own_loss(name, {})
        except ValueError as error:
            raise FitError(f"--losses: {error}") from None

    def _loss(self, name: str) -> torch.nn.Module:
        options: dict[str, Any] = {}
        if name == "wce":
            # A tag all of whose words were cut off has no example; one is the least there can be.
            counts = np.maximum(self.class_counts(), 1)
            options["weight"] = log_ratio_weights(torch.as_tensor(counts))
        if name in ("dl", "tl", "dsc") and len(self.labels) > 9:
            options["absent"] = "skip"
        return make_loss(name, **options)

    def decision_texts(self, decisions: np.ndarray, split: Any) -> list[str]:
        """Decisions as text, one a row."""
        names = [*self.labels, *self.data.unseen]
        return [names[i] for i in decisions]

    def gold_texts(self, split: Any) -> list[str]:
        """The gold decisions as text, one a row."""
        return self.decision_texts(self.gold(split), split)

    def rows(self, split: Any) -> list[Any]:
        """The rows of a split as :meth:`dicelab.fit.Model.predict` takes them."""
        columns = [split[name][:] for name in self.text_columns]
        return list(columns[0]) if len(columns) == 1 else list(zip(*columns, strict=True))

    def row_texts(self, split: Any) -> list[str]:
        """The rows' texts."""
        return [row if isinstance(row, str) else " | ".join(row) for row in self.rows(split)]

    def sureness(self, p: np.ndarray, decisions: np.ndarray, split: Any) -> np.ndarray:
        """How probable each row's decision is, by probabilities ``[decisions, labels]``."""
        return np.take_along_axis(p, decisions[:, None], -1)[:, 0]

    def margins(self, scores: np.ndarray, bias: np.ndarray | float = 0.0) -> np.ndarray | None:
        """Log-odds of the positive class, with a bias added to each logit; None without one.

        All decisions are in one row.
        """
        return None

    def calibration(self, scores: np.ndarray, split: Any) -> dict[str, Any]:
        """How the logits become probabilities that are right as often as they say."""
        return calibrated(scores[:, : len(self.labels)], self.gold(split))

    def is_positive(self, split: Any) -> np.ndarray:
        """Which of :meth:`margins` are of positives; a task without margins has none."""
        raise TypeError(
            f"{type(self).__name__}: expected a task with a positive class, got one without"
        )


class Tagging(Problem):
    """One tag a word: entities, rare words among others, or one class such as parts of speech.

    The decisions of entities are the best valid tags of a sentence. Their scores have one more
    column, which is 1 at the first word of a sentence.
    """

    what = "tags"
    module = tagging

    def __init__(self, data: Data, options: Options) -> None:
        self.entities = data.entities and "O" in data.labels
        self.has_threshold = self.entities or data.background is not None
        self.has_accuracy = not self.has_threshold
        self.usual_metric = "accuracy" if self.has_accuracy else "f1"
        if self.entities:
            self.untuned_rule = "without a threshold"  # but with valid tags
        self.positive = options.positive
        unseen = {t for s in data.splits.values() for tags in s["tags"][:] for t in tags}
        self.tags = [*data.labels, *sorted(unseen - set(data.labels))]
        # A type that train lacks is there to be missed.
        types = list(dict.fromkeys(tag[2:] for tag in self.tags if tag != "O"))
        super().__init__(data, options, types if self.entities else self.tags)
        self.score_columns += self.entities  # see with_starts
        if self.positive not in (None, *self.scored_classes):
            known = ", ".join(map(repr, self.scored_classes[:20]))
            raise FitError(f"--positive: expected one of {known}, got {self.positive!r}")
        self._index = {tag: i for i, tag in enumerate(self.tags)}
        # A column of a dataset is slow to read, and tuning asks for it at every bias.
        self._read: dict[int, tuple[Any, np.ndarray, np.ndarray, int]] = {}

    @property
    def focus(self) -> tuple[int, ...]:
        if self.positive in self.scored_classes:
            return (self.scored_classes.index(str(self.positive)),)
        background = None if self.entities else self.data.background
        return tuple(i for i, name in enumerate(self.scored_classes) if name != background)

    @property
    def macro(self) -> tuple[int, ...] | None:
        return self.focus

    def encode(self, tokenizer: PreTrainedTokenizerBase, max_length: int) -> dict[str, int]:
        encoded = tagging.encode(
            self.data.splits, tokenizer, max_length=max_length, outside=self.data.background
        )
        assert encoded.labels == self.labels
        self.splits, self._counts = encoded.splits, encoded.counts()
        return encoded.cut

    def class_counts(self) -> np.ndarray:
        return self._counts

    def scores(self, logits: np.ndarray, split: Any) -> np.ndarray:
        """The logits of each word, from the window that answers for it.

        Of a word that no window holds the background, or the first tag, is sure.
        """
        scores, held, _ = tagging.word_scores(logits, split)
        scores[~held] = -1e4
        scores[~held, 0] = 1e4
        return self.with_starts(scores, split["tokens"][:])

    def with_starts(self, scores: np.ndarray, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """Scores of the words of some sentences, of entities with the column of first words."""
        if not self.entities:
            return scores
        lengths = [len(words) for words in sentences if len(words)]
        first = np.zeros((len(scores), 1), dtype=np.float32)
        first[np.cumsum([0, *lengths])[:-1]] = 1
        return np.hstack([scores, first])

    def decide(self, scores: np.ndarray, bias: np.ndarray) -> np.ndarray:
        shifted = scores[:, : len(self.labels)] + bias.astype(np.float32)
        if not self.entities:
            return np.asarray(shifted.argmax(-1))
        lengths = np.diff(np.append(np.flatnonzero(scores[:, -1]), len(scores)))
        return valid_tags(shifted, lengths, self.labels)

    def _words(self, split: Any) -> tuple[Any, np.ndarray, np.ndarray, int]:
        """Of a split itself, the tag of each word, the sentence of each word, all sentences."""
        if id(split) not in self._read:
            tags = split["tags"][:]
            gold = np.array([self._index[tag] for row in tags for tag in row])
            rows = np.repeat(np.arange(len(tags)), [len(row) for row in tags])
            self._read[id(split)] = split, gold, rows, len(tags)
        return self._read[id(split)]

    def gold(self, split: Any) -> np.ndarray:
        return self._words(split)[1]

    def counts(self, split: Any, decisions: np.ndarray) -> Counts:
        _, gold, rows, total = self._words(split)
        if self.entities:
            return Counts.of_tags(gold, decisions, rows, self.tags, self.scored_classes, total)
        return Counts.of_classes(gold, decisions, len(self.scored_classes)).by_row(rows, total)

    def tuned(self, scores: np.ndarray, split: Any) -> np.ndarray:
        if not self.has_threshold:
            return np.zeros(len(self.labels))

        def of_background(bias: float) -> np.ndarray:
            return np.pad([bias], (0, len(self.labels) - 1))

        values = [self.value(scores, of_background(bias), split) for bias in BIASES]
        return of_background(thresholds.best(BIASES, values))

    def by_sentence(self, flat: Any, split: Any) -> list[list[Any]]:
        """By sentence; the rows of later windows, which have no words of their own, are none."""
        lengths = [len(words) for words in self.rows(split)]
        return [list(part) for part in np.split(np.asarray(flat), np.cumsum(lengths)[:-1])]

    def decision_texts(self, decisions: np.ndarray, split: Any) -> list[str]:
        tags = np.array(self.tags, dtype=object)[decisions]
        return [" ".join(row) for row in self.by_sentence(tags, split)]

    def rows(self, split: Any) -> list[Any]:
        return [tokens for tokens in split["tokens"][:] if tokens]

    def row_texts(self, split: Any) -> list[str]:
        return [" ".join(tokens) for tokens in self.rows(split)]

    def sureness(self, p: np.ndarray, decisions: np.ndarray, split: Any) -> np.ndarray:
        """That of the least probable word of each sentence."""
        words = super().sureness(p, decisions, split)
        return np.array([min(row) for row in self.by_sentence(words, split)])

    def margins(self, scores: np.ndarray, bias: np.ndarray | float = 0.0) -> np.ndarray | None:
        if not self.has_threshold:
            return None
        log_p = log_softmax(scores[:, : len(self.labels)].astype(np.float64) + bias, axis=-1)
        rest = np.logaddexp.reduce(log_p[:, 1:], axis=-1)
        return np.asarray(rest - log_p[:, 0])

    def is_positive(self, split: Any) -> np.ndarray:
        return np.asarray(self.gold(split) != 0)


class Sentences(Problem):
    """One class for a sentence or a pair."""

    module = pairs

    def __init__(self, data: Data, options: Options) -> None:
        self.what = f"{len(data.labels)} classes"
        self.usual_metric = "f1" if data.binary else "macro-f1"
        self.text_columns = ["sentence"] if data.task == "sentences" else ["sentence1", "sentence2"]
        super().__init__(data, options, [*data.labels, *data.unseen])
        if (options.at_recall or options.at_precision) and not data.binary:
            raise FitError(
                f"--at-recall and --at-precision: expected two classes, got {len(self.labels)}"
            )

    @property
    def focus(self) -> tuple[int, ...]:
        return (1,) if self.data.binary else tuple(range(len(self.scored_classes)))

    def _targets(self, batch: dict[str, list[Any]]) -> list[Any]:
        many = len(self.labels)  # no logit stands for a class that train lacks
        return [label if label < many else tagging.IGNORED for label in batch["label"]]

    def class_counts(self) -> np.ndarray:
        return np.bincount(self.gold(self.data.splits["train"]), minlength=len(self.labels))

    def decide(self, scores: np.ndarray, bias: np.ndarray) -> np.ndarray:
        return np.asarray((scores + bias.astype(np.float32)).argmax(-1))

    def gold(self, split: Any) -> np.ndarray:
        return np.asarray(split["label"][:])

    def counts(self, split: Any, decisions: np.ndarray) -> Counts:
        return Counts.of_classes(self.gold(split), decisions, len(self.scored_classes))

    def tuned(self, scores: np.ndarray, split: Any) -> np.ndarray:
        gold = self.gold(split)
        bias = np.zeros(len(self.labels))
        if self.data.binary:
            margins, gold = pairs.margins(scores), (gold == 1).astype(int)
            goal = self.goal
            plain = goal.at_recall is None and goal.at_precision is None
            if gold.sum() < FEW_POSITIVES and plain and goal.metric in ("f1", "fbeta"):
                bias[1] = -calibrated_plug_in(margins, gold, goal.beta)
            else:
                bias[1] = -best_threshold(margins, gold, goal)
            return bias
        # One number for all classes: how much of the prior is taken back.
        prior = self.start_bias()
        shares = np.linspace(-0.5, 1.5, 21)
        values = [self.value(scores, -share * prior, split) for share in shares]
        return -thresholds.best(shares, values) * prior

    def margins(self, scores: np.ndarray, bias: np.ndarray | float = 0.0) -> np.ndarray | None:
        return pairs.margins(scores + bias) if self.data.binary else None

    def is_positive(self, split: Any) -> np.ndarray:
        return np.asarray(self.gold(split) == 1)


class Labels(Problem):
    """Several labels a sentence, each yes or no."""

    what = "several labels"
    untuned_rule = "at one half"
    usual_metric = "macro-f1"
    has_accuracy = False
    module = multi_label

    def class_counts(self) -> np.ndarray:
        return np.asarray(np.sum(self.data.splits["train"]["labels"][:], axis=0))

    def start_bias(self) -> np.ndarray:
        counts, rows = self.class_counts(), len(self.data.splits["train"])
        p = (counts + 0.5) / (rows + 1)
        return np.asarray(np.log(p / (1 - p)))

    def _loss(self, name: str) -> torch.nn.Module:
        options = {}
        if name == "wce":
            positives = int(self.class_counts().sum())
            all_decisions = len(self.data.splits["train"]) * len(self.labels)
            options["weight"] = log_ratio_weights(
                torch.tensor([all_decisions - positives, positives])
            )
        if name == "dl":
            return MultiLabelDiceLoss()
        return make_loss(f"binary_{name}", **options)

    def decide(self, scores: np.ndarray, bias: np.ndarray) -> np.ndarray:
        return np.asarray(scores + bias.astype(np.float32) > 0)

    def gold(self, split: Any) -> np.ndarray:
        return np.asarray(split["labels"][:]).astype(bool)

    def counts(self, split: Any, decisions: np.ndarray) -> Counts:
        return Counts.of_labels(self.gold(split), decisions)

    def tuned(self, scores: np.ndarray, split: Any) -> np.ndarray:
        gold = self.gold(split).astype(np.int64)
        goal = self.goal
        metric = "fbeta" if goal.metric == "fbeta" else "f1"
        alone = Goal(metric, (0,), goal.beta, goal.at_recall, goal.at_precision)
        # A common threshold, also on the log-odds minus those of the prior: as if all labels were
        # as frequent.
        prior = self.start_bias()
        common = max(
            (
                best_threshold((scores - offset).ravel(), gold.ravel(), alone) + offset
                for offset in (prior, np.zeros_like(prior))
            ),
            key=lambda t: float(goal.value(Counts.of_labels(gold, scores > t).sum(0))),
        )
        if goal.metric in ("f1", "fbeta"):
            return -common
        counts = gold.sum(0)
        own = [
            best_threshold(scores[:, label], gold[:, label], alone) if n else common[label]
            for label, n in enumerate(counts)
        ]
        return -multi_label.shrunk(np.array(own), common, counts, SHRINK)

    def decision_texts(self, decisions: np.ndarray, split: Any) -> list[str]:
        return [
            "|".join(n for n, said in zip(self.labels, row, strict=True) if said)
            for row in decisions
        ]

    def sureness(self, p: np.ndarray, decisions: np.ndarray, split: Any) -> np.ndarray:
        """That of the least probable decision of a row."""
        return np.asarray(np.where(decisions, p, 1 - p).min(-1))

    def margins(self, scores: np.ndarray, bias: np.ndarray | float = 0.0) -> np.ndarray | None:
        return (scores + bias).ravel()

    def is_positive(self, split: Any) -> np.ndarray:
        return self.gold(split).ravel()


def problem_of(data: Data, options: Options) -> Problem:
    """The task of some data."""
    classes: dict[str, type[Problem]] = {"tagging": Tagging, "labels": Labels}
    return classes.get(data.task, Sentences)(data, options)

"""How unbalanced a corpus is, as in Table 1 of the paper, and the same with another ratio."""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import cache
from typing import NamedTuple

import numpy as np
from datasets import Dataset, DatasetDict

from dicelab.corpora.errors import CorpusError
from dicelab.corpora.features import check_task


class Imbalance(NamedTuple):
    """Counts of negative and positive examples."""

    negative: int
    positive: int

    @property
    def ratio(self) -> float:
        """Negatives for each positive; infinite where there is no positive."""
        return self.negative / self.positive if self.positive else float("inf")


def imbalance(
    dataset: Dataset | DatasetDict, *, task: str, positive: Collection[str] | None = None
) -> Imbalance:
    """Count negative and positive examples, by the conventions that give the paper's Table 1.

    - ``"tagging"``: an example is a token; tag ``O`` is negative, every other positive. In part of
      speech no tag is negative: say by ``positive`` which tags count as positive.
    - ``"reading"``: an example is a whitespace-separated word of the context (a character, if most
      of the context is Chinese), once for each question about it; a question with an answer has
      two positives, the word where the answer starts and the word where it ends (also when they
      are the same word), and all the others are negative; a question without an answer has no
      positive.
    - ``"pairs"``, ``"sentences"``: an example is a row; label 0 is negative, 1 positive.
    - ``"labels"``: an example is a row with one of the labels that occur in the dataset: positive
      if the row has the label.

    Args:
        dataset: Rows in the form of the task. Of a ``DatasetDict`` the split ``"train"`` is
            counted, as the paper does.
        task: One of the above.
        positive: For tagging, the tags that are positive, all others being negative; by default
            all but ``O``.

    Returns:
        The counts; ``.ratio`` is negatives divided by positives.

    Raises:
        CorpusError: Unknown task, tags without an ``O`` among them and no ``positive`` given, or
            labels other than 0 and 1.

    Source:
        Table 1 of Li et al. (2020). Its SQuAD 1.1 row, 10.3M and 175K, is met by 10,315,932 and
        175,198, of which the ratio is 58.88; the paper prints 55.9.
    """
    dataset = dataset["train"] if isinstance(dataset, DatasetDict) else dataset
    rows = by_row(dataset, task=task, positive=positive)
    return Imbalance(sum(row.negative for row in rows), sum(row.positive for row in rows))


def by_row(
    dataset: Dataset, *, task: str, positive: Collection[str] | None = None
) -> list[Imbalance]:
    """The counts of every row; Args and Raises as of :func:`imbalance`."""
    check_task(task)
    if task == "tagging":
        return _of_tags(dataset, positive)
    if positive is not None:
        raise CorpusError(f"positive: expected tags for tagging alone, got them for {task}")
    if task == "reading":
        lengths = cache(_length)
        asked = zip(dataset["context"][:], dataset["answers"][:], strict=True)
        ends = [(lengths(context), 2 * bool(answers["text"])) for context, answers in asked]
        return [Imbalance(words - positives, positives) for words, positives in ends]
    if task == "labels":
        rows = dataset["labels"][:]
        classes = len({label for labels in rows for label in labels})
        return [Imbalance(classes - len(labels), len(labels)) for labels in rows]
    labels = dataset["label"][:]
    if foreign := set(labels) - {0, 1}:
        raise CorpusError(f"{task}: expected the labels 0 and 1, got also {sorted(foreign)}")
    return [Imbalance(1 - label, label) for label in labels]


def _of_tags(dataset: Dataset, positive: Collection[str] | None) -> list[Imbalance]:
    rows = dataset["tags"][:]
    wanted = {tag for tags in rows for tag in tags if tag != "O"} if positive is None else positive
    found = [sum(tag in wanted for tag in tags) for tags in rows]
    if positive is None and rows and sum(found) == sum(map(len, rows)):
        raise CorpusError(
            "expected entity tags, O among them; in part of speech no tag is negative, unless "
            "'positive' names the tags that are positive"
        )
    return [Imbalance(len(tags) - n, n) for tags, n in zip(rows, found, strict=True)]


def _length(context: str) -> int:
    # Chinese is written without spaces: there, as in the corpora's taggers, a token is a character.
    characters = "".join(context.split())
    chinese = sum("\u4e00" <= c <= "\u9fff" for c in characters)
    return len(characters) if 2 * chinese > len(characters) else len(context.split())


def rebalance(
    dataset: Dataset,
    ratio: float,
    *,
    task: str,
    size: int | None = None,
    positive: Collection[str] | None = None,
    seed: int = 0,
) -> Dataset:
    """Leave rows out, until there are so many negatives for each positive.

    What is negative and positive is what :func:`imbalance` counts. Rows
    are left out whole and at random, and only rows of the side that there is too much of: pairs and
    sentences of one label, until the ratio is exact up to rounding; in tagging, sentences with more
    (or fewer) negative tokens for each positive than ``ratio``; in reading, questions, whose words
    count once for each question (those without an answer are negatives alone). There the last row
    left out decides how near the ratio comes: within the length of one row.

    The text of the rows is not touched, so a corpus of tagging changes with its ratio in other ways
    too: with few negatives it keeps its dense sentences, with many its empty ones.

    Args:
        dataset: One split, in the form of the task.
        ratio: Negatives for each positive, above 0.
        task: ``"tagging"``, ``"reading"``, ``"pairs"`` or ``"sentences"``.
        size: Rows of the result, drawn at random and in equal share from either side, so that sets
            of several ratios are of one size; by default all that the ratio leaves.
        positive: For tagging, the tags that count as positive; by default all but ``O``.
        seed: Of every draw.

    Returns:
        Rows of ``dataset``, in their order.

    Raises:
        CorpusError: Leaving rows out does not lead within a factor of two of the ratio, or leaves
            fewer than ``size`` rows; or see :func:`imbalance`.
    """
    if not (isinstance(ratio, int | float) and 0 < ratio < math.inf):
        raise CorpusError(f"ratio: expected negatives for each positive, above 0, got {ratio!r}")
    counts = np.array(by_row(dataset, task=task, positive=positive), dtype=float).reshape(-1, 2)
    excess = counts[:, 0] - ratio * counts[:, 1]  # negatives beyond the ratio, row by row
    too_much = excess > 0 if excess.sum() > 0 else excess < 0
    draw = np.random.default_rng(seed)
    order = draw.permutation(np.flatnonzero(too_much))
    # Of a random order the first so many rows are left out, after which the rest is nearest to the
    # ratio; of either side something stays.
    rest = counts.sum(0) - np.concatenate([np.zeros((1, 2)), counts[order].cumsum(0)])
    far = np.where(rest.min(1) > 0, np.abs(rest[:, 0] - ratio * rest[:, 1]), np.inf)
    out = int(far.argmin())
    negative, positives = rest[out]
    if not ratio / 2 <= negative / max(positives, 1e-9) <= 2 * ratio:
        have, had = rest[0]
        raise CorpusError(
            f"ratio: expected one that rows of {have:,.0f} negatives and {had:,.0f} positives can "
            f"have, got {ratio:g}"
        )
    rows = np.setdiff1d(np.arange(len(counts)), order[:out])
    if size is not None:
        if not 0 < size <= len(rows):
            raise CorpusError(
                f"size: expected 1 to {len(rows):,} rows at a ratio of {ratio:g}, got {size!r}"
            )
        sides = [rows[excess[rows] <= 0], rows[excess[rows] > 0]]
        first = round(size * len(sides[0]) / len(rows))
        shares = (first, size - first)
        drawn = [draw.choice(s, n, replace=False) for s, n in zip(sides, shares, strict=True)]
        rows = np.sort(np.concatenate(drawn))
    return dataset.select(rows)

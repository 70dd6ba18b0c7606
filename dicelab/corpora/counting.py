"""How unbalanced a corpus is: negatives against positives, as in Table 1 of the paper."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import NamedTuple

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
        kinds = len({label for labels in rows for label in labels})
        return [Imbalance(kinds - len(labels), len(labels)) for labels in rows]
    labels = dataset["label"][:]
    if foreign := set(labels) - {0, 1}:
        raise CorpusError(f"{task}: expected the labels 0 and 1, got also {sorted(foreign)}")
    return [Imbalance(1 - label, label) for label in labels]


def _of_tags(dataset: Dataset, positive: Collection[str] | None) -> list[Imbalance]:
    rows = dataset["tags"][:]
    if positive is not None:
        positives = [sum(tag in positive for tag in tags) for tags in rows]
    else:
        positives = [len(tags) - tags.count("O") for tags in rows]
        if rows and sum(positives) == sum(map(len, rows)):
            raise CorpusError(
                "expected entity tags, O among them; in part of speech no tag is negative, unless "
                "'positive' names the tags that are positive"
            )
    return [Imbalance(len(tags) - n, n) for tags, n in zip(rows, positives, strict=True)]


def _length(context: str) -> int:
    # Chinese is written without spaces: there, as in the corpora's taggers, a token is a character.
    characters = "".join(context.split())
    chinese = sum("\u4e00" <= c <= "\u9fff" for c in characters)
    return len(characters) if 2 * chinese > len(characters) else len(context.split())

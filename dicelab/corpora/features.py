"""The five forms in which every corpus reaches a task, one a kind of task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from datasets import Dataset, Features, List, Value

from dicelab.corpora.errors import CorpusError

#: task -> the features of its rows.
FORMS: dict[str, Features] = {
    "tagging": Features({"tokens": List(Value("string")), "tags": List(Value("string"))}),
    "reading": Features(
        {
            "id": Value("string"),
            "title": Value("string"),
            "context": Value("string"),
            "question": Value("string"),
            "answers": {"text": List(Value("string")), "answer_start": List(Value("int32"))},
        }
    ),
    "pairs": Features(
        {"sentence1": Value("string"), "sentence2": Value("string"), "label": Value("int64")}
    ),
    "sentences": Features({"sentence": Value("string"), "label": Value("int64")}),
    "labels": Features({"sentence": Value("string"), "labels": List(Value("string"))}),
}


def check_task(task: str) -> None:
    """Refuse a task that has no form.

    Raises:
        CorpusError: The task is not one of ``FORMS``.
    """
    if task not in FORMS:
        raise CorpusError(f"task: expected one of {', '.join(FORMS)}, got {task!r}")


def to_dataset(columns: Mapping[str, list[Any]], *, task: str) -> Dataset:
    """Make a dataset of a task's form.

    Args:
        columns: Column name to its values, one a row.
        task: One of ``FORMS``.

    Raises:
        CorpusError: A column is missing or unexpected, or a value is of the wrong type.
    """
    check_task(task)
    features = FORMS[task]
    if set(columns) != set(features):
        raise CorpusError(
            f"{task}: expected the columns {', '.join(features)}, got {', '.join(columns)}"
        )
    try:
        return Dataset.from_dict({name: columns[name] for name in features}, features=features)
    except (ValueError, TypeError, OverflowError) as error:
        raise CorpusError(f"{task}: the rows do not have the expected form; {error}") from error


def validate(dataset: Dataset, *, task: str) -> Dataset:
    """Check that a dataset has its task's form, and return it.

    Beside the features: as many tags as tokens and no empty sentence (tagging); every answer stands
    in its context at its offset (reading); no negative label (pairs, sentences); no label twice and
    no empty one (labels).

    Args:
        dataset: What a reader or a generator made.
        task: One of ``FORMS``.

    Raises:
        CorpusError: With the row's number, from 0, where a row is wrong.
    """
    check_task(task)
    features = Features(dataset.features)
    if task == "reading":  # a corpus whose several answers are all needed says so in every row
        features.pop("all_answers", None)
    if features != FORMS[task]:
        raise CorpusError(f"{task}: expected {FORMS[task]}, got {dataset.features}")
    for number, problem in _problems(dataset, task):
        raise CorpusError(f"{task}, row {number}: {problem}")
    return dataset


def _problems(dataset: Dataset, task: str) -> Iterable[tuple[int, str]]:
    for number, row in enumerate(dataset.to_list()):
        if task == "tagging" and not len(row["tokens"]) == len(row["tags"]) > 0:
            tags, tokens = len(row["tags"]), len(row["tokens"])
            yield number, f"expected a tag a token, got {tags} tags, {tokens} tokens"
        elif task == "reading":
            for text, start in zip(*row["answers"].values(), strict=True):
                actual = row["context"][max(0, start) :][: len(text)] * (start >= 0)
                if actual != text or not text:
                    yield number, f"expected {text!r} at offset {start}, got {actual!r}"
        elif task == "labels" and not (
            len({*row["labels"]}) == len(row["labels"]) and all(row["labels"])
        ):
            yield number, f"expected labels that differ, none of them empty, got {row['labels']}"
        elif task in ("pairs", "sentences") and (row["label"] is None or row["label"] < 0):
            yield number, f"expected a label of 0 or more, got {row['label']}"

"""Reading comprehension: SQuAD JSON and the corpora that share its format.

One reader for SQuAD 1.1 and 2.0, Quoref and CMRC 2018. It is strict about the structure and
forgiving about one thing, the character offset of an answer, and it counts what it forgave.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from datasets import Dataset, Features, Value

from dicebook.atomic import atomic
from dicebook.corpora.errors import CorpusError
from dicebook.corpora.forms import FORMS
from dicebook.corpora.text import read_text

#: An answer that stands at most so many characters from its recorded offset is moved there. One of
#: Quoref's stands 12 away and occurs eight times.
MAX_SHIFT = 15

#: ``answer_start`` of a gold answer that cannot be found in its context.
UNALIGNED = -1

#: Keys of ``repairs``.
SHIFTED = f"answers moved by 1 to {MAX_SHIFT} characters"
LOCATED = "answers without a usable offset, found as the only occurrence of their text"
NOT_FOUND = "answers that cannot be aligned"
NOT_FOUND_QUESTION = "questions left out, for none of their answers can be aligned"


def align(context: str, text: str, start: int) -> tuple[int, str]:
    """Find where an answer stands in its context.

    Args:
        context: The paragraph.
        text: The answer, not empty.
        start: Its recorded offset, in characters; any integer.

    Returns:
        The offset at which ``context`` contains ``text``, and what it took: ``""`` (it stands at
        ``start``), :data:`SHIFTED` (its nearest occurrence is at most :data:`MAX_SHIFT` characters
        away; the left one of two equally near) or :data:`LOCATED` (its only occurrence, however
        far). Otherwise ``(-1, NOT_FOUND)``: no guess is made between several.
    """
    if 0 <= start <= len(context):
        if context.startswith(text, start):
            return start, ""
        left = context.rfind(text, 0, start + len(text))
        right = context.find(text, start)
        near = [at for at in (left, right) if at >= 0 and abs(at - start) <= MAX_SHIFT]
        if near:
            return min(near, key=lambda at: abs(at - start)), SHIFTED
    first = context.find(text)
    if first >= 0 and context.find(text, first + 1) < 0:
        return first, LOCATED
    return UNALIGNED, NOT_FOUND


def read_squad(
    path: str | PathLike[str],
    repairs: Counter[str] | None = None,
    *,
    unaligned: Literal["drop", "keep"] = "drop",
    all_answers: bool | None = None,
) -> Dataset:
    """Read a file in SQuAD's JSON format, version 1.1 or 2.0.

    Several answers to a question mean one of two things. In SQuAD and CMRC 2018 they are
    *alternatives*: what several annotators marked, any one of which is right. In Quoref *all* of
    them are needed: "Which two people ...?" has two spans. Only a dataset of the second kind has
    the column ``all_answers``, true in every row.

    Args:
        path: The file: UTF-8, with or without a byte order mark.
        repairs: What was repaired or left out is added here, by kind; ``print`` it.
        unaligned: What becomes of an answer that cannot be found in its context (see
            :func:`align`). ``"drop"`` leaves it out, and with it a question that has no other
            answer: it must not pass for an unanswerable one. ``"keep"`` keeps its text, so that
            predictions can be scored against it, with the offset -1.
        all_answers: Whether several answers are all needed. By default what the file says in its
            top-level key ``"all_answers"`` (:func:`write_squad` writes it), else false.

    Returns:
        One row a question, in the file's order: ``{"id": str, "title": str, "context": str,
        "question": str, "answers": {"text": [str], "answer_start": [int32]}}``, and
        ``"all_answers": bool`` as described. An unanswerable question has no answers.

    Raises:
        CorpusError: The file is missing, is not UTF-8 or not JSON, lacks a field or has one of the
            wrong type, repeats an id, answers an impossible question, or asks no question. The
            message names the file and the place in it.
    """
    if unaligned not in ("drop", "keep"):
        raise CorpusError(f"unaligned: expected 'drop' or 'keep', got {unaligned!r}")
    path = Path(path)
    repairs = Counter() if repairs is None else repairs
    corpus = _parse(path, repairs)
    if all_answers is None:
        all_answers = _get(path, corpus, "", "all_answers", bool, default=False)
    columns: dict[str, list[Any]] = {name: [] for name in FORMS["reading"]}
    seen: dict[str, str] = {}
    for title, context, question, where in _questions(path, corpus):
        key = _get(path, question, where, "id", str)
        if key in seen:
            raise _error(path, f"{where}.id", f"an id other than that of {seen[key]}", key)
        seen[key] = where
        text = _get(path, question, where, "question", str)
        answers = _answers(path, question, where, context, repairs)
        if unaligned == "drop" and UNALIGNED in answers["answer_start"]:
            answers = _aligned(answers)
            if not answers["text"]:
                repairs[NOT_FOUND_QUESTION] += 1
                continue
        row = (key, title, context, text, answers)
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    if not columns["id"]:
        raise CorpusError(f"{path}: expected at least one question, got none")
    features = Features(FORMS["reading"])
    if all_answers:
        columns["all_answers"] = [True] * len(columns["id"])
        features["all_answers"] = Value("bool")
    return Dataset.from_dict(columns, features=features)


def write_squad(dataset: Dataset, path: str | PathLike[str]) -> None:
    """Write questions as SQuAD 2.0 JSON, the canonical form that :func:`read_squad` reads back.

    Args:
        dataset: Rows as :func:`read_squad` returns them. Neighbouring rows with the same title
            make one article, those with the same context as well one paragraph, so the order of
            the rows is kept.
        path: The file to write. It is replaced in one step: a reader sees the old file or the new.

    Raises:
        CorpusError: The dataset lacks one of the columns.
    """
    path = Path(path)
    missing = set(FORMS["reading"]) - set(dataset.column_names)
    if missing:
        raise CorpusError(
            f"{path}: expected the columns {', '.join(FORMS['reading'])}, "
            f"got none named {', '.join(sorted(missing))}"
        )
    articles = []
    for title, rows in groupby(dataset.to_list(), key=lambda row: row["title"]):
        paragraphs = [
            {"context": context, "qas": [_question_json(row) for row in same]}
            for context, same in groupby(rows, key=lambda row: row["context"])
        ]
        articles.append({"title": title, "paragraphs": paragraphs})
    corpus: dict[str, Any] = {"version": "v2.0"}
    if "all_answers" in dataset.column_names:
        corpus["all_answers"] = True
    corpus["data"] = articles
    with atomic(path) as partial:
        partial.write_text(json.dumps(corpus, ensure_ascii=False) + "\n", encoding="utf-8")


def _question_json(row: dict[str, Any]) -> dict[str, Any]:
    answers = row["answers"]
    pairs = zip(answers["text"], answers["answer_start"], strict=True)
    return {
        "id": row["id"],
        "question": row["question"],
        "answers": [{"text": text, "answer_start": start} for text, start in pairs],
        "is_impossible": not answers["text"],
    }


def _parse(path: Path, repairs: Counter[str]) -> dict[str, Any]:
    text = read_text(path, repairs)
    try:
        corpus = json.loads(text)
    except json.JSONDecodeError as error:
        got = f"{error.msg} (column {error.colno})" if text.strip() else "an empty file"
        raise CorpusError.at(path, error.lineno, f"expected JSON, got {got}") from None
    except (RecursionError, ValueError) as error:  # too deep; a number of thousands of digits
        raise CorpusError(f"{path}: expected SQuAD JSON, got {error}") from None
    if "\\u" in text:  # half of a surrogate pair, written as an escape, is no character
        try:
            json.dumps(corpus, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise CorpusError(f"{path}: expected characters, got a lone surrogate") from None
    if type(corpus) is not dict:
        raise _error(path, "the top level", "an object", corpus)
    return corpus


def _questions(
    path: Path, corpus: dict[str, Any]
) -> Iterator[tuple[str, str, dict[str, Any], str]]:
    """Walk the file: title, context, question object and its JSON path."""
    for article, at in _objects(path, corpus, "", "data"):
        title = _get(path, article, at, "title", str, default="")
        for paragraph, inside in _objects(path, article, f"{at}.", "paragraphs"):
            context = _get(path, paragraph, inside, "context", str)
            for question, where in _objects(path, paragraph, f"{inside}.", "qas"):
                yield title, context, question, where


def _answers(
    path: Path, question: dict[str, Any], where: str, context: str, repairs: Counter[str]
) -> dict[str, list[Any]]:
    texts, starts = [], []
    for answer, at in _objects(path, question, f"{where}.", "answers"):
        text = _get(path, answer, at, "text", str)
        if not text:
            raise _error(path, f"{at}.text", "the answer's text", text)
        start, repair = align(context, text, _get(path, answer, at, "answer_start", int))
        if repair:
            repairs[repair] += 1
        texts.append(text)
        starts.append(start)
    impossible = _get(path, question, where, "is_impossible", bool, default=not texts)
    if impossible == bool(texts):
        expected = "no answer, for is_impossible is true" if impossible else "at least one answer"
        raise _error(path, f"{where}.answers", expected, texts)
    return {"text": texts, "answer_start": starts}


def _aligned(answers: dict[str, list[Any]]) -> dict[str, list[Any]]:
    keep = [index for index, start in enumerate(answers["answer_start"]) if start != UNALIGNED]
    return {name: [values[index] for index in keep] for name, values in answers.items()}


_KINDS: dict[type, str] = {
    str: "a string",
    int: "an integer",
    bool: "true or false",
    list: "a list",
}
_REQUIRED = object()


def _get(
    path: Path, parent: dict[str, Any], where: str, key: str, kind: type, default: Any = _REQUIRED
) -> Any:
    at = f"{where}.{key}" if where else key
    if key not in parent:
        if default is _REQUIRED:
            raise CorpusError(f"{path}: {at}: expected {_KINDS[kind]}, got no such field")
        return default
    value = parent[key]
    if type(value) is not kind:  # to isinstance, true is an integer
        raise _error(path, at, _KINDS[kind], value)
    return value


def _objects(
    path: Path, parent: dict[str, Any], prefix: str, key: str
) -> Iterator[tuple[dict[str, Any], str]]:
    for index, value in enumerate(_get(path, parent, prefix.rstrip("."), key, list)):
        at = f"{prefix}{key}[{index}]"
        if type(value) is not dict:
            raise _error(path, at, "an object", value)
        yield value, at


def _error(path: Path, where: str, expected: str, value: object) -> CorpusError:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return CorpusError(f"{path}: {where}: expected {expected}, got {shown}")

"""Reading comprehension: SQuAD JSON and the corpora that share its format.

One reader for SQuAD 1.1 and 2.0, Quoref and CMRC 2018. It is strict about the structure, which
pydantic checks, and forgiving about one thing, the character offset of an answer; it counts what it
forgave.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from datasets import Dataset, Features, Value
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from dicelab.atomic import atomic
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.features import FORMS
from dicelab.corpora.text import read_text

#: An answer that stands at most so many characters from its recorded offset is moved there. One of
#: Quoref's stands 12 away and occurs eight times.
MAX_SHIFT = 15

#: Keys of ``repairs``.
SHIFTED = f"answers moved by 1 to {MAX_SHIFT} characters"
LOCATED = "answers without a usable offset, found as the only occurrence of their text"
NO_TEXT = "answers without a text left out"
NOT_FOUND = "answers that cannot be aligned"
NOT_FOUND_QUESTION = "questions left out, for none of their answers can be aligned"


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True)


def _whole(value: Any) -> Any:
    """Whole numbers as annotation tools write them: ``25.0``, ``"25"``."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _listed(value: Any) -> Any:
    """Answers as ``datasets`` has them, an object of lists, as a list of objects."""
    if isinstance(value, dict) and {"text", "answer_start"} <= set(value):
        texts, starts = value["text"], value["answer_start"]
        if isinstance(texts, list) and isinstance(starts, list) and len(texts) == len(starts):
            return [{"text": t, "answer_start": s} for t, s in zip(texts, starts, strict=True)]
    return value


class _Answer(_Strict):
    text: str
    answer_start: Annotated[int, BeforeValidator(_whole)]


class _Question(_Strict):
    id: Annotated[str, BeforeValidator(lambda value: str(value) if type(value) is int else value)]
    question: str
    answers: Annotated[list[_Answer], BeforeValidator(_listed)] = []
    is_impossible: bool = False

    @model_validator(mode="after")
    def _agrees(self) -> _Question:
        answered = any(answer.text for answer in self.answers)
        if "is_impossible" in self.model_fields_set and self.is_impossible == answered:
            raise ValueError("expected no answer where is_impossible is true, else at least one")
        return self


class _Paragraph(_Strict):
    context: str
    qas: list[_Question]

    @model_validator(mode="before")
    @classmethod
    def _of_one(cls, value: Any) -> Any:
        flat = isinstance(value, dict) and {"question", "context"} <= set(value)
        return {"context": value["context"], "qas": [value]} if flat else value


class _Article(_Strict):
    title: str = ""
    paragraphs: list[_Paragraph]

    @model_validator(mode="before")
    @classmethod
    def _of_one(cls, value: Any) -> Any:
        if isinstance(value, dict) and "context" in value and "paragraphs" not in value:
            return {"title": value.get("title", ""), "paragraphs": [value]}
        return value


class _Corpus(_Strict):
    all_answers: bool = False
    data: list[_Article]

    @model_validator(mode="before")
    @classmethod
    def _of_list(cls, value: Any) -> Any:
        return {"data": value} if isinstance(value, list) else value


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
        near = [place for place in (left, right) if place >= 0 and abs(place - start) <= MAX_SHIFT]
        if near:
            return min(near, key=lambda place: abs(place - start)), SHIFTED
    first = context.find(text)
    if first >= 0 and context.find(text, first + 1) < 0:
        return first, LOCATED
    return -1, NOT_FOUND


def read_squad(
    path: str | PathLike[str],
    repairs: Counter[str] | None = None,
    *,
    all_answers: bool | None = None,
) -> Dataset:
    """Read a file in SQuAD's JSON format, version 1.1 or 2.0, or in the usual forms of it.

    Those are a list of articles, paragraphs or questions, a question a line, answers as an object
    of lists, and numbers as ids.

    Several answers to a question mean one of two things. In SQuAD and CMRC 2018 they are
    *alternatives*: what several annotators marked, any one of which is right. In Quoref *all* of
    them are needed: "Which two people ...?" has two spans. Only a dataset of the second kind has
    the column ``all_answers``, true in every row.

    An answer that cannot be found in its context (see :func:`align`) is left out, and with it a
    question that has no other: it must not pass for an unanswerable one.

    Args:
        path: The file: UTF-8, with or without a byte order mark.
        repairs: What was repaired or left out is added here, by kind; ``print`` it.
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
    repairs = Counter() if repairs is None else repairs
    corpus = _parse(path, read_text(path, repairs))
    if all_answers is None:
        all_answers = corpus.all_answers
    rows: dict[str, dict[str, Any] | None] = {}
    paragraphs = ((article.title, one) for article in corpus.data for one in article.paragraphs)
    for title, paragraph in paragraphs:
        for asked in paragraph.qas:
            if asked.id in rows:
                raise CorpusError(f"{path}: expected each id once, got {asked.id!r} twice")
            answers = _aligned(paragraph.context, asked.answers, repairs)
            rows[asked.id] = {
                "id": asked.id,
                "title": title,
                "context": paragraph.context,
                "question": asked.question,
                "answers": answers,
            }
            if not answers["text"] and any(answer.text for answer in asked.answers):
                repairs[NOT_FOUND_QUESTION] += 1
                rows[asked.id] = None
    questions = [row for row in rows.values() if row is not None]
    if not questions:
        raise CorpusError(f"{path}: expected at least one question, got none")
    features = Features(FORMS["reading"])
    columns = {name: [row[name] for row in questions] for name in features}
    if all_answers:
        columns["all_answers"] = [True] * len(questions)
        features["all_answers"] = Value("bool")
    return Dataset.from_dict(columns, features=features)


def _parse(path: str | PathLike[str], text: str) -> _Corpus:
    first, _, rest = text.strip().partition("\n")
    if rest and first.endswith("}") and first.startswith("{"):  # a question a line
        text = f"[{','.join(line for line in text.split(chr(10)) if line.strip())}]"
    try:
        return _Corpus.model_validate_json(text)
    except ValidationError as errors:
        error = errors.errors(include_url=False)[0]
        place = "".join(f"[{key}]" if type(key) is int else f".{key}" for key in error["loc"])
        problem = error["msg"].replace("Input should be", "expected").removeprefix("Value error, ")
        if error["type"] != "json_invalid":
            got = repr(error["input"])
            problem += f", got {got if len(got) <= 60 else got[:57] + '...'}"
        where = f"{path}: {place.removeprefix('.')}" if place else f"{path}"
        raise CorpusError(f"{where}: {problem}") from None


def _aligned(context: str, answers: list[_Answer], repairs: Counter[str]) -> dict[str, list[Any]]:
    aligned: dict[str, list[Any]] = {"text": [], "answer_start": []}
    for answer in answers:
        if not answer.text:
            repairs[NO_TEXT] += 1
            continue
        start, repair = align(context, answer.text, answer.answer_start)
        if repair:
            repairs[repair] += 1
        if start >= 0:
            aligned["text"].append(answer.text)
            aligned["answer_start"].append(start)
    return aligned


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
    corpus: dict[str, Any] = {"version": "v2.0", "data": []}
    if "all_answers" in dataset.column_names:
        corpus["all_answers"] = True
    for title, rows in groupby(dataset.to_list(), key=lambda row: row["title"]):
        paragraphs = []
        for context, same in groupby(rows, key=lambda row: row["context"]):
            questions = [
                {
                    "id": row["id"],
                    "question": row["question"],
                    "answers": _listed(row["answers"]),
                    "is_impossible": not row["answers"]["text"],
                }
                for row in same
            ]
            paragraphs.append({"context": context, "qas": questions})
        corpus["data"].append({"title": title, "paragraphs": paragraphs})
    with atomic(path) as partial:
        partial.write_text(json.dumps(corpus, ensure_ascii=False) + "\n", encoding="utf-8")

"""Tagged text in columns, one token a line, a blank line between sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from datasets import Dataset

from dicelab.corpora.errors import CorpusError
from dicelab.corpora.forms import to_dataset
from dicelab.corpora.tags import scheme_of, to_iob2
from dicelab.corpora.text import read_lines

#: The layout of Universal NER's .iob2 files: number, token, tag, two more columns; comments.
UNIVERSAL_NER: Mapping[str, Any] = {
    "token_column": 1,
    "tag_column": 2,
    "separator": "\t",
    "comments": True,
}

_SPACES = re.compile(r"[ \t]+")
_SEGMENTED = re.compile(r".[0-9]", re.DOTALL)


def read_conll(
    path: str | PathLike[str],
    *,
    token_column: int = 0,
    tag_column: int = -1,
    separator: str | None = None,
    comments: bool = False,
    tags: Literal["auto", "entities", "plain"] = "auto",
    repairs: Counter[str] | None = None,
) -> Dataset:
    r"""Read a file of tagged sentences; entity tags come out as IOB2 whatever they were.

    Sentences end at an empty line or one of nothing but spaces and tabs. Lines whose token is
    ``-DOCSTART-`` are left out. A byte order mark and CRLF line ends are accepted. Every line must
    have as many columns as the first. Where every token is a character and a digit (``科0``, its
    place in the word, in Weibo's files) the digits are cut off.

    Args:
        path: The file, in UTF-8.
        token_column: Which column holds the token, from 0; negative ones count from the end.
        tag_column: Which column holds the tag.
        separator: Between columns; None takes a tab if the first line has one, else any run of
            spaces and tabs.
        comments: Whether lines that begin with ``#`` are comments. Off by default: a token may be
            a hashtag.
        tags: ``"entities"`` for IOB1, IOB2, IOBES, BILOU or BMES; ``"plain"`` for tags to be taken
            as they are (part of speech); ``"auto"`` takes them as entity tags if any tag begins
            with ``B-`` or ``I-``, or all are ``O``.
        repairs: What was repaired or left out is added here, by kind.

    Returns:
        Rows of ``tokens`` and ``tags``.

    Raises:
        CorpusError: With file and line: a line with another number of columns, an empty token or
            tag, a tag of no scheme among entity tags, bytes that are not UTF-8, no sentence at all.
    """
    repairs = Counter() if repairs is None else repairs
    sentences: list[list[str]] = []
    tagged: list[list[str]] = []
    lines: list[list[int]] = []
    columns = first = 0
    broken = True
    least = max(
        2, *(column + 1 if column >= 0 else -column for column in (token_column, tag_column))
    )
    for number, line in enumerate(read_lines(path, repairs), start=1):
        blank = not line.strip(" \t")
        if blank or (comments and line.startswith("#")):
            broken = broken or blank
            if blank and line:
                repairs["sentence breaks that are not an empty line"] += 1
            continue
        if "\r" in line or "\0" in line:
            raise CorpusError.at(path, number, f"expected plain text, got {line[:60]!r}")
        if separator is None:
            separator = "\t" if "\t" in line else " "
        fields = _SPACES.split(line.strip(" \t")) if separator == " " else line.split(separator)
        if fields[0] == "-DOCSTART-":
            repairs["-DOCSTART- lines left out"] += 1
            broken = True
            continue
        if not columns:
            columns, first = len(fields), number
        if len(fields) != columns or columns < least:
            expected = f"{least} or more columns" if columns < least else f"{columns} columns"
            expected += f" as in line {first}" if number > first else ""
            problem = f"expected {expected}, got {len(fields)}: {line[:60]!r}"
            raise CorpusError.at(path, number, problem)
        token, tag = fields[token_column].strip(" "), fields[tag_column].strip(" ")
        if not token or not tag:
            missing = "tag" if token else "token"
            raise CorpusError.at(path, number, f"expected a {missing}, got none: {line[:60]!r}")
        if broken:
            sentences.append([])
            tagged.append([])
            lines.append([])
            broken = False
        sentences[-1].append(token)
        tagged[-1].append(tag)
        lines[-1].append(number)
    if not sentences:
        raise CorpusError.at(path, 0, "expected tagged sentences, got none")
    if all(map(_are_segmented, sentences)):
        sentences = [[token[0] for token in tokens] for tokens in sentences]
        repairs["places in the word cut off characters"] += sum(map(len, sentences))
    if tags != "plain":
        tagged = _in_iob2(path, tagged, lines, repairs, entities=tags == "entities")
    return to_dataset({"tokens": sentences, "tags": tagged}, task="tagging")


def _are_segmented(tokens: Sequence[str]) -> bool:
    """Whether each token is a character and its place in its word, from 0 at the first."""
    return tokens[0].endswith("0") and all(map(_SEGMENTED.fullmatch, tokens))


def read_parallel(
    sentences: str | PathLike[str],
    tags: str | PathLike[str],
    *,
    repairs: Counter[str] | None = None,
) -> Dataset:
    """Read two files with a sentence a line: its tokens in one, its tags in the other.

    Args:
        sentences: Tokens, with spaces between.
        tags: As many tags in each line.
        repairs: See :func:`read_conll`, as for the result and how tags are taken.

    Raises:
        CorpusError: The files differ in the number of lines, or a line in that of its tokens.
    """
    repairs = Counter() if repairs is None else repairs
    left, right = (
        [_SPACES.split(line.strip(" \t")) for line in read_lines(path, repairs)]
        for path in (sentences, tags)
    )
    if len(left) != len(right):
        raise CorpusError.at(tags, 0, f"expected {len(left)} lines, got {len(right)}")
    for number, (tokens, row) in enumerate(zip(left, right, strict=True), start=1):
        if len(tokens) != len(row):
            raise CorpusError.at(tags, number, f"expected {len(tokens)} tags, got {len(row)}")
    kept = [n for n, tokens in enumerate(left) if tokens != [""]]
    if not kept:
        raise CorpusError.at(sentences, 0, "expected tagged sentences, got none")
    numbers = [[n + 1] * len(left[n]) for n in kept]
    tagged = _in_iob2(tags, [right[n] for n in kept], numbers, repairs, entities=False)
    return to_dataset({"tokens": [left[n] for n in kept], "tags": tagged}, task="tagging")


def _in_iob2(
    path: str | PathLike[str],
    tagged: list[list[str]],
    lines: list[list[int]],
    repairs: Counter[str],
    *,
    entities: bool,
) -> list[list[str]]:
    try:
        scheme = scheme_of(tagged)
        if scheme == "plain" and not entities:
            return tagged
        # In IOB1 entities begin with I- by rule; elsewhere that is a flaw, and counted as one.
        counter = repairs if scheme != "IOB1" else None
        return [to_iob2(row, counter) for row in tagged]
    except CorpusError as error:
        for row, numbers in zip(tagged, lines, strict=True):
            for tag, number in zip(row, numbers, strict=True):
                if repr(tag) in str(error):
                    raise CorpusError.at(path, number, str(error)) from None
        raise


def write_conll(dataset: Dataset | Iterable[Mapping[str, list[str]]], path: Path) -> None:
    r"""Write sentences in dicebook's canonical form: token, tab, tag; an empty line after each.

    Args:
        dataset: Rows of ``tokens`` and ``tags``.
        path: The file; written as UTF-8 with ``\n`` line ends.

    Raises:
        CorpusError: A token or tag would not read back: it is empty, is ``-DOCSTART-``, holds a
            tab or a line end, or begins or ends with a space.
    """
    rows = dataset.to_list() if isinstance(dataset, Dataset) else dataset
    with path.open("w", encoding="utf-8", newline="\n") as out:
        for row in rows:
            for token, tag in zip(row["tokens"], row["tags"], strict=True):
                for value in (token, tag):
                    if (
                        not value
                        or value != value.strip(" ")
                        or value == "-DOCSTART-"
                        or not _UNWRITABLE.isdisjoint(value)
                    ):
                        raise CorpusError(f"{path}: expected a token or tag, got {value!r}")
                out.write(f"{token}\t{tag}\n")
            out.write("\n")


_UNWRITABLE = frozenset("\t\n\r\0")

"""Tagged text in columns, one token a line, a blank line between sentences."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from datasets import Dataset

from dicelab.corpora.errors import REFUSED, CorpusError
from dicelab.corpora.features import to_dataset
from dicelab.corpora.tags import looks_tagged, normalise_tags, scheme_of, to_iob2
from dicelab.corpora.text import odd_character, read_lines, short

#: The layout of Universal NER's .iob2 files: number, token, tag, two more columns; comments.
UNIVERSAL_NER: Mapping[str, Any] = {
    "token_column": 1,
    "tag_column": 2,
    "separator": "\t",
    "comments": True,
}

_COLUMNS = {"upos": 3, "xpos": 4}
#: The layout of Universal Dependencies, with the universal part of speech.
CONLLU: Mapping[str, Any] = {**UNIVERSAL_NER, "tag_column": 3, "numbered": True, "tags": "plain"}
_SPACES = re.compile(r"[ \t]+")
_SEGMENTED = re.compile(r".[0-9]", re.DOTALL)
_UNWRITABLE = re.compile(r"^ |[\t\n\r\0]| $")


def read_conll(
    path: str | PathLike[str],
    *,
    token_column: int = 0,
    tag_column: int | None = -1,
    separator: str | None = None,
    comments: bool | tuple[str, ...] = False,
    header: bool = False,
    numbered: bool = False,
    tags: Literal["auto", "entities", "plain"] = "auto",
    encoding: str | None = None,
    bad: list[str] | None = None,
    repairs: Counter[str] | None = None,
) -> Dataset:
    r"""Read a file of tagged sentences; entity tags come out as IOB2 whatever they were.

    Sentences end at an empty line or one of nothing but spaces and tabs. Lines whose token is
    ``-DOCSTART-`` are left out. A byte order mark and CRLF line ends are accepted. Every line must
    have as many columns as the first. Where every token is a character and a digit (``科0``, its
    place in the word, in Weibo's files) the digits are cut off.

    Args:
        path: The file.
        token_column: Which column holds the token, from 0; negative ones count from the end.
        tag_column: Which column holds the tag; None where no tags are wanted: all are ``O``.
        separator: Between columns; None takes a tab if the first line has one, else any run of
            spaces and tabs. Between commas and semicolons a token may be quoted.
        comments: Whether lines that begin with ``#``, or with one of some signs, are comments. Off
            by default: a token may be a hashtag.
        header: Whether the first line names the columns.
        numbered: Whether the lines are those of CoNLL-U: ten columns, the first of which counts the
            words. Multiword ranges (``3-4``) and empty nodes (``8.1``) are left out: the words
            within a range carry the tags.
        tags: ``"entities"`` for IOB1, IOB2, IOBES, BILOU or BMES; ``"plain"`` for tags to be taken
            as they are (part of speech); ``"auto"`` takes them as entity tags if any tag begins
            with ``B-`` or ``I-``, or all are ``O``. Other spellings (``B_PER``, ``b-per``,
            ``PER-B``) are rewritten.
        encoding: Of the file; None finds out.
        bad: Takes the errors of lines, whose sentences are left out; None raises the first.
        repairs: What was repaired or left out is added here, by kind.

    Returns:
        Rows of ``tokens`` and ``tags``.

    Raises:
        CorpusError: With file and line: a line with another number of columns, an empty token or
            tag, a tag of no scheme among entity tags, bytes that are not UTF-8, no sentence at all.
    """
    repairs = Counter() if repairs is None else repairs
    errors = "strict" if bad is None else "keep"
    lines = read_lines(path, repairs, encoding=encoding, errors=errors)
    marks = comments if isinstance(comments, tuple) else ("#",) * comments
    columns = [token_column] + ([] if tag_column is None else [tag_column])
    least = max(len(columns), *(c + 1 if c >= 0 else -c for c in columns))
    width, first = 10 * numbered, 0
    sentences: list[list[tuple[int, str, str]]] = [[]]
    broken: set[int] = set()
    for number, line in enumerate(lines, start=1):
        if not line.strip(" \t"):
            if line:
                repairs["sentence breaks that are not an empty line"] += 1
            sentences.append([])
            continue
        if line.startswith(marks) or header:
            header = header and line.startswith(marks)
            continue
        separator = separator or ("\t" if "\t" in line else " ")
        fields = fields_of(line, separator)
        if fields[0] == "-DOCSTART-":
            repairs["-DOCSTART- lines left out"] += 1
            sentences.append([])
            continue
        width, first = width or len(fields), first or number
        held = [field.strip(" ") for field in fields]
        if odd := odd_character(line) or (repr(line[:60]) if "\r" in line else ""):
            problem = f"expected plain text, got {odd}"
        elif len(fields) != width or width < least:
            expected = f"{least} or more columns" if width < least else f"{width} columns"
            expected += f" as in line {first}" if number > first else ""
            problem = f"expected {expected}, got {len(fields)}: {line[:60]!r}"
        elif numbered and fields[0].startswith(f"{len(sentences[-1]) + 1}-"):
            repairs["multiword ranges left out"] += 1
            continue
        elif numbered and fields[0].startswith(f"{len(sentences[-1])}."):
            repairs["empty nodes left out"] += 1
            continue
        elif numbered and fields[0] != str(len(sentences[-1]) + 1):
            problem = f"expected the word number {len(sentences[-1]) + 1}, got {fields[0][:60]!r}"
        elif not all(held[c] for c in columns) or (
            numbered and [held[c] for c in columns[1:]] == ["_"]
        ):
            missing = "tag" if held[token_column] else "token"
            problem = f"expected a {missing}, got none: {line[:60]!r}"
        else:
            tag = "O" if tag_column is None else held[tag_column]
            sentences[-1].append((number, held[token_column], tag))
            continue
        error = CorpusError.at(path, number, problem)
        if bad is None or width < least:
            raise error
        bad.append(str(error))
        broken.add(len(sentences) - 1)
    whole = [part for place, part in enumerate(sentences) if part and place not in broken]
    if not whole:
        raise CorpusError.at(path, 0, "expected tagged sentences, got none")
    numbers = [[number for number, *_ in part] for part in whole]
    tokens = [[token for _, token, _ in part] for part in whole]
    tagged = [[tag for *_, tag in part] for part in whole]
    if all(map(_are_segmented, tokens)):
        tokens = [[token[0] for token in part] for part in tokens]
        repairs["places in the word cut off characters"] += sum(map(len, tokens))
    if tags != "plain":
        tagged = _in_iob2(path, tagged, numbers, repairs, entities=tags == "entities")
    return to_dataset({"tokens": tokens, "tags": tagged}, task="tagging")


def read_conllu(
    path: str | PathLike[str],
    *,
    column: Literal["upos", "xpos"] = "upos",
    repairs: Counter[str] | None = None,
) -> Dataset:
    """Read the syntactic words of a CoNLL-U file with a part of speech each.

    Args:
        path: The file.
        column: ``"upos"`` for the universal tag, ``"xpos"`` for the treebank's own.
        repairs: As of :func:`read_conll`.

    Returns:
        Rows of ``tokens`` and ``tags``. Words may hold spaces, where the treebank has such words.

    Raises:
        CorpusError: With file and line: not ten columns, word numbers that do not run 1, 2, 3, ...,
            a word without form or tag, no sentence at all.
    """
    if column not in _COLUMNS:
        raise CorpusError(f"column: expected upos or xpos, got {column!r}")
    return read_conll(path, **{**CONLLU, "tag_column": _COLUMNS[column]}, repairs=repairs)


def _are_segmented(tokens: Sequence[str]) -> bool:
    """Whether each token is a character and its place in its word, from 0 at the first."""
    return tokens[0].endswith("0") and all(map(_SEGMENTED.fullmatch, tokens))


def _in_iob2(
    path: str | PathLike[str],
    tagged: list[list[str]],
    lines: list[list[int]],
    repairs: Counter[str],
    *,
    entities: bool,
) -> list[list[str]]:
    if not entities:
        tagged, change = normalise_tags(tagged)
        if change:
            repairs[change] += 1
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


def fields_of(line: str, separator: str) -> list[str]:
    """The columns of a line."""
    if separator == " ":
        return _SPACES.split(line.strip(" \t"))
    if separator in ",;" and '"' in line:
        return next(csv.reader([line], delimiter=separator))
    return line.split(separator)


def layout_of(lines: Sequence[str], *, sure: bool = False) -> dict[str, Any] | None:
    """How a tagged file is laid out, as options of :func:`read_conll`; None for another file.

    Where its name does not make ``sure`` that it is tagged, there must be blank lines between
    sentences, as many columns in each line, and single words as tokens.
    """
    lines = [line.rstrip("\r") for line in lines]
    full = [line for line in lines if line.strip() and not line.startswith("-DOCSTART-")]
    if not full:
        return None
    if full[0].startswith("#FORMAT=WebAnno TSV"):
        raise CorpusError(REFUSED["webanno"])
    for sign in "|/":
        pieces = [piece.split(sign) for line in full[:50] for piece in line.split()]
        parts = {len(piece) for piece in pieces}
        if len(parts) == 1 and min(parts) > 1 and looks_tagged(row[-1] for row in pieces):
            raise CorpusError(REFUSED["sentence_a_line"].format(short(full[0]), sign))
    body = [line for line in full if not line.startswith("#")] or full
    signs = [sign for sign in "\t ,;" if sum(sign in line for line in body) >= 0.8 * len(body)]
    if not signs:
        return None
    separator = signs[0]
    rows = [fields_of(line, separator) for line in body]
    width, many = Counter(map(len, rows)).most_common(1)[0]
    fit = [row for row in rows if len(row) == width]
    columns = list(zip(*fit, strict=True))
    index = width > 2 and _most(r"\s*\d+\s*", columns[0])
    token = int(index)
    # Places in a document, such as 1-1, are no words.
    while token + 2 < width and _most(r"\s*\d+[-.:]\d+\s*", columns[token]):
        token += 1
    spoken = [n for n in range(width) if looks_tagged(columns[n])]
    if not sure:
        breaks = re.search(r"\S[ \t]*\n([ \t]*\n)+.*\S", "\n".join(lines)) is not None
        tags = width == 2 and separator in "\t " and 1 in spoken
        words = _most(r"\s*[^ ]*\s*", columns[token])
        untagged = separator in ",;" and width - 1 not in spoken
        if width < 2 or many <= 0.9 * len(rows) or not (breaks or tags) or not words or untagged:
            return None
    if any(map(_in_brackets, columns[token + 1 :])):
        raise CorpusError(REFUSED["brackets"])
    head = [name.strip().lower() for name in fit[0]]
    named = head[-1] in ("tag", "tags", "label", "labels", "ner", "ner_tag", "ner_tags", "pos")
    if width == 2 and spoken == [0]:
        return {"separator": separator, "token_column": 1, "tag_column": 0}
    usable = [n for n in range(token + 1, width) if len({*columns[n]}) > 1 or columns[n][0] == "O"]
    usable = [n for n in usable if n in spoken] or usable
    layout: dict[str, Any] = {"separator": separator, "token_column": token}
    layout["tag_column"] = usable[0 if index else -1] if usable else -1
    if named and head[token] in ("word", "words", "token", "tokens", "form", "text"):
        layout["header"] = True
    marks = set()
    for line in (line for line in full if line.startswith("#")):
        row = fields_of(line, separator)
        if len(row) != width or (row[-1] not in columns[-1] and len(row[0]) < 2):
            marks.add(line[:2] if line[1:2] in (" ", "\t") else "#")
    return {**layout, "comments": tuple(sorted(marks))}


def _most(pattern: str, cells: Sequence[str]) -> bool:
    """Whether more than nine cells in ten are of a pattern."""
    return sum(re.fullmatch(pattern, cell) is not None for cell in cells) > 0.9 * len(cells)


def _in_brackets(tags: Sequence[str]) -> bool:
    """Whether tags open and close spans, as ``(PERSON*``, ``*`` and ``*)``."""
    opened = any(tag.startswith("(") and len(tag) > 2 for tag in tags)
    return opened and all(re.fullmatch(r"(\([^()*]+)?\*?\)?", tag) for tag in tags)


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
            for pair in zip(row["tokens"], row["tags"], strict=True):
                for value in pair:
                    if value.strip(" ") in ("", "-DOCSTART-") or _UNWRITABLE.search(value):
                        raise CorpusError(f"{path}: expected a token or tag, got {value!r}")
                out.write("\t".join(pair) + "\n")
            out.write("\n")

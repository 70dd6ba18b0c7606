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

from dicelab.corpora.errors import CorpusError
from dicelab.corpora.features import to_dataset
from dicelab.corpora.tags import UNTYPED, looks_tagged, respelt, scheme_of, to_iob2
from dicelab.corpora.text import odd_character, read_lines

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
    comments: bool | tuple[str, ...] = False,
    header: bool = False,
    inner: str = "",
    tags: Literal["auto", "entities", "plain", "webanno"] = "auto",
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
        tag_column: Which column holds the tag.
        separator: Between columns; None takes a tab if the first line has one, else any run of
            spaces and tabs. Between commas and semicolons a token may be quoted.
        comments: Whether lines that begin with ``#``, or with one of some signs, are comments. Off
            by default: a token may be a hashtag.
        header: Whether the first line names the columns.
        inner: Where a line is a sentence, the sign between a token and its tag (``Ann|B-PER``).
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
    sentences: list[list[str]] = []
    tagged: list[list[str]] = []
    lines: list[list[int]] = []
    columns = first = 0
    broken = True
    least = max(
        2, *(column + 1 if column >= 0 else -column for column in (token_column, tag_column))
    )
    broken_by: set[int] = set()
    marks = comments if isinstance(comments, tuple) else ("#",) * comments
    errors = "strict" if bad is None else "keep"
    read = read_lines(path, repairs, encoding=encoding, errors=errors)  # type: ignore[arg-type]
    for number, line in enumerate(_token_lines(read, inner) if inner else read, start=1):
        blank = not line.strip(" \t")
        if blank or line.startswith(marks):
            broken = broken or blank
            if blank and line:
                repairs["sentence breaks that are not an empty line"] += 1
            continue
        if header:
            header = False
            continue
        if separator is None:
            separator = "\t" if "\t" in line else " "
        try:
            fields = fields_of(line, separator)
            if fields[0] == "-DOCSTART-":
                repairs["-DOCSTART- lines left out"] += 1
                broken = True
                continue
            if not columns:
                columns, first = len(fields), number
            if "\r" in line or "\0" in line:
                raise CorpusError.at(path, number, f"expected plain text, got {line[:60]!r}")
            if len(fields) != columns or columns < least:
                expected = f"{least} or more columns" if columns < least else f"{columns} columns"
                expected += f" as in line {first}" if number > first else ""
                problem = f"expected {expected}, got {len(fields)}: {line[:60]!r}"
                raise CorpusError.at(path, number, problem)
            token, tag = fields[token_column].strip(" "), fields[tag_column].strip(" ")
            if not token or not tag:
                missing = "tag" if token else "token"
                problem = f"expected a {missing}, got none: {line[:60]!r}"
                raise CorpusError.at(path, number, problem)
            if odd := odd_character(line):
                raise CorpusError.at(path, number, f"expected plain text, got {odd}")
        except CorpusError as error:
            if bad is None or columns < least:
                raise
            bad.append(str(error))
            if broken:
                sentences.append([])
                tagged.append([])
                lines.append([])
                broken = False
            broken_by.add(len(sentences) - 1)
            continue
        if broken:
            sentences.append([])
            tagged.append([])
            lines.append([])
            broken = False
        sentences[-1].append(token)
        tagged[-1].append(tag)
        lines[-1].append(number)
    for number in sorted(broken_by, reverse=True):
        del sentences[number], tagged[number], lines[number]
    if not sentences:
        raise CorpusError.at(path, 0, "expected tagged sentences, got none")
    if tags == "webanno":
        tagged = [_of_webanno(path, *row) for row in zip(tagged, lines, strict=True)]
    if all(map(_are_segmented, sentences)):
        sentences = [[token[0] for token in tokens] for tokens in sentences]
        repairs["places in the word cut off characters"] += sum(map(len, sentences))
    if tags != "plain":
        tagged = _in_iob2(path, tagged, lines, repairs, entities=tags == "entities")
    return to_dataset({"tokens": sentences, "tags": tagged}, task="tagging")


def _of_webanno(path: str | PathLike[str], tags: Sequence[str], lines: Sequence[int]) -> list[str]:
    """Tags of WebAnno's TSV (``_``, ``LOC``, ``PER[1]`` at each word of one entity) as IOB2."""
    made, before = [], "_"
    for tag, line in zip(tags, lines, strict=True):
        if "|" in tag:
            raise CorpusError.at(path, line, f"expected one label a token, got {tag!r}")
        kind = re.sub(r"\[\d+\]$", "", tag).replace("*", UNTYPED)
        continued = tag == before and tag.endswith("]")
        made.append("O" if tag == "_" else f"{'I' if continued else 'B'}-{kind}")
        before = tag
    return made


def fields_of(line: str, separator: str) -> list[str]:
    """The columns of a line."""
    if separator == " ":
        return _SPACES.split(line.strip(" \t"))
    if separator in ",;" and '"' in line:
        return next(csv.reader([line], delimiter=separator))
    return line.split(separator)


def _token_lines(lines: Sequence[str], inner: str) -> list[str]:
    """Sentences of a line each (``Ann|B-PER of|O``) as a token a line."""
    return [
        token
        for line in lines
        for token in (*(piece.replace(inner, "\t") for piece in line.split()), "")
    ]


def layout_of(lines: Sequence[str], *, sure: bool = False) -> dict[str, Any] | None:
    """How the lines of a tagged file are laid out, as options of :func:`read_conll`.

    Args:
        lines: The first lines of the file.
        sure: Whether the file is tagged by its name; else there must be blank lines between
            sentences, as many columns in each line, and single words as tokens.

    Returns:
        The separator, the columns and what else differs from the usual; None for another file.
    """
    lines = [line.rstrip("\r") for line in lines]
    full = [line for line in lines if line.strip() and not line.startswith("-DOCSTART-")]
    if not full:
        return None
    if full[0].startswith("#FORMAT=WebAnno TSV 3"):
        return _layout_of_webanno(full)
    for sign in "|/":
        pieces = [piece.split(sign) for line in full[:50] for piece in line.split()]
        parts = {len(piece) for piece in pieces}
        if len(parts) == 1 and min(parts) > 1 and looks_tagged(row[-1] for row in pieces):
            return {"inner": sign, "separator": "\t"}
    body = [line for line in full if not line.startswith("#")] or full
    separator = next(
        (s for s in "\t ,;" if sum(s in line for line in body) >= 0.8 * len(body)), None
    )
    if separator is None:
        return None
    rows = [fields_of(line, separator) for line in body]
    width, many = Counter(map(len, rows)).most_common(1)[0]
    fit = [row for row in rows if len(row) == width]
    numbered = sum(re.fullmatch(r"\d+", row[0].strip()) is not None for row in fit)
    index = width > 2 and numbered > 0.9 * len(fit)
    token = int(index)
    while token + 2 < width and sum(map(_is_place, (row[token] for row in fit))) > 0.9 * len(fit):
        token += 1
    if not sure:
        breaks = re.search(r"\S[ \t]*\n([ \t]*\n)+.*\S", "\n".join(lines)) is not None
        if width < 2 or many <= 0.9 * len(rows):
            return None
        tags = width == 2 and separator in "\t " and looks_tagged(row[-1] for row in fit)
        if not breaks and not tags:
            return None
        if sum(" " not in row[token].strip() for row in fit) <= 0.9 * len(fit):
            return None
        if separator in ",;" and not looks_tagged(row[-1] for row in fit):
            return None
    if any(_in_brackets([row[n] for row in fit]) for n in range(token + 1, width)):
        raise CorpusError(
            "expected tags such as B-PERSON, I-PERSON and O, got the brackets of CoNLL-2012, such "
            "as (PERSON* and *); write each as a tag"
        )
    ends = {row[-1] for row in fit}
    marks = set()
    for line in full:
        row = fields_of(line, separator) if line.startswith("#") else []
        if row and (len(row) != width or (row[-1] not in ends and len(row[0]) < 2)):
            marks.add(line[:2] if line[1:2] in (" ", "\t") else "#")
    usable = [
        n for n in range(token + 1, width) if len({row[n] for row in fit}) > 1 or fit[0][n] == "O"
    ]
    spoken = [n for n in usable if looks_tagged(row[n] for row in fit)]
    chosen = (spoken or usable)[:1] if index else (spoken or usable)[-1:]
    layout: dict[str, Any] = {"separator": separator, "token_column": token}
    layout["tag_column"] = chosen[0] if chosen else -1
    if width == 2 and not spoken and looks_tagged(row[0] for row in fit):
        return {"separator": separator, "token_column": 1, "tag_column": 0}
    head = [name.strip().lower() for name in fit[0]]
    named = head[-1] in ("tag", "tags", "label", "labels", "ner", "ner_tag", "ner_tags", "pos")
    if named and head[token] in ("word", "words", "token", "tokens", "form", "text"):
        layout["header"] = True
    return layout | ({"comments": tuple(sorted(marks))} if marks else {})


def _is_place(cell: str) -> bool:
    """Whether a cell is a place in a document, such as ``1-1``, and no word."""
    return re.fullmatch(r"\d+[-.:]\d+", cell.strip()) is not None


def _layout_of_webanno(lines: Sequence[str]) -> dict[str, Any]:
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    if any("." in row[0] for row in rows):
        raise CorpusError(
            f"expected labels of whole tokens, got a part of one at {rows[0][0]}; export as CoNLL"
        )
    width = min(map(len, rows), default=0)
    held = [n for n in range(3, width) if {row[n] for row in rows} - {"_", "*", ""}]
    if not held:
        raise CorpusError("expected a column of labels after the tokens, got none")
    return {
        "separator": "\t",
        "token_column": 2,
        "tag_column": held[0],
        "comments": ("#",),
        "tags": "webanno",
    }


def _in_brackets(tags: Sequence[str]) -> bool:
    """Whether tags open and close spans, as ``(PERSON*``, ``*`` and ``*)``."""
    kinds = {re.sub(r"[^()*]+", "", tag) for tag in tags}
    opened = any(tag.startswith("(") and len(tag) > 2 for tag in tags)
    return opened and kinds <= {"(*", "*", "*)", "()", "(*)"}


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
    filled = [n for n, tokens in enumerate(left) if tokens != [""]]
    if not filled:
        raise CorpusError.at(sentences, 0, "expected tagged sentences, got none")
    numbers = [[n + 1] * len(left[n]) for n in filled]
    tagged = _in_iob2(tags, [right[n] for n in filled], numbers, repairs, entities=False)
    return to_dataset({"tokens": [left[n] for n in filled], "tags": tagged}, task="tagging")


def _in_iob2(
    path: str | PathLike[str],
    tagged: list[list[str]],
    lines: list[list[int]],
    repairs: Counter[str],
    *,
    entities: bool,
) -> list[list[str]]:
    if not entities:
        tagged, respelling = respelt(tagged)
        if respelling:
            repairs[respelling] += 1
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

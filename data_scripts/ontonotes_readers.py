"""OntoNotes: entities from CoNLL-2012 files and from the .name files of the LDC releases."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import accumulate
from os import PathLike

from datasets import Dataset

from dicelab.corpora.errors import CorpusError
from dicelab.corpora.features import to_dataset
from dicelab.corpora.text import read_lines
from dicelab.corpora.trees import printed

_WORD, _ENTITY, _LEAST_COLUMNS = 3, 10, 12
_CELL = re.compile(r"(?:\(([^()*\s]+)(?=[*)]))?\*?(\)?)")
_MARK = re.compile(r"<ENAMEX\s+([^<>]*)>|</ENAMEX>")
_ATTRIBUTE = re.compile(r'\s*(\w+)="([^"<>]*)"')


def read_conll2012(
    paths: Iterable[str | PathLike[str]], *, repairs: Counter[str] | None = None
) -> Dataset:
    """Read words, as they were printed, and entities of ``*_conll`` files (CoNLL-2012) as IOB2.

    Args:
        paths: The files, in the order wanted.
        repairs: What was repaired is added here, by kind.

    Returns:
        Rows of ``tokens`` and ``tags``.

    Raises:
        CorpusError: With file and line: fewer than 12 columns, an entity column that does not open
            and close properly, a ``_skel`` file whose words were never filled in, no sentence.
    """
    repairs = Counter() if repairs is None else repairs
    columns: dict[str, list[list[str]]] = {"tokens": [], "tags": []}
    for path in paths:
        before = len(columns["tokens"])
        words: list[str] = []
        tags: list[str] = []
        kind, inside = "", False
        lines = read_lines(path, repairs)
        for number, line in enumerate([*lines, ""], start=1):
            place = (path, number)
            if not line.strip() or line.startswith(("#begin document", "#end document")):
                if kind:
                    problem = f"expected ')' for the entity ({kind}, got a sentence break"
                    raise CorpusError.at(*place, problem)
                if words:
                    columns["tokens"].append(words)
                    columns["tags"].append(tags)
                words, tags = [], []
                continue
            fields = line.split()
            if len(fields) < _LEAST_COLUMNS:
                problem = f"{_LEAST_COLUMNS} or more columns, got {len(fields)}: {line[:60]!r}"
                raise CorpusError.at(*place, f"expected {problem}")
            word, cell = fields[_WORD], fields[_ENTITY]
            if word == "[WORD]":
                problem = "expected a word, got [WORD]: fill the skeleton files in first"
                raise CorpusError.at(*place, problem)
            match = _CELL.fullmatch(cell)
            if not match:
                problem = f"expected an entity cell such as (ORG*, * or *), got {cell!r}"
                raise CorpusError.at(*place, problem)
            opens, closes = match[1], match[2]
            if opens and kind:
                raise CorpusError.at(path, number, f"expected {kind} to be closed, got {cell!r}")
            if closes and not (opens or kind):
                raise CorpusError.at(path, number, f"expected an open entity, got {cell!r}")
            if opens:
                kind, inside = opens, False
            words.append(printed(word))
            tags.append(f"{'I' if inside else 'B'}-{kind}" if kind else "O")
            inside = True
            if closes:
                kind = ""
        if len(columns["tokens"]) == before:
            raise CorpusError.at(path, 0, "expected sentences in CoNLL-2012 columns, got none")
    if not columns["tokens"]:
        raise CorpusError("expected CoNLL-2012 files, got none")
    return to_dataset(columns, task="tagging")


def read_names(
    paths: Iterable[str | PathLike[str]],
    *,
    types: Collection[str] | None = None,
    repairs: Counter[str] | None = None,
) -> Dataset:
    """Read the ``.name`` files of OntoNotes: a sentence a line, entities in ENAMEX marks.

    Tokens are characters, as usual in Chinese.
    Only the attribute TYPE names a type; ``S_OFF`` and ``E_OFF`` say that an entity begins or ends
    so many characters inside its first or last word.

    Args:
        paths: The files, in the order wanted.
        types: Entity types to keep, the others become ``O``; None keeps all.
        repairs: What was repaired or left out is added here, by kind.

    Returns:
        Rows of ``tokens`` and ``tags``, IOB2.

    Raises:
        CorpusError: With file and line: marks that do not match, an entity without type or words,
            other markup within a sentence, no sentence.
    """
    repairs = Counter() if repairs is None else repairs
    columns: dict[str, list[list[str]]] = {"tokens": [], "tags": []}
    for path in paths:
        before = len(columns["tokens"])
        for number, line in enumerate(read_lines(path, repairs), start=1):
            text = line.strip(" \t")
            if not text or re.fullmatch(r"</?DOC\b[^<>]*>", text):
                continue
            words, entities = _parse_names(path, number, text)
            if not words:
                raise CorpusError.at(path, number, f"expected words, got {text[:60]!r}")
            if words == ["EMPTY"]:
                repairs["sentences of the word EMPTY left out"] += 1
                continue
            selected = [e for e in entities if types is None or e[0] in types]
            repairs["entities of other types left out"] += len(entities) - len(selected)
            starts = [0, *accumulate(map(len, words))]
            spans = [(k, starts[a] + s, starts[b] - e) for k, a, b, s, e in selected]
            tokens = list("".join(words))
            try:
                tags = from_spans(spans, len(tokens))
            except CorpusError as error:
                raise CorpusError.at(path, number, str(error)) from None
            columns["tokens"].append(tokens)
            columns["tags"].append(tags)
        if len(columns["tokens"]) == before:
            raise CorpusError.at(path, 0, "expected sentences with ENAMEX marks, got none")
    if not columns["tokens"]:
        raise CorpusError("expected .name files, got none")
    return to_dataset(columns, task="tagging")


def _parse_names(
    path: str | PathLike[str], number: int, text: str
) -> tuple[list[str], list[tuple[str, int, int, int, int]]]:
    """Words, and entities as type, first word, word after the last, and the two offsets."""
    words: list[str] = []
    entities = []
    opened: tuple[str, int, int, int] | None = None
    position = 0
    for mark in [*_MARK.finditer(text), None]:
        between = text[position : mark.start() if mark else len(text)]
        if "<" in between or ">" in between or "\0" in between:
            raise CorpusError.at(path, number, f"expected words and ENAMEX marks, got {between!r}")
        words += between.split()
        if mark is None:
            break
        position = mark.end()
        if mark[1] is None:
            if opened is None:
                raise CorpusError.at(path, number, "expected an open ENAMEX, got </ENAMEX>")
            kind, start, after, before = opened
            if start == len(words):
                raise CorpusError.at(path, number, "expected words in an ENAMEX, got none")
            entities.append((kind, start, len(words), after, before))
            opened = None
            continue
        if opened is not None:
            raise CorpusError.at(path, number, "expected </ENAMEX>, got another ENAMEX")
        attributes = dict(_ATTRIBUTE.findall(mark[1]))
        offsets = [attributes.get(name, "0") for name in ("S_OFF", "E_OFF")]
        if (
            _ATTRIBUTE.sub("", mark[1]).strip()
            or not attributes.get("TYPE")
            or not all(re.fullmatch(r"\d{1,4}", offset, re.ASCII) for offset in offsets)
        ):
            raise CorpusError.at(path, number, f'expected ENAMEX TYPE="...", got {mark[0]!r}')
        opened = (attributes["TYPE"], len(words), int(offsets[0]), int(offsets[1]))
    if opened is not None:
        raise CorpusError.at(path, number, "expected </ENAMEX>, got the end of the line")
    return words, entities


def from_spans(entities: Iterable[tuple[str, int, int]], length: int) -> list[str]:
    """The IOB2 tags of entities that do not overlap.

    Args:
        entities: Type, first token, token after the last.
        length: How many tokens there are.

    Raises:
        CorpusError: An entity is empty, lies outside the tokens, or overlaps another.
    """
    tags = ["O"] * length
    for kind, start, end in entities:
        if not 0 <= start < end <= length:
            raise CorpusError(f"expected a span within {length} tokens, got {start} to {end}")
        if tags[start:end] != ["O"] * (end - start):
            raise CorpusError(f"expected spans that do not overlap, got {kind} {start} to {end}")
        tags[start:end] = [f"B-{kind}"] + [f"I-{kind}"] * (end - start - 1)
    return tags

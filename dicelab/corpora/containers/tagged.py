"""Files with a token a line, as CoNLL's, or a sentence a line with a tag at each token."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dicelab.corpora.cells import OF_ROWS, Asked, Table
from dicelab.corpora.conll import UNIVERSAL_NER, fields_of, layout_of, read_conll
from dicelab.corpora.conllu import read_conllu
from dicelab.corpora.containers.binary import read_binary
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.text import plain_name, read_bytes, read_lines

_ENDINGS = (".conll", ".conllu", ".iob2", ".iob", ".bio", ".bmes", ".bioes", ".annotated")


def is_tagged_name(path: Path) -> bool:
    """Whether a file's name says that it has a token a line."""
    return plain_name(path).endswith(_ENDINGS)


def read_tagged(path: Path, asked: Asked, *, sure: bool = False) -> Table | None:
    """A file of a token a line as a table of ``tokens`` and ``tags``; None for any other.

    Args:
        path: the file.
        asked: what was said about it.
        sure: whether it can be nothing else; by default where its name says so.
    """
    name = plain_name(path)
    sure = sure or is_tagged_name(path)
    lines = _lines(path, asked, sure)
    if lines is None:
        return None
    if name.endswith(".conllu"):
        return of_rows(path, read_conllu(path), "CoNLL-U")
    try:
        layout = layout_of(lines[:5000], sure=sure)
    except CorpusError as error:
        raise CorpusError(f"{path}: {error}") from None
    if layout is None and not sure:
        return None
    options: dict[str, Any] = {"encoding": asked.encoding, **(layout or {})}
    if name.endswith(".iob2") and options.get("token_column", 1) == 1:
        options |= UNIVERSAL_NER
    if asked.delimiter:
        options["separator"] = asked.delimiter
    first = next((line for line in lines if line.strip()), "")
    head = [name.strip() for name in fields_of(first, options.get("separator") or "\t")]
    for option, column in (("token_column", asked.text), ("tag_column", asked.label)):
        if column is not None:
            if options.get("header") and column in head:
                column = str(head.index(column) + 1)
            if not column.isdigit() or column == "0":
                raise CorpusError(
                    f"{path}: a tagged file has no header; expected a column's number from 1, got "
                    f"{column!r}"
                )
            options[option] = int(column) - 1
    repairs: Counter[str] = Counter()
    bad: list[str] | None = [] if asked.skip_bad else None
    try:
        rows = read_conll(path, bad=bad, repairs=repairs, **options)
    except CorpusError as error:
        raise CorpusError(f"{error} (--skip-bad leaves such sentences out)") from None
    places = ""
    if "token_column" in options:
        tag = options["tag_column"] + 1 or "last"
        places = f", tokens in column {options['token_column'] + 1}, tags in column {tag}"
    form = "a sentence a line" if "inner" in options else "a token a line"
    return of_rows(path, rows, f"{form}{places}", bad or [], list(repairs))


def read_tokens(path: Path, asked: Asked) -> tuple[list[list[str]], str] | None:
    """The words of a file of a token a line, with tags or without, and how it was read.

    Returns:
        The words of each sentence; None for a file of another form.

    Raises:
        CorpusError: it has no sentence.
    """
    sure = is_tagged_name(path)
    lines = _lines(path, asked, sure)
    if lines is None:
        return None
    layout = layout_of(lines, sure=sure)
    if layout is not None and "inner" in layout:
        made = read_tagged(path, asked)
        return (made.column("tokens"), made.form) if made else None
    if layout is None:
        blank = any(not line.strip() for line in lines[:-1])
        single = blank and not any(" " in line.strip() for line in lines)
        if not sure and (not single or plain_name(path).endswith(".csv")):
            return None
        layout = {"separator": "\t" if any("\t" in line for line in lines) else " "}
    number = asked.text or ""
    column = int(number) - 1 if number.isdecimal() else layout.get("token_column", 0)
    sentences: list[list[str]] = [[]]
    skip = bool(layout.get("header"))
    for line in lines:
        if not line.strip():
            sentences.append([])
        elif line.startswith(layout.get("comments", ())):
            continue
        elif skip:
            skip = False
        elif not line.startswith("-DOCSTART-"):
            fields = fields_of(line.rstrip("\r"), layout["separator"])
            sentences[-1].append(fields[min(column, len(fields) - 1)])
    sentences = [words for words in sentences if words]
    if not sentences:
        raise CorpusError.at(path, 0, "expected sentences, got none")
    return sentences, "a token a line"


def _lines(path: Path, asked: Asked, sure: bool) -> list[str] | None:
    """The lines of a file that may be of this form; None for any other."""
    if plain_name(path).endswith(OF_ROWS):
        return None
    if not sure and re.match(rb"PAR1|PK\x03\x04|ARROW1|\xff{4}", read_bytes(path)[:8]):
        return None
    read_binary(path, read_bytes(path), asked.encoding)
    lines = read_lines(path, encoding=asked.encoding, errors="keep")
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip()[:1] in ("{", "[") and not sure and '"' in first:
        return None
    return lines


def of_rows(
    path: Path, rows: Any, form: str, bad: Sequence[str] = (), notes: Sequence[str] = ()
) -> Table:
    """Rows of tokens and tags as a table."""
    tag_notes = [note for note in notes if note.startswith("tags ")]
    taken = [note.removeprefix("read as ") for note in notes if note.startswith("read as ")]
    form = f"{(taken or ['utf-8'])[0]}, {form}"
    pairs = zip(rows["tokens"][:], rows["tags"][:], strict=True)
    table = [(n, [list(tokens), list(tags)]) for n, (tokens, tags) in enumerate(pairs, 1)]
    form = "; ".join([form, *tag_notes])
    return Table(str(path), ["tokens", "tags"], table, list(bad), form, objects=True, tagged=True)

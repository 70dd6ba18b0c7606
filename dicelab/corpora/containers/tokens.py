"""Files with a token a line, as CoNLL's, or a sentence a line with a tag at each token."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from dicelab.corpora.cells import OF_ROWS, Asked, Table
from dicelab.corpora.conll import UNIVERSAL_NER, fields_of, layout_of, read_conll, read_conllu
from dicelab.corpora.containers.binary import read_binary
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.text import plain_name, read_bytes, read_lines

_ENDINGS = (".conll", ".conllu", ".iob2", ".iob", ".bio", ".bmes", ".bioes", ".annotated")


def read_tokens(path: Path, asked: Asked, *, sure: bool = False) -> Table | None:
    """A file of a token a line as a table of ``tokens`` and ``tags``; None for any other.

    Args:
        path: the file.
        asked: what was said about it; where no labels are wanted, tags need not be there.
        sure: whether it can be nothing else; by default where its name says so.

    Raises:
        CorpusError: with file and line, where a line is not as the others.
    """
    name = plain_name(path)
    sure = sure or name.endswith(_ENDINGS)
    if name.endswith(OF_ROWS):
        return None
    data = read_bytes(path)
    if not sure and re.match(rb"PAR1|PK\x03\x04|ARROW1|\xff{4}", data[:8]):
        return None
    read_binary(path, data, asked.encoding)
    lines = read_lines(path, encoding=asked.encoding, errors="keep")
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip()[:1] in ("{", "[") and not sure and '"' in first:
        return None
    repairs: Counter[str] = Counter()
    bad: list[str] | None = [] if asked.skip_bad else None
    if name.endswith(".conllu"):
        rows = read_conllu(path, column="upos" if asked.labelled else None, repairs=repairs)
        return _table(path, rows, "CoNLL-U", [], repairs)
    try:
        layout = layout_of(lines[:5000], sure=sure)
    except CorpusError as error:
        raise CorpusError(f"{path}: {error}") from None
    if layout is None and not asked.labelled and not name.endswith(".csv"):
        blank = any(not line.strip() for line in lines[:-1])
        if sure or (blank and not any(" " in line.strip() for line in lines)):
            layout = {"separator": "\t" if any("\t" in line for line in lines) else " "}
    if layout is None and not sure:
        return None
    options: dict[str, Any] = {"encoding": asked.encoding, **(layout or {})}
    if name.endswith(".iob2") and options.get("token_column", 1) == 1:
        options |= UNIVERSAL_NER
    if asked.delimiter:
        options["separator"] = asked.delimiter
    if not asked.labelled:
        options["tag_column"] = None
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
    try:
        rows = read_conll(path, bad=bad, repairs=repairs, **options)
    except CorpusError as error:
        raise CorpusError(f"{error} (--skip-bad leaves such sentences out)") from None
    form = "a token a line"
    if options.get("tag_column") is not None:
        tag = options["tag_column"] + 1 or "last"
        form += f", tokens in column {options['token_column'] + 1}, tags in column {tag}"
    return _table(path, rows, form, bad or [], repairs)


def _table(path: Path, rows: Any, form: str, bad: list[str], repairs: Counter[str]) -> Table:
    """Rows of tokens and tags as a table, with what is to be said of its encoding and tags."""
    taken = [note.removeprefix("read as ") for note in repairs if note.startswith("read as ")]
    said = [note for note in repairs if note.startswith("tags ")]
    pairs = zip(rows["tokens"][:], rows["tags"][:], strict=True)
    table = [(n, [list(tokens), list(tags)]) for n, (tokens, tags) in enumerate(pairs, 1)]
    form = "; ".join([f"{(taken or ['utf-8'])[0]}, {form}", *said])
    return Table(str(path), ["tokens", "tags"], table, bad, form, objects=True, tagged=True)

"""Files with a token a line, as CoNLL's, or a sentence a line with a tag at each token."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from dicelab.corpora.cells import OF_ROWS, Asked, Table
from dicelab.corpora.conll import CONLLU, UNIVERSAL_NER, fields_of, layout_of, read_conll
from dicelab.corpora.containers.binary import read_binary
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.text import plain_name, read_bytes, read_lines

_ENDINGS = (".conll", ".conllu", ".iob2", ".iob", ".bio", ".bmes", ".bioes", ".annotated")


def read_tokens(path: Path, asked: Asked, *, sure: bool = False) -> Table | None:
    """A file of a token a line as a table of ``tokens`` and ``tags``; None for any other.

    Where no labels are wanted, tags need not be there.
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
    try:
        layout = layout_of(lines[:5000], sure=sure)
    except CorpusError as error:
        raise CorpusError(f"{path}: {error}") from None
    if name.endswith(".conllu"):
        layout = dict(CONLLU)
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
    form = "CoNLL-U" if "numbered" in options else "a token a line"
    if options.get("tag_column") is not None:
        tag = options["tag_column"] + 1 or "last"
        form += f", tokens in column {options['token_column'] + 1}, tags in column {tag}"
    taken = [note.removeprefix("read as ") for note in repairs if note.startswith("read as ")]
    said = [note for note in repairs if note.startswith("tags ")]
    form = "; ".join([f"{(taken or ['utf-8'])[0]}, {form}", *said])
    table = [(n, [row["tokens"], row["tags"]]) for n, row in enumerate(rows.to_list(), 1)]
    return Table(str(path), ["tokens", "tags"], table, bad or [], form, objects=True, tagged=True)

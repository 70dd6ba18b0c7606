"""What a file is made of: columns, JSON, parquet, sheets, tokens in lines, folders."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path

from dicelab.corpora.cells import JSON, NOTHING_ASKED, Asked, Table
from dicelab.corpora.containers.binary import read_binary
from dicelab.corpora.containers.delimited import read_delimited
from dicelab.corpora.containers.json_text import read_json
from dicelab.corpora.errors import FACTS, CorpusError
from dicelab.corpora.text import decode, plain_name, read_bytes


def read_table(path: str | PathLike[str], asked: Asked = NOTHING_ASKED) -> Table:
    """Read a table: delimited text, JSON, parquet, arrow or a workbook, packed by gzip or not.

    What a file is follows from what it holds, and from its name where that leaves it open. Where no
    labels are wanted it may be a text a line, and no line may be lost then: it is a table where its
    first line names columns, or its name ends in csv or tsv and its lines are no prose.
    """
    path = Path(path)
    data = read_bytes(path)
    name = plain_name(path)
    table = read_binary(path, data, asked.encoding)
    if table is not None:
        return table
    text, taken = decode(data, path, encoding=asked.encoding, errors="keep")
    if not text.strip():
        raise CorpusError.at(path, 0, "expected rows of text and label, got an empty file")
    for kind, marks in FACTS["markup"].items():
        begun = text.lstrip()[:20].lower().startswith(tuple(m for m in marks if m[0] != "."))
        if name.endswith(tuple(marks)) or begun:
            raise CorpusError.at(
                path,
                0,
                f"expected a table, got {kind}; write its rows as CSV with a text and a label, or "
                'as a JSON object a line, such as {"text": "...", "label": "..."}',
            )
    table = None if asked.delimiter else read_json(path, text, must=name.endswith(JSON))
    if table is None:
        table = read_delimited(path, text, asked)
    return replace(table, form=f"{taken}, {table.form}")

"""What a file is made of: columns, JSON, parquet, sheets, tokens in lines, folders."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from os import PathLike
from pathlib import Path

from dicelab.corpora.cells import JSON, Asked, Table
from dicelab.corpora.containers.binary import read_binary
from dicelab.corpora.containers.delimited import How, read_delimited
from dicelab.corpora.containers.json_text import read_json
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.text import plain_name, read_bytes, text_of_bytes


def read_table(
    path: str | PathLike[str],
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    quoting: bool | None = None,
    header_names: Iterable[str] = (),
    repairs: Counter[str] | None = None,
    replaced: bool = False,
    rows_count: bool = False,
    sure: bool = False,
) -> Table:
    """Read a table: delimited text, JSON, parquet, arrow or a workbook, packed by gzip or not.

    What a file is follows from what it holds, and from its name where that leaves it open.

    Args:
        path: the file.
        encoding: encoding of its text; None finds out.
        delimiter: delimiter between columns; None finds out.
        header: whether the first line names the columns; None finds out.
        quoting: whether double quotes enclose fields; None finds out.
        header_names: names that are looked for; they tell that the first line is a header.
        repairs: what was repaired is added here, by kind.
        replaced: put U+FFFD for bytes of another encoding.
        rows_count: the file may be a text a line, and no line may be lost then: it is a table where
            its first line names columns, or its name ends in csv or tsv and its lines are no prose.
        sure: it is a table all the same.

    Raises:
        CorpusError: with file and line: nothing to read, no table, two columns of one name.
    """
    path = Path(path)
    data = read_bytes(path)
    name = plain_name(path)
    table = read_binary(path, data, encoding)
    if table is not None:
        return table
    text, taken = text_of_bytes(
        data, path, repairs, encoding=encoding, errors="replace" if replaced else "keep"
    )
    if not text.strip():
        raise CorpusError.at(path, 0, "expected rows of text and label, got an empty file")
    _refuse_markup(path, text)
    table = None if delimiter else read_json(path, text, must=name.endswith(JSON))
    if table is None:
        how = How(delimiter, header, quoting, {n.lower() for n in header_names}, rows_count, sure)
        table = read_delimited(path, text, how)
    return replace(table, form=f"{taken}, {table.form}")


def as_asked(path: Path, asked: Asked) -> Table:
    """The table of a file, read as its reader was told; see :func:`read_table`."""
    return read_table(
        path,
        encoding=asked.encoding,
        delimiter=asked.delimiter,
        header=asked.header,
        # Numbers are no header.
        header_names=[n for n in (*asked.columns, *asked.known) if not n.isdecimal()],
        rows_count=not asked.labelled,
        sure=asked.text is not None,
    )


def _refuse_markup(path: Path, text: str) -> None:
    name = plain_name(path)
    if re.match(r"\s*<(!doctype html|html)", text, re.IGNORECASE):
        raise CorpusError.at(path, 0, "expected a table, got a web page; download the file anew")
    kinds = {"XML": (".xml", "<?xml"), "YAML": (".yml", ".yaml"), "a PDF": (".pdf", "%PDF")}
    for kind, marks in kinds.items():
        if name.endswith(marks) or text.lstrip().startswith(marks[1]):
            raise CorpusError.at(
                path,
                0,
                f"expected a table, got {kind}; write its rows as CSV with a text and a label, or "
                'as a JSON object a line, such as {"text": "...", "label": "..."}',
            )

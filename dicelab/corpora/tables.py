"""A table of any make: its names, its rows with their lines, and what was decided about the file.

Python's csv and json and pyarrow read; what is ours is which of them, and by which signs. Every
row keeps its line, so that an error can name it.
"""

from __future__ import annotations

import contextlib
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from dicelab.corpora.cells import JSON, Table, no_twins, short
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.json_tables import read_json
from dicelab.corpora.text import check_size, plain_name, read_bytes, text_of_bytes
from dicelab.corpora.text_tables import How, read_delimited


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
    plain: bool = False,
    rows_count: bool = False,
) -> Table:
    """Read a table: delimited text, JSON, parquet or a sheet of Excel, packed by gzip or not.

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
        plain: take a text a line unless the first line has one of the wanted names or the name of
            the file says that it is a table.
        rows_count: no row may be lost: a first line is a header by its names alone, and a sign
            is a delimiter only where every line has it as often.

    Raises:
        CorpusError: with file and line: nothing to read, no table, two columns of one name.
    """
    path = Path(path)
    data = read_bytes(path)
    if data.startswith(b"PAR1"):
        return _parquet(path, data)
    if data.startswith(b"PK\x03\x04"):
        return _sheet(path, data)
    name = plain_name(path)
    if name.endswith(".parquet"):
        raise CorpusError.at(path, 0, "expected a parquet file, which begins with PAR1")
    text, taken = text_of_bytes(
        data, path, repairs, encoding=encoding, errors="replace" if replaced else "keep"
    )
    if not text.strip():
        raise CorpusError.at(path, 0, "expected rows of text and label, got an empty file")
    _refuse_markup(path, text)
    table = None if delimiter else read_json(path, text, must=name.endswith(JSON))
    if table is None:
        how = How(delimiter, header, quoting, {n.lower() for n in header_names}, plain, rows_count)
        table = read_delimited(path, text, how)
    return replace(table, form=f"{taken}, {table.form}")


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


def _parquet(path: Path, data: bytes) -> Table:
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.read_table(pyarrow.BufferReader(data))
    except (OSError, pyarrow.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise CorpusError.at(path, 0, f"expected a parquet file; {reason}") from None
    names = list(table.column_names)
    no_twins(path, 0, names)
    if b"huggingface" in (table.schema.metadata or {}):
        from datasets import Dataset

        return of_dataset(str(path), Dataset(table), "parquet of datasets")
    rows = [(n, list(row.values())) for n, row in enumerate(table.to_pylist(), 1)]
    return Table(str(path), names, rows, form="parquet", objects=True)


def of_dataset(name: str, rows: Any, form: str = "") -> Table:
    """A split of a ``datasets`` data set as a table; numbers of classes become their names."""
    names = list(rows.column_names)
    classes = {}
    for n in names:
        feature = rows.features[n]
        feature = getattr(feature, "feature", feature)
        classes[n] = getattr(feature, "names", None)

    def named(value: Any, class_names: Sequence[str] | None) -> Any:
        if class_names and type(value) is list:
            return [named(item, class_names) for item in value]
        return class_names[value] if class_names and type(value) is int and value >= 0 else value

    columns = [[named(value, classes[n]) for value in rows[n][:]] for n in names]
    table = [(n, list(row)) for n, row in enumerate(zip(*columns, strict=True), 1)]
    return Table(name, names, table, form=form, objects=True)


def _sheet(path: Path, data: bytes) -> Table:
    import pandas as pd

    with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(data)) as packed:
        check_size(sum(part.file_size for part in packed.infolist()), path)
    try:
        sheet = pd.read_excel(io.BytesIO(data), header=None, dtype=object)
    except ImportError:
        raise CorpusError.at(
            path,
            0,
            "expected openpyxl to read a sheet of Excel: pip install openpyxl, or save the "
            "sheet as CSV",
        ) from None
    except Exception as error:  # whatever the reader of a damaged file raises
        raise CorpusError.at(
            path, 0, f"expected a sheet of Excel; {short(str(error).strip())}; save it as CSV"
        ) from None
    cells = [
        (n, [None if pd.isna(value) else value for value in row])
        for n, row in enumerate(sheet.itertuples(index=False), 1)
    ]
    rows = [(n, row) for n, row in cells if any(value is not None for value in row)]
    if not rows:
        raise CorpusError.at(path, 0, "expected rows of text and label, got an empty file")
    names = ["" if name is None else str(name).strip() for name in rows[0][1]]
    no_twins(path, rows[0][0], names)
    return Table(str(path), names, rows[1:], form="the first sheet", objects=True)

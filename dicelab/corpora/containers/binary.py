"""Files that are no text, by their first bytes: parquet, arrow, workbooks, and what is refused."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dicelab.corpora.cells import Table, no_twins, short
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.registry import split_of
from dicelab.corpora.text import check_size, is_wide, plain_name

_TABLE = "; in pandas: frame = pandas.{}; frame.to_csv('rows.csv', index=False)"
_UNPACK = "; unpack it first"
#: The first bytes of a file, what it is, and what to do with it.
_REFUSED: dict[bytes, tuple[str, str]] = {
    b"\xd0\xcf\x11\xe0": ("a workbook of old Excel", "; save it as .xlsx or as CSV"),
    b"SQLite format 3\0": (
        "a database of SQLite",
        _TABLE.format("read_sql('select * from NAME', sqlite3.connect(FILE))"),
    ),
    b"\x89HDF\r\n": ("a file of HDF5", _TABLE.format("read_hdf(FILE)")),
    **{
        b"\x80" + bytes([protocol]): ("a pickle", _TABLE.format("read_pickle(FILE)"))
        for protocol in range(2, 6)
    },
    b"BZh": ("a file packed by bzip2", _UNPACK),
    b"\xfd7zXZ": ("a file packed by xz", _UNPACK),
    b"\x28\xb5\x2f\xfd": ("a file packed by zstd", _UNPACK),
    b"7z\xbc\xaf": ("a file packed by 7-Zip", _UNPACK),
    b"Rar!": ("a file packed by RAR", _UNPACK),
    b"Obj\x01": ("a file of Avro", "; write its rows as parquet"),
}


def read_binary(path: Path, data: bytes, encoding: str | None = None) -> Table | None:
    """A table of what is no text; None for text.

    Args:
        path: the file, for messages.
        data: its bytes.
        encoding: that of its text, if one was asked for.

    Raises:
        CorpusError: it is damaged, or of a kind that is no table.
    """
    name = plain_name(path)
    if data.startswith((b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")):
        return _of_arrow(path, data, "parquet" if data.startswith(b"PAR1") else "arrow")
    if data.startswith(b"PK\x03\x04"):
        return _zip(path, data)
    if name.endswith(".parquet"):
        raise CorpusError.at(path, 0, "expected a parquet file, which begins with PAR1")
    if name.endswith(".spacy"):
        raise CorpusError.at(
            path,
            0,
            "expected a table, got the documents of spaCy; write each as a JSON object a line with "
            "its text and [[e.start_char, e.end_char, e.label_] for e in doc.ents]",
        )
    for mark, (kind, way) in _REFUSED.items():
        if data.startswith(mark):
            raise CorpusError.at(path, 0, f"expected a table, got {kind}{way}")
    wide = encoding or is_wide(data) or data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if not wide and data[:1000].count(0) > 1:
        raise CorpusError.at(
            path, 0, "expected text, got bytes of another kind; save its rows as CSV or as parquet"
        )
    return None


def _of_arrow(path: Path, data: bytes, kind: str) -> Table:
    import pyarrow
    from pyarrow import ipc, parquet

    read = {
        b"PAR1": parquet.read_table,
        b"ARRO": lambda buffer: ipc.open_file(buffer).read_all(),
        b"\xff\xff\xff\xff": lambda buffer: ipc.open_stream(buffer).read_all(),
    }[data[:4]]
    try:
        table = read(pyarrow.BufferReader(data))
    except (OSError, pyarrow.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise CorpusError.at(path, 0, f"expected a {kind} file; {reason}") from None
    no_twins(path, 0, table.column_names)
    if b"huggingface" in (table.schema.metadata or {}):
        from datasets import Dataset

        return of_dataset(str(path), Dataset(table), f"{kind} of datasets")
    rows = [(n, list(row.values())) for n, row in enumerate(table.to_pylist(), 1)]
    return Table(str(path), table.column_names, rows, form=kind, objects=True)


def of_dataset(name: str, rows: Any, form: str = "") -> Table:
    """A split of a ``datasets`` data set as a table; numbers of classes become their names."""
    columns = []
    for column in rows.column_names:
        feature = rows.features[column]
        names = getattr(getattr(feature, "feature", feature), "names", None)
        columns.append([_named(value, names) for value in rows[column][:]])
    table = [(n, list(row)) for n, row in enumerate(zip(*columns, strict=True), 1)]
    return Table(name, list(rows.column_names), table, form=form, objects=True)


def _named(value: Any, names: Sequence[str] | None) -> Any:
    if names and type(value) is list:
        return [_named(item, names) for item in value]
    return names[value] if names and type(value) is int and value >= 0 else value


def _zip(path: Path, data: bytes) -> Table:
    import pandas as pd

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            check_size(sum(part.file_size for part in packed.infolist()), path)
            inner = packed.namelist()
        kind = "a document of Word" if "word/document.xml" in inner else ""
        if not kind and not any(name.startswith("xl/") for name in inner):
            kind = f"a zip with {short(', '.join(inner), 100)}"
        if kind:
            way = "save its table as CSV" if "Word" in kind else "unpack it and name the table"
            raise CorpusError.at(path, 0, f"expected a table, got {kind}; {way}")
        sheets = pd.read_excel(io.BytesIO(data), header=None, dtype=object, sheet_name=None)
    except CorpusError:
        raise
    except ImportError:
        way = "pip install openpyxl, or save the sheet as CSV"
        problem = f"expected openpyxl to read a workbook of Excel: {way}"
        raise CorpusError.at(path, 0, problem) from None
    except Exception as error:  # whatever the reader of a damaged file raises
        problem = f"expected a workbook of Excel; {short(str(error).strip())}; save it as CSV"
        raise CorpusError.at(path, 0, problem) from None
    return _of_sheets(path, sheets)


def _under_header(sheet: Any) -> list[tuple[int, list[Any]]]:
    """A sheet's rows from its header on, without what stands above it, and without empty rows."""
    sheet = sheet.dropna(how="all")
    if sheet.empty:
        return []
    filled = sheet.notna().sum(axis=1)[:20]
    sheet = sheet.loc[(filled >= min(2, filled.max())).idxmax() :]
    used = sheet.notna().any()
    sheet = sheet.loc[:, : used[used].index[-1]]
    cells = sheet.astype(object).where(sheet.notna(), None)
    return [(n + 1, list(row)) for n, row in zip(sheet.index, cells.values.tolist(), strict=True)]


def _of_sheets(path: Path, sheets: dict[str, Any]) -> Table:
    """The largest sheet with those of its columns, as splits where the names say so."""
    made = {name: rows for name, sheet in sheets.items() if (rows := _under_header(sheet))}
    if not made:
        raise CorpusError.at(path, 0, "expected rows of text and label, got an empty file")
    start, head = max(made.values(), key=lambda rows: len(rows) * len(rows[0][1]))[0]
    used = {name: rows[1:] for name, rows in made.items() if rows[0][1] == head}
    names = ["" if name is None else str(name).strip() for name in head]
    no_twins(path, start, names)
    splits = len(used) > 1 and all(split_of(f"{name}.x") for name in used)
    rows = [(n, [name] * splits + row) for name, part in used.items() for n, row in part]
    notes = []
    if len(used) > 1:
        listing = ", ".join(f"{name!r} ({len(part)} rows)" for name, part in used.items())
        notes.append(f"The sheets {listing} have the same columns and are read as one table.")
    if left := [name for name in sheets if name not in used]:
        listing = ", ".join(f"{name!r} ({len(sheets[name])} rows)" for name in left)
        notes.append(f"Of {len(sheets)} sheets these are left out: {listing}.")
    form = f"the sheet {', '.join(map(repr, used))}"
    names = ["split"] * splits + names
    return Table(str(path), names, rows, form=form, objects=True, notes=notes)

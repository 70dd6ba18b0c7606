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
    if data.startswith(b"PAR1"):
        return _parquet(path, data)
    if data.startswith(b"ARROW1") or data.startswith(b"\xff\xff\xff\xff"):
        return _arrow(path, data)
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


def _parquet(path: Path, data: bytes) -> Table:
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.read_table(pyarrow.BufferReader(data))
    except (OSError, pyarrow.ArrowException) as error:
        raise _damaged(path, "parquet", error) from None
    return _of_arrow(path, table, "parquet")


def _arrow(path: Path, data: bytes) -> Table:
    import pyarrow

    reader = pyarrow.ipc.open_file if data.startswith(b"ARROW1") else pyarrow.ipc.open_stream
    try:
        table = reader(pyarrow.BufferReader(data)).read_all()
    except (OSError, pyarrow.ArrowException) as error:
        raise _damaged(path, "feather or arrow", error) from None
    return _of_arrow(path, table, "arrow")


def _damaged(path: Path, kind: str, error: Exception) -> CorpusError:
    return CorpusError.at(path, 0, f"expected a {kind} file; {str(error).splitlines()[0]}")


def _of_arrow(path: Path, table: Any, form: str) -> Table:
    names = list(table.column_names)
    no_twins(path, 0, names)
    if b"huggingface" in (table.schema.metadata or {}):
        from datasets import Dataset

        return of_dataset(str(path), Dataset(table), f"{form} of datasets")
    rows = [(n, list(row.values())) for n, row in enumerate(table.to_pylist(), 1)]
    return Table(str(path), names, rows, form=form, objects=True)


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


# -- workbooks ---------------------------------------------------------------------------------


def _zip(path: Path, data: bytes) -> Table:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            check_size(sum(part.file_size for part in packed.infolist()), path)
            inner = packed.namelist()
    except zipfile.BadZipFile as error:
        raise CorpusError.at(
            path, 0, f"expected a workbook of Excel; {error}; save it as CSV"
        ) from None
    if "word/document.xml" in inner:
        raise CorpusError.at(
            path, 0, "expected a table, got a document of Word; save its table as CSV"
        )
    if not any(name.startswith("xl/") for name in inner):
        listing = short(", ".join(inner), 100)
        raise CorpusError.at(
            path, 0, f"expected a table, got a zip with {listing}; unpack it and name the table"
        )
    import pandas as pd

    try:
        sheets = pd.read_excel(io.BytesIO(data), header=None, dtype=object, sheet_name=None)
    except ImportError:
        raise CorpusError.at(
            path,
            0,
            "expected openpyxl to read a workbook of Excel: pip install openpyxl, or save the "
            "sheet as CSV",
        ) from None
    except Exception as error:  # whatever the reader of a damaged file raises
        raise CorpusError.at(
            path, 0, f"expected a workbook of Excel; {short(str(error).strip())}; save it as CSV"
        ) from None
    return _of_sheets(
        path,
        {
            name: [
                (n, [None if pd.isna(value) else value for value in row])
                for n, row in enumerate(sheet.itertuples(index=False), 1)
            ]
            for name, sheet in sheets.items()
        },
    )


def _of_sheets(path: Path, sheets: dict[str, list[tuple[int, list[Any]]]]) -> Table:
    """The largest sheet with those of its columns, as splits where the names say so."""
    made = {name: rows for name, cells in sheets.items() if (rows := _under_header(cells))}
    if not made:
        raise CorpusError.at(path, 0, "expected rows of text and label, got an empty file")
    head = max(made.values(), key=lambda rows: len(rows) * len(rows[0][1]))[0]
    used = {name: rows for name, rows in made.items() if rows[0][1] == head[1]}
    names = ["" if name is None else str(name).strip() for name in head[1]]
    no_twins(path, head[0], names)
    notes = []
    splits = all(split_of(f"{name}.x") for name in used) and len(used) > 1
    rows = [
        (n, [name, *row] if splits else row) for name, part in used.items() for n, row in part[1:]
    ]
    if len(used) > 1:
        listing = ", ".join(f"{name!r} ({len(part) - 1} rows)" for name, part in used.items())
        notes.append(f"The sheets {listing} have the same columns and are read as one table.")
    left = [name for name in sheets if name not in used]
    if left:
        listing = ", ".join(f"{name!r} ({len(sheets[name])} rows)" for name in left)
        notes.append(f"Of {len(sheets)} sheets these are left out: {listing}.")
    names = ["split", *names] if splits else names
    form = f"the sheet {', '.join(map(repr, used))}"
    return Table(str(path), names, rows, form=form, objects=True, notes=notes)


def _under_header(cells: list[tuple[int, list[Any]]]) -> list[tuple[int, list[Any]]]:
    """A sheet from its header on, without what stands above it, and without empty rows."""
    rows = [(n, row) for n, row in cells if any(value is not None for value in row)]
    if not rows:
        return []
    width = max(sum(value is not None for value in row) for _, row in rows[:20])
    for place, (_, row) in enumerate(rows[:20]):
        if sum(value is not None for value in row) >= min(2, width):
            rows = rows[place:]
            break
    last = max(n for n, name in enumerate(rows[0][1]) if name is not None)
    used = max(n for _, row in rows for n, value in enumerate(row) if value is not None)
    return [(n, row[: max(last, used) + 1]) for n, row in rows]

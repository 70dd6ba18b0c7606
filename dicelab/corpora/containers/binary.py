"""Files that are no text, by their first bytes: parquet, arrow, workbooks, and what is refused."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dicelab.corpora.cells import Table, no_twins, short
from dicelab.corpora.errors import FACTS, REFUSED, CorpusError
from dicelab.corpora.registry import split_of
from dicelab.corpora.text import check_size, is_wide, plain_name


def read_binary(path: Path, data: bytes, encoding: str | None = None) -> Table | None:
    """A table of what is no text; None for text, whose encoding may have been asked for."""
    name = plain_name(path)
    if data.startswith((b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")):
        return _of_arrow(path, data, "parquet" if data.startswith(b"PAR1") else "arrow")
    if data.startswith(b"PK\x03\x04"):
        return _zip(path, data)
    if name.endswith(".parquet"):
        raise CorpusError.at(path, 0, "expected a parquet file, which begins with PAR1")
    if name.endswith(".spacy"):
        raise CorpusError.at(path, 0, REFUSED["spacy"])
    for mark, (kind, way) in FACTS["bytes"].items():
        if data.startswith(bytes.fromhex(mark)):
            raise CorpusError.at(path, 0, f"expected a table, got {kind}; {way}")
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
        sheets = pd.read_excel(io.BytesIO(data), dtype=object, sheet_name=None)
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


def _of_sheets(path: Path, sheets: dict[str, Any]) -> Table:
    """The largest sheet with those of its columns, as splits where the names say so."""
    import pandas as pd

    largest = max(sheets.values(), key=lambda sheet: sheet.size)
    used = {name: sheet for name, sheet in sheets.items() if [*sheet] == [*largest]}
    names = [str(name).strip() for name in largest]
    if largest.empty or any(name.startswith("Unnamed: ") for name in names[1:]):
        problem = f"expected the names of the columns in the first row, got {short(str(names))}"
        raise CorpusError.at(path, 1, f"{problem}; delete what stands above them")
    splits = len(used) > 1 and all(split_of(f"{name}.x") for name in used)
    cells = pd.concat(used, names=["split", "row"]).reset_index()
    cells = cells.astype(object).where(cells.notna(), None)
    rows = [(row[1] + 2, row[:1] * splits + row[2:]) for row in cells.values.tolist()]
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

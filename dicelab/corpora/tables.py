"""A table of any make: its names, its rows with their lines, and what was decided about the file.

Python's csv and json and pyarrow read; what is ours is which of them, and by which signs. Every
row keeps its line, so that an error can name it.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from dicelab.corpora.errors import CorpusError
from dicelab.corpora.registry import split_of
from dicelab.corpora.text import odd_character, plain_name, read_bytes, text_of_bytes

TEXTS = (
    *("text", "sentence", "review", "comment", "content", "message", "tweet", "body", "document"),
    *("utterance", "question", "headline", "title", "abstract", "description", "comment_text"),
    *("tweet_text", "review_text", "sms", "input"),
)
PAIRS = (
    *(("sentence1", "sentence2"), ("#1 string", "#2 string"), ("question1", "question2")),
    *(("text1", "text2"), ("text_a", "text_b"), ("premise", "hypothesis"), ("query", "passage")),
    *(("question", "answer"), ("question", "sentence")),
)
LABELS = (
    *("label", "labels", "class", "category", "target", "sentiment", "polarity", "intent"),
    *("quality", "is_duplicate", "gold_label", "emotion", "topic", "rating", "stars", "choice"),
    *("choices", "tags", "topics", "genre"),
)
SPLIT_COLUMNS = ("split", "set", "subset", "partition", "ml_use", "dataset", "usage")
#: Rows by which a file is judged.
LOOK = 2000
_SIGNS = "\t,;|"
_JSON = (".json", ".jsonl", ".ndjson")
#: Endings of files that hold rows with names and never a token a line.
OF_ROWS = (*_JSON, ".parquet", ".xlsx")
_NAMES = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", " ": "spaces"}


@dataclass(frozen=True)
class Table:
    """A table as it was read.

    Attributes:
        path: its file, for messages.
        names: of the columns; ``"1"``, ``"2"``, ... where there is no header.
        rows: the line of each row, from 1, and its values.
        bad: what was wrong with other rows, as messages with file and line.
        form: what was decided about the file: encoding, form, header.
        header: whether the names come from the file.
        objects: whether values have types, as those of JSON and parquet do.
        first: the line of the header, or of the first row.
        tagged: whether the columns are ``tokens`` and ``tags`` in IOB2, or plain tags.
    """

    path: str
    names: list[str]
    rows: list[tuple[int, list[Any]]]
    bad: list[str] = field(default_factory=list)
    form: str = ""
    header: bool = True
    objects: bool = False
    first: int = 1
    tagged: bool = False

    def column(self, name: str) -> list[Any]:
        """The values of a column."""
        place = self.names.index(name)
        return [row[place] for _, row in self.rows]

    def error(self, line: int, problem: str) -> CorpusError:
        """An error about one of its rows."""
        return CorpusError.at(self.path, line, problem)


def read_table(
    path: str | PathLike[str],
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    quoting: bool | None = None,
    wanted: Iterable[str] = (),
    repairs: Counter[str] | None = None,
    replaced: bool = False,
    plain: bool = False,
    rows_count: bool = False,
) -> Table:
    """Read a table: delimited text, JSON, parquet or a sheet of Excel, packed by gzip or not.

    What a file is follows from what it holds, and from its name where that leaves it open.

    Args:
        path: the file.
        encoding: of its text; None finds out.
        delimiter: between columns; None finds out.
        header: whether the first line names the columns; None finds out.
        quoting: whether double quotes enclose fields; None finds out.
        wanted: names that are looked for; they tell that the first line is a header.
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
    found = None if delimiter else _json(path, text, must=name.endswith(_JSON))
    if found is None:
        how = _How(delimiter, header, quoting, {n.lower() for n in wanted}, plain, rows_count)
        found = _delimited(path, text, how)
    return replace(found, form=f"{taken}, {found.form}")


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
        found = parquet.read_table(pyarrow.BufferReader(data))
    except (OSError, pyarrow.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise CorpusError.at(path, 0, f"expected a parquet file; {reason}") from None
    names = list(found.column_names)
    _no_twins(path, 0, names)
    if b"huggingface" in (found.schema.metadata or {}):
        from datasets import Dataset

        return of_dataset(str(path), Dataset(found), "parquet of datasets")
    rows = [(n, list(row.values())) for n, row in enumerate(found.to_pylist(), 1)]
    return Table(str(path), names, rows, form="parquet", objects=True)


def of_dataset(name: str, rows: Any, form: str = "") -> Table:
    """A split of a ``datasets`` data set as a table; numbers of classes become their names."""
    names = list(rows.column_names)
    classes = {}
    for n in names:
        feature = rows.features[n]
        feature = getattr(feature, "feature", feature)
        classes[n] = getattr(feature, "names", None)

    def named(value: Any, of: Sequence[str] | None) -> Any:
        if of and type(value) is list:
            return [named(one, of) for one in value]
        return of[value] if of and type(value) is int and value >= 0 else value

    columns = [[named(value, classes[n]) for value in rows[n][:]] for n in names]
    table = [(n, list(row)) for n, row in enumerate(zip(*columns, strict=True), 1)]
    return Table(name, names, table, form=form, objects=True)


def _sheet(path: Path, data: bytes) -> Table:
    import pandas as pd

    try:
        found = pd.read_excel(io.BytesIO(data), header=None, dtype=object)
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
        for n, row in enumerate(found.itertuples(index=False), 1)
    ]
    rows = [(n, row) for n, row in cells if any(value is not None for value in row)]
    if not rows:
        raise CorpusError.at(path, 0, "expected rows of text and label, got an empty file")
    names = ["" if name is None else str(name).strip() for name in rows[0][1]]
    _no_twins(path, rows[0][0], names)
    return Table(str(path), names, rows[1:], form="the first sheet", objects=True)


# -- JSON --------------------------------------------------------------------------------------


def _json(path: Path, text: str, *, must: bool) -> Table | None:
    """A list of objects, an object a line, or columns; None where it is no JSON."""
    lines = text.split("\n")
    first = next(line for line in lines if line.strip()).strip()
    if not must and first[0] not in "[{":
        return None
    whole = _loaded(text)
    if type(whole) is list and whole and all(type(row) in (dict, list) for row in whole):
        return _of_objects(path, list(enumerate(whole, 1)), [], "a JSON list")
    if type(whole) is dict and (inner := _inner(whole)) is not None:
        return _of_objects(path, list(enumerate(inner, 1)), [], "JSON")
    if type(whole) is list:
        if not must:
            return None
        raise CorpusError.at(
            path, 0, f"expected a JSON list of objects or an object a line, got {short(first)}"
        )
    if type(_loaded(first)) in (dict, list):
        return _json_lines(path, lines)
    objects = _one_after_another(text) if whole is None and first[0] == "{" else []
    if objects:
        return _of_objects(path, objects, [], "JSON objects")
    if type(whole) is dict:
        return _of_objects(path, [(1, whole)], [], "a JSON object")
    if not must:
        return None
    return _json_lines(path, lines)


def _one_after_another(text: str) -> list[tuple[int, Any]]:
    """Objects of several lines each, one after another; none where they are not JSON."""
    decoder, place, found = json.JSONDecoder(), 0, []
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        try:
            row, end = decoder.raw_decode(text, place)
        except (RecursionError, ValueError):
            return []
        found.append((text.count("\n", 0, place) + 1, row))
        place = end
    return found


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (RecursionError, ValueError):
        return None


def _inner(whole: dict[str, Any]) -> list[Any] | None:
    """The rows of an object: pandas' orientations, splits, or a list under some key."""
    values = list(whole.values())
    if len(values) == 1 and type(values[0]) is dict:
        return _inner(values[0])
    if set(whole) >= {"columns", "data"} and type(whole["columns"]) is list:
        return [dict(zip(whole["columns"], row, strict=False)) for row in whole["data"]]
    lists = {k: v for k, v in whole.items() if type(v) is list and v}
    objects = {k: v for k, v in lists.items() if all(type(row) is dict for row in v)}
    if objects and all(split_of(f"{name}.x") for name in objects):
        return [{"split": name, **row} for name, rows in objects.items() for row in rows]
    if objects:
        return max(objects.values(), key=len)
    named = {split_of(f"{name}.x") for name in whole}
    rows_of_lists = all(type(row) is list for rows in lists.values() for row in rows)
    if "train" in named and None not in named and len(lists) == len(whole) and rows_of_lists:
        return [
            {"split": name, **{str(n): cell for n, cell in enumerate(row, 1)}}
            for name, rows in lists.items()
            for row in rows
        ]
    if values and all(type(v) is dict for v in values) and len({tuple(v) for v in values}) == 1:
        keys = list(values[0])
        if all(key.isdigit() for key in keys):
            return [{name: of[key] for name, of in whole.items()} for key in keys]
        return values
    if len(lists) == len(whole) > 1 and len({len(v) for v in values}) == 1:
        return [dict(zip(whole, row, strict=True)) for row in zip(*values, strict=True)]
    deeper = [rows for v in values if type(v) is dict and (rows := _inner(v)) is not None]
    return deeper[0] if len(deeper) == 1 and not lists else None


def _json_lines(path: Path, lines: list[str]) -> Table:
    parsed: list[tuple[int, Any]] = []
    bad = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (RecursionError, ValueError) as error:
            bad.append(f"{path}:{number}: expected a JSON object, got {error}")
            continue
        of_kind = type(row) is dict or (type(row) is list and len(row) > 1)
        if not of_kind or (parsed and type(row) is not type(parsed[0][1])):
            bad.append(f"{path}:{number}: expected a JSON object, got {short(line)}")
        else:
            parsed.append((number, row))
    return _of_objects(path, parsed, bad, "a JSON object a line")


def _of_objects(path: Path, parsed: list[tuple[int, Any]], bad: list[str], form: str) -> Table:
    named = parsed and type(parsed[0][1]) is dict
    names: list[str]
    if named:
        bad += [
            f"{path}:{n}: expected a JSON object, got {short(json.dumps(row))}"
            for n, row in parsed
            if type(row) is not dict
        ]
        parsed = [(n, row) for n, row in parsed if type(row) is dict]
        if all(set(row) & {"data", "annotations"} == {"data", "annotations"} for _, row in parsed):
            parsed = [(n, {**_flat(row["data"]), **row}) for n, row in parsed]
        names = list(dict.fromkeys(name for _, row in parsed for name in row))
        rows = [(n, [row.get(name) for name in names]) for n, row in parsed]
    else:
        width = max((len(row) for _, row in parsed), default=0)
        names = [str(n + 1) for n in range(width)]
        rows = [(n, [*row, *[None] * (width - len(row))]) for n, row in parsed]
    return Table(str(path), names, rows, bad, form, bool(named), True)


def _flat(data: Any) -> dict[str, Any]:
    return data if type(data) is dict else {}


# -- delimited text ----------------------------------------------------------------------------

Rows = list[tuple[int, list[str]]]


@dataclass(frozen=True)
class _How:
    """What :func:`read_table` was asked for about delimited text."""

    delimiter: str | None
    header: bool | None
    quoting: bool | None
    wanted: set[str]
    plain: bool
    rows_count: bool


def _delimited(path: Path, text: str, how: _How) -> Table:
    lines = text.split("\n")
    skip, delimiter = 0, how.delimiter
    if told := re.fullmatch(r"sep=(.)", lines[0].strip("\ufeff\"' ")):
        delimiter, skip, lines[0] = delimiter or told[1], 1, ""
    usual = plain_name(path).endswith((".csv", ".tsv"))
    sign, share = (delimiter, 1.0) if delimiter else _sign(path, lines)
    if not delimiter and text.lstrip().startswith("__label__"):
        sign = None  # fastText's lines
    if sign and not delimiter and (how.plain or how.rows_count):
        head = next(line for line in lines if line.strip()).split(sign)
        named = how.wanted & {name.strip(' "').lower() for name in head}
        if not named and ((how.plain and not usual) or (how.rows_count and share < 1)):
            sign = None
    if sign is None:
        # Blank lines are rows too: what is predicted has a line for each line.
        while lines and not lines[-1]:
            lines.pop()
        rows: Rows = [(n, [_unquoted(line)]) for n, line in enumerate(lines, 1)][skip:]
        bad: list[str] = []
        form = "a text a line"
    else:
        rows, bad, quoted = _split(path, lines, sign, how.quoting)
        form = f"columns between {_NAMES.get(sign, repr(sign))}"
        form += ", quoted" if quoted else ""
    if not rows:
        raise CorpusError(bad[0]) if bad else CorpusError.at(path, 0, "expected rows, got none")
    rows, bad = _even(path, rows, bad)
    start, head = rows[0]
    head = [name.strip() for name in head]
    is_header = how.header
    if is_header is None:
        is_header = _is_header(head, [row for _, row in rows[1:]], how.wanted, how.rows_count)
    if is_header:
        _no_twins(path, start, head)
        shown = short(", ".join(map(repr, head)), 160)
        form += f", line {start} is the header: {shown} (--header)"
        return Table(str(path), head, rows[1:], bad, form, True, first=start)
    form += ", no header (--header)"
    numbers = [str(n) for n in range(1, len(head) + 1)]
    return Table(str(path), numbers, rows, bad, form, False, first=start)


def _unquoted(line: str) -> str:
    if len(line) > 1 and line[0] == line[-1] == '"':
        inner = line[1:-1].replace('""', "")
        return line[1:-1].replace('""', '"') if '"' not in inner else line
    return line


def _sign(path: Path, lines: Sequence[str]) -> tuple[str | None, float]:
    """The delimiter, the sign that gives most rows the same count of columns, and their share."""
    some = list(lines[:LOOK])
    name = plain_name(path)
    best: tuple[float, ...] = (0.0,)
    found, whole = None, 0.0
    for place, sign in enumerate(_SIGNS):
        if sum(sign in line for line in some) < 0.5 * sum(bool(line.strip()) for line in some):
            continue
        rows, bad, _ = _split(path, some, sign, None)
        by_name = (name.endswith(".csv") and sign == ",") or (name.endswith(".tsv") and not place)
        if not rows:
            found = sign if bad and by_name and found is None else found
            continue
        widths = Counter(len(row) for _, row in rows)
        usual, many = widths.most_common(1)[0]
        if usual < 2:
            continue
        share = many / (len(rows) + len(bad))
        signs = sum(line.count(sign) for line in some)
        prose = sum(line.count(f"{sign} ") for line in some) > 0.5 * signs
        score = (round(share, 2), not prose, by_name, -place)
        if score > best:
            best, found, whole = score, sign, share
    return found, whole


_RULE = re.compile(r"\s*(:?-+:?)?\s*")


def _split(
    path: Path, lines: Sequence[str], sign: str, quoting: bool | None
) -> tuple[Rows, list[str], bool]:
    """Rows by a delimiter, what was wrong with others, and whether quotes were taken off."""
    plain: Rows = [(n, line.split(sign)) for n, line in enumerate(lines, 1) if line.strip("\r ")]
    if sign == "|" and any(all(map(_RULE.fullmatch, row)) for _, row in plain[:5]):
        rows = [(n, [cell.strip() for cell in row]) for n, row in plain]  # a table of Markdown
        return [(n, row) for n, row in rows if not all(map(_RULE.fullmatch, row))], [], False
    if quoting is False or not any('"' in line for line in lines):
        return plain, [], False
    rows, bad = _quoted(path, lines, sign, None)
    if bad and any('\\"' in line for line in lines):
        escaped, still = _quoted(path, lines, sign, "\\")
        if len(still) < len(bad):
            rows, bad = escaped, still
    if quoting is None and sign == "\t" and (bad or not _means_quotes(lines)):
        return plain, [], False
    return rows, bad, True


def _means_quotes(lines: Sequence[str]) -> bool:
    """Whether fields between tabs are quoted for a reason, or all of a column are."""
    text = "\n".join(lines)
    fields = re.findall(r'(?:^|\t)"((?:[^"]|"")*)"(?=\t|$)', text, re.MULTILINE)
    if all(re.search(r'[\t\n\r]|""', inner) or not inner for inner in fields):
        return True
    quoted = sum(re.search(r'(?:^|\t)"', line) is not None for line in lines)
    return quoted >= sum(bool(line.strip()) for line in lines) - 1  # all but the header


def _quoted(
    path: Path, lines: Sequence[str], sign: str, escape: str | None
) -> tuple[Rows, list[str]]:
    csv.field_size_limit(2**31 - 1)
    rows: Rows = []
    bad: list[str] = []
    start = 0
    spaced = sum(f"{sign} " in line for line in lines[:50]) > 0.9 * min(len(lines), 50)
    while start < len(lines):
        reader = csv.reader(
            (line + "\n" for line in lines[start:]),
            delimiter=sign,
            strict=True,
            escapechar=escape,
            doublequote=escape is None,
            skipinitialspace=spaced and sign != " ",
        )
        begun = start
        try:
            for fields in reader:
                if len(fields) > 1 or any(field.strip() for field in fields):
                    rows.append((begun + 1, fields))
                begun = start + reader.line_num
            return rows, bad
        except csv.Error as error:
            # The line where the row began is bad; what follows is read anew.
            bad.append(
                f"{path}:{begun + 1}: expected quoted fields, got: {error}; double the quotes "
                "within a field, and quote it whole"
            )
            start = begun + 1
            if len(bad) > 50:
                return rows, bad
    return rows, bad


def _even(path: Path, rows: Rows, bad: list[str]) -> tuple[Rows, list[str]]:
    """Rows of one width: that of the header, or that of nearly all."""
    start, head = rows[0]
    width = len(head)
    usual, many = Counter(len(row) for _, row in rows).most_common(1)[0]
    one_more = usual == width + 1 and many >= 0.9 * (len(rows) - 1)
    if one_more and all(not row[-1].strip() for _, row in rows if len(row) == usual):
        rows = [(n, row[:-1] if len(row) == usual else row) for n, row in rows]
    elif one_more and width > 1 and not any(map(is_number, head)):
        # R leaves the column of row names without a name.
        rows = [(start, ["", *head]), *rows[1:]]
        width = usual
    elif usual != width and many > 0.9 * len(rows) > 5:
        width = usual  # what stands above the table is none of it
        start = next(n for n, row in rows if len(row) == width)
    bad = bad + [
        f"{path}:{n}: expected {width} columns, as in line {start}, got {len(row)}"
        for n, row in rows
        if len(row) != width
    ]
    rows = [(n, row) for n, row in rows if len(row) == width]
    return rows, sorted(bad, key=lambda told: int(told.removeprefix(f"{path}:").split(":")[0]))


def _no_twins(path: Path, line: int, names: Sequence[str]) -> None:
    twins = [name for name, count in Counter(names).items() if count > 1 and name]
    if twins:
        raise CorpusError.at(
            path, line, f"expected one column {twins[0]!r}, got two of that name; rename one"
        )


def _is_header(
    head: Sequence[str], rows: Sequence[Sequence[str]], wanted: set[str], by_name: bool = False
) -> bool:
    """Whether a first line names the columns, by its words and by how it differs from the rest."""
    lower = [name.lower() for name in head]
    if wanted & set(lower):
        return True
    some = rows[:LOOK]
    numbered = all(name == str(n) for n, name in enumerate(head if head[0] else head[1:]))
    known = {*TEXTS, *LABELS, *SPLIT_COLUMNS, "id", "idx", "index", "gold", "predicted"}
    known |= {name for pair in PAIRS for name in pair}
    columns = [[row[i].strip() for row in some] for i in range(len(head))]
    if len(head) == 1:
        # Several texts of one word would make any first line look odd.
        return lower[0] in known and lower[0] not in {v.lower() for v in columns[0]}
    if not head[0] and columns[0] and all(map(is_number, columns[0])):
        return True  # the index of pandas
    if numbered and len(head) > 1 and not all(is_number(v) for of in columns for v in of[:20]):
        return True
    if any(is_number(name) or len(name) > 60 for name in head) or not any(head):
        return False
    words = [name.split() for name in head]
    votes = 0
    for name, of, said in zip(head, columns, words, strict=True):
        if not any(of):
            continue  # a comma at the end of each line
        counts = Counter(of)
        few = len(counts) <= max(2, len(of) // 3)
        if few and name in counts:
            return False  # its words are a value like others: a label, a tag
        mean = sum(len(value.split()) for value in of) / len(of)
        if mean >= 3 and len(said) > max(3, 0.6 * mean):
            return False  # a text among texts
        votes += all(map(is_number, of)) or (mean >= 3 and len(said) <= 3)
        votes += few and len(of) > 9 and name not in counts
    return len({*lower} & known) > 0 or (votes > 0 and not by_name)


# -- cells -------------------------------------------------------------------------------------


def is_number(text: str) -> bool:
    """Whether a cell is a number."""
    return re.fullmatch(r"\s*[-+]?\d+([.,]\d+)?(e[-+]?\d+)?\s*", text, re.IGNORECASE) is not None


def is_missing(value: Any) -> bool:
    """Whether a cell holds nothing."""
    if isinstance(value, str):
        return value.strip().lower() in ("", "nan")
    return value is None or (isinstance(value, float) and math.isnan(value))


def text_of(table: Table, line: int, value: Any, column: str, *, empty: bool = False) -> str:
    """A cell as a text.

    Raises:
        CorpusError: it is empty, unless that is allowed, missing or no text.
    """
    if isinstance(value, str) and (value.strip() or empty):
        if odd := odd_character(value):
            raise table.error(line, f"expected text in column {column!r}, got {odd}")
        return value
    if empty and is_missing(value):
        return ""
    got = "none" if is_missing(value) else short(repr(value))
    raise table.error(line, f"expected text in column {column!r}, got {got}")


def label_of(table: Table, line: int, value: Any, column: str) -> str:
    """A cell as a label: a text, a whole number or yes or no.

    Raises:
        CorpusError: it is empty, missing or anything else.
    """
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        value = int(value)
    if isinstance(value, bool | int):
        return str(value).lower()
    if isinstance(value, str) and not is_missing(value):
        if odd := odd_character(value):
            raise table.error(line, f"expected a label in column {column!r}, got {odd}")
        return value.strip()
    got = "none" if is_missing(value) else short(repr(value))
    raise table.error(line, f"expected a label in column {column!r}, got {got}")


def short(text: str, most: int = 80) -> str:
    """A text for a message, without its end if it is long."""
    return text if len(text) <= most else f"{text[: most - 3]}..."

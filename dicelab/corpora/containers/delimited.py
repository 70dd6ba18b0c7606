"""A table in delimited text: its delimiter, quotes and header follow from what it holds."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dicelab.corpora.cells import (
    LABELS,
    LOOK,
    PAIRS,
    SPLIT_COLUMNS,
    TEXTS,
    Table,
    is_number,
    no_twins,
    short,
)
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.text import plain_name

_SIGNS = "\t,;|"
_NAMES = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", " ": "spaces"}
Rows = list[tuple[int, list[str]]]


@dataclass(frozen=True)
class How:
    """What :func:`dicelab.corpora.containers.read_table` was asked for about delimited text."""

    delimiter: str | None
    header: bool | None
    quoting: bool | None
    header_names: set[str]
    rows_count: bool
    sure: bool


def read_delimited(path: Path, text: str, how: How) -> Table:
    """Rows of columns, or a text a line."""
    lines = text.split("\n")
    skip, delimiter = 0, how.delimiter
    if match := re.fullmatch(r"sep=(.)", lines[0].strip("\ufeff\"' ")):
        delimiter, skip, lines[0] = delimiter or match[1], 1, ""
    sign, prose = (delimiter, False) if delimiter else _sign(path, lines)
    if not delimiter and text.lstrip().startswith("__label__"):
        sign = None  # fastText's lines
    if sign and not delimiter and how.rows_count and not how.sure:
        sign = sign if _is_table(path, lines, sign, prose, how) else None
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
    again = {n for n, row in rows[1:] if [name.strip() for name in row] == head}
    is_header = how.header
    if is_header is None:
        others = [row for n, row in rows[1:] if n not in again]
        is_header = _is_header(head, others, how.header_names, how.rows_count)
    if is_header:
        no_twins(path, start, head)
        listing = short(", ".join(map(repr, head)), 160)
        form += f", line {start} is the header: {listing} (--header)"
        rows = rows[1:]
        notes = []
        if again and len(head) > 1:
            rows = [row for row in rows if row[0] not in again]
            notes.append(
                f"The header stands again in {len(again)} lines, such as {min(again)}; they are "
                "left out."
            )
        if survey := next((n for n, row in rows[:3] if row[0].startswith('{"ImportId"')), 0):
            rows = [row for row in rows if row[0] > survey]
            notes.append("The rows of a survey's header below the first one are left out.")
        return Table(str(path), head, rows, bad, form, True, first=start, notes=notes)
    form += ", no header (--header)"
    numbers = [str(n) for n in range(1, len(head) + 1)]
    return Table(str(path), numbers, rows, bad, form, False, first=start)


def _is_table(path: Path, lines: Sequence[str], sign: str, prose: bool, how: How) -> bool:
    """Whether a file that may be a text a line is a table: by its first line, or by its name."""
    head = next(line for line in lines if line.strip()).split(sign)
    lower = [name.strip(' "').lower() for name in head]
    if how.header_names & set(lower):
        return True
    if plain_name(path).endswith((".csv", ".tsv")):
        return not prose
    return bool({*TEXTS} & set(lower)) and all(len(name) <= 40 for name in lower)


def _unquoted(line: str) -> str:
    if len(line) > 1 and line[0] == line[-1] == '"':
        inner = line[1:-1].replace('""', "")
        return line[1:-1].replace('""', '"') if '"' not in inner else line
    return line


def _sign(path: Path, lines: Sequence[str]) -> tuple[str | None, bool]:
    """The delimiter, the sign that gives most rows as many columns, and whether it is of prose."""
    sample = list(lines[:LOOK])
    name = plain_name(path)
    best: tuple[float, ...] = (0.0,)
    delimiter, of_prose = None, False
    filled = sum(bool(line.strip()) for line in sample)
    quotes = any('"' in line for line in sample)  # a quoted cell may have lines without the sign
    for place, sign in enumerate(_SIGNS):
        held = sum(sign in line for line in sample)
        if not held or (held < 0.5 * filled and not quotes):
            continue
        rows, bad, _ = _split(path, sample, sign, None)
        if len(lines) > LOOK and bad:
            bad = bad[:-1]  # a quoted cell that the sample cuts
        by_name = (name.endswith(".csv") and sign == ",") or (name.endswith(".tsv") and not place)
        if not rows:
            delimiter = sign if bad and by_name and delimiter is None else delimiter
            continue
        widths = Counter(len(row) for _, row in rows)
        usual, many = widths.most_common(1)[0]
        if usual < 2:
            continue
        share = many / (len(rows) + len(bad))
        signs = sum(line.count(sign) for line in sample)
        prose = sum(line.count(f"{sign} ") for line in sample) > 0.5 * signs
        score = (round(share, 2), not prose, by_name, -place)
        if score > best:
            best, delimiter, of_prose = score, sign, prose
    return delimiter, of_prose


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
    return rows, sorted(bad, key=lambda line: int(line.removeprefix(f"{path}:").split(":")[0]))


def _is_header(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    header_names: set[str],
    by_name: bool = False,
) -> bool:
    """Whether a first line names the columns, by its words and by how it differs from the rest."""
    lower = [name.lower() for name in head]
    if header_names & set(lower):
        return True
    sample = rows[:LOOK]
    numbered = all(name == str(n) for n, name in enumerate(head if head[0] else head[1:]))
    known = {*TEXTS, *LABELS, *SPLIT_COLUMNS, "id", "idx", "index", "gold", "predicted"}
    known |= {name for pair in PAIRS for name in pair}
    columns = [[row[i].strip() for row in sample] for i in range(len(head))]
    if len(head) == 1:
        # Several texts of one word would make any first line look odd.
        return lower[0] in known and lower[0] not in {v.lower() for v in columns[0]}
    if not head[0] and columns[0] and all(map(is_number, columns[0])):
        return True  # the index of pandas
    if numbered and len(head) > 1 and not all(is_number(v) for c in columns for v in c[:20]):
        return True
    if any(is_number(name) or len(name) > 60 for name in head) or not any(head):
        return False
    words = [name.split() for name in head]
    votes = 0
    for name, values, name_words in zip(head, columns, words, strict=True):
        if not any(values):
            continue  # a comma at the end of each line
        counts = Counter(values)
        few = len(counts) <= max(2, len(values) // 3)
        if few and name in counts:
            return False  # its words are a value like others: a label, a tag
        mean = sum(len(value.split()) for value in values) / len(values)
        if mean >= 3 and len(name_words) > max(3, 0.6 * mean):
            return False  # a text among texts
        votes += all(map(is_number, values)) or (mean >= 3 and len(name_words) <= 3)
        votes += few and len(values) > 9 and name not in counts
    return len({*lower} & known) > 0 or (votes > 0 and not by_name)

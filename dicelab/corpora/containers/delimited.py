"""A table in delimited text: its delimiter, quotes and header follow from what it holds."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dicelab.corpora.cells import (
    LABELS,
    LOOK,
    PAIRS,
    SPLIT_COLUMNS,
    TEXTS,
    Asked,
    Table,
    is_number,
    no_twins,
    short,
)
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.text import plain_name

_SIGNS = "\t,;|"
_NAMES = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", " ": "spaces"}
#: Names of columns that tell a header.
_KNOWN = {
    *(*TEXTS, *LABELS, *SPLIT_COLUMNS, "id", "idx", "index", "gold", "predicted"),
    *(name for pair in PAIRS for name in pair),
}
Rows = list[tuple[int, list[str]]]


def read_delimited(path: Path, text: str, asked: Asked) -> Table:
    """Rows of columns, or a text a line; Args and Raises as of ``read_table``."""
    lines = text.split("\n")
    names = {name.lower() for name in (*asked.columns, *asked.known) if not name.isdecimal()}
    sign = asked.delimiter
    if match := re.fullmatch(r"sep=(.)", lines[0].strip("\ufeff\"' ")):
        sign, lines[0] = sign or match[1], ""
    if not sign and not text.lstrip().startswith("__label__"):  # fastText's lines have none
        sign, prose = _sign(path, lines)
        if sign and not asked.labelled and asked.text is None:
            sign = sign if _is_table(path, lines, sign, prose, names) else None
    bad: list[str] = []
    if sign:
        rows, bad, quoted = _split(path, lines, sign)
        form = f"columns between {_NAMES.get(sign, repr(sign))}" + ", quoted" * quoted
    else:
        # Blank lines are rows too: what is predicted has a line for each line.
        rows = [(n, [_unquoted(line)]) for n, line in enumerate(text.rstrip("\n").split("\n"), 1)]
        form = "a text a line"
    if not rows:
        raise CorpusError(bad[0]) if bad else CorpusError.at(path, 0, "expected rows, got none")
    rows, bad = _even(path, rows, bad)
    start = rows[0][0]
    head = [name.strip() for name in rows[0][1]]
    again = {n for n, row in rows[1:] if [name.strip() for name in row] == head}
    is_header = asked.header
    if is_header is None:
        others = [row for n, row in rows[1 : LOOK + 1] if n not in again]
        is_header = _is_header(head, others, names, by_name=not asked.labelled)
    if not is_header:
        numbers = [str(n) for n in range(1, len(head) + 1)]
        form += ", no header (--header)"
        return Table(str(path), numbers, rows, bad, form, False)
    no_twins(path, start, head)
    listing = short(", ".join(map(repr, head)), 160)
    form += f", line {start} is the header: {listing} (--header)"
    rows = rows[1:]
    notes = []
    if again and len(head) > 1:
        rows = [row for row in rows if row[0] not in again]
        notes.append(
            f"The header stands again in {len(again)} lines, such as {min(again)}; they are left "
            "out."
        )
    if survey := next((n for n, row in rows[:3] if row[0].startswith('{"ImportId"')), 0):
        rows = [row for row in rows if row[0] > survey]
        notes.append("The rows of a survey's header below the first one are left out.")
    return Table(str(path), head, rows, bad, form, notes=notes)


def _is_table(path: Path, lines: Sequence[str], sign: str, prose: bool, names: set[str]) -> bool:
    """Whether a file that may be a text a line is a table: by its first line, or by its name."""
    head = next(line for line in lines if line.strip()).split(sign)
    lower = {name.strip(' "').lower() for name in head}
    if names & lower:
        return True
    if plain_name(path).endswith((".csv", ".tsv")):
        return not prose
    return bool({*TEXTS} & lower) and all(len(name) <= 40 for name in lower)


def _unquoted(line: str) -> str:
    quoted = len(line) > 1 and line[0] == line[-1] == '"'
    if quoted and '"' not in line[1:-1].replace('""', ""):
        return line[1:-1].replace('""', '"')
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
        rows, bad, _ = _split(path, sample, sign)
        if len(lines) > LOOK and bad:
            bad = bad[:-1]  # a quoted cell that the sample cuts
        by_name = (name.endswith(".csv") and sign == ",") or (name.endswith(".tsv") and not place)
        if not rows:
            delimiter = sign if bad and by_name and delimiter is None else delimiter
            continue
        usual, many = Counter(len(row) for _, row in rows).most_common(1)[0]
        if usual < 2:
            continue
        signs = sum(line.count(sign) for line in sample)
        prose = sum(line.count(f"{sign} ") for line in sample) > 0.5 * signs
        score = (round(many / (len(rows) + len(bad)), 2), not prose, by_name, -place)
        if score > best:
            best, delimiter, of_prose = score, sign, prose
    return delimiter, of_prose


def _split(path: Path, lines: Sequence[str], sign: str) -> tuple[Rows, list[str], bool]:
    """Rows by a delimiter, what was wrong with others, and whether quotes were taken off."""
    plain: Rows = [(n, line.split(sign)) for n, line in enumerate(lines, 1) if line.strip("\r ")]
    if sign == "|" and any(re.fullmatch(r"[\s|:-]+", line) for line in lines[:5] if line):
        rows = [(n, [cell.strip() for cell in row]) for n, row in plain]  # Markdown
        return [(n, row) for n, row in rows if "".join(row).strip(":- ")], [], False
    if not any('"' in line for line in lines):
        return plain, [], False
    rows, bad = _quoted(path, lines, sign, None)
    if bad and any('\\"' in line for line in lines):
        escaped, still = _quoted(path, lines, sign, "\\")
        if len(still) < len(bad):
            rows, bad = escaped, still
    if sign == "\t" and (bad or not _means_quotes(lines)):
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
    while start < len(lines) and len(bad) <= 50:
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
            break
        except csv.Error as error:
            # The line where the row began is bad; what follows is read anew.
            start = begun + 1
            problem = f"expected quoted fields, got: {error}"
            way = "double the quotes within a field, and quote it whole"
            bad.append(f"{path}:{start}: {problem}; {way}")
    return rows, bad


def _even(path: Path, rows: Rows, bad: list[str]) -> tuple[Rows, list[str]]:
    """Rows of one width: that of the header, or that of nearly all."""
    start, width = rows[0][0], len(rows[0][1])
    usual, many = Counter(len(row) for _, row in rows).most_common(1)[0]
    one_more = usual == width + 1 and many >= 0.9 * (len(rows) - 1)
    if one_more and all(not row[-1].strip() for _, row in rows if len(row) == usual):
        rows = [(n, row[:-1] if len(row) == usual else row) for n, row in rows]
    elif usual != width and many > 0.9 * len(rows) > 5:
        width = usual  # what stands above the table is none of it
        start = next(n for n, row in rows if len(row) == width)
    odd = {n: len(row) for n, row in rows if len(row) != width}
    expected = f"expected {width} columns, as in line {start}"
    bad = bad + [f"{path}:{n}: {expected}, got {got}" for n, got in odd.items()]
    rows = [(n, row) for n, row in rows if n not in odd]
    return rows, sorted(bad, key=lambda line: int(line.removeprefix(f"{path}:").split(":")[0]))


def _is_header(
    head: Sequence[str], rows: Sequence[Sequence[str]], names: set[str], *, by_name: bool
) -> bool:
    """Whether a first line names the columns, by its words and by how it differs from the rest."""
    lower = [name.lower() for name in head]
    if names & set(lower):
        return True
    columns = [[row[i].strip() for row in rows] for i in range(len(head))]
    if len(head) == 1:
        # Several texts of one word would make any first line look odd.
        return lower[0] in _KNOWN and lower[0] not in {v.lower() for v in columns[0]}
    if not head[0] and columns[0] and all(map(is_number, columns[0])):
        return True  # the index of pandas
    numbered = all(name == str(n) for n, name in enumerate(head if head[0] else head[1:]))
    if numbered and not all(is_number(v) for c in columns for v in c[:20]):
        return True
    if any(is_number(name) or len(name) > 60 for name in head) or not any(head):
        return False
    votes = 0
    for name, values in zip(head, columns, strict=True):
        if not any(values):
            continue  # a comma at the end of each line
        few = len({*values}) <= max(2, len(values) // 3)
        if few and name in values:
            return False  # its words are a value like others: a label, a tag
        words = len(name.split())
        mean = sum(len(value.split()) for value in values) / len(values)
        if mean >= 3 and words > max(3, 0.6 * mean):
            return False  # a text among texts
        votes += all(map(is_number, values)) or (mean >= 3 and words <= 3)
        votes += few and len(values) > 9 and name not in values
    return bool({*lower} & _KNOWN) or (votes > 0 and not by_name)

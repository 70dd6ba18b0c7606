"""A text and its spans by characters, as doccano, Prodigy, spaCy and others export them.

Example: ``{"text": "Ana saw Oslo", "label": [[0, 3, "PER"], [8, 12, "LOC"]]}``; a span may be an
object, such as ``{"start": 0, "end": 3, "label": "PER"}``, under the names in files.toml.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dicelab.corpora.cells import NAMES, TEXTS, Asked, Table, parsed, short
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.forms.sample import Rows, Sample, each_row, first, tagged_table
from dicelab.corpora.text import WORD

#: Of the spans; where more begin or end within a word, their places are counted another way.
WITHIN = 0.05
Span = tuple[int, int, list[str]]
#: Ways of counting places, as (text, start, end) -> (start, end).
_WAYS: dict[str, Callable[..., tuple[int, int]]] = {
    "ends that belong to the span": lambda text, start, end: (start, end + 1),
    "places from 1": lambda text, start, end: (start - 1, end - 1),
    "units of UTF-16": lambda text, start, end: _of_utf16(text, (start, end)),
}
# In these scripts a word has no space at its end, or its ending is a word of its own.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)


def span_of(entry: Any) -> Span | None:
    """Start, end and labels of a span: a list of the three, or an object that has them."""
    if type(entry) is list and len(entry) == 3:
        start, end, label = entry
    elif type(entry) is dict:
        found = {
            part: next((name for name in names if name in entry), "")
            for part, names in NAMES["parts"].items()
        }
        if not all(found.values()):
            return None
        start, end, label = (entry[name] for name in found.values())
        if found["end"] == "length" and type(start) is int and type(end) is int:
            end += start
    else:
        return None
    start, end = (int(n) if type(n) is str and n.isdecimal() else n for n in (start, end))
    labels = label if type(label) is list else [label]
    if type(start) is not int or type(end) is not int or not labels:
        return None
    if not all(type(name) is str and name.strip() for name in labels):
        return None
    return start, end, ["_".join(name.split()) for name in labels]


def entries_of(cell: Any) -> list[Any]:
    """What may be spans in a cell: a list, or the list of an object, as spaCy's entities."""
    cell = parsed(cell)
    if type(cell) is dict and list(cell) == ["entities"]:
        cell = cell["entities"]
    return cell if type(cell) is list else []


def _of_utf16(text: str, places: tuple[int, int]) -> tuple[int, int]:
    data = text.encode("utf-16-le", "surrogatepass")
    start, end = (len(data[: 2 * place].decode("utf-16-le", "ignore")) for place in places)
    return start, end


def witness(sample: Sample) -> tuple[str, ...] | None:
    """A row with a span of three parts within a text of the same row, and hardly anything else."""
    if not sample.tagging or not sample.asked.labelled:
        return None
    for name in first(sample.labels, NAMES["spans"]):
        marked = [[span_of(entry) for entry in entries_of(cell)] for cell in sample.cells(name)]
        spans = sum(span is not None for of_row in marked for span in of_row)
        if not spans or spans <= 0.9 * sum(map(len, marked)):
            continue
        for text in first([n for n in sample.texts if n != name], TEXTS):
            inside = sum(
                type(value) is str and span[1] <= len(value.encode(errors="surrogateescape")) + 1
                for value, of_row in zip(sample.table.column(text), marked, strict=True)
                for span in of_row
                if span
            )
            if inside > 0.9 * spans:
                return text, name
    return None


def read(table: Table, proof: tuple[str, ...], asked: Asked) -> Table:
    """Words and their tags. Spans that begin or end within words are counted, and not believed.

    Where more than :data:`WITHIN` of the spans do, other ways of counting their places are tried;
    one that puts nearly all on the edges of words is taken and said. Else their rows are bad.
    """
    notes: Counter[str] = Counter()
    rows, bad = each_row(table, lambda line, row: [row[proof[0]], _spans(table, line, row, proof)])
    way, divided = _way(rows)

    def make(line: int, row: dict[str, Any]) -> list[Any] | None:
        placed = _placed(table, line, row["text"], row["spans"], way, divided)
        words = _words(row["text"], placed, notes)
        notes["rows without a word are left out"] += not words
        return [list(column) for column in zip(*words, strict=True)] or None

    marked = replace(table, names=["text", "spans"], rows=rows, bad=bad)
    made, bad = each_row(marked, make)
    how = f"a text ({proof[0]!r}) and its spans by characters ({proof[1]!r})"
    made_table = tagged_table(table, how, made, bad, +notes)
    if way:
        made_table.notes.append(
            f"Of {sum(len(spans) for _, (_, spans) in rows):,} spans {divided:.0%} began or ended "
            f"within a word; they are read as {way}, which puts nearly all on the edges of words."
        )
    return made_table


def _spans(table: Table, line: int, row: dict[str, Any], proof: tuple[str, ...]) -> list[Span]:
    text, cell = row[proof[0]], parsed(row[proof[1]])
    if type(text) is not str or (cell is not None and type(cell) not in (list, dict)):
        raise table.error(line, f"expected a text and its spans, got {short(repr([text, cell]))}")
    labels: dict[tuple[int, int], set[str]] = {}
    for entry in entries_of(cell):
        start, end, names = span_of(entry) or (0, 0, [])
        if not names:
            raise _beyond(table, line, entry)
        labels.setdefault((start, end), set()).update(names)
        if len(labels[start, end]) > 1:
            several = " and ".join(sorted(labels[start, end]))
            marked = short(text[start:end])
            raise table.error(
                line, f"expected one label for each span, got {several} for {marked!r}"
            )
    return [(start, end, list(names)) for (start, end), names in labels.items()]


def _beyond(table: Table, line: int, entry: Any) -> CorpusError:
    problem = "expected spans of start, end and label within the text, got"
    return table.error(line, f"{problem} {short(str(entry))}")


def _way(rows: Rows) -> tuple[str, float]:
    """How places are counted, "" for the usual way, and the share of spans that divide words."""
    found = [(text, start, end) for _, (text, spans) in rows for start, end, _ in spans]
    usual = sum(_divides(*span) for span in found) / max(1, len(found))
    if usual <= WITHIN:
        return "", usual
    shares = {
        name: sum(_divides(span[0], *way(*span), strict=True) for span in found) / len(found)
        for name, way in _WAYS.items()
    }
    best = min(shares, key=lambda name: shares[name])
    return (best if shares[best] <= 0.01 else ""), usual


def _divides(text: str, start: int, end: int, *, strict: bool = False) -> bool:
    """Whether a span begins or ends within a word, or lies beyond the text."""
    if not 0 <= start < end <= len(text):
        return True
    if strict and text[start:end] != text[start:end].strip():
        return True
    neighbours = (text[place - 1 : place + 1] for place in (start, end) if place)
    return any(
        len(pair) == 2 and pair.isalnum() and not _UNSPACED.search(pair) for pair in neighbours
    )


def _placed(
    table: Table, line: int, text: str, spans: list[Span], way: str, divided: float
) -> list[tuple[int, int, str]]:
    placed = []
    for given_start, given_end, (label,) in spans:
        start, end = _WAYS[way](text, given_start, given_end) if way else (given_start, given_end)
        inner = text[start:end] if 0 <= start < end <= len(text) else ""
        if not inner.strip():
            raise _beyond(table, line, [given_start, given_end, label])
        if not way and divided > WITHIN and _divides(text, start, end):
            word = next(m[0] for m in re.finditer(r"\S+", text) if m.end() > start)
            raise table.error(
                line,
                f"expected spans that begin and end with words, got {inner!r} of {short(word)!r}, "
                f"and so with {divided:.0%} of all; count places from 0, the end after the span, "
                "and mark whole words",
            )
        start += len(inner) - len(inner.lstrip())
        placed.append((start, start + len(inner.strip()), label))
    return placed


def _words(
    text: str, spans: list[tuple[int, int, str]], notes: Counter[str]
) -> list[tuple[str, str]]:
    """Words with their IOB2 tags, from a text and spans by characters."""
    taken: list[tuple[int, int, str]] = []
    for span in sorted({*spans}, key=lambda s: (s[0] - s[1], s)):  # the longest first
        if any(span[0] < end and start < span[1] for start, end, _ in taken):
            notes["spans that overlap another one are left out"] += 1
        else:
            taken.append(span)
    ends = sorted({place for start, end, _ in taken for place in (start, end)})
    words = []
    for match in WORD.finditer(text):
        cuts = [place for place in ends if match.start() < place < match.end()]
        notes["words are divided where a span begins or ends within them"] += bool(cuts)
        for start, end in zip([match.start(), *cuts], [*cuts, match.end()], strict=True):
            held = next((s for s in taken if s[0] <= start and end <= s[1]), None)
            tag = "O" if held is None else f"{'B' if start == held[0] else 'I'}-{held[2]}"
            words.append((text[start:end], tag))
    return words

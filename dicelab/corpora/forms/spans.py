"""A text and its spans by characters, as doccano, Prodigy, spaCy and others export them.

Example: ``{"text": "Ana saw Oslo", "label": [[0, 3, "PER"], [8, 12, "LOC"]]}``; a span may be an
object, such as ``{"start": 0, "end": 3, "label": "PER"}``, under the names of :data:`PARTS`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from dicelab.corpora.cells import TEXTS, Asked, Table, parsed, short
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.forms.sample import Sample, Tagged, first, tagged_table
from dicelab.corpora.text import WORD

NAMES = ("label", "labels", "entities", "spans", "annotations", "ner")
#: The names of a span's parts.
PARTS = {
    "start": ("start", "start_offset", "startOffset", "start_char", "begin", "offset"),
    "end": ("end", "end_offset", "endOffset", "end_char", "stop", "length"),
    "label": (
        *("label", "labels", "entity_group", "entityLabel", "entity", "entity_type", "type", "tag"),
        *("category", "displayName"),
    ),
}
#: Of the spans; where more begin or end within a word, their places are counted another way.
WITHIN = 0.05
Span = tuple[int, int, list[str]]
#: Ways of counting places, as (text, start, end) -> (start, end).
_WAYS: dict[str, Callable[[str, int, int], tuple[int, int]]] = {
    "ends that belong to the span": lambda text, start, end: (start, end + 1),
    "places from 1": lambda text, start, end: (start - 1, end - 1),
    "places from 1 and ends that belong to the span": lambda text, start, end: (start - 1, end),
    "units of UTF-16": lambda text, start, end: (_of_utf16(text, start), _of_utf16(text, end)),
    "bytes of UTF-8": lambda text, start, end: (_of_utf8(text, start), _of_utf8(text, end)),
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
            for part, names in PARTS.items()
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


def span_columns(sample: Sample) -> list[str]:
    """Columns with a span in some row, and hardly anything else in the lists of others."""
    names = []
    for name in first(sample.labels, NAMES):
        found = [span_of(entry) for cell in sample.cells(name) for entry in entries_of(cell)]
        if found and sum(span is not None for span in found) > 0.9 * len(found):
            names.append(name)
    return names


def witness(sample: Sample) -> tuple[str, ...] | None:
    """A row with a span of three parts that lies within a text of the same row."""
    for name in span_columns(sample) if sample.tagging else ():
        marked = [[span_of(entry) for entry in entries_of(cell)] for cell in sample.cells(name)]
        for text in first([n for n in sample.texts if n != name], TEXTS):
            inside = [
                type(value) is str and span[1] <= len(value.encode()) + 1
                for value, spans in zip(sample.raw(text), marked, strict=True)
                for span in spans
                if span
            ]
            if sum(inside) > 0.9 * len(inside):
                return text, name
    return None


def read(table: Table, proof: tuple[str, ...], asked: Asked) -> Table:
    """Words and their tags. Spans that begin or end within words are counted, and not believed.

    Where more than :data:`WITHIN` of the spans do, other ways of counting their places are tried;
    one that puts nearly all on the edges of words is taken and said. Else their rows are bad.
    """
    text_place, span_place = (table.names.index(name) for name in proof)
    bad = []
    notes: Counter[str] = Counter()
    read_rows: list[tuple[int, str, list[Span]]] = []
    for line, values in table.rows:
        text, cell = values[text_place], parsed(values[span_place])
        try:
            read_rows.append((line, text, _spans(table, line, text, cell)))
        except CorpusError as error:
            bad.append(str(error))
    way, divided = _way(read_rows)
    rows: Tagged = []
    for line, text, spans in read_rows:
        try:
            made = _words(table, line, text, _placed(table, line, text, spans, way, divided), notes)
        except CorpusError as error:
            bad.append(str(error))
            continue
        if made[0]:
            rows.append((line, made))
        else:
            notes["rows without a word are left out"] += 1
    how = f"a text ({proof[0]!r}) and its spans by characters ({proof[1]!r})"
    made_table = tagged_table(table, how, rows, bad, notes)
    if way:
        made_table.notes.append(
            f"Of {sum(len(s) for *_, s in read_rows):,} spans {divided:.0%} began or ended within "
            f"a word; they are read as {way}, which puts nearly all on the edges of words."
        )
    return made_table


def _spans(table: Table, line: int, text: Any, cell: Any) -> list[Span]:
    if type(text) is not str or (cell is not None and type(cell) not in (list, dict)):
        raise table.error(line, f"expected a text and its spans, got {short(repr([text, cell]))}")
    spans = []
    for entry in entries_of(cell):
        span = span_of(entry)
        if span is None:
            raise table.error(
                line,
                f"expected spans of start, end and label within the text, got {short(str(entry))}",
            )
        spans.append(span)
    labels: dict[tuple[int, int], list[str]] = {}
    for start, end, names in spans:
        labels.setdefault((start, end), []).extend(names)
    for (start, end), names in labels.items():
        if len(set(names)) > 1:
            raise table.error(
                line,
                f"expected one label for each span, got {' and '.join(sorted(set(names)))} for "
                f"{short(text[start:end])!r}",
            )
    return [(start, end, names[:1]) for (start, end), names in labels.items()]


def _way(rows: list[tuple[int, str, list[Span]]]) -> tuple[str, float]:
    """How places are counted, "" for the usual way, and the share of spans that divide words."""
    found = [(text, span[0], span[1]) for _, text, spans in rows for span in spans]
    if not found:
        return "", 0.0
    usual = sum(_divides(text, start, end) for text, start, end in found) / len(found)
    if usual <= WITHIN:
        return "", usual
    shares = {
        name: sum(_divides(text, *way(text, start, end), strict=True) for text, start, end in found)
        / len(found)
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
    return any(
        0 < place < len(text)
        and text[place - 1].isalnum()
        and text[place].isalnum()
        and not _UNSPACED.match(text[place - 1])
        and not _UNSPACED.match(text[place])
        for place in (start, end)
    )


def _of_utf16(text: str, place: int) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * place].decode("utf-16-le", "ignore"))


def _of_utf8(text: str, place: int) -> int:
    return len(text.encode("utf-8", "surrogatepass")[:place].decode("utf-8", "ignore"))


def _placed(
    table: Table, line: int, text: str, spans: list[Span], way: str, divided: float
) -> list[tuple[int, int, str]]:
    placed = []
    for given_start, given_end, (label,) in spans:
        start, end = _WAYS[way](text, given_start, given_end) if way else (given_start, given_end)
        inner = text[start:end] if 0 <= start < end <= len(text) else ""
        if not inner.strip():
            raise table.error(
                line,
                "expected spans of start, end and label within the text, got "
                f"{[given_start, given_end, label]}",
            )
        if not way and divided > WITHIN and _divides(text, start, end):
            word = next(m[0] for m in re.finditer(r"\S+", text) if m.end() > start)
            raise table.error(
                line,
                f"expected spans that begin and end with words, got {inner!r} of {short(word)!r}, "
                f"and so with {divided:.0%} of all; count places from 0, the end after the span",
            )
        start += len(inner) - len(inner.lstrip())
        placed.append((start, start + len(inner.strip()), label))
    return placed


def _words(
    table: Table, line: int, text: str, spans: list[tuple[int, int, str]], notes: Counter[str]
) -> list[list[str]]:
    """Words and their IOB2 tags, from a text and spans by characters."""
    taken: list[tuple[int, int, str]] = []
    for span in sorted(set(spans), key=lambda s: (s[0] - s[1], s)):  # the longest first
        if any(span[0] < end and start < span[1] for start, end, _ in taken):
            notes["spans that overlap another one are left out"] += 1
        else:
            taken.append(span)
    ends = sorted({place for start, end, _ in taken for place in (start, end)})
    words = []
    for match in WORD.finditer(text):
        cuts = [place for place in ends if match.start() < place < match.end()]
        if cuts:
            notes["words are divided where a span begins or ends within them"] += 1
        words += list(zip([match.start(), *cuts], [*cuts, match.end()], strict=True))
    tags = []
    for start, end in words:
        held = next((s for s in taken if s[0] <= start and end <= s[1]), None)
        tags.append("O" if held is None else f"{'B' if start == held[0] else 'I'}-{held[2]}")
    return [[text[start:end] for start, end in words], tags]

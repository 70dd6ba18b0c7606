"""Tokens and their spans by tokens, as GLiNER has them.

Example: ``{"tokenized_text": ["Ana", "Lee", "ran"], "ner": [[0, 1, "PER"]]}``: the end is the place
of the last token; it may be that after the last, where the file itself shows it.
"""

from __future__ import annotations

from collections import Counter

from dicelab.corpora.cells import Asked, Table, parsed
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.forms.lists import tokens_columns
from dicelab.corpora.forms.sample import Sample, Tagged, tagged_table
from dicelab.corpora.forms.spans import entries_of, span_columns, span_of


def witness(sample: Sample) -> tuple[str, ...] | None:
    """A list of words, and a span of three parts that ends among them."""
    for tokens in tokens_columns(sample)[:1] if sample.tagging else ():
        for name in (n for n in span_columns(sample) if n != tokens):
            inside = [
                type(words) is list and span[1] <= len(words)
                for words, cell in zip(sample.cells(tokens), sample.cells(name), strict=True)
                for span in map(span_of, entries_of(cell))
                if span
            ]
            if sum(inside) > 0.9 * len(inside):
                return tokens, name
    return None


def read(table: Table, proof: tuple[str, ...], asked: Asked) -> Table:
    """Tokens and their tags; a row with a span beyond its tokens is bad.

    Raises:
        CorpusError: some ends are those of the last token, and others lie after it.
    """
    places = [table.names.index(name) for name in proof]
    lists = [(line, *(parsed(values[place]) for place in places)) for line, values in table.rows]
    ends = {
        (span[0] == span[1], span[1] == len(words))
        for _, words, cell in lists
        if type(words) is list
        for span in map(span_of, entries_of(cell))
        if span
    }
    after = any(at_end for _, at_end in ends)
    if after and any(single for single, _ in ends):
        raise CorpusError(
            f"{table.path}: expected ends that are all the last token of a span, or all the one "
            f"after, got both in column {proof[1]!r}"
        )
    bad = []
    rows: Tagged = []
    notes: Counter[str] = Counter()
    for line, words, cell in lists:
        try:
            rows.append((line, _row(table, line, words, entries_of(cell), after, notes)))
        except CorpusError as error:
            bad.append(str(error))
    ending = "after the last token" if after else "at the last token"
    how = f"tokens ({proof[0]!r}) and their spans ({proof[1]!r}), which end {ending}"
    return tagged_table(table, how, [row for row in rows if row[1][0]], bad, notes)


def _row(
    table: Table, line: int, words: object, entries: list[object], after: bool, notes: Counter[str]
) -> list[list[str]]:
    if type(words) is not list:
        raise table.error(line, f"expected a list of tokens, got {words!r}")
    tags = ["O"] * len(words)
    for entry in entries:
        start, end, labels = span_of(entry) or (0, -1, [""])
        end -= after
        if not 0 <= start <= end < len(words) or len(set(labels)) > 1:
            raise table.error(line, f"expected a span of its {len(words)} tokens, got {entry}")
        if any(tag != "O" for tag in tags[start : end + 1]):
            notes["spans that overlap another one are left out"] += 1
            continue
        tags[start : end + 1] = [f"B-{labels[0]}"] + [f"I-{labels[0]}"] * (end - start)
    return [list(map(str, words)), tags]

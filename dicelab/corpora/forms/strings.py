"""Tokens and tags as two texts with spaces in each row.

Example: ``Ana saw Oslo`` in one column and ``B-PER O B-LOC`` in another.
"""

from __future__ import annotations

from dicelab.corpora.cells import TEXTS, Asked, Table
from dicelab.corpora.forms.lists import TAGS
from dicelab.corpora.forms.sample import Sample, Tagged, first, tagged_table
from dicelab.corpora.tags import looks_tagged


def witness(sample: Sample) -> tuple[str, ...] | None:
    """A column of tags, as many in each row as the words of another column."""
    table, asked = sample.table, sample.asked
    if not sample.tagging or not table.rows or (asked.label and asked.task is None):
        return None
    words = {
        name: [v.split() if isinstance(v, str) else [] for v in sample.raw(name)]
        for name in {*sample.texts, *sample.labels}
    }
    for tags in first(sample.labels, TAGS):
        flat = [tag for row in words[tags] for tag in row]
        by_name = asked.task == "tagging" and tags.lower() in TAGS
        if len(flat) < 2 * len(table.rows) or not (by_name or looks_tagged(flat)):
            continue
        for tokens in first([n for n in sample.texts if n != tags], TEXTS):
            pairs = zip(words[tokens], words[tags], strict=True)
            if sum(len(a) == len(b) for a, b in pairs) > 0.9 * len(table.rows):
                return tokens, tags
    return None


def read(table: Table, proof: tuple[str, ...], asked: Asked) -> Table:
    """The words and tags of each row; a row with another number of tags than words is bad."""
    places = [table.names.index(name) for name in proof]
    rows: Tagged = []
    bad = []
    for line, values in table.rows:
        tokens, tags = (str(values[place] or "").split() for place in places)
        if len(tokens) != len(tags):
            bad.append(
                f"{table.path}:{line}: expected a tag a token, got {len(tags)} for {len(tokens)}"
            )
        elif tokens:
            rows.append((line, [tokens, tags]))
    how = f"tokens ({proof[0]!r}) and tags ({proof[1]!r}) between spaces"
    return tagged_table(table, how, rows, bad)

"""A token a row, with the number of its sentence.

Example: the columns ``sentence_id``, ``word`` and ``tag``, and the row ``0, Ana, B-PER``.
"""

from __future__ import annotations

from typing import Any

from dicelab.corpora.cells import NAMES, Asked, Table, is_missing
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.forms.lists import TAGS
from dicelab.corpora.forms.sample import Rows, Sample, tagged_table
from dicelab.corpora.tags import looks_tagged

_WORDS = ("word", "words", "token", "tokens")


def witness(sample: Sample) -> tuple[str, ...] | None:
    """Single words beside tags, or beside numbers of sentences that recur in neighbouring rows."""
    table, asked = sample.table, sample.asked
    names = {name.lower(): name for name in reversed(table.names)}
    tokens = [names[n] for n in _WORDS if n in names]
    tokens = sample.texts if asked.text is not None else tokens
    if not sample.tagging or not table.rows or not tokens or (asked.label and asked.task is None):
        return None
    known = [names[n] for n in (*TAGS, "ner_tag", "entity", "bio") if n in names]
    known = sample.labels if asked.label is not None else [n for n in known if n != tokens[0]]
    spoken = [n for n in known if looks_tagged(map(str, table.column(n)))]
    tags = (spoken or known)[:1]
    ids = [names[n] for n in NAMES["sentence_ids"] if n in names]
    numbers = [name for name in ids if name not in [tokens[0], *tags]][:1]
    proved = tags if asked.labelled else numbers or spoken
    if not proved or not (numbers or spoken or asked.task == "tagging"):
        return None
    distinct = {str(v) for name in numbers for v in table.column(name) if not is_missing(v)}
    if numbers and not spoken and len(distinct) > 0.9 * len(table.rows):
        return None  # a label for each word, and no sentences
    single = sample.are(tokens[0], lambda v: " " not in str(v).strip())
    return (*numbers, tokens[0], *tags * asked.labelled) if single else None


def read(table: Table, proof: tuple[str, ...], asked: Asked) -> Table:
    """The sentences; one with an empty token or tag is bad."""
    if len(proof) < 2 + asked.labelled:
        raise CorpusError(
            f"{table.path}: expected a column with the sentence's number, such as sentence_id, or "
            f"a token a line with blank lines between sentences; got {', '.join(table.names)}"
        )
    number, *places = (table.names.index(name) for name in proof)
    rows: Rows = []
    bad = list(table.bad)
    broken: set[int] = set()
    last: Any = None
    for line, values in table.rows:
        if not rows or (not is_missing(values[number]) and values[number] != last):
            rows.append((line, [[], []]))
            last = values[number]
        cells = [str(values[p]).strip() if values[p] is not None else "" for p in places]
        if not all(cells) and asked.labelled:
            bad.append(str(table.error(line, "expected a token and a tag, got an empty one")))
            broken.add(len(rows) - 1)
        rows[-1][1][0].append(cells[0])
        rows[-1][1][1].append("_".join(cells[1].split()) if asked.labelled else "O")
    rows = [row for place, row in enumerate(rows) if place not in broken]
    return tagged_table(table, f"a token a row, {', '.join(map(repr, proof))}", rows, bad)

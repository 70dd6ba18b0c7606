"""A token a row, with the number of its sentence.

Example: the columns ``sentence_id``, ``word`` and ``tag``, and the row ``0, Ana, B-PER``.
"""

from __future__ import annotations

from typing import Any

from dicelab.corpora.cells import Asked, Table, is_missing
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.forms.lists import TAGS
from dicelab.corpora.forms.sample import Sample, Tagged, tagged_table
from dicelab.corpora.tags import looks_tagged

_SENTENCES = (
    *("sentence #", "sentence_id", "sent_id", "sentence", "sentence_number", "sid", "doc_id"),
)


def witness(sample: Sample) -> tuple[str, ...] | None:
    """Single words beside tags, or beside numbers of sentences that recur in neighbouring rows."""
    table, asked = sample.table, sample.asked
    names = {name.lower(): name for name in reversed(table.names)}
    tokens = [names[n] for n in ("word", "words", "token", "tokens") if n in names]
    tokens = sample.texts if asked.text is not None else tokens
    if not sample.tagging or not table.rows or not tokens or (asked.label and asked.task is None):
        return None
    known = [names[n] for n in (*TAGS, "ner_tag", "entity", "bio") if n in names]
    known = sample.labels if asked.label is not None else [n for n in known if n != tokens[0]]
    spoken = [n for n in known if looks_tagged(map(str, sample.raw(n)))]
    tags = spoken or known
    numbers = [names[n] for n in _SENTENCES if n in names and names[n] not in (tokens + tags)[:2]]
    if not tags or not (numbers or spoken or asked.task == "tagging"):
        return None
    ids = (
        [str(value) for value in sample.raw(numbers[0]) if not is_missing(value)] if numbers else []
    )
    if numbers and not spoken and len(set(ids)) > 0.9 * len(table.rows):
        return None  # a label for each word, and no sentences
    if not sample.are(tokens[0], lambda v: " " not in str(v).strip(), raw=True):
        return None
    return (*numbers[:1], tokens[0], tags[0])


def read(table: Table, proof: tuple[str, ...], asked: Asked) -> Table:
    """The sentences; one with an empty token or tag is bad.

    Raises:
        CorpusError: nothing says where a sentence ends.
    """
    if len(proof) < 3:
        raise CorpusError(
            f"{table.path}: expected a column with the sentence's number, such as sentence_id, or "
            f"a token a line with blank lines between sentences; got {', '.join(table.names)}"
        )
    number, token, tag = (table.names.index(name) for name in proof)
    rows: Tagged = []
    bad = []
    last: Any = None
    broken: set[int] = set()
    for line, values in table.rows:
        key = values[number]
        if not rows or (not is_missing(key) and key != last):
            rows.append((line, [[], []]))
            last = key
        cells = [str(values[p]).strip() if values[p] is not None else "" for p in (token, tag)]
        if not all(cells) and asked.labelled:
            bad.append(f"{table.path}:{line}: expected a token and a tag, got an empty one")
            broken.add(len(rows) - 1)
        rows[-1][1][0].append(cells[0])
        rows[-1][1][1].append("_".join(cells[1].split()))
    rows = [row for n, row in enumerate(rows) if n not in broken]
    return tagged_table(table, f"a token a row, {', '.join(map(repr, proof))}", rows, bad)

"""Tokens and tags of a row, as two lists or as two texts with spaces.

Examples: ``{"tokens": ["Ana", "saw", "Oslo"], "ner_tags": ["B-PER", "O", "B-LOC"]}``, and the texts
``Ana saw Oslo`` and ``B-PER O B-LOC``.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from dicelab.corpora.cells import NAMES, TEXTS, Asked, Table, label_of, parsed, short
from dicelab.corpora.forms.sample import Sample, each_row, first, tagged_table
from dicelab.corpora.tags import looks_tagged

TOKENS, TAGS = NAMES["tokens"], NAMES["tags"]


def tokens_columns(sample: Sample) -> list[str]:
    """Columns of lists of words; where no tags are wanted, those of a usual name."""
    usual = (*map(str.lower, sample.asked.known), *TOKENS)
    return [
        name
        for name in first(sample.texts, usual)
        if (sample.asked.labelled or name.lower() in usual or sample.asked.text)
        and any(sample.held(name))
        and sample.are(name, lambda v: type(v) is list and all(type(t) is str for t in v))
    ]


def witness(sample: Sample) -> tuple[str, ...] | None:
    """Two columns that have as many parts in each row, of which the second ones are tags."""
    asked = sample.asked
    least = 0.9 * len(sample.table.rows)
    if not sample.tagging or not sample.table.rows:
        return None
    for tokens in tokens_columns(sample)[:1]:
        if not asked.labelled:
            return (tokens,)
        for tags in first([n for n in sample.labels if n != tokens], TAGS):
            pairs = zip(sample.cells(tokens), sample.cells(tags), strict=True)
            if sum(map(_are_alike, pairs)) > least:
                return tokens, tags
    if asked.label and asked.task is None:
        return None
    for tags in first(sample.labels, TAGS):
        spoken = [_words(value) for value in sample.table.column(tags)]
        flat = [tag for row in spoken for tag in row]
        by_name = asked.task == "tagging" and tags.lower() in TAGS
        if len(flat) < 2 * len(spoken) or not (by_name or looks_tagged(flat)):
            continue
        for tokens in first([n for n in sample.texts if n != tags], TEXTS):
            words = map(_words, sample.table.column(tokens))
            if sum(len(a) == len(b) for a, b in zip(words, spoken, strict=True)) > least:
                return tokens, tags
    return None


def _are_alike(pair: tuple[Any, Any]) -> bool:
    tokens, tags = pair
    listed = type(tokens) is list and type(tags) is list and len(tokens) == len(tags) > 0
    return listed and not any(isinstance(tag, dict | list) for tag in tags)


def _words(value: Any) -> list[str]:
    return value.split() if isinstance(value, str) else []


def read(table: Table, proof: tuple[str, ...], asked: Asked) -> Table:
    """Rows of tokens and tags; one with another number of tags than tokens is bad."""
    listed = any(type(parsed(value)) is list for value in table.column(proof[0]))
    notes: Counter[str] = Counter()

    def make(line: int, record: dict[str, Any]) -> list[Any] | None:
        cells = [record[name] for name in proof]
        parts = [parsed(cell) or [] if listed else _words(cell) for cell in cells]
        if not all(type(part) is list for part in parts):
            raise table.error(
                line, f"expected lists of tokens and of tags, got {short(str(cells))}"
            )
        tokens = list(map(str, parts[0]))
        if not asked.labelled:
            return [tokens, ["O"] * len(tokens)]
        if len(tokens) != len(parts[1]):
            problem = f"expected a tag a token, got {len(parts[1])} for {len(tokens)}"
            raise table.error(line, problem)
        tags = [tag if type(tag) is str else label_of(table, line, tag, "tags") for tag in parts[1]]
        if not all(part.strip() for part in (*tokens, *tags)):
            raise table.error(line, "expected tokens and tags, got an empty one")
        notes["rows without a word are left out"] += not tokens
        return [tokens, ["_".join(tag.split()) for tag in tags]] if tokens else None

    rows, bad = each_row(table, make)
    kind = "lists of tokens" if listed else "tokens between spaces"
    how = f"{kind} ({proof[0]!r})" + "".join(f" and tags ({name!r})" for name in proof[1:])
    return tagged_table(table, how, rows, bad, +notes)

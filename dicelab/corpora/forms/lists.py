"""Tokens and tags as two lists in each row.

Example: ``{"tokens": ["Ana", "saw", "Oslo"], "ner_tags": ["B-PER", "O", "B-LOC"]}``
"""

from __future__ import annotations

from dicelab.corpora.cells import Asked, Table, label_of, parsed, short
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.forms.sample import Sample, Tagged, first, tagged_table

TOKENS = ("tokens", "words", "tokenized_text", "token", "word", "text", "sentence")
TAGS = ("ner_tags", "ner", "tags", "tag", "labels", "label", "entities", "pos_tags", "pos")


def tokens_columns(sample: Sample) -> list[str]:
    """Columns of lists of words."""
    return [
        name
        for name in first(sample.texts, TOKENS)
        if any(sample.held(name))
        and sample.are(name, lambda v: type(v) is list and all(type(t) is str for t in v))
    ]


def witness(sample: Sample) -> tuple[str, ...] | None:
    """Two columns of lists that are as long as one another, the first one of words."""
    for tokens in tokens_columns(sample)[:1] if sample.tagging else ():
        for tags in first([n for n in sample.labels if n != tokens], TAGS):
            pairs = [
                (a, b)
                for a, b in zip(sample.cells(tokens), sample.cells(tags), strict=True)
                if type(a) is list and type(b) is list and a
            ]
            alike = sum(
                len(a) == len(b) and not any(isinstance(t, dict | list) for t in b)
                for a, b in pairs
            )
            if pairs and alike > 0.9 * len(sample.table.rows):
                return tokens, tags
    return None


def read(table: Table, proof: tuple[str, ...], asked: Asked) -> Table:
    """Rows of tokens and tags; one with another number of tags than tokens is bad."""
    places = [table.names.index(name) for name in proof]
    rows: Tagged = []
    bad = []
    empty = 0
    for line, values in table.rows:
        try:
            tokens, tags = _row(table, line, [values[place] for place in places])
        except CorpusError as error:
            bad.append(str(error))
            continue
        empty += not tokens
        rows += [(line, [tokens, tags])] if tokens else []
    how = f"lists of tokens ({proof[0]!r}) and tags ({proof[1]!r})"
    made = tagged_table(table, how, rows, bad)
    made.notes.extend([f"{empty:,} rows without a word are left out."] if empty else [])
    return made


def _row(table: Table, line: int, values: list[object]) -> tuple[list[str], list[str]]:
    first_list, second = map(parsed, values)
    if type(first_list) is not list or type(second) is not list:
        raise table.error(line, f"expected lists of tokens and of tags, got {short(repr(values))}")
    if len(first_list) != len(second):
        raise table.error(line, f"expected a tag a token, got {len(second)} for {len(first_list)}")
    tags = [tag if type(tag) is str else label_of(table, line, tag, "tags") for tag in second]
    tokens = list(map(str, first_list))
    if not all(token.strip() for token in tokens) or not all(tag.strip() for tag in tags):
        raise table.error(line, "expected tokens and tags, got an empty one")
    return tokens, ["_".join(tag.split()) for tag in tags]

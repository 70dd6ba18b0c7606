"""CoNLL-U, the format of Universal Dependencies: words and their parts of speech."""

from __future__ import annotations

from collections import Counter
from os import PathLike
from typing import Literal

from datasets import Dataset

from dicelab.corpora.errors import CorpusError
from dicelab.corpora.features import to_dataset
from dicelab.corpora.text import read_lines

_COLUMNS = {"upos": 3, "xpos": 4, None: None}


def read_conllu(
    path: str | PathLike[str],
    *,
    column: Literal["upos", "xpos"] | None = "upos",
    repairs: Counter[str] | None = None,
) -> Dataset:
    """Read the syntactic words of a CoNLL-U file with a part of speech each.

    Comments are passed over, multiword ranges (``3-4``) and empty nodes (``8.1``) are left out: the
    words within a range carry the tags.

    Args:
        path: The file.
        column: ``"upos"`` for the universal tag, ``"xpos"`` for the treebank's own; None where no
            tags are wanted: all are ``O``.
        repairs: What was repaired or left out is added here, by kind.

    Returns:
        Rows of ``tokens`` and ``tags``. Words may hold spaces, where the treebank has such words.

    Raises:
        CorpusError: With file and line: not ten columns, word numbers that do not run 1, 2, 3, ...,
            a word without form or tag, no sentence at all.
    """
    if column not in _COLUMNS:
        raise CorpusError(f"column: expected upos or xpos, got {column!r}")
    repairs = Counter() if repairs is None else repairs
    place = _COLUMNS[column]
    sentences: list[list[tuple[str, str]]] = [[]]
    for number, line in enumerate(read_lines(path, repairs), start=1):
        if not line.strip(" \t"):
            sentences.append([])
            continue
        if line.startswith("#"):
            continue
        if "\r" in line or "\0" in line:
            raise CorpusError.at(path, number, f"expected plain text, got {line[:60]!r}")
        fields = line.split("\t")
        if len(fields) != 10:
            raise CorpusError.at(
                path, number, f"expected 10 tab-separated columns, got {len(fields)}: {line[:60]!r}"
            )
        words = sentences[-1]
        if fields[0] == str(len(words) + 1):
            form, tag = fields[1].strip(" "), "O" if place is None else fields[place].strip(" ")
            if not form or tag in ("", "_"):
                missing = "a form" if not form else f"a tag in the column {column}"
                raise CorpusError.at(path, number, f"expected {missing}, got {line[:60]!r}")
            words.append((form, tag))
        elif fields[0].startswith(f"{len(words) + 1}-"):
            repairs["multiword ranges left out"] += 1
        elif fields[0].startswith(f"{len(words)}."):
            repairs["empty nodes left out"] += 1
        else:
            raise CorpusError.at(
                path, number, f"expected the word number {len(words) + 1}, got {fields[0][:60]!r}"
            )
    whole = [sentence for sentence in sentences if sentence]
    if not whole:
        raise CorpusError.at(path, 0, "expected sentences in CoNLL-U, got none")
    tokens, tags = ([[pair[n] for pair in sentence] for sentence in whole] for n in (0, 1))
    return to_dataset({"tokens": tokens, "tags": tags}, task="tagging")

"""CoNLL-U, the format of Universal Dependencies: words and their parts of speech."""

from __future__ import annotations

from collections import Counter
from os import PathLike
from typing import Literal

from datasets import Dataset

from dicelab.corpora.conll import read_conll
from dicelab.corpora.errors import CorpusError

_COLUMNS = {"upos": 3, "xpos": 4, None: None}


def read_conllu(
    path: str | PathLike[str],
    *,
    column: Literal["upos", "xpos"] | None = "upos",
    repairs: Counter[str] | None = None,
) -> Dataset:
    """Read the syntactic words of a CoNLL-U file with a part of speech each.

    Args:
        path: The file.
        column: ``"upos"`` for the universal tag, ``"xpos"`` for the treebank's own; None where no
            tags are wanted: all are ``O``.
        repairs: As of :func:`~dicelab.corpora.conll.read_conll`.

    Returns:
        Rows of ``tokens`` and ``tags``. Words may hold spaces, where the treebank has such words.

    Raises:
        CorpusError: With file and line: not ten columns, word numbers that do not run 1, 2, 3, ...,
            a word without form or tag, no sentence at all.
    """
    if column not in _COLUMNS:
        raise CorpusError(f"column: expected upos or xpos, got {column!r}")
    return read_conll(
        path,
        token_column=1,
        tag_column=_COLUMNS[column],
        separator="\t",
        comments=True,
        numbered=True,
        tags="plain",
        repairs=repairs,
    )

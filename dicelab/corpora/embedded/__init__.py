"""Small synthetic corpora that come with the package: five tasks in two languages, and one more.

They are for running, testing and teaching, and no evidence about losses. Their card,
``README.md`` beside them, says how they were made, what they are not, and which sha256 each has.
"""

from __future__ import annotations

import gzip
import json
from importlib.resources import files
from typing import Any

from datasets import DatasetDict

from dicelab.corpora.errors import CorpusError
from dicelab.corpora.features import to_dataset
from dicelab.corpora.registry import EMBEDDED


def load(name: str) -> DatasetDict:
    """Read an embedded corpus.

    Args:
        name: One of ``EMBEDDED``, such as ``"embedded-entities-en"``.

    Returns:
        The splits train, validation and test, in the form of the corpus's task.

    Raises:
        CorpusError: The name is unknown.
    """
    if name not in EMBEDDED:
        raise CorpusError(f"embedded corpus: expected one of {', '.join(EMBEDDED)}, got {name!r}")
    splits: dict[str, dict[str, list[Any]]] = {}
    packed = (files(__name__) / f"{name}.jsonl.gz").read_bytes()
    for line in gzip.decompress(packed).decode().rstrip("\n").split("\n"):
        row = json.loads(line)
        columns = splits.setdefault(row.pop("split"), {key: [] for key in row})
        for key, value in row.items():
            columns[key].append(value)
    return DatasetDict(
        {s: to_dataset(columns, task=EMBEDDED[name]) for s, columns in splits.items()}
    )

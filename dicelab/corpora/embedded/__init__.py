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
    packed = (files(__name__) / f"{name}.jsonl.gz").read_bytes()
    splits: dict[str, list[dict[str, Any]]] = {}
    for line in gzip.decompress(packed).decode().rstrip("\n").split("\n"):
        row = json.loads(line)
        splits.setdefault(row.pop("split"), []).append(row)
    columns = {s: {n: [row[n] for row in part] for n in part[0]} for s, part in splits.items()}
    return DatasetDict({s: to_dataset(columns[s], task=EMBEDDED[name]) for s in splits})

"""The Penn and Chinese Treebanks: words and parts of speech of bracketed files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from os import PathLike

from datasets import Dataset

from dicelab.corpora.errors import CorpusError
from dicelab.corpora.features import to_dataset
from dicelab.corpora.text import read_lines
from dicelab.corpora.trees import printed, trees_in


def read_treebank(
    paths: Iterable[str | PathLike[str]],
    *,
    unescape: bool = True,
    encodings: tuple[str, ...] = ("utf-8",),
    repairs: Counter[str] | None = None,
) -> Dataset:
    r"""Read the words and parts of speech of bracketed files, a sentence each outermost bracket.

    Traces (tag ``-NONE-``) are left out, and a sentence of nothing else with them. Lines of markup
    (``<S ID=1>``, in files of the Chinese Treebank) are passed over. A functional suffix of a tag
    (``NN-SHORT``) is cut off.

    Args:
        paths: The files (``.mrg``, ``.fid``, ``.nw``, ...), in the order wanted.
        unescape: Whether words come out as they were printed: ``(`` for ``-LRB-``, ``/`` for
            ``\/``, ``*`` for ``\*``. Tags stay as they are.
        encodings: Tried in turn for each file; ``("utf-8", "gb18030")`` suits the Chinese
            Treebank 5.
        repairs: What was repaired or left out is added here, by kind.

    Returns:
        Rows of ``tokens`` and ``tags``.

    Raises:
        CorpusError: With file and line: a bracket that is not closed or not open, text outside the
            brackets, a word without a tag, an empty bracket; a file without a tree.
    """
    repairs = Counter() if repairs is None else repairs
    columns: dict[str, list[list[str]]] = {"tokens": [], "tags": []}
    for path in paths:
        lines = _read_in_one_of(path, encodings, repairs)
        trees = 0
        for trees, (_, words) in enumerate(trees_in(path, enumerate(lines, 1)), 1):  # noqa: B007
            tagged = [(word, tag) for tag, word in words if tag != "-NONE-"]
            repairs["traces left out"] += len(words) - len(tagged)
            if not tagged:
                repairs["sentences of traces alone left out"] += 1
                continue
            columns["tokens"].append([printed(word) if unescape else word for word, _ in tagged])
            columns["tags"].append([_bare(tag, repairs) for _, tag in tagged])
        if not trees:
            raise CorpusError.at(path, 0, "expected bracketed trees, got none")
    if not columns["tokens"]:
        raise CorpusError("expected files of bracketed trees, got no sentence")
    return to_dataset(columns, task="tagging")


def _read_in_one_of(
    path: str | PathLike[str], encodings: tuple[str, ...], repairs: Counter[str]
) -> list[str]:
    for encoding in encodings[:-1]:
        try:
            return read_lines(path, repairs, encoding=encoding)
        except CorpusError:
            continue
    return read_lines(path, repairs, encoding=encodings[-1])


def _bare(tag: str, repairs: Counter[str]) -> str:
    bare = tag.split("-", 1)[0]
    if bare and bare != tag:
        repairs["functional suffixes cut off tags"] += 1
        return bare
    return tag

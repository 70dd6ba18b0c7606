"""The Penn and Chinese Treebanks: words and parts of speech of bracketed files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.errors import CorpusError
from dicelab.corpora.features import to_dataset
from dicelab.corpora.text import read_lines
from dicelab.corpora.trees import printed, trees_in

from .corpus import Convert


def read_treebank(
    paths: Iterable[str | PathLike[str]],
    *,
    encodings: tuple[str, ...] = ("utf-8",),
    repairs: Counter[str] | None = None,
) -> Dataset:
    r"""Read the words and parts of speech of bracketed files, a sentence each outermost bracket.

    Words come out as they were printed: ``(`` for ``-LRB-``, ``/`` for ``\/``, ``*`` for ``\*``.
    Traces (tag ``-NONE-``) are left out, and a sentence of nothing else with them. Lines of markup
    (``<S ID=1>``, in files of the Chinese Treebank) are passed over. A functional suffix of a tag
    (``NN-SHORT``) is cut off.

    Args:
        paths: The files (``.mrg``, ``.fid``, ``.nw``, ...), in the order wanted.
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
            columns["tokens"].append([printed(word) for word, _ in tagged])
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
        with suppress(CorpusError):
            return read_lines(path, repairs, encoding=encoding)
    return read_lines(path, repairs, encoding=encodings[-1])


def _bare(tag: str, repairs: Counter[str]) -> str:
    bare = tag.split("-", 1)[0]
    if bare and bare != tag:
        repairs["functional suffixes cut off tags"] += 1
        return bare
    return tag


def by_number(
    pattern: str,
    example: str,
    splits: Mapping[str, Collection[int]],
    encodings: tuple[str, ...] = ("utf-8",),
) -> Convert:
    """A converter for a treebank whose splits are told by the numbers in the names of its files.

    Args:
        pattern: A regular expression for the whole name, whose first group is the number.
        example: How such a file is called, for the error.
        splits: The numbers of each split.
        encodings: As for :func:`read_treebank`.
    """

    def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
        files = numbered(raw, pattern, example)
        return {
            split: read_treebank(chosen(files, ids, split), encodings=encodings, repairs=repairs)
            for split, ids in splits.items()
        }

    return convert


def numbers(ranges: str) -> set[int]:
    """The numbers of a list of ranges: ``"1-3, 7"`` is 1, 2, 3 and 7."""
    ends = (part.strip().partition("-") for part in ranges.split(","))
    return {n for first, _, last in ends for n in range(int(first), int(last or first) + 1)}


def numbered(folder: Path, pattern: str, name: str) -> dict[int, Path]:
    """The files below a folder whose names hold a number.

    Args:
        folder: Searched with all folders in it.
        pattern: A regular expression for the whole name, whose first group is the number.
        name: How such a file is called, for the error.

    Returns:
        Number to file, in order of the numbers.

    Raises:
        CorpusError: There is none, or two have the same number.
    """
    by_number: dict[int, Path] = {}
    for path in sorted(folder.rglob("*")):
        match = re.fullmatch(pattern, path.name)
        if not match or not path.is_file():
            continue
        number = int(match[1])
        if number in by_number:
            raise CorpusError(
                f"expected one file with the number {number}, got {by_number[number]} and {path}"
            )
        by_number[number] = path
    if not by_number:
        raise CorpusError(f"expected files such as {name} in {folder}, got none; --help says more")
    return dict(sorted(by_number.items()))


def chosen(files: dict[int, Path], ids: Iterable[int], split: str) -> list[Path]:
    """The files of a split, in order of their numbers.

    Raises:
        CorpusError: None of them is there.
    """
    ids = set(ids)
    paths = [path for number, path in files.items() if number in ids]
    if not paths:
        raise CorpusError(
            f"expected files of the {split} split, such as number {min(ids)}, got none among "
            f"{len(files)}"
        )
    return paths

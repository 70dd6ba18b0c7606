"""Finding the files of a corpus in the folder that its user names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from dicelab.corpora.errors import CorpusError


def one_of(folder: Path, names: Sequence[str]) -> Path:
    """The file that has one of these names, the first that is there: in a folder, or below it.

    Raises:
        CorpusError: None of them is there.
    """
    for pattern in ("{}", "**/{}"):
        for name in names:
            for path in sorted(folder.glob(pattern.format(name))):
                if path.is_file():
                    return path
    raise CorpusError(f"expected {' or '.join(names)} in {folder}, got none; --help says more")


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

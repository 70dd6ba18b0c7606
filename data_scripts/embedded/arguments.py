"""The arguments that every embedded corpus takes, checked."""

from __future__ import annotations

from data_scripts.embedded.draw import Draw
from dicelab.corpora.errors import CorpusError


def check(language: str, size: int, imbalance: float, seed: int, *, lowest: float = 1.0) -> None:
    """Refuse arguments that no corpus can be made from.

    Args:
        language: ``"en"`` or ``"zh"``.
        size: rows of train, 1 or more.
        imbalance: negatives per positive, ``lowest`` to 1000.
        seed: any integer.
        lowest: the smallest imbalance that the corpus can reach.

    Raises:
        CorpusError: an argument is not what was expected.
    """
    if language not in ("en", "zh"):
        raise CorpusError(f"language: expected 'en' or 'zh', got {language!r}")
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise CorpusError(f"size: expected a number of training rows from 1, got {size!r}")
    if isinstance(imbalance, bool) or not isinstance(imbalance, int | float):
        raise CorpusError(f"imbalance: expected a number, got {imbalance!r}")
    if not lowest <= imbalance <= 1000:
        raise CorpusError(f"imbalance: expected a number from {lowest} to 1000, got {imbalance!r}")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise CorpusError(f"seed: expected an integer, got {seed!r}")


def rows(split: str, size: int) -> int:
    """Return how many rows a split has: ``size`` for train, a third of it (at least 1) else."""
    return size if split == "train" else max(1, size // 3)


def labels(count: int, imbalance: float, draw: Draw) -> list[int]:
    """Return labels in a random order, ``imbalance`` zeros per one up to rounding."""
    ones = round(count / (1 + imbalance))
    return draw.shuffled([1] * ones + [0] * (count - ones))

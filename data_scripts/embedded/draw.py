"""Random draws that stay the same on every machine."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

VERSION = "1"
"""Part of the name of every stream of draws: to raise it draws all corpora anew."""


class Draw:
    """A stream of random draws, named by a string.

    Only ``random.Random.random`` is used. Python promises that this method keeps its sequence for a
    given seed; it makes no such promise for ``choice``, ``sample`` and ``shuffle``. A string seed
    is hashed by SHA-512, so ``PYTHONHASHSEED`` has no say either.

    Args:
        name: the stream's name. Two streams of one name are equal.
    """

    def __init__(self, name: str) -> None:
        self._random = random.Random(f"{VERSION} {name}").random

    def below(self, n: int) -> int:
        """Return an integer from 0 to ``n - 1``."""
        return int(self._random() * n)

    def chance(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self._random() < probability

    def pick(self, items: Sequence[T]) -> T:
        """Return one item of a sequence that is not empty."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in a random order (Fisher and Yates)."""
        result = list(items)
        for last in range(len(result) - 1, 0, -1):
            index = self.below(last + 1)
            result[last], result[index] = result[index], result[last]
        return result

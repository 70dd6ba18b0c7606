"""Tables and numbers as a reader sees them: with the sign − instead of a hyphen."""

from __future__ import annotations

import re
from typing import Any


def minus(text: str) -> str:
    """A text whose numbers have the sign −; hyphens within words stay as they are.

    Args:
        text: such as ``"-0.2 [-0.7, 0.4]"``.
    """
    return re.sub(r"(?<![\w-])-(?=\.?\d)", "−", text)


def signed(table: Any, digits: int = 1) -> Any:
    """A table of texts: numbers with so many decimals and the sign −, blank where one is missing.

    Args:
        table: A data frame or a series of numbers, of texts, or of both.
        digits: Decimals; a number that rounds to zero has no sign.
    """

    def formatted(value: Any) -> str:
        if isinstance(value, str):
            return minus(value)
        missing = value is None or value != value  # NaN is not itself
        return "" if missing else minus(f"{value:z.{digits}f}")

    return table.map(formatted)

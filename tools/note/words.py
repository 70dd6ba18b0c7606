"""How the note prints a number and an interval."""

from __future__ import annotations


def signed(number: float) -> str:
    """With its sign, a minus that is one, and no minus before zero."""
    return f"{number:+z.1f}".replace("-", "−")


def interval(low: float, high: float) -> str:
    """In brackets."""
    return f"[{low:z.1f}, {high:z.1f}]".replace("-", "−")

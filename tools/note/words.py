"""How the note prints a number and an interval."""

from __future__ import annotations


def signed(number: float) -> str:
    """With its sign, and a minus that is one."""
    return f"{number:+.1f}".replace("-", "−")


def interval(low: float, high: float) -> str:
    """In brackets."""
    return f"[{low:.1f}, {high:.1f}]".replace("-", "−")

"""Numbers and rows as the tables of the evidence's pages show them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def interval(mean: float, low: float, high: float) -> str:
    """A mean with its interval in brackets."""
    return f"{mean:.2f} [{low:.2f}, {high:.2f}]"


def table(rows: Iterable[dict[str, Any]]) -> str:
    """Rows as a Markdown table, a column a name; "None yet." if there are none."""
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not rows:
        return "None yet."
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for row in rows:
        cells = (row.get(name, "") for name in names)
        rounded = (f"{c:.3g}" if isinstance(c, float) and abs(c) < 1 else c for c in cells)
        text = (f"{c:.2f}" if isinstance(c, float) else str(c) for c in rounded)
        lines.append("| " + " | ".join(text) + " |")
    return "\n".join(lines)

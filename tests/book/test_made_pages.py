"""The page of the paper's tables: it is as the grid and the records have it."""

from __future__ import annotations

from pathlib import Path

from tools.tables import page


def test_the_page_is_up_to_date(root: Path) -> None:
    stored = (root / "docs" / "tables.md").read_text(encoding="utf-8")
    assert stored == page(), "run: make tables"

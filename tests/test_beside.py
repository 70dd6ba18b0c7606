"""The page that puts dicebook beside other packages says what is measured here."""

from __future__ import annotations

import warnings
from pathlib import Path

from benchmarks import beside

PAGE = Path(__file__).parents[1] / "docs" / "beside.md"


def test_the_page_has_the_measured_rows() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measured = beside.measure()
    assert measured["dicebook dice"]["rows with label -100"] == "left out"
    page = PAGE.read_text(encoding="utf-8")
    for name, row in measured.items():
        assert f"| {name} | {' | '.join(row.values())} |" in page, (name, row)

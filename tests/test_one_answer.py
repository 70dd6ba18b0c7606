"""One answer to each question: pages that quote the same result print the same numbers.

The guide and the front pages are held against the records elsewhere; here the chapters and the
other pages are held against them. Wording is free. A number that changes changes on every page.
"""

from __future__ import annotations

import re
from pathlib import Path

import jupytext
import pytest

from tests.checkout import ROOT

GUIDE = "docs/what_to_do.md"
FRONT = ("README.md", "index.md")
# A question, the numbers of its answer, and beside the guide the pages that give this answer.
ANSWERS = [
    ("loss, thresholds tuned", ("0.3", "0.8", "0.3"), FRONT),
    ("threshold without labels", ("17.8", "7.7"), ("19",)),
    ("threshold without labels, by loss", ("8.1", "3.2"), ("21",)),
    ("runs for a gain of one point", ("59",), ("17",)),
    ("start, a rare label", ("62.8", "61.8", "1.5", "62.7"), FRONT),
    ("start, entities", ("1.9",), FRONT),
    ("start, a task that it costs", ("7.9",), FRONT),
    ("start, a reader", ("5.8", "52.2", "48.5", "46.0", "44.7", "14.1"), ("10",)),
    ("squared or linear", ("31.5",), ("07",)),
    ("labels, at one half", ("8.2", "9.4"), ("21",)),
    ("labels, all layers", ("34.9", "23.7", "7.5"), ("21",)),
    ("tags without an O", ("74.3", "79.5"), ("08",)),
    ("accuracy", ("0.8",), ("13",)),
]


def text_of(page: str) -> str:
    """The prose of a page, or of the chapter of this number."""
    if not page.isdigit():
        return (ROOT / page).read_text(encoding="utf-8")
    cells = jupytext.read(chapter(page)).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def chapter(number: str) -> Path:
    (script,) = (ROOT / "notebooks").glob(f"{number}_*.py")
    return script


@pytest.mark.parametrize(("question", "numbers", "pages"), ANSWERS, ids=lambda x: str(x)[:30])
def test_pages_give_the_answer_of_the_guide(
    question: str, numbers: tuple[str, ...], pages: tuple[str, ...]
) -> None:
    for page in (GUIDE, *pages):
        printed = re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?!\w|\.\d)", text_of(page))
        assert set(numbers) <= set(printed), f"{page}: {set(numbers) - set(printed)}"
    for number in filter(str.isdigit, pages):
        link = f"](../notebooks/{chapter(number).stem}.ipynb)"
        assert link in text_of(GUIDE), f"the guide links to no chapter {number}"

"""axe-core finds nothing serious on any page, light or dark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from test_pages import PAGES

ROOT = Path(__file__).resolve().parents[2]
AXE = Path(os.environ.get("VENV", ROOT / ".venv")) / "axe.min.js"
# Pages of the theme's own beside the book's.
ALL = [*PAGES, "search", "genindex"]
# One page of each kind is looked at in the dark, too.
DARK = {"index", PAGES[1], "docs/playground", "docs/recipes", "docs/records", "docs/api/losses"}
RUN = """rules => axe.run(
    document, {resultTypes: ["violations"], preload: false, ...(rules && {runOnly: rules})}
).then(found => found.violations
    .filter(v => ["serious", "critical"].includes(v.impact))
    .flatMap(v => v.nodes.map(n => `${v.id}: ${n.target.join(" ")}: ${n.failureSummary}`)))"""
# Of what is repeated in the same form a few are enough: three pieces of code, ten rows of a table.
THIN = """() => {
    for (const kind of ["article .highlight", "article section > dl.py"])
        [...document.querySelectorAll(kind)].slice(3).forEach(element => element.remove());
    for (const table of document.querySelectorAll("article tbody"))
        [...table.rows].slice(10).forEach(row => row.remove());
}"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not AXE.exists(), reason="axe-core is not here: run `make axe`"),
]


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """One page for the whole session, without MathJax: its thousands of boxes hold no controls."""
    context = browser.new_context(viewport={"width": 1200, "height": 900}, color_scheme="light")
    page = context.new_page()
    page.route("**/mathjax/**", lambda route: route.abort())
    yield page
    context.close()


def findings(page: Page, rules: list[str] | None = None) -> list[str]:
    """What axe-core calls serious or critical."""
    found: list[str] = page.evaluate(RUN, rules)
    return found


@pytest.mark.parametrize("name", ALL)
def test_no_serious_finding(page: Page, site: str, name: str) -> None:
    page.goto(f"{site}{name}.html")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    page.evaluate(THIN)
    assert findings(page) == []
    if name in DARK:
        page.add_style_tag(content="* { transition: none !important }")
        page.evaluate("() => { document.documentElement.dataset.theme = 'dark' }")
        assert findings(page, ["color-contrast"]) == []


def test_a_picture_without_words_is_found(page: Page, site: str) -> None:
    page.goto(f"{site}index.html")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    page.evaluate("() => document.querySelector('article img').removeAttribute('alt')")
    assert any(finding.startswith("image-alt") for finding in findings(page))

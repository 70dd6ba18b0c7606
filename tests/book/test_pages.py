"""The built book, page by page, as a browser shows it; axe-core finds nothing serious."""

from __future__ import annotations

import os
import re
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page, expect
from watched import LAPTOP, OTHERS, PAGES, PHONE, WIDE, Watched

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = [page for page in PAGES if page.startswith("notebooks/")]
REFERENCE = [page for page in PAGES if page.startswith("docs/api/")]
AXE = Path(os.environ.get("VENV", ROOT / ".venv")) / "axe.min.js"
# One page of each kind is looked at in the dark, too.
DARK = {"index", CHAPTERS[0], "docs/playground", "docs/recipes", "docs/tables", "docs/api/losses"}
# Pages of the reference are of one kind.
SEEN = [page for page in [*PAGES, *OTHERS] if page not in REFERENCE or page in DARK]
RUN = """rules => axe.run(
    document, {resultTypes: ["violations"], preload: false, ...(rules && {runOnly: rules})}
).then(found => found.violations
    .filter(v => ["serious", "critical"].includes(v.impact))
    .flatMap(v => v.nodes.map(n => `${v.id}: ${n.target.join(" ")}: ${n.failureSummary}`)))"""
# Of what is repeated in the same form a few are enough: three pieces of code, ten rows of a table.
# The thousands of boxes of a formula hold no controls.
THIN = """() => {
    document.querySelectorAll("mjx-container").forEach(formula => formula.remove());
    for (const kind of ["article .highlight", "article section > dl.py"])
        [...document.querySelectorAll(kind)].slice(3).forEach(element => element.remove());
    for (const table of document.querySelectorAll("article tbody"))
        [...table.rows].slice(10).forEach(row => row.remove());
}"""


pytestmark = pytest.mark.slow
needs_axe = pytest.mark.skipif(not AXE.exists(), reason="axe-core is not here: run `make axe`")

# Text and tables that a laptop shows without their right end.
TOO_WIDE = """boxes => boxes.filter(box => {
    if (box.offsetParent === null || box.closest("details:not([open])")) return false;
    let around = box.tagName === "TABLE" ? box.parentElement : box;
    for (; around.tagName !== "ARTICLE"; around = around.parentElement)
        if (around.clientWidth && around.scrollWidth > around.clientWidth + 1) return true;
    return false;
}).map(box => box.textContent.trim().slice(0, 80))"""
BREAKABLE = re.compile(r"\[[−+-]?[\d.]+, [−+-]?[\d.]+\]")  # an interval with a common space


def findings(page: Page, rules: list[str] | None = None) -> list[str]:
    """What axe-core calls serious or critical."""
    found: list[str] = page.evaluate(RUN, rules)
    return found


def test_page_is_whole(site: str, shown: Watched) -> None:
    page = shown.page
    heading = page.locator("h1:not(:empty)").first.inner_text().removesuffix("#").strip()
    assert heading
    assert heading in page.title()
    assert shown.errors == []
    assert [u for u in shown.requests if not u.startswith((site, "data:"))] == []

    formulas = page.locator("article .math").count()
    assert page.locator("article mjx-container").count() >= formulas
    assert page.locator("mjx-merror").count() == 0
    widths = page.evaluate("() => [...document.querySelectorAll('article img')]"
                           ".map(image => image.naturalWidth)")  # fmt: skip
    assert all(widths)
    named = page.evaluate("() => [...document.querySelectorAll('article img')]"
                          ".filter(image => !image.alt).length")  # fmt: skip
    assert named == 0
    table_cells = page.locator("article td").all_inner_texts()
    assert [text for text in table_cells if BREAKABLE.search(text)] == []


@pytest.mark.parametrize("shown", CHAPTERS, indirect=True)
def test_chapter_shows_its_pictures_and_hides_its_solutions(shown: Watched) -> None:
    cells = nbformat.read(ROOT / f"{shown.name}.ipynb", as_version=4).cells
    outputs = [o for cell in cells for o in cell.get("outputs", [])]
    pictures = sum("image/png" in output.get("data", {}) for output in outputs)
    hidden = sum("hide-cell" in cell.metadata.get("tags", []) for cell in cells)
    assert shown.page.locator(".cell_output img").count() >= pictures > 0
    solutions = shown.page.locator("details.hide")
    assert solutions.count() >= hidden > 0
    assert not solutions.first.evaluate("details => details.open")


def test_page_fits_a_laptop(shown: Watched) -> None:
    shown.page.set_viewport_size(LAPTOP)
    assert shown.page.locator("article pre, article table").evaluate_all(TOO_WIDE) == []
    shown.page.set_viewport_size(WIDE)


@pytest.mark.parametrize("shown", REFERENCE, indirect=True)
def test_a_page_of_the_reference_is_read_in_one_go(shown: Watched) -> None:
    shown.page.set_viewport_size({"width": 1400, "height": 900})
    assert shown.page.evaluate("document.documentElement.scrollHeight") <= 8000
    shown.page.set_viewport_size(WIDE)


def test_page_fits_a_phone(shown: Watched) -> None:
    page = shown.page
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    # What no scrolling brings into its box, at either end, is lost.
    lost = """boxes => boxes.filter(box => [["left", -1], ["right", 1]].some(([side, sign]) => {
        for (const scrolled of [box, ...box.querySelectorAll("mjx-container")])
            scrolled.scrollLeft = sign * scrolled.scrollWidth;
        const edge = box.getBoundingClientRect()[side];
        return [...box.querySelectorAll("mjx-math")].some(math =>
            sign * (math.getBoundingClientRect()[side] - edge) > 1);
    })).length"""
    assert page.locator("div.math").evaluate_all(lost) == 0
    page.set_viewport_size(WIDE)


@needs_axe
@pytest.mark.parametrize("shown", SEEN, indirect=True)
def test_no_serious_finding(shown: Watched) -> None:
    page = shown.page
    page.evaluate(AXE.read_text(encoding="utf-8"))
    page.evaluate(THIN)
    assert findings(page) == []
    if shown.name in DARK:
        page.add_style_tag(content="* { transition: none !important }")
        page.evaluate("() => { document.documentElement.dataset.theme = 'dark' }")
        assert findings(page, ["color-contrast"]) == []


@needs_axe
def test_icons_that_are_drawn_early_have_no_second_name(watched: Watched, site: str) -> None:
    """Font Awesome draws them before or after our script, as the machine pleases."""
    script = (ROOT / "_static" / "access.js").read_text(encoding="utf-8")
    late = script.replace('"DOMContentLoaded"', '"drawn"')
    assert late != script
    watched.page.route("**/access.js*", lambda route: route.fulfill(body=late))
    watched.goto(f"{site}index.html")
    watched.page.wait_for_function("document.querySelector('svg.theme-switch title')")
    watched.page.evaluate("() => document.dispatchEvent(new Event('drawn'))")
    watched.page.evaluate(AXE.read_text(encoding="utf-8"))
    assert findings(watched.page) == []


def test_search_finds_a_word(site: str, watched: Watched) -> None:
    watched.goto(f"{site}search.html?q=imbalance")
    results = watched.page.locator("#search-results li a")
    expect(results.first).to_be_visible()
    hrefs = results.evaluate_all("links => links.map(link => link.href)")
    assert any("notebooks/01_imbalance.html" in href for href in hrefs)
    assert watched.errors == []


def test_page_opened_as_a_file_shows_its_mathematics(html: Path, watched: Watched) -> None:
    watched.goto((html / f"{CHAPTERS[0]}.html").as_uri())
    assert watched.page.locator("mjx-container").count() > 0
    assert watched.errors == []

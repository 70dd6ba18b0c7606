"""The built book, page by page, as a browser shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
import yaml
from playwright.sync_api import Browser, Page, expect

ROOT = Path(__file__).resolve().parents[2]
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())
PAGES = ["index", *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"])]
CHAPTERS = [page for page in PAGES if page.startswith("notebooks/")]

pytestmark = pytest.mark.slow


class Watched:
    """A page, with what it complained about and what it asked the network for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("response", lambda r: self.errors.append(r.url) if r.status >= 400 else None)

    def goto(self, url: str) -> None:
        self.page.goto(url)
        self.page.wait_for_load_state("networkidle")
        if self.page.locator(".math").count():
            self.page.wait_for_function("() => window.MathJax?.startup?.promise")
            self.page.evaluate("() => MathJax.startup.promise")


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1200, "height": 900}, color_scheme="light")
    yield Watched(context.new_page())
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_page_is_whole(site: str, watched: Watched, name: str) -> None:
    watched.goto(f"{site}{name}.html")
    page = watched.page
    heading = page.locator("h1").first.inner_text().removesuffix("#").strip()
    assert heading
    assert heading in page.title()
    assert watched.errors == []
    assert [u for u in watched.requests if not u.startswith((site, "data:"))] == []

    formulas = page.locator("article .math").count()
    assert page.locator("article mjx-container").count() >= formulas
    assert page.locator("mjx-merror").count() == 0
    widths = page.evaluate("() => [...document.querySelectorAll('article img')]"
                           ".map(image => image.naturalWidth)")  # fmt: skip
    assert all(widths)
    named = page.evaluate("() => [...document.querySelectorAll('article img')]"
                          ".filter(image => !image.alt).length")  # fmt: skip
    assert named == 0


@pytest.mark.parametrize("name", CHAPTERS)
def test_chapter_shows_its_pictures_and_hides_its_solutions(
    site: str, watched: Watched, name: str
) -> None:
    cells = nbformat.read(ROOT / f"{name}.ipynb", as_version=4).cells
    outputs = [o for cell in cells for o in cell.get("outputs", [])]
    pictures = sum("image/png" in output.get("data", {}) for output in outputs)
    hidden = sum("hide-cell" in cell.metadata.get("tags", []) for cell in cells)
    watched.goto(f"{site}{name}.html")
    assert watched.page.locator(".cell_output img").count() >= pictures > 0
    solutions = watched.page.locator("details.hide")
    assert solutions.count() >= hidden > 0
    assert not solutions.first.evaluate("details => details.open")


@pytest.mark.parametrize("name", PAGES)
def test_page_fits_a_phone(site: str, browser: Browser, name: str) -> None:
    with browser.new_context(viewport={"width": 390, "height": 800}) as context:
        watched = Watched(context.new_page())
        watched.goto(f"{site}{name}.html")
        assert watched.page.evaluate("document.documentElement.scrollWidth") <= 390
        # What lies left of its box cannot be scrolled to.
        lost = """boxes => boxes.filter(box => [...box.querySelectorAll("mjx-math")].some(math =>
            math.getBoundingClientRect().left < box.getBoundingClientRect().left - 1)).length"""
        assert watched.page.locator("div.math").evaluate_all(lost) == 0


def test_search_finds_a_word(site: str, watched: Watched) -> None:
    watched.goto(f"{site}search.html?q=imbalance")
    results = watched.page.locator("#search-results li a")
    expect(results.first).to_be_visible()
    hrefs = results.evaluate_all("links => links.map(link => link.href)")
    assert any("notebooks/01_imbalance.html" in href for href in hrefs)
    assert watched.errors == []


def test_dark_mode_toggles(site: str, watched: Watched) -> None:
    watched.goto(f"{site}index.html")
    page = watched.page
    background = "() => getComputedStyle(document.body).backgroundColor"
    assert page.locator("html").get_attribute("data-theme") == "light"
    light = page.evaluate(background)
    button = page.locator("button.theme-switch-button:visible").first
    for _ in range(3):  # auto, light and dark come round in turn
        button.click()
        if page.locator("html").get_attribute("data-theme") == "dark":
            break
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert page.evaluate(background) != light


def test_page_opened_as_a_file_shows_its_mathematics(html: Path, watched: Watched) -> None:
    watched.goto((html / f"{CHAPTERS[0]}.html").as_uri())
    assert watched.page.locator("mjx-container").count() > 0
    assert watched.errors == []

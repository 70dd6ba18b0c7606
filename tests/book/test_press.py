"""The book as one file: chapters, bookmarks, equations, pictures, solutions at the end."""

from __future__ import annotations

import importlib.util
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest
import yaml
from bs4 import BeautifulSoup
from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[2]
# A few pages stand for all: a chapter with equations, a page with a table.
TOC = {
    "root": "index",
    "parts": [
        {"caption": "The problem", "chapters": [{"file": "notebooks/01_imbalance"}]},
        {"caption": "Appendices", "chapters": [{"file": "docs/notation"}]},
    ],
}
XHTML = "{http://www.w3.org/1999/xhtml}"
MATH = "{http://www.w3.org/1998/Math/MathML}"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def press() -> ModuleType:
    spec = importlib.util.spec_from_file_location("press", ROOT / "tools" / "press.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def pressed(
    press: ModuleType,
    browser: Browser,
    html: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[str], Path]:
    """``pressed("pdf")`` is the file of a few pages."""
    (tmp_path / "_toc.yml").write_text(yaml.safe_dump(TOC))
    monkeypatch.setattr(press, "ROOT", tmp_path)

    def make(kind: str) -> Path:
        press.press(kind, html, tmp_path / f"book.{kind}", browser)
        return tmp_path / f"book.{kind}"

    return make


def test_pdf_has_bookmarks_equations_and_page_numbers(
    press: ModuleType, pressed: Callable[[str], Path]
) -> None:
    data = pressed("pdf").read_bytes()
    assert data.startswith(b"%PDF")
    titles = re.findall(rb"/Title \((.*?)\)", data)
    chapter, section, solution = b"01 Imbalance", b"1.1 What is a negative?", b"Exercise 1.1"
    for title in (b"The problem", chapter, section, b"Notation", b"Solutions", solution):
        assert any(found.startswith(title) for found in titles), title
    assert b"MathJax_Main" in data  # the font of the equations
    assert b"/Author (The dicebook authors)" in data
    assert int(data.rsplit(b"startxref", 1)[1].split()[0]) == data.rindex(b"\nxref\n") + 1
    numbers = press.page_numbers(data)
    assert 3 <= numbers["notebooks-01_imbalance"] < numbers["docs-notation"] < numbers["solutions"]
    assert len(re.findall(rb"/Type /Page\b", data)) > 10


def test_epub_has_chapters_equations_and_pictures(
    press: ModuleType, pressed: Callable[[str], Path], html: Path
) -> None:
    with zipfile.ZipFile(pressed("epub")) as book:
        assert book.infolist()[0].filename == "mimetype"
        assert book.infolist()[0].compress_type == zipfile.ZIP_STORED
        names = set(book.namelist())
        texts = {n: ElementTree.fromstring(book.read(n)) for n in names if n.endswith(".xhtml")}
        package = ElementTree.fromstring(book.read("EPUB/book.opf"))
        assert not any(b"<!DOCTYPE" in book.read(name) for name in names if name.endswith(".svg"))
    assert "EPUB/images/answer-light.png" in names
    assert not any("dark" in name for name in names), "its light twin stands for it"
    chapter = texts["EPUB/notebooks-01_imbalance.xhtml"]
    page = (html / "notebooks" / "01_imbalance.html").read_text(encoding="utf-8")
    equations = sum(len(list(text.iter(f"{MATH}math"))) for text in texts.values())
    assert equations >= page.count('class="math ') > 4
    # What epubcheck would not let pass.
    for item in package.iter("{http://www.idpf.org/2007/opf}item"):
        text = texts.get(f"EPUB/{item.attrib['href']}")
        if text is not None and item.get("properties") != "nav":
            has_equations = next(text.iter(f"{MATH}math"), None) is not None
            assert (item.get("properties") == "mathml") == has_equations, item.attrib["href"]
    for text in texts.values():
        assert next(text.iter(f"{XHTML}style"), None) is None
        assert not any(e.get("role") == "doc-biblioentry" for e in text.iter())
        assert not any({"valign", "halign", "border"}.intersection(e.attrib) for e in text.iter())
        for picture in text.iter(f"{XHTML}img"):
            assert f"EPUB/{picture.attrib['src']}" in names
            assert picture.attrib["alt"]
        for link in text.iter(f"{XHTML}a"):
            target = link.attrib.get("href", "https:")
            file, _, anchor = target.partition("#")
            if ":" not in target:
                there = texts[f"EPUB/{file}"]
                assert not anchor or any(e.get("id") == anchor for e in there.iter()), target
    said = "".join(chapter.itertext())
    solution = "".join(texts["EPUB/solutions.xhtml"].itertext())
    asked = re.search(r"Exercise 1\.1[^.]*\. (.{40})", said)
    assert asked
    assert asked[1] in solution, "the question stands above its solution"
    for text in texts.values():
        assert not any(e.tag in (f"{XHTML}input", f"{XHTML}select") for e in text.iter())
    assert "Exercise 1.1" in said
    assert "Exercise 1.1" in solution
    assert page.count("tag_solution") == said.count("Its solution")


def test_an_interval_in_a_table_does_not_break(press: ModuleType, html: Path) -> None:
    cells = [
        cell.get_text()
        for chapter in press.chapters(html)
        for cell in BeautifulSoup(chapter.body, "html.parser").select("td")
    ]
    assert not any(press.INTERVAL.search(cell) for cell in cells)
    assert sum(",\u00a0" in cell for cell in cells) > 100


def test_every_page_of_the_book_is_pressed(press: ModuleType, html: Path) -> None:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    files = [c["file"] for part in toc["parts"] for c in part["chapters"]]
    assert [c.name for c in press.chapters(html)] == ["index", *files, "solutions"]


@pytest.mark.parametrize("said", ["Exercise 7.3 (recall).", "3.", "3 (a project).", "17.3"])
def test_exercises_are_known_by_their_number(press: ModuleType, said: str) -> None:
    assert press.EXERCISE.match(said)[1] == "3"
    assert not press.EXERCISE.match("2% of the data")

"""The whole book in one file, from the built pages: python tools/press.py pdf|epub.

A browser typesets the equations; the pages come in the order of ``_toc.yml``, solutions last. The
PDF is printed by Chromium, with bookmarks; the ePub has the equations as MathML.
"""

from __future__ import annotations

import copy
import posixpath
import re
import shutil
import sys
import zipfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import yaml
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
TITLE = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["title"]
AUTHOR = "The dicebook authors"
STYLE = (ROOT / "tools" / "press.css").read_text(encoding="utf-8")
# Controls and whatever a reader without a mouse cannot use; styles of single tables.
CONTROLS = (
    "script, style, button, input, select, output, nav, .film, .headerlink, .viewcode-link, summary"
)
BROWSER = ["--no-sandbox", "--disable-gpu"]
INTERVAL = re.compile(r"\[([−+-]?[\d.]+), ([−+-]?[\d.]+)\]")


class Chapter(NamedTuple):
    """A page of the book: the part that it opens, its name, its title, its body."""

    part: str
    name: str
    title: str
    body: str


def chapters(html: Path) -> Iterator[Chapter]:
    """The pages in order, their links made into links within one document, solutions apart."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [("", toc["root"])]
    for part in toc["parts"]:
        names = [chapter["file"] for chapter in part["chapters"]]
        files += zip([part["caption"], *[""] * (len(names) - 1)], names, strict=True)
    known = {name for _, name in files}
    solutions = []
    for part, name in files:
        soup = BeautifulSoup((html / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
        article = soup.select_one("article.bd-article")
        assert article is not None
        for control in article.select(CONTROLS):
            control.decompose()
        for dark in article.select(".only-dark"):
            (dark.find_parent("figure") or dark).decompose()
        for folded in article.select("details"):
            folded.unwrap()
        for cell in article.select("th, td, tr, table"):
            for old in ("valign", "halign", "border"):  # of the days before CSS, no XHTML
                del cell[old]
        for cell in article.select("td"):  # as _static/intervals.js does on a page
            for text in cell.find_all(string=INTERVAL):
                text.replace_with(INTERVAL.sub("[\\1,\u00a0\\2]", text))
        for entry in article.select('[role="doc-biblioentry"]'):
            del entry["role"]  # deprecated; epubcheck warns of each
        _localise(article, name, known, html)
        for level in (5, 4, 3, 2, 1):
            for heading in article.find_all(f"h{level}"):
                heading.name = f"h{level + 1}"
        title = article.select("h2")[0].get_text().strip()
        if cells := article.select(".tag_solution"):
            solutions.append(f'<section><h2 id="solutions--{_slug(name)}">{escape(title)}</h2>')
            chapter = title.partition(" ")[0].lstrip("0")
            for cell in cells:
                solutions.append(_moved(soup, cell, name, chapter))
            solutions.append("</section>")
        yield Chapter(part, name, title, article.decode_contents())
    yield Chapter("Solutions", "solutions", "Solutions of the exercises", "".join(solutions))


# "Exercise 7.1 (recall).", "17.1" or "1.": the last of the numbers counts within the chapter.
EXERCISE = re.compile(r"^(?:Exercise )?(?:\d+\.)?(\d+)(?:\.| \(|$)")


def _moved(soup: BeautifulSoup, cell: Tag, name: str, chapter: str) -> str:
    """A solution, taken out of its chapter, with a link either way."""
    names = ((tag, EXERCISE.match(tag.string or "")) for tag in cell.find_all_previous("strong"))
    before, number = next(((tag, found[1]) for tag, found in names if found), (None, ""))
    assert before, f"{name}: a solution without an exercise"
    there, here = f"solution--{_slug(name)}-{number}", f"exercise--{_slug(name)}-{number}"
    question = _question(before, cell)
    link = soup.new_tag("p", id=here)
    back = soup.new_tag("a", href=f"#{there}")
    back.string = "Its solution"
    link.append(back)
    cell.replace_with(link)
    title = f'<h3 id="{there}"><a href="#{here}">Exercise {chapter}.{number}</a></h3>'
    return f'{title}<div class="question">{question}</div>{cell}'


def _question(start: Tag, cell: Tag) -> str:
    """What an exercise asks: from its number to its solution, without names that would be twice."""
    block = start.find_parent(["p", "li"]) or start
    after = block.find_next_siblings()
    here = [block, *after[: after.index(cell)]] if cell in after else [block]
    parts = [copy.copy(tag) for tag in here]
    for part in parts:
        for named in [part, *part.find_all(id=True)]:
            del named["id"]
    return "".join(p.decode_contents() if p.name == "li" else str(p) for p in parts)


def _slug(name: str) -> str:
    return name.replace("/", "-")


def _localise(article: Tag, name: str, known: set[str], html: Path) -> None:
    """Names unique in the whole book, links to them, pictures by their path."""
    folder = posixpath.dirname(name)
    for named in article.find_all(id=True):
        named["id"] = f"{_slug(name)}--{named['id']}"
    for link in article.find_all("a", href=True):
        address = urlsplit(str(link["href"]))
        if address.scheme:
            continue
        path = posixpath.normpath(posixpath.join(folder, address.path)) if address.path else name
        page = path.removesuffix(".html")
        anchor = address.fragment if "=" not in address.fragment else ""
        if page in known:
            link["href"] = f"#{_slug(page)}--{anchor}" if anchor else f"#{_slug(page)}"
        else:
            del link["href"]
    for picture in article.find_all("img"):
        picture["src"] = (html / folder / unquote(str(picture["src"]))).resolve().as_uri()


def whole(html: Path, pages: list[Chapter]) -> str:
    """One page with everything."""
    head = (html / "docs" / "notation.html").read_text(encoding="utf-8")
    settings = re.search(r"<script>(window\.MathJax = .*?)</script>", head)
    assert settings
    contents, body = [], []
    for chapter in pages:
        if chapter.part:
            body.append(f'<h1 class="part">{escape(chapter.part)}</h1>')
            contents.append(f"<li class='part'>{escape(chapter.part)}</li>")
        slug = _slug(chapter.name)
        entry = f'<a href="#{slug}">{escape(chapter.title)}</a><span data-page="{slug}"></span>'
        contents.append(f"<li>{entry}</li>")
        body.append(f'<section class="chapter" id="{slug}">{chapter.body}</section>')
    mathjax = (html / "_static" / "mathjax" / "tex-chtml.js").as_uri()
    colours = (html / "_static" / "pygments.css").as_uri()
    return (
        f'<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8">'
        f'<title>{escape(TITLE)}</title><link rel="stylesheet" href="{colours}">'
        f"<style>{STYLE}</style><script>{settings[1]}</script>"
        f'<script defer src="{mathjax}"></script></head><body class="tex2jax_ignore">'
        f'<div class="cover"><p class="title">{escape(TITLE)}</p><p>{AUTHOR}</p></div>'
        f'<ul class="contents">{"".join(contents)}</ul>{"".join(body)}</body></html>'
    )


# What is wider than the page is made smaller, never cut off.
FIT = """() => {
    const width = document.body.clientWidth;
    for (const wide of document.querySelectorAll("table, mjx-container[display], .highlight"))
        if (wide.scrollWidth > width) wide.style.zoom = width / wide.scrollWidth;
}"""

# Equations as MathML, a label last in its row, and every chapter as XHTML.
XHTML = """() => {
    for (const item of MathJax.startup.document.math) {
        const text = MathJax.startup.toMML(item.root);
        const math = new DOMParser().parseFromString(text, "text/xml").documentElement;
        for (const row of [...math.querySelectorAll("mlabeledtr")]) {
            const plain = document.createElementNS(row.namespaceURI, "mtr");
            plain.append(...[...row.children].slice(1), row.children[0]);
            row.replaceWith(plain);
        }
        item.typesetRoot.replaceWith(document.importNode(math, true));
    }
    const serializer = new XMLSerializer();
    return [...document.querySelectorAll(".chapter")].map(c => serializer.serializeToString(c));
}"""


def pdf(page: Page, out: Path) -> None:
    """Print the whole book."""
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 658, "height": 1000})  # what @page leaves of an A4 sheet
    page.evaluate(FIT)
    how: dict[str, Any] = {"prefer_css_page_size": True, "outline": True, "tagged": True}
    # Twice: where a chapter begins is known once it is printed.
    numbers = page_numbers(page.pdf(print_background=True, **how))
    page.evaluate(NUMBER, numbers)
    # Chromium tells who printed, not who wrote; in as many bytes, for the file counts them.
    author = f"/Author ({AUTHOR})".encode()
    data = CREATOR.sub(lambda m: author.ljust(len(m[0])), page.pdf(print_background=True, **how), 1)
    out.write_bytes(data)


CREATOR = re.compile(rb"/Creator \((?:\\.|[^)\\])*\)")
NUMBER = """numbers => {
    for (const place of document.querySelectorAll("[data-page]"))
        place.textContent = numbers[place.dataset.page];
}"""


def page_numbers(data: bytes) -> dict[str, int]:
    """The page of every name that a link leads to, in a PDF as Chromium writes it."""
    sheets = re.findall(rb"(\d+) 0 obj\n<</Type /Page\n", data)
    order = {sheet: number for number, sheet in enumerate(sheets, start=1)}
    names = re.findall(rb"/([\w.-]+) \[(\d+) 0 R /XYZ", data)
    return {name.decode(): order[sheet] for name, sheet in names}


def epub(page: Page, pages: list[Chapter], out: Path) -> None:
    """Pack the chapters, their pictures and the table of contents."""
    texts = dict(zip((_slug(c.name) for c in pages), page.evaluate(XHTML), strict=True))
    home = {i: slug for slug, text in texts.items() for i in re.findall(r'\bid="([^"]+)"', text)}
    pictures: dict[str, Path] = {}

    def picture(found: re.Match[str]) -> str:
        path = Path(unquote(urlsplit(found[1]).path))
        pictures[path.name] = path
        return f'src="images/{path.name}"'

    def link(found: re.Match[str]) -> str:
        return f'href="{home[found[1]]}.xhtml#{found[1]}"' if found[1] in home else ""

    files: dict[str, str] = {}
    for chapter in pages:
        slug = _slug(chapter.name)
        text = re.sub(r'src="(file:[^"]*)"', picture, texts[slug])
        text = re.sub(r'href="#([^"]*)"', link, text)
        part = f"<h1>{escape(chapter.part)}</h1>" if chapter.part else ""
        files[f"{slug}.xhtml"] = _xhtml(chapter.title, part + text)
    files["nav.xhtml"] = _xhtml("Contents", _contents(pages))
    files["book.css"] = re.sub(r"@page {.*?\n}", "", STYLE, flags=re.DOTALL)
    items = [(name, _media(name), "<math" in text) for name, text in files.items()]
    items += [(name, _media(name), False) for name in (f"images/{p}" for p in pictures)]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        book.writestr("META-INF/container.xml", CONTAINER)
        book.writestr("EPUB/book.opf", _package(items, [f"{_slug(c.name)}.xhtml" for c in pages]))
        for name, text in files.items():
            book.writestr(f"EPUB/{name}", text)
        for name, path in pictures.items():
            data = path.read_bytes()
            if path.suffix == ".svg":  # an ePub must not ask for what lies outside of it
                data = re.sub(rb"<!DOCTYPE[^>]*>", b"", data)
            book.writestr(f"EPUB/images/{name}", data)


CONTAINER = """<?xml version="1.0" encoding="utf-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="EPUB/book.opf" media-type="application/oebps-package+xml"/>
</rootfiles></container>"""


def _xhtml(title: str, body: str) -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<html xmlns="http://www.w3.org/1999/xhtml" '
        'xmlns:epub="http://www.idpf.org/2007/ops" lang="en" xml:lang="en"><head>'
        f'<title>{escape(title)}</title><link rel="stylesheet" href="book.css"/></head>'
        f"<body>{body}</body></html>"
    )


def _contents(pages: list[Chapter]) -> str:
    rows: list[str] = []
    for chapter in pages:
        if chapter.part:
            rows.append(f"<li><span>{escape(chapter.part)}</span><ol>")
        link = f'<a href="{_slug(chapter.name)}.xhtml">{escape(chapter.title)}</a>'
        rows.append(f"<li>{link}</li>")
    text = "".join(rows)
    # A part's list ends where the next begins.
    first, *parts = text.split("<li><span>")
    inner = "".join(f"<li><span>{part}</ol></li>" for part in parts)
    return f'<nav epub:type="toc"><h1>Contents</h1><ol>{first}{inner}</ol></nav>'


def _media(name: str) -> str:
    kinds = {"xhtml": "application/xhtml+xml", "css": "text/css", "svg": "image/svg+xml"}
    suffix = name.rpartition(".")[2]
    return kinds.get(suffix, f"image/{suffix.replace('jpg', 'jpeg')}")


def _package(items: list[tuple[str, str, bool]], order: list[str]) -> str:
    extra = {"nav.xhtml": ' properties="nav"', "images/cover.png": ' properties="cover-image"'}
    manifest = ""
    for number, (name, media, has_equations) in enumerate(items):
        properties = extra.get(name, ' properties="mathml"' if has_equations else "")
        manifest += f'<item id="i{number}" href="{name}" media-type="{media}"{properties}/>'
    place = {name: f"i{n}" for n, (name, *_) in enumerate(items)}
    spine = "".join(f'<itemref idref="{place[name]}"/>' for name in order)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<package version="3.0" unique-identifier="id" '
        'xmlns="http://www.idpf.org/2007/opf"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">dicebook'
        f"</dc:identifier><dc:title>{escape(TITLE)}</dc:title><dc:language>en</dc:language>"
        f"<dc:creator>{AUTHOR}</dc:creator>"
        '<meta property="dcterms:modified">2026-01-01T00:00:00Z</meta></metadata>'
        f"<manifest>{manifest}</manifest><spine>{spine}</spine></package>"
    )


def press(kind: str, html: Path, out: Path, browser: Browser) -> None:
    """Make the PDF or the ePub of the built pages.

    Args:
        kind: ``"pdf"`` or ``"epub"``.
        html: the folder of the built pages.
        out: the file to write.
        browser: a Chromium.
    """
    pages = list(chapters(html))
    # Beside the pages, for their pictures' sake; each call in a file of its own.
    with NamedTemporaryFile("w", dir=html, suffix=".html", encoding="utf-8") as file:
        file.write(whole(html, pages))
        file.flush()
        page = browser.new_page()
        page.set_default_timeout(0)
        page.goto(Path(file.name).as_uri())
        page.evaluate("() => MathJax.startup.promise")
        if kind == "pdf":
            pdf(page, out)
        else:
            epub(page, pages, out)
        page.close()


def main(arguments: list[str]) -> int:
    """The command line."""
    kind = arguments[0] if arguments else ""
    if kind not in ("pdf", "epub"):
        print(f"expected pdf or epub; got {kind!r}", file=sys.stderr)
        return 2
    html = Path(arguments[1]) if len(arguments) > 1 else ROOT / "_build" / "html"
    out = html.parent / f"dicebook.{kind}"
    with sync_playwright() as playwright:
        own = shutil.which("chromium") or shutil.which("chromium-browser")
        press(kind, html, out, playwright.chromium.launch(executable_path=own, args=BROWSER))
    print(out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

"""Write the replication note: python -m tools.note [pdf].

``docs/note.md`` and its figures always; with ``pdf`` also ``_build/note.pdf``, printed by Chromium.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from markdown_it import MarkdownIt
from playwright.sync_api import Browser, sync_playwright

from tools.note.figures import draw
from tools.note.numbers import numbers
from tools.pdf import FLAGS

ROOT = Path(__file__).parents[2]
STYLE = """
@page { size: A4; margin: 22mm 20mm; @bottom-center { content: counter(page); font: 9pt serif } }
body { font: 10.5pt / 1.45 "DejaVu Serif", Georgia, serif; hyphens: auto; margin: 0 }
h1 { font-size: 18pt; line-height: 1.2 } h2 { font-size: 13pt } h3 { font-size: 11pt }
h2, h3 { break-after: avoid } img { display: block; width: 88%; margin: 1em auto 0 }
p:has(img) { break-after: avoid; break-inside: avoid } p, li { orphans: 3; widows: 3 }
table { border-collapse: collapse; margin: 1em auto; font-size: 9.5pt; break-inside: avoid }
th, td { padding: .25em .8em; border-bottom: .5pt solid #999; text-align: left }
td { white-space: nowrap }
code { font-size: 9pt } a { color: inherit }
"""


def page(root: Path, figures: Path) -> str:
    """The note as Markdown; draws its figures.

    Args:
        root: The repository.
        figures: Where the figures are written.
    """
    descriptions = draw(root / "results", figures)
    alts = {f"alt_{name}": words for name, words in descriptions.items()}
    text = (root / "tools" / "note" / "text.md").read_text(encoding="utf-8")
    return text.format(**numbers(root), **alts)


def pdf(text: str, figures: Path, out: Path, browser: Browser) -> None:
    """Print the note.

    Args:
        text: Its Markdown.
        figures: The folder of its figures.
        out: The PDF.
        browser: A Chromium.
    """
    body = MarkdownIt("commonmark").enable("table").render(re.sub(r"<!--.*?-->\n", "", text))
    body = body.replace("../_static/", "")
    html = f'<html lang="en"><meta charset="utf-8"><style>{STYLE}</style>{body}</html>'
    with TemporaryDirectory(dir=figures) as folder:
        file = Path(folder) / "note.html"
        file.write_text(html.replace('src="', 'src="../'), encoding="utf-8")
        tab = browser.new_page()
        tab.set_default_timeout(0)
        tab.goto(file.as_uri())
        out.parent.mkdir(parents=True, exist_ok=True)
        tab.pdf(path=out, prefer_css_page_size=True)
        tab.close()


def main(arguments: list[str]) -> int:
    """Write what is asked for."""
    if arguments not in ([], ["pdf"]):
        print(f"error: expected nothing or pdf, got {' '.join(arguments)}", file=sys.stderr)
        return 2
    text = page(ROOT, ROOT / "_static")
    (ROOT / "docs" / "note.md").write_text(text, encoding="utf-8")
    print(ROOT / "docs" / "note.md")
    if arguments:
        out = ROOT / "_build" / "note.pdf"
        with sync_playwright() as engines:
            own = shutil.which("chromium") or shutil.which("chromium-browser")
            browser = engines.chromium.launch(executable_path=own, args=FLAGS)
            pdf(text, ROOT / "_static", out, browser)
        print(out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Print the book as one PDF: python tools/pdf.py SINGLE_PAGE.html OUT.pdf.

The page is what Sphinx's builder ``singlehtml`` makes of the book. Chromium prints it, once MathJax
has typeset its equations; solutions are opened, headings become bookmarks.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

# A root in a container has no sandbox.
FLAGS = ["--no-sandbox", "--disable-gpu"]
STYLE = """
@page { size: A4; margin: 20mm 18mm }
.bd-header-article, .bd-sidebar-secondary, .headerlink { display: none !important }
"""
OPEN = "() => document.querySelectorAll('.tag_solution details').forEach(d => { d.open = true })"


def print_page(page: Path, out: Path, browser: Browser) -> None:
    """Print a built page.

    Args:
        page: The page, an HTML file.
        out: The PDF to write.
        browser: A Chromium.
    """
    tab = browser.new_page()
    tab.set_default_timeout(0)
    tab.goto(page.resolve().as_uri())
    tab.evaluate("() => window.MathJax?.startup?.promise")
    tab.add_style_tag(content=STYLE)
    tab.evaluate(OPEN)
    tab.pdf(path=out, prefer_css_page_size=True, print_background=True, outline=True, tagged=True)
    tab.close()


if __name__ == "__main__":
    with sync_playwright() as engines:
        own = shutil.which("chromium") or shutil.which("chromium-browser")
        chromium = engines.chromium.launch(executable_path=own, args=FLAGS)
        print_page(Path(sys.argv[1]), Path(sys.argv[2]), chromium)
    print(sys.argv[2])

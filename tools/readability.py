"""How much there is to read, and how it fits a laptop: python -m tools.readability [HTML_FOLDER].

For each chapter: words of prose (without exercises, tables, code and displayed mathematics), where
the first picture stands, and, in the built pages on a window of 1280 × 800, the open code cells
that scroll sideways, those of more than 25 lines, and the tables that are wider than their column.
Prints a Markdown table.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupytext
import pandas as pd
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
NOT_PROSE = re.compile(
    r"^```.*?^```$|^\$\$.*?\$\$$|^\|[^\n]*$|^\(eq-[^)]*\)=$|^:::.*?^:::$", re.DOTALL | re.MULTILINE
)
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)|\{[a-z]+\}`[^`]*`")
MEASURE = """() => {
  const article = document.querySelector("article");
  const shown = (e) => e.offsetParent !== null && !e.closest("details:not([open])");
  const code = [...article.querySelectorAll(".cell_input pre")].filter(shown);
  const tables = [...article.querySelectorAll(".cell_output table, table.table")].filter(shown);
  const scrolls = (e) => e && e !== article &&
    (e.scrollWidth > e.clientWidth + 1 || scrolls(e.parentElement));
  const pictures = [...article.querySelectorAll("img, svg.figure, canvas")].filter(shown);
  return {
    picture: pictures.length ? pictures[0].getBoundingClientRect().top + window.scrollY : null,
    code: code.length,
    wide: code.filter((e) => e.scrollWidth > e.clientWidth + 1).length,
    long: code.filter((e) => e.textContent.trim().split("\\n").length > 25).length,
    tables: tables.length,
    cut: tables.filter((e) => scrolls(e.parentElement)).length,
  };
}"""


def words(script: Path) -> int:
    """Words of a chapter's prose, up to its exercises."""
    count = 0
    for cell in jupytext.read(script).cells:
        if cell.cell_type != "markdown":
            continue
        text, exercises, _ = cell.source.partition("## Exercises")
        text = LINK.sub(r"\1", NOT_PROSE.sub("", text))
        count += len(re.findall(r"[^\W\d_][\w’'-]*", text))
        if exercises:
            break
    return count


def looks(html: Path, names: list[str]) -> Iterator[dict[str, Any]]:
    """What a browser measures on each chapter's page."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        for name in names:
            page.goto((html / "notebooks" / f"{name}.html").resolve().as_uri())
            page.wait_for_load_state("load")
            seen = page.evaluate(MEASURE)
            top = seen.pop("picture")
            yield {"first picture, screens": None if top is None else round(top / 800, 1)} | {
                "open code": seen["code"],
                "scrolls": seen["wide"],
                "over 25 lines": seen["long"],
                "tables": seen["tables"],
                "too wide": seen["cut"],
            }
        browser.close()


def main(arguments: list[str]) -> int:
    """Print the table; without a folder of pages the words alone."""
    scripts = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.py"))
    names = [script.stem for script in scripts]
    table = pd.DataFrame({"words": map(words, scripts)}, index=names)
    if arguments:
        table = table.join(pd.DataFrame(looks(Path(arguments[0]), names), index=names))
    table.loc["all"] = table.drop(columns="first picture, screens", errors="ignore").sum()
    print(table.convert_dtypes().to_markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The PDF of the book shows the solutions, which the page folds."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser

from tools.pdf import print_page

LONG = "<p>so much</p>" * 200


def test_a_solution_is_printed_and_hidden_code_is_not(browser: Browser, tmp_path: Path) -> None:
    pages = {}
    for tag in ("tag_solution", "tag_hide-input"):
        (tmp_path / "book.html").write_text(
            f"<h1>A chapter</h1><div class='{tag}'><details>{LONG}</details></div>"
        )
        print_page(tmp_path / "book.html", tmp_path / "book.pdf", browser)
        data = (tmp_path / "book.pdf").read_bytes()
        assert b"/Title (A chapter)" in data, "a bookmark"
        pages[tag] = len(re.findall(rb"/Type /Page\b", data))
    assert pages["tag_solution"] > pages["tag_hide-input"] == 1

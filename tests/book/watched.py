"""The pages of the book, and one as a browser shows it."""

from __future__ import annotations

from pathlib import Path

import yaml
from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[2]
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())
PAGES = ["index", *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"])]
# The theme's own beside the book's.
OTHERS = ["search", "genindex"]
WIDE, PHONE = {"width": 1200, "height": 900}, {"width": 390, "height": 800}
LAPTOP = {"width": 1280, "height": 800}
# Two cores may show three browsers and train beside them.
PATIENCE = 120_000  # milliseconds


class Watched:
    """A page, with what it complained about and what it asked the network for."""

    def __init__(self, page: Page, name: str = "") -> None:
        self.page = page
        self.name = name
        self.errors: list[str] = []
        self.requests: list[str] = []
        page.set_default_timeout(PATIENCE)
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

"""What lets a page be found: its title, description and picture; no address that is not ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from watched import PAGES

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", PAGES)
def test_page_describes_itself(html: Path, name: str) -> None:
    page = BeautifulSoup((html / f"{name}.html").read_text("utf-8"), "html.parser")
    said = {m.get("property") or m.get("name"): m.get("content") for m in page.find_all("meta")}
    assert said["og:title"]
    assert len(said["description"]) > 20
    assert said["og:url"] == f"{name}.html"
    assert (ROOT / "_static" / Path(said["og:image"]).name).exists()
    links = [link.get("href") or "" for link in page.find_all("a")]
    assert not [link for link in links if "/edit/main/" in link or "colab" in link]

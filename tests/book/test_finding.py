"""What lets a page be found and left: descriptions, the repository, Colab and Binder."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from watched import PAGES

ROOT = Path(__file__).resolve().parents[2]
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
OURS = URLS["Repository"].removeprefix("https://github.com/")

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", PAGES)
def test_page_describes_itself_and_leads_to_its_source(html: Path, name: str) -> None:
    page = BeautifulSoup((html / f"{name}.html").read_text("utf-8"), "html.parser")
    said = {m.get("property") or m.get("name"): m.get("content") for m in page.find_all("meta")}
    assert said["og:title"]
    assert len(said["description"]) > 20
    organisation, project = OURS.split("/")
    assert said["og:url"] == f"https://{organisation}.github.io/{project}/{name}.html"
    assert (ROOT / "_static" / Path(said["og:image"]).name).exists()
    links = {link.get("href") for link in page.find_all("a")}
    assert URLS["Repository"] in links
    edits = [link for link in links if link and link.startswith(f"{URLS['Repository']}/edit/main/")]
    assert {(ROOT / link.partition("/edit/main/")[2]).exists() for link in edits} == {True}
    if name.startswith("notebooks/"):
        colab = f"https://colab.research.google.com/github/{OURS}/blob/main/{name}.ipynb"
        binder = f"https://mybinder.org/v2/gh/{OURS}/main?urlpath=lab/tree/{name}.ipynb"
        assert {colab, binder} <= links

"""The site's map names every page, and a wrong address leads home."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tools import sitemap

ROOT = Path(__file__).resolve().parents[1]


def test_the_map_names_every_page(tmp_path: Path) -> None:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [toc["root"], *(page["file"] for part in toc["parts"] for page in part["chapters"])]
    for file in files:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / f"{file}.html").touch()
    sitemap.write(tmp_path)
    found = [e.text or "" for e in ElementTree.parse(tmp_path / "sitemap.xml").iter() if e.text]
    addresses = [text for text in found if text.strip()]
    (home,) = {address.removesuffix("index.html") for address in addresses[:1]}
    assert [a.removeprefix(home) for a in addresses] == [f"{file}.html" for file in files]
    assert f'href="{home}"' in (tmp_path / "404.html").read_text()
    (tmp_path / f"{files[-1]}.html").unlink()
    with pytest.raises(FileNotFoundError, match=f"{files[-1]}.html: a page of _toc.yml"):
        sitemap.write(tmp_path)

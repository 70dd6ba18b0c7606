"""What a site wants beside its pages: sitemap.xml and 404.html. python tools/sitemap.py HTML."""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
MISSING = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>No such page: {title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ max-width: 32em; margin: 4em auto; padding: 0 1em; font-family: sans-serif }}</style>
</head>
<body><h1>There is no such page</h1>
<p>It may have moved. <a href="{home}">The front page</a> lists all chapters, and
<a href="{home}search.html">the search</a> finds words.</p></body>
</html>
"""


def write(html: Path) -> None:
    """Write both files.

    Args:
        html: the folder of the built pages; every page of ``_toc.yml`` must be there.

    Raises:
        FileNotFoundError: naming a page that is missing.
    """
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    home = config["sphinx"]["config"]["ogp_site_url"]
    names = [toc["root"], *(page["file"] for part in toc["parts"] for page in part["chapters"])]
    for name in names:
        if not (html / f"{name}.html").is_file():
            raise FileNotFoundError(f"{html / name}.html: a page of _toc.yml is not built")
    rows = "\n".join(f"<url><loc>{escape(home + name)}.html</loc></url>" for name in names)
    (html / "sitemap.xml").write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{rows}\n</urlset>\n',
        encoding="utf-8",
    )
    page = MISSING.format(title=escape(config["title"]), home=escape(home))
    (html / "404.html").write_text(page, encoding="utf-8")
    (html / "robots.txt").write_text(f"Sitemap: {home}sitemap.xml\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))

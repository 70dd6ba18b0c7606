"""Take the pictures that stand where a moving figure cannot run: python tools/play.py.

Writes _static/play-*.png, without what could be moved, and _static/playground.png; needs Chromium
and the extra "test".
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

STATIC = Path(__file__).parents[1] / "_static"
FIGURES = ("threshold", "smoothing", "batches", "starts", "playground")

if __name__ == "__main__":
    parts = ["<!doctype html><meta charset=utf-8><body style='font-family:sans-serif;width:860px'>"]
    parts += [f"<script src='{path.as_uri()}'></script>" for path in STATIC.glob("*.js")]
    parts += [f"<link rel=stylesheet href='{(STATIC / 'play.css').as_uri()}'>"]
    parts += ["<style>.play:not([data-play=playground]) .play-controls { display: none }</style>"]
    parts += [f"<div class=play data-play={name}></div>" for name in FIGURES]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        (Path(folder) / "page.html").write_text("".join(parts), encoding="utf-8")
        own = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=own, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 900, "height": 900})
        page.goto((Path(folder) / "page.html").as_uri())
        for name in FIGURES:
            figure = page.locator(f"[data-play={name}][data-ready]")
            out = "playground.png" if name == "playground" else f"play-{name}.png"
            figure.screenshot(path=STATIC / out)
        browser.close()

"""Draw the example report of the README, _static/report.png: python tools/report.py.

A fit of the embedded sentiment corpus, whose text was made up for this project, and a picture of
the top of its page.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from dicelab.fit import fit

OUT = Path(__file__).parents[1] / "_static" / "report.png"


def main() -> None:
    """Fit, and take the picture."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as engines:
        found = fit(
            "embedded-sentiment-en", out=f"{folder}/fit", encoder="tiny", device="cpu", steps=60
        )
        own = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = engines.chromium.launch(
            executable_path=own, args=["--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_page(viewport={"width": 800, "height": 900})
        tab.goto(found.report.resolve().as_uri())
        tab.screenshot(path=OUT)


if __name__ == "__main__":
    main()

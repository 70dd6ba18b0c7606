"""The book, built strictly from the committed notebooks, served on this machine alone."""

from __future__ import annotations

import functools
import http.server
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, sync_playwright
from watched import OTHERS, PAGES, WIDE, Watched

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("_config.yml", "_toc.yml", "index.md", "README.md", "references.bib")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def html(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Folder of the built pages, built once however many workers there are."""
    temporary = tmp_path_factory.getbasetemp()
    out = (temporary if worker_id == "master" else temporary.parent) / "book"
    with FileLock(f"{out}.lock"):
        if not (out / "built").exists():
            shutil.rmtree(out, ignore_errors=True)
            _build(out)
            (out / "built").touch()
    return out / "_build" / "html"


def _build(out: Path) -> None:
    source = out / "src"
    source.mkdir(parents=True)
    for name in SOURCES:
        shutil.copy(ROOT / name, source)
    for name in ("docs", "_static", "notebooks"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("*.py"))
    book = str(Path(sys.executable).with_name("jupyter-book"))
    command = [book, "build", str(source), "--path-output", str(out)]
    strict = ["-n", "-W", "--keep-going", "-q"]
    built = subprocess.run([*command, *strict], capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def site(html: Path) -> Iterator[str]:
    """Address of the served book, ending in a slash."""
    handler = functools.partial(_Quiet, directory=str(html))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium: the system's own, else the one that playwright installed."""
    with sync_playwright() as playwright:
        path = CHROMIUM or playwright.chromium.executable_path
        if not Path(path).exists():
            pytest.skip("no Chromium is installed: run `make browser`")
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    """An empty page of its own."""
    with browser.new_context(viewport=WIDE, color_scheme="light") as context:
        yield Watched(context.new_page())


@pytest.fixture(scope="session", params=[*PAGES, *OTHERS])
def shown(request: pytest.FixtureRequest, site: str, browser: Browser) -> Iterator[Watched]:
    """A page of the book, loaded once for all tests that look at it."""
    with browser.new_context(viewport=WIDE, color_scheme="light") as context:
        watched = Watched(context.new_page(), request.param)
        watched.goto(f"{site}{request.param}.html")
        yield watched

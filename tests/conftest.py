"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).resolve().parent.parent

# A machine with other work to do may be slow to draw examples; that is no fault of a test.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(autouse=True)
def _same_draws() -> None:
    """A test that draws without a generator draws the same each time, whatever ran before it."""
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


# What these hold starts processes of its own: each test goes to whichever worker is free.
SPREAD = ("benchmarks", "notebooks", "reproduce", "studies")


def unit(nodeid: str) -> str:
    """What stays on one worker for its fixtures: a file, or one test of those that are spread."""
    path = nodeid.partition("::")[0]
    return nodeid if path.split("/")[-2] in SPREAD else path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first, so that no worker is left alone with it at the end.

    First of all the pages, whose worker builds the book; the other tests of it come later.
    """
    slow = {unit(item.nodeid) for item in items if item.get_closest_marker("slow")}

    def late(item: pytest.Item) -> tuple[bool, bool, bool]:
        path = item.path
        book = path.parent.name == "book"
        return path.name != "test_pages.py", unit(item.nodeid) not in slow, book

    items.sort(key=late)


class ByUnit(LoadScopeScheduling):
    """Workers take units of tests in the order of collection.

    Not ``--dist loadgroup``: with pytest 9.2, pytest-xdist 3.8 forgets the groups
    (https://github.com/pytest-dev/pytest-xdist/issues/1386).
    """

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)


@pytest.hookimpl(optionalhook=True)  # there is no such hook under `-p no:xdist`
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByUnit:
    """Called where there are workers, whatever ``--dist`` says."""
    config.option.loadscopereorder = False
    return ByUnit(config, log)


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's root."""
    return ROOT


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made from the sdist, as a release makes it; beside it the sdist.

    It is made once however many workers there are.
    """
    temporary = tmp_path_factory.getbasetemp()
    out = (temporary.parent if "PYTEST_XDIST_WORKER" in os.environ else temporary) / "dist"
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(out), "-t"]
    with FileLock(f"{out}.lock"):
        if not list(out.glob("*.whl")):
            subprocess.run([*build, "sdist"], cwd=ROOT, check=True, capture_output=True)
            (sdist,) = out.glob("*.tar.gz")
            subprocess.run(["tar", "xzf", str(sdist), "-C", str(out)], check=True)
            unpacked = out / sdist.name.removesuffix(".tar.gz")
            subprocess.run([*build, "wheel"], cwd=unpacked, check=True, capture_output=True)
    return next(out.glob("*.whl"))


@pytest.fixture(scope="session")
def installed(wheel: Path) -> Path:
    """A folder with the wheel installed: on PYTHONPATH, it hides the project."""
    folder = wheel.with_name("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            made = [*pip, "--target", f"{folder}.part", str(wheel)]
            subprocess.run(made, check=True, capture_output=True)
            Path(f"{folder}.part").rename(folder)
    return folder


@pytest.fixture(scope="session")
def real_corpus() -> Callable[[str], Path]:
    """``real_corpus(name)`` is the folder of a real corpus; the test is skipped without it.

    The environment variable DICEBOOK_CORPORA names the folder with a sub-folder for each.
    """
    corpora = os.environ.get("DICEBOOK_CORPORA")

    def folder(name: str) -> Path:
        if not corpora:
            pytest.skip("DICEBOOK_CORPORA names no folder with real corpora")
        path = Path(corpora) / name
        if not path.is_dir():
            pytest.skip(f"the real corpus {name!r} is not in {corpora}")
        return path

    return folder


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """``write(text)`` makes a file of a text, or of bytes."""

    def file(content: str | bytes, name: str = "a.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return file

"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

# A machine with other work to do may be slow to draw examples; that is no fault of a test.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Under ``--dist loadgroup``, files stay together for their fixtures.

    Tests of the chapters and of the workflow start processes of their own and are spread.
    """
    for item in items:
        folder = item.path.parent.name
        if folder not in ("notebooks", "reproduce"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's root."""
    return ROOT


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made from the sdist, as a release makes it; the sdist lies beside it."""
    out = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(out), "-t"]
    subprocess.run([*build, "sdist"], cwd=ROOT, check=True, capture_output=True)
    (sdist,) = out.glob("*.tar.gz")
    subprocess.run(["tar", "xzf", str(sdist), "-C", str(out)], check=True)
    unpacked = out / sdist.name.removesuffix(".tar.gz")
    subprocess.run([*build, "wheel"], cwd=unpacked, check=True, capture_output=True)
    return next(out.glob("*.whl"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the wheel alone is installed into: put on PYTHONPATH, it hides the project."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", str(folder), str(wheel)], check=True, capture_output=True)
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

"""The project as a clone has it: its tracked files, and the code on its pages."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def tracked(*folders: str) -> set[str]:
    """The tracked files whose names begin so."""
    files = TRACKED.splitlines() or pytest.skip("not in a git checkout")
    return {file for file in files if file.startswith(folders)}


def copy_to(folder: Path) -> None:
    """Copy every tracked file."""
    for name in tracked(""):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)


def blocks(path: str, language: str) -> list[str]:
    """The fenced blocks of a page in one language, in order."""
    return [code for kind, code in FENCE.findall((ROOT / path).read_text()) if kind == language]

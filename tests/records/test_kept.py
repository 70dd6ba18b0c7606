"""The page of the records names each of them, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from tests.checkout import tracked


def test_every_record_has_its_commit_and_its_command(root: Path) -> None:
    page = (root / "results" / "README.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if re.match(r"\| `[\w/]", line)]
    assert all(re.fullmatch(r"`[0-9a-f]{7}`", commit) and command for _, commit, command, _ in rows)
    named: set[str] = set()
    for files, *_ in rows:
        first, *others = re.findall(r"`([^`]+)`", files)
        folder = first.rpartition("/")[0]
        named |= {first, *(f"{folder}/{name}".lstrip("/") for name in others)}
    named = {name.removesuffix("NAME.jsonl") for name in named}
    kept = {name.removeprefix("results/") for name in tracked("results/")}
    kept -= {"README.md", "pyproject.toml"}
    assert {name for name in kept if not name.startswith(tuple(named))} == set()
    assert {name for name in named if not any(n.startswith(name) for n in kept)} == set()

"""Files that are either the old one or the whole new one, also after a kill or a full disk."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def atomic(path: Path | str) -> Iterator[Path]:
    """A path to write to, which becomes ``path`` when the block ends well, else disappears.

    Args:
        path: the file in the end; its folder is made.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        with temporary.open("rb+") as file:  # Windows flushes a writable handle alone
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def foreign(folder: Path, ours: str) -> str | None:
    """The name of something in a folder in which nothing shows that it is ours, or None.

    Args:
        folder: where somebody wants to write; it need not exist.
        ours: a pattern, such as ``"fit.json"``, of a file that is in each folder of ours.
    """

    def visible(where: Path) -> list[Path]:
        return sorted(path for path in where.glob("*") if not path.name.startswith("."))

    held = [path.name for path in visible(folder) if not path.is_dir() or visible(path)]
    return held[0] if held and not any(folder.glob(ours)) else None


def write_json(path: Path | str, value: Any) -> None:
    """Write a value as JSON, atomically.

    Args:
        path: the file; its folder is made.
        value: what ``json`` can write; NaN and infinity are refused, for they are not JSON.

    Raises:
        ValueError: if the value holds NaN or infinity. The old file stays.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")

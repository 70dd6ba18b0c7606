"""Records of the runs: one JSON line each, added whole or not at all."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def append(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Add records, all or none of them seen by a reader; several processes may write."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(r, separators=(",", ":"), allow_nan=False) + "\n" for r in records]
    with path.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
        os.write(file.fileno(), "".join(lines).encode())
        os.fsync(file.fileno())

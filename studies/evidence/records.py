"""Records of the runs: one JSON line each, added whole or not at all."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dicelab.records.analysis import Record as Record
from dicelab.records.analysis import read as read
from dicelab.records.runs import versions

FROZEN = ("tasks.py", "scores.py", "heads.py", "stage_a.py")


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


def provenance(files: Iterable[str] = FROZEN) -> dict[str, Any]:
    """Versions of the packages, and a digest of the code that the result depends on."""
    here = Path(__file__).parent
    code = hashlib.sha256(b"".join((here / name).read_bytes() for name in files)).hexdigest()
    return {"versions": versions(), "code": code[:12]}

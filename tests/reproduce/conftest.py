"""A project in which the workflow runs in seconds: its runs only leave a record."""

from __future__ import annotations

from pathlib import Path

import pytest

# While a file "wait" lies in the project's folder, every run but the first takes its time.
RUNNER = """\
import json, sys, time
from pathlib import Path

job, out = json.loads(sys.argv[1]), Path(sys.argv[2])
while Path("wait").exists() and any(Path("runs").rglob("record.json")):
    time.sleep(0.05)
record = {
    "parameters": {"train_size": 0, **job},
    "metrics": {"test": {"f1": 80.0}},
    "measured": {"seconds": 36, "device": "cpu, 1 threads"},
}
out.parent.mkdir(parents=True, exist_ok=True)
out.write_text(json.dumps(record))
states = Path(sys.argv[sys.argv.index("--states") + 1])
states.mkdir(exist_ok=True)
"""


@pytest.fixture
def project(tmp_path: Path, root: Path) -> Path:
    """A folder with the workflow in it, whose runs are its own."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("reproduce", "dicelab", "dicebook"):
        (folder / name).symlink_to(root / name)
    (folder / "runner.py").write_text(RUNNER)
    return folder

"""What a chapter calls runs where Unix's own modules are missing, as on Windows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUN = """
import socket, sys
import psutil  # on Linux it asks resource itself
for name in ("resource", "fcntl"):
    sys.modules[name] = None
for name in ("AF_UNIX", "SOCK_SEQPACKET"):
    if hasattr(socket, name):
        delattr(socket, name)
from importlib import import_module
from pathlib import Path
import dicelab
for path in sorted(Path(dicelab.__file__).parent.rglob("*.py")):
    parts = path.relative_to(Path(dicelab.__file__).parents[1]).with_suffix("").parts
    if parts[-1] not in ("__main__", "__init__") and "data" not in parts:
        import_module(".".join(parts))
from dicelab.records import report, runs
from dicelab.training.experiment import Experiment
from tests.tiny_tagger import train_tagger
trained = train_tagger(Experiment(corpus="x", loss="dl", max_steps=2, output_dir=sys.argv[1]))
given = dict(chapter="09", parameters={"loss": "dl"}, metrics={"test": {"f1": 1.0}})
record = runs.make_record(**given, history=trained.history, measured=trained.measured)
report.write_record(Path(sys.argv[1]) / "dl", record)
print("done")
"""

pytestmark = pytest.mark.slow


def test_a_run_is_trained_and_recorded_without_the_modules_of_unix(tmp_path: Path) -> None:
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", RUN, str(tmp_path / "run")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=env)
    assert done.stdout.endswith("done\n"), done.stderr[-3000:]
    assert (tmp_path / "run" / "dl" / "record.json").exists()

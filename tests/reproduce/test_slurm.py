"""The grid on a real SLURM of one node, with the profile that a cluster's user takes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dicelab.records import runs

pytest.importorskip("snakemake")
pytestmark = pytest.mark.slow
SMOKE = ("--config", "table=7", "profile=smoke", "runner=runner")
DEFAULT = Path("/etc/slurm/slurm.conf")


@pytest.fixture
def slurm(tmp_path: Path) -> list[str]:
    """The start of a command that runs under a cluster of its own."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    absent = [
        name for name in ("munged", "slurmctld", "slurmd") if not shutil.which(name, path=path)
    ]
    if absent:
        pytest.skip(f"{', '.join(absent)} not installed (Debian: slurm-wlm, munge)")
    if DEFAULT.exists():
        pytest.skip(f"{DEFAULT} is there: this machine belongs to a cluster")
    if not os.access(DEFAULT.parent, os.W_OK):
        pytest.skip(f"{DEFAULT.parent} cannot be written to")
    return [str(Path(__file__).with_name("one_node_slurm.sh")), str(tmp_path / "cluster")]


def test_a_table_comes_out_of_slurm(slurm: list[str], project: Path) -> None:
    command = [sys.executable, "-m", "snakemake", "--snakefile", "reproduce/Snakefile"]
    command += ["--profile", "reproduce/slurm"]
    # No accounting runs here, and nobody shall wait forty seconds for the first look.
    here = ["--slurm-status-command=squeue", "--slurm-init-seconds-before-status-checks=2"]
    history = "squeue --all --states=all --Format=JobID,State,tres-per-job"
    then_history = ["bash", "-c", f'"$@" && {history}', "-"]
    done = subprocess.run(
        [*slurm, *then_history, *command, *here, *SMOKE],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    jobs = [line.split() for line in done.stdout.splitlines() if "COMPLETED" in line]
    assert len(jobs) == 2
    assert all("gpu" in tres for _, _, tres in jobs)
    records = runs.read_records(project / "runs" / "reproduced" / "smoke" / "table7.jsonl")
    assert {record["parameters"]["loss"] for record in records} == {"ce", "fl"}

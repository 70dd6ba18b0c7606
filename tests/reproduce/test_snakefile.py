"""The workflow as its user runs it: a table, a kill, a failure."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dicebook.reproduce import grid, runs

pytest.importorskip("snakemake")
pytestmark = pytest.mark.slow


def snakemake(project: Path, *options: str, cores: int = 2) -> list[str]:
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--rerun-incomplete"]
    return [
        *command,
        *options,
        "--directory",
        str(project),
        "--snakefile",
        str(project / "Snakefile"),
    ]


def run(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        snakemake(project, *options), capture_output=True, text=True, timeout=600, check=False
    )


SMOKE = ("--config", "table=7", "profile=smoke", "runner=runner")


def test_a_dry_run_lists_every_run_of_a_table(project: Path) -> None:
    done = run(project, "--dry-run", "--config", "table=6", "profile=smoke")
    assert done.returncode == 0, done.stderr
    wanted = grid.jobs(6, "smoke")
    listed = done.stdout + done.stderr
    for job in wanted:
        assert f"table6/{job.name}/record.json" in listed
    assert ["run_system", str(len(wanted))] in [x.split() for x in listed.splitlines()]


def test_a_table_runs_with_what_is_there_and_says_what_is_missing(project: Path) -> None:
    card = project / "data" / "sst2" / "card.json"
    card.parent.mkdir(parents=True)
    card.touch()
    done = run(project, "--dry-run", "--config", "table=9")
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert "sst2/bert/ce/rates.json" in said  # each loss's learning rate is looked for first
    assert "sst5/bert" not in said
    assert "python -m data_scripts.sst5 --out data" in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("table=2",), "expected a table of 3, 4, 5, 6, 7, 8, 9, 10; got 2"),
        (("table=7", "profile=fast"), "expected a profile of default, paper, laptop, smoke"),
        (("table=7",), "python -m data_scripts.qqp --out"),
        (("table=7", "corpora=sst2"), "expected corpora of mrpc, qqp; got sst2"),
    ],
)
def test_what_cannot_run_says_so_before_it_starts(
    project: Path, options: tuple[str, ...], message: str
) -> None:
    done = run(project, "--config", *options)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr
    assert not (project / "runs").exists()


def test_a_killed_table_goes_on_without_repeating_what_is_done(project: Path) -> None:
    (project / "wait").touch()
    process = subprocess.Popen(
        snakemake(project, *SMOKE, cores=1),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    records = project / "runs" / "grid" / "smoke" / "table7"
    for _ in range(1200):
        # One run is done, and the other one has begun.
        if list(records.rglob("record.json")) and len(list(records.rglob("run.log"))) == 2:
            break
        assert process.poll() is None, "the grid ended before it was killed"
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    (project / "wait").unlink()
    (done_before,) = records.rglob("record.json")
    seen = done_before.stat().st_mtime_ns
    assert (records / "states").is_dir()

    run(project, "--unlock", *SMOKE)
    done = run(project, *SMOKE)
    assert done.returncode == 0, done.stderr
    assert done_before.stat().st_mtime_ns == seen
    found = runs.read_records(project / "results" / "reproduced" / "smoke" / "table7.jsonl")
    assert {r["parameters"]["loss"] for r in found} == {"ce", "fl"}
    assert not (records / "states").exists()  # of no use any more
    assert "Nothing to be done" in run(project, *SMOKE).stderr


def test_a_table_that_came_with_the_project_is_made_anew(project: Path) -> None:
    folder = project / "results" / "reproduced" / "smoke"
    folder.mkdir(parents=True)
    for suffix in ("jsonl", "md", "csv"):
        (folder / f"table7.{suffix}").write_text("old")
    done = run(project, *SMOKE)
    assert done.returncode == 0, done.stderr
    assert len(runs.read_records(folder / "table7.jsonl")) == 2


def test_a_run_that_fails_names_its_log(project: Path) -> None:
    (project / "runner.py").write_text("raise OSError(5)")
    done = run(project, *SMOKE)
    assert done.returncode != 0
    log = "runs/grid/smoke/table7/embedded-paraphrases-en/bert/ce/0/run.log"
    assert log in done.stderr
    assert "OSError" in (project / log).read_text()

"""The workflow as its user runs it: a table, a kill, a failure."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dicelab.records import runs
from reproduce import estimate, grid

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
        str(project / "reproduce" / "Snakefile"),
    ]


def run(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        snakemake(project, *options), capture_output=True, text=True, timeout=600, check=False
    )


SMOKE = ("--config", "table=7", "profile=smoke", "runner=runner")


def test_a_table_runs_with_what_is_there_and_says_what_is_missing(project, monkeypatch) -> None:
    card = project / "data" / "sst2" / "card.json"
    card.parent.mkdir(parents=True)
    card.touch()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    done = run(project, "--dry-run", "--printshellcmds", "--config", "table=9", "gpus=0")
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    hours = estimate.cost(grid.only(grid.jobs(9), ["sst2"]), estimate.assumed).hours
    assert f"Table 9, profile default: 6 runs, about {hours:.1f} hours on one H100" in said
    assert "sst2/bert/ce/rates.json" in said  # each loss's learning rate is looked for first
    assert "sst5/bert" not in said
    assert "dicebook data sst5 --out data" in said
    # No card is seen if none is asked for.
    assert "CUDA_VISIBLE_DEVICES= " in said
    assert "reproduce.cards '' --" in said


def test_a_large_encoder_is_not_trained_on_a_cpu_without_a_word(project, monkeypatch):
    card = project / "data" / "mrpc" / "card.json"
    card.parent.mkdir(parents=True)
    card.touch()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    refused = run(project, "--dry-run", "--config", "table=7", "profile=paper", "corpora=mrpc")
    assert refused.returncode != 0
    told = " ".join((refused.stdout + refused.stderr).split())
    assert "profile paper needs a GPU. torch sees no GPU here;" in told
    assert "say so with GPUS=0" in told


def test_a_killed_table_goes_on_without_repeating_what_is_done(project: Path) -> None:
    (project / "wait").touch()
    tables = project / "runs" / "reproduced" / "smoke"
    tables.mkdir(parents=True)
    for suffix in ("jsonl", "md", "csv"):  # without its runs a table is made anew
        (tables / f"table7.{suffix}").write_text("old")
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

    for lock in (project / ".snakemake" / "locks").iterdir():  # as --unlock does
        lock.unlink()
    done = run(project, *SMOKE)
    assert done.returncode == 0, done.stderr
    assert done_before.stat().st_mtime_ns == seen
    found = runs.read_records(tables / "table7.jsonl")
    assert {r["parameters"]["loss"] for r in found} == {"ce", "fl"}
    assert not (records / "states").exists()  # of no use any more


def test_a_run_that_fails_names_its_log(project: Path) -> None:
    (project / "runner.py").write_text("raise OSError(5)")
    done = run(project, *SMOKE)
    assert done.returncode != 0
    log = "runs/grid/smoke/table7/embedded-paraphrases-en/bert/ce/0/run.log"
    assert log in done.stderr
    assert "OSError" in (project / log).read_text()


# It notes which card it was told and the time it held it.
NOTING = """\
import json, os, sys, time
from pathlib import Path

job, out = json.loads(sys.argv[1]), Path(sys.argv[2])
started = time.monotonic()
Path("started").mkdir(exist_ok=True)
(Path("started") / str(os.getpid())).touch()
# As many runs as there are cards go on at a time; none of them ends before.
while len(list(Path("started").iterdir())) < int(os.environ["AT_ONCE"]):
    time.sleep(0.05)
seen = {name: os.environ.get(name) for name in ("CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS")}
record = {"parameters": job, "metrics": {"test": {"f1": 80.0}}}
out.parent.mkdir(parents=True, exist_ok=True)
(out.parent / "told.json").write_text(json.dumps([seen, started, time.monotonic()]))
out.write_text(json.dumps(record))
"""


def test_one_run_a_card_and_each_sees_its_own(project, tmp_path, monkeypatch):
    (project / "runner.py").write_text(NOTING)
    (project / "data" / "conll03").mkdir(parents=True)
    (project / "data" / "conll03" / "card.json").touch()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    monkeypatch.setenv("AT_ONCE", "2")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    # As the page says: nothing about GPUs.
    command = ("--config", "table=5", "profile=paper", "runner=runner", "corpora=conll03")
    command += ("losses=ce,fl,dsc",)
    done = subprocess.run(
        snakemake(project, *command, cores=16), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = [json.loads(path.read_text()) for path in project.rglob("told.json")]
    assert len(told) == 4
    assert {seen["OMP_NUM_THREADS"] for seen, _, _ in told} == {"8"}
    moments = [(started, 1, seen["CUDA_VISIBLE_DEVICES"]) for seen, started, _ in told]
    moments += [(ended, -1, seen["CUDA_VISIBLE_DEVICES"]) for seen, _, ended in told]
    held: dict[str, int] = {}
    most = 0
    for _, change, card in sorted(moments):
        held[card] = held.get(card, 0) + change
        assert held[card] in (0, 1), "two runs on one card"
        most = max(most, sum(held.values()))
    assert most == 2
    assert set(held) == {"0", "1"}

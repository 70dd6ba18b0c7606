"""Cards: one run each, and each run sees its own alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reproduce.cards import CardError, cards


def test_cards_are_those_that_are_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = {"CUDA_VISIBLE_DEVICES": "3, GPU-a,5"}
    assert cards(environment=listed) == ["3", "GPU-a", "5"]
    assert cards(2, listed) == ["3", "GPU-a"]
    assert cards(0, listed) == cards(environment={"CUDA_VISIBLE_DEVICES": ""}) == []
    assert cards(environment={"CUDA_VISIBLE_DEVICES": "-1"}) == []
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert cards(environment={}) == ["0", "1"]
    with pytest.raises(CardError, match="GPUS=3: expected at most 2, the GPUs that are here"):
        cards(3, {})


ROOT = Path(__file__).parents[2]


def start(names: str, code: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "reproduce.cards", names, "--", sys.executable, "-c", code]
    there = {**os.environ, **environment}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen(command, **pipes, text=True, env=there, cwd=ROOT)


SAY = "import os; print(os.environ['CUDA_VISIBLE_DEVICES'], flush=True); "


@pytest.mark.slow
def test_a_taken_card_is_waited_for_and_comes_back_from_a_killed_run(tmp_path: Path) -> None:
    here = {"TMPDIR": str(tmp_path)}
    first, second = (start("0,1", SAY + "input()", **here) for _ in range(2))
    assert first.stdout
    assert second.stdout
    told = {first.stdout.readline().strip(), second.stdout.readline().strip()}
    assert told == {"0", "1"}
    third = start("0,1", SAY, **here)
    with pytest.raises(subprocess.TimeoutExpired):
        third.wait(timeout=2)
    first.kill()
    assert third.communicate(timeout=60)[0].strip() in told
    second.kill()
    for process in (first, second):
        process.wait()


@pytest.mark.slow
def test_without_cards_and_in_slurm_nothing_is_told(tmp_path: Path) -> None:
    say = "import os; print(os.environ.get('CUDA_VISIBLE_DEVICES'))"
    given = {"CUDA_VISIBLE_DEVICES": "7", "TMPDIR": str(tmp_path)}
    assert start("", say, **given).communicate()[0].strip() == "7"
    assert start("0,1", say, SLURM_JOB_ID="1", **given).communicate()[0].strip() == "7"
    assert start("0,1", say, **given).communicate()[0].strip() == "0"

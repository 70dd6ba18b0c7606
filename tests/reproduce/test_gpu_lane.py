"""The script for a GPU, tried out on the CPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dicebook.reproduce import runs


def gpu(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "benchmarks" / "gpu.py"), *options]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_chapter_goes_through_the_lane(root: Path, tmp_path: Path) -> None:
    here = ["--encoder", "tiny", "--device", "cpu", "--precision", "fp32", "--out", str(tmp_path)]
    small = ["corpus=embedded-paraphrases-en", "loss=ce,dsc"]
    small += ["max_steps=2", "train_size=64", "eval_size=40"]
    settings = [part for text in small for part in ("--set", text)]
    done = gpu(root, *here, "--only", "11", *settings)
    assert done.returncode == 0, done.stderr
    records = runs.read_records(tmp_path / "11_paraphrases")
    of_tagger = [r["parameters"] for r in records if r["parameters"]["loss"] in ("ce", "dsc")]
    assert {p["loss"] for p in of_tagger} == {"ce", "dsc"}
    assert {(p["precision"], p["max_steps"], p["learning_rate"]) for p in of_tagger} == {
        ("fp32", 2, 5e-5)
    }
    assert "dsc, alpha=0.1, squared=True" in done.stdout


def test_all_that_is_missing_is_said_before_anything_starts(root: Path, tmp_path: Path) -> None:
    options = ["--encoder", str(tmp_path), "--set", "epochs", "--set", "corpus=nothing"]
    done = gpu(root, *options, "--out", str(tmp_path / "out"), "--device", "cpu")
    assert done.returncode == 2
    assert "expected a folder with config.json for --encoder" in done.stderr
    assert "expected NAME=VALUE, got 'epochs'" in done.stderr
    assert "python -m data_scripts.nothing --out data" in done.stderr
    assert not (tmp_path / "out").exists()

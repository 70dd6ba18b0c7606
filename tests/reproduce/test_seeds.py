"""The losses over seeds: records that are comparable, and a command that goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from dicebook.reproduce import runs, seeds

pytestmark = pytest.mark.slow


def test_a_run_that_is_recorded_is_not_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = ["--epochs", "1", "--train-size", "32", "--losses", "2", "--max-length", "64"]
    where = ["--work", str(tmp_path / "work"), "--out", str(tmp_path)]
    command = ["embedded-entities-en", *short, *where, "--seeds"]
    seeds.main([*command, "0"])
    assert capsys.readouterr().out.count("test F1") == 2
    seeds.main([*command, "0", "1"])
    assert capsys.readouterr().out.count("test F1") == 2

    records = runs.read_records(tmp_path / "embedded-entities-en.jsonl")
    ((common, group),) = runs.comparable(records)
    assert (common["encoder"], common["train_size"]) == ("tiny", 32)
    assert {label: len(f.scores) for label, f in runs.over_seeds(group).items()} == {
        "ce": 2,
        "dsc, alpha=0.1, squared=True": 2,
    }
    assert all({"test", "test_tuned", "majority"} <= set(r["metrics"]) for r in records)
    assert all(r["parameters"]["output_dir"] == "" for r in records)

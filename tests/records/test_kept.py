"""The tables of the records: what they hold, and what comes back of what was packed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dicelab.records import kept
from tests.checkout import tracked


def test_every_record_has_its_commit_and_its_command(root: Path) -> None:
    page = (root / "results" / "README.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if re.match(r"\| `[\w/]", line)]
    assert all(re.fullmatch(r"`[0-9a-f]{7}`", commit) and command for _, commit, command, _ in rows)
    named: set[str] = set()
    for files, *_ in rows:
        first, *others = re.findall(r"`([^`]+)`", files)
        folder = first.rpartition("/")[0]
        named |= {first, *(f"{folder}/{name}".lstrip("/") for name in others)}
    data = "dicelab/records/data/"
    there = {name.removeprefix(data) for name in tracked(data)} - {"runs.parquet"}
    there |= {name.removeprefix("results/") for name in tracked("results/")} - {"README.md"}
    there |= set(pd.read_parquet(kept.DATA / "runs.parquet", columns=["study"])["study"])

    def is_named(name: str) -> bool:
        return any(n == name or (n.endswith("/") and name.startswith(n)) for n in named)

    assert {name for name in there if not is_named(name)} == set()
    assert {n for n in named if not any(name.startswith(n) for name in there)} == set()


def test_the_tables_are_read_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    of_folder = kept.kept_records("own_data")
    assert {r["parameters"]["corpus"] for r in of_folder} > {"mrpc", "wnut17"}
    assert kept.kept_records("own_data/mrpc") == [
        r for r in of_folder if r["parameters"]["corpus"] == "mrpc"
    ]
    with pytest.raises(ValueError, match=r"study: expected one of accuracy, .*; got 'own'"):
        kept.kept_records("own")


def test_the_blocks_of_the_finals_give_their_f1() -> None:
    tasks = pd.read_parquet(kept.DATA / "tasks.parquet")
    gold = tasks[tasks["encoder"] == "frozen"].set_index("task")["blocks"].map(np.sum)
    finals = pd.read_parquet(kept.DATA / "finals.parquet")
    found, predicted = (finals[column].map(np.sum) for column in ("found", "predicted"))
    f1 = 200 * found / (predicted + finals["task"].map(gold))
    assert finals["f1"].to_numpy() == pytest.approx(f1.to_numpy(), abs=6e-4)

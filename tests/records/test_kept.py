"""The tables of the records: what they hold, and what comes back of what was packed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dicelab.records import kept
from tests.checkout import tracked
from tools import pack_records


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


def plain(value: Any) -> Any:
    """As it stands in a line of JSON, without what is added in reading."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def without_gold(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A final's count of gold entities is that of its task's blocks."""
    made = plain(records)
    for way in (way for r in made for way in r.get("test", {}).values()):
        way.pop("gold", None)
    return made


def test_what_was_packed_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_study, of_task = kept.kept_records("accuracy"), without_gold(kept.frozen()["mrpc"])
    of_layers = without_gold(kept.layers()["mrpc"])
    linear = without_gold(kept.frozen(linear=True)["mrpc"])
    monkeypatch.setattr(kept, "DATA", tmp_path / "data")
    monkeypatch.setattr(pack_records, "DATA", tmp_path / "data")
    folder = tmp_path / "results"
    for name in ("evidence_2", "evidence_2_linear"):
        (folder / name).mkdir(parents=True)
    for name, records in (
        ("accuracy", of_study),
        ("evidence_2/mrpc", of_task),
        ("evidence_2/b-mrpc", of_layers),
        ("evidence_2_linear/mrpc", linear),
    ):
        lines = "".join(f"{json.dumps(plain(record))}\n" for record in records)
        (folder / f"{name}.jsonl").write_text(lines)
    pack_records.main(folder)
    assert kept.kept_records("accuracy") == of_study
    assert without_gold(kept.frozen()["mrpc"]) == of_task
    assert without_gold(kept.layers()["mrpc"]) == of_layers
    assert without_gold(kept.frozen(linear=True)["mrpc"]) == linear
    gold = sum(of_task[0]["blocks"])
    ways = [way for r in kept.frozen()["mrpc"] for way in r.get("test", {}).values()]
    assert {way["gold"] for way in ways} == {gold}

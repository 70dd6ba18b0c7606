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

WAYS = ("argmax", "tuned")


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


def test_the_tables_are_read_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def lines(path: Path, records: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


def scored(found: list[int], predicted: list[int], f1: float) -> dict[str, Any]:
    return {
        "f1": f1,
        "found": sum(found),
        "predicted": sum(predicted),
        "blocks": [found, predicted],
    }


def test_what_was_packed_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "DATA", tmp_path / "data")
    monkeypatch.setattr(pack_records, "DATA", tmp_path / "data")
    folder = tmp_path / "results"
    one = {
        "chapter": "09",
        "parameters": {"loss": "dl", "loss_options": {"squared": False, "alpha": 1.0}, "seed": 0},
        "metrics": {"test": {"f1": 40.0}, "counts": [1, 2], "wide": {"a": {"b": 3}}},
        "measured": {"device": "cpu", "seconds": 2.5},
        "history": [{"validation_f1": 0.0}, {"validation_f1": 30.5}],
    }
    other = {
        **one,
        "parameters": {"loss": "ce", "loss_options": {}, "train_size": 7},
        "history": [],
    }
    lines(folder / "corpus.jsonl", [one, other])
    halves = {key: {"rows": 9, "positive": 4} for key in ("train", "validation_1")}
    task = {"kind": "task", "task": "mrpc", "source": "mrpc", "stratum": "yes or no"}
    task |= {"form": "pair", "classes": 2, "sizes": halves, "baseline": 50.2, "blocks": [2, 0, 3]}
    of = {"task": "mrpc", "arm": "dice", "search": 1, "trial": 3, "seed": 5}
    steps = {way: {"f1": 51.5, "steps": 60} for way in WAYS}
    search = {"kind": "search", **of, "parameters": {"learning_rate": 3e-3}, "validation": steps}
    search["seconds"] = 1.5
    chosen = {way: {"steps": 60, "threshold": -0.5} for way in WAYS}
    test = {
        "argmax": scored([1, 0, 2], [2, 1, 2], 60.0),
        "tuned": scored([2, 0, 3], [9, 9, 9], 31.2),
    }
    final = {"kind": "final", **of, "validation": chosen, "test": test, "chosen_for": list(WAYS)}
    alone = {**final, "seed": 6, "test": {"tuned": test["tuned"]}, "chosen_for": ["tuned"]}
    alone["validation"] = {"tuned": chosen["tuned"]}
    lines(folder / "evidence_2" / "mrpc.jsonl", [task, search, final, alone])
    run = {"kind": "search", "task": "mrpc", "arm": "ce", "seed": 1, "rate": 1e-4, "length": 64}
    run |= {
        "steps": 76,
        "seconds": 3.0,
        "validation": {w: {"f1": 9.5, "threshold": 1.0} for w in WAYS},
    }
    ended = {**run, "kind": "final", "empty": 0.5, "gold": [2, 0, 3], "test": test}
    lines(folder / "evidence_2" / "b-mrpc.jsonl", [run, ended])

    pack_records.main(folder)

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items() if key != "gold"}
        return value.tolist() if isinstance(value, np.ndarray) else value

    assert kept.kept_records("corpus") == [one, other]
    assert list(kept.kept_records("corpus")[0]["parameters"]["loss_options"]) == [
        "squared",
        "alpha",
    ]
    (records,) = kept.frozen().values()
    assert list(map(plain, records)) == list(map(plain, [task, search, final, alone]))
    assert {way["gold"] for r in records[2:] for way in r["test"].values()} == {5}
    assert list(map(plain, kept.layers()["mrpc"])) == list(map(plain, [run, ended]))
    assert kept.layers()["mrpc"][1]["gold"].tolist() == [2, 0, 3]

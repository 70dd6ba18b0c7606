"""Our runs beside the paper's tables."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from dicelab.records import paper, runs
from reproduce import grid, tables
from reproduce.comparisons import TABLES
from tests.made_up_runs import made_up

PRINTED = Path(paper.__file__).with_name("paper_tables.tsv")


def test_the_table_stands_beside_the_papers(tmp_path: Path) -> None:
    records = made_up(7)
    for record in records:
        runs.append_record(tmp_path / "records.jsonl", record)
    tables.write_table(runs.read_records(tmp_path), 7, tmp_path / "out")
    with (tmp_path / "out" / "table7.csv").open() as file:
        lines = list(csv.DictReader(file))
    rows = {(row["corpus"], row["model"], row["loss"]): row for row in lines}
    assert len(rows) == 2 * 2 + 2
    ce = rows["mrpc", "BERT", "cross entropy"]
    dsc = rows["mrpc", "BERT", "self-adjusting dice, α 0.1, squared"]
    assert (ce["seeds"], ce["paper F1"], ce["minus ce"]) == ("3", "88.0", "")
    assert ce["F1"] == runs.interval([80.0, 80.1, 80.2]).text(2)
    assert (dsc["paper F1"], dsc["paper minus ce"]) == ("88.92", "+0.92")
    assert (dsc["minus ce"], dsc["tuned F1"]) == ("2.00 [2.00, 2.00]", "83.10")
    assert float(dsc["p"]) == pytest.approx(2 / 2**3, abs=1e-3)
    assert rows["mrpc", tables.FLOORS["majority"], ""]["F1"] == "66.50"
    assert [line["corpus"] for line in lines] == sorted(line["corpus"] for line in lines)
    kept = (tmp_path / "out" / "table7.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in kept] == records
    assert not list((tmp_path / "out").glob(".*"))


def test_columns_are_the_papers_and_what_is_lost_is_shown() -> None:
    records = made_up(5, "paper")
    for record in records:
        record["metrics"]["test"] |= {"precision": 71.234, "recall": 81.0, "f1_conlleval": 80.5}
        record["metrics"]["ceiling"] = {"recall": 90.0, "f1": 94.7368, "cut": 5.0}
    frame = tables.table_of(records, 5)
    dsc = frame[(frame["paper F1"] == "93.33")].iloc[0]
    assert (dsc["P"], dsc["R"], dsc["conlleval F1"]) == ("71.23", "81.00", "")
    assert (dsc["paper P"], dsc["paper R"], dsc["paper minus ce"]) == ("93.41", "93.25", "+0.29")
    assert (dsc["F1"], dsc["minus ce"]) == ("83.00", "3.00 (one seed)")
    assert frame[frame["paper F1"] == "92.8"].iloc[0]["conlleval F1"] == "80.50"
    assert set(frame[frame["model"] == tables.CEILING]["F1"]) == {"94.74"}
    for record in records:
        record["metrics"]["ceiling"]["f1"] = 100.0
    assert tables.CEILING not in set(tables.table_of(records, 5)["model"])
    records = made_up(6)
    for record in records:
        record["metrics"]["test"]["em"] = 70.0
    frame = tables.table_of(records, 6)
    assert list(frame.columns[-4:-1]) == ["paper EM", "paper F1", "paper minus ce"]
    assert set(frame["EM"]) == {"70.00", ""}


def test_the_kept_tables_are_those_of_their_records(root: Path, tmp_path: Path) -> None:
    folder = root / "results" / "reproduced" / "laptop"
    numbers = {int(file.stem.removeprefix("table")) for file in folder.glob("*.csv")}
    assert numbers == {number for number in TABLES if grid.jobs(number, "laptop")}
    for number in numbers:
        records = runs.kept_records(f"reproduced/laptop/table{number}")
        _, *shown = tables.write_table(records, number, tmp_path)
        for made in shown:
            stored = (folder / made.name).read_text(encoding="utf-8")
            assert made.read_text(encoding="utf-8") == stored, made.name

"""Our runs beside the paper's tables."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from dicebook.corpora import CORPORA
from dicebook.reproduce import runs, tables
from dicebook.reproduce.lines import CONFIGURATIONS, TABLES
from tests.made_up_runs import made_up

PRINTED = Path(tables.__file__).with_name("paper_tables.tsv")


def test_the_table_stands_beside_the_papers(tmp_path: Path) -> None:
    records = made_up(7)
    for record in records:
        runs.append_record(tmp_path / "records.jsonl", record)
    tables.write_table(runs.read_records(tmp_path), 7, tmp_path / "out")
    with (tmp_path / "out" / "table7.csv").open() as file:
        lines = list(csv.DictReader(file))
    rows = {(row["corpus"], row["model"], row["loss"]): row for row in lines}
    assert len(rows) == 4 * len(CONFIGURATIONS) + 2
    ce = rows["mrpc", "BERT", "cross entropy"]
    dsc = rows["mrpc", "BERT", "self-adjusting dice, α 0.1, squared"]
    assert (ce["seeds"], ce["paper"], ce["less ce"]) == ("5", "88.0", "")
    assert ce["F1"] == str(runs.interval([80.0, 80.1, 80.2, 80.3, 80.4]))
    assert (dsc["paper"], dsc["less ce"], dsc["tuned F1"]) == ("88.92", "2.0 [2.0, 2.0]", "83.2")
    assert float(dsc["p"]) == pytest.approx(2 / 2**5, abs=1e-3)
    assert rows["mrpc", tables.FLOORS["majority"], ""]["F1"] == "66.5"
    assert [line["corpus"] for line in lines] == sorted(line["corpus"] for line in lines)
    kept = (tmp_path / "out" / "table7.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in kept] == records
    assert not list((tmp_path / "out").glob(".*"))


@pytest.mark.parametrize("profile", ["default", "laptop"])
@pytest.mark.parametrize("number", list(TABLES))
def test_every_printed_cell_stands_beside_its_run_and_no_other(number: int, profile: str) -> None:
    """The oracle is the model's name in print: ``BERT-MRC+DSC`` on CoNLL 2003, 93.33."""
    metric = "accuracy" if number == 9 else "f1"
    lines = [
        line
        for line in csv.DictReader(PRINTED.read_text("utf-8").splitlines(), delimiter="\t")
        if int(line["table"]) == number and line["loss"]
    ]
    if profile == "laptop":  # there is no small XLNet, and nothing in place of CTB
        lines = [line for line in lines if line["backbone"] != "XLNet"]
        lines = [line for line in lines if not line["corpus"].startswith("ctb")]
    words = {"FL": "focal", "DL": "dice", "DSC": "self-adjusting dice", "": "cross entropy"}
    frame = tables.table_of(made_up(number, profile), number, profile)
    shown = frame.to_dict("records")
    for line in lines:
        model, _, added = line["model"].partition("+")
        title = CORPORA[line["corpus"]].paper
        where = f"{title} {line['variant']}".strip()
        name = f"{line['model']}, {where}" if model else where
        found = [row for row in shown if row["the paper's"] == name]
        assert found, name
        assert {row["paper"] for row in found} == {line[metric]}, name
        if model:
            loss = words[added.replace("CE", "")]
            assert all(row["loss"].startswith(loss) for row in found), name
            backbone = {"BERT": {"BERT", "BERT-Tagger"}}.get(model, {model})
            assert {row["model"].partition(",")[0] for row in found} <= backbone, name
        else:
            alpha = line["variant"].removeprefix("alpha = ")
            assert all(f"α {alpha}," in row["loss"] for row in found), name
    known = {row["the paper's"] for row in shown} - {""}
    assert len(known) == len(lines)
    assert ("Accuracy" in frame.columns) == (number == 9)


def test_the_kept_tables_are_those_of_their_records(root: Path, tmp_path: Path) -> None:
    kept = sorted((root / "results" / "reproduced").glob("*/table*.jsonl"))
    assert len(kept) >= 8
    for file in kept:
        number, profile = int(file.stem.removeprefix("table")), file.parent.name
        for made in tables.write_table(runs.read_records(file), number, tmp_path, profile):
            stored = (file.parent / made.name).read_text(encoding="utf-8")
            assert made.read_text(encoding="utf-8") == stored, made.name

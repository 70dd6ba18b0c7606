"""Our runs as tables: beside the paper's, and as a page of the book."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from dicebook.reproduce import grid, runs, tables


def made_up(table: int) -> list[dict]:
    found = []
    for job in grid.jobs(table):
        f1 = 80 + len(job.parameters["loss_options"]) + job.parameters["seed"] / 10
        metrics = {"test": {"f1": f1, "accuracy": f1 + 2}, "test_tuned": {"f1": f1 + 1}}
        found.append({"parameters": dict(job.parameters), "metrics": metrics})
    return found


def test_the_table_stands_beside_the_papers(tmp_path: Path) -> None:
    records = made_up(7)
    for record in records:
        runs.append_record(tmp_path / "records.jsonl", record)
    assert (
        tables.main(["table", str(tmp_path), "--table", "7", "--out", str(tmp_path / "out")]) == 0
    )
    with (tmp_path / "out" / "table7.csv").open() as file:
        rows = {(row["corpus"], row["loss"]): row for row in csv.DictReader(file)}
    assert len(rows) == 2 * len(grid.CONFIGURATIONS)
    ce, dsc = rows["mrpc", "ce"], rows["mrpc", "dsc, alpha=0.1, squared=True"]
    assert (ce["seeds"], ce["paper"], ce["less ce"]) == ("5", "88.0", "")
    assert ce["F1"] == str(runs.interval([80.0, 80.1, 80.2, 80.3, 80.4]))
    assert (dsc["paper"], dsc["less ce"], dsc["tuned F1"]) == ("88.92", "2.0 [2.0, 2.0]", "83.2")
    assert float(dsc["p"]) == pytest.approx(2 / 2**5, abs=1e-3)
    lines = (tmp_path / "out" / "table7.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == records
    assert not list((tmp_path / "out").glob(".*"))


@pytest.mark.parametrize(
    ("table", "corpus", "loss", "printed"),
    [
        (5, "conll03", "dsc, alpha=0.1, squared=True", "93.33"),
        (8, "qqp_minus_negative", "dl", "90.49"),
        (8, "qqp_plus_both", "ce", "93.14"),
        (9, "sst5", "dl", "54.63"),
        (10, "ontonotes4_zh", "tl, fp_weight=0.6, fn_weight=0.4", "84.67"),
        (10, "quoref", "tl, fp_weight=0.9, fn_weight=0.1", "64.84"),
        (10, "quoref", "ce", ""),
    ],
)
def test_each_run_stands_beside_what_the_paper_prints_for_it(
    table: int, corpus: str, loss: str, printed: str
) -> None:
    frame = tables.table_of(made_up(table), table).set_index(["corpus", "loss"])
    assert frame.loc[(corpus, loss), "paper"] == printed
    assert ("Accuracy" in frame.columns) == (table == 9)


def test_the_page_of_the_records_is_up_to_date(root: Path) -> None:
    stored = (root / "docs" / "records.md").read_text(encoding="utf-8")
    assert stored == tables.page(root / "results"), "run: python -m dicebook.reproduce.tables page"


def test_a_page_shows_kept_runs_and_reproduced_tables(tmp_path: Path) -> None:
    for record in made_up(7):
        record["chapter"] = "11_paraphrases"
        record["versions"] = {"torch": "2", "transformers": "5"}
        record["measured"] = {"device": "cpu", "seconds": 360}
        runs.append_record(tmp_path / f"{record['parameters']['corpus']}.jsonl", record)
    for profile in ("default", "smoke"):
        tables.write_table(made_up(7), 7, tmp_path / "reproduced" / profile)
    text = tables.page(tmp_path)
    assert "## mrpc\n\n11_paraphrases: encoder bert-large-cased, epochs 4" in text
    assert "35 runs, 3.5 hours on cpu; torch 2" in text
    assert str(runs.interval([80.0, 80.1, 80.2, 80.3, 80.4])) in text
    assert text.count("## Table 7: Paraphrases (profile") == 1
    assert "(profile default)" in text

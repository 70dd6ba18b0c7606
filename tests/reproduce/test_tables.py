"""Our runs as tables: beside the paper's, and as a page of the book."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from dicebook.reproduce import grid, runs, tables

PRINTED = Path(tables.__file__).with_name("paper_tables.tsv")


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


# Models that the grid does not train; the paper's own rows start from the others.
LEFT_OUT = {"XLNet"}


@pytest.mark.parametrize("number", list(grid.TABLES))
def test_every_printed_cell_stands_beside_its_run_and_no_other(number: int) -> None:
    """The oracle is the model's name in print: ``BERT-MRC+DSC`` on CoNLL 2003, 93.33."""
    corpora = {c.name: c.printed_as or (c.name, "") for c in grid.TABLES[number]}
    metric = "accuracy" if number == 9 else "f1"
    lines = [
        line
        for line in csv.DictReader(PRINTED.read_text("utf-8").splitlines(), delimiter="\t")
        if int(line["table"]) == number and line["loss"] and line["backbone"] not in LEFT_OUT
    ]
    if number == 5:  # the paper has no loss of its own for this model
        lines = [line for line in lines if line["model"] != "BERT-Tagger"]
    expected = {}
    for line in lines:
        losses = {"fl": "FL", "dl": "DL", "dsc": "DSC", "tl": ""}
        added = line["model"].partition("+")[2]
        assert added in (losses.get(line["loss"], ""), "CE")
        expected[line["corpus"], line["variant"], line["loss"]] = (line["model"], line[metric])
    frame = tables.table_of(made_up(number), number)
    found = {}
    for row in frame.to_dict("records"):
        loss, _, options = row["loss"].partition(", ")
        corpus, variant = corpora[row["corpus"]]
        if number == 10 and loss == "tl":
            variant = f"alpha = {options.split(',')[0].removeprefix('fp_weight=')}"
            expected_model = variant
        key = (corpus, variant, loss)
        if key in expected:
            model, cell = expected[key]
            expected_model = model or variant
            assert (row["the paper's"], row["paper"]) == (expected_model, cell), key
            found[key] = cell
        else:
            assert (row["the paper's"], row["paper"]) == ("", ""), key
    assert found.keys() == expected.keys()
    assert ("Accuracy" in frame.columns) == (number == 9)


def test_runs_with_other_settings_stand_in_the_table_too() -> None:
    records = made_up(7)
    records[0]["parameters"]["epochs"] = 9
    frame = tables.table_of(records, 7)
    assert frame["seeds"].sum() == len(records)
    assert frame["settings"].str.contains("9 passes").sum() == 1


def test_the_page_of_the_records_is_up_to_date(root: Path) -> None:
    stored = (root / "docs" / "records.md").read_text(encoding="utf-8")
    assert stored == tables.page(root / "results"), "run: python -m dicebook.reproduce.tables page"


def test_a_page_shows_every_kept_run_and_reproduced_tables(tmp_path: Path) -> None:
    for record in made_up(7):
        record["chapter"] = "11_paraphrases"
        record["versions"] = {"torch": "2", "transformers": "5"}
        record["measured"] = {"device": "cpu", "seconds": 360}
        record["parameters"]["train_size"] = 0
        if record["parameters"]["loss"] == "wce" and record["parameters"]["seed"] == 4:
            record["parameters"]["epochs"] = 9
        runs.append_record(tmp_path / f"{record['parameters']['corpus']}.jsonl", record)
    counts = {"parameters": {"corpus": "wnut17"}, "metrics": {"rows": 3394}, "chapter": "01_x"}
    runs.append_record(tmp_path / "counts.jsonl", counts)
    for profile in ("default", "smoke"):
        tables.write_table(made_up(7), 7, tmp_path / "reproduced" / profile)
    text = tables.page(tmp_path)
    assert "## Microsoft Research Paraphrase Corpus\n\nChapter 11, bert-large-cased, all" in text
    assert "34 runs, 3.4 hours on cpu; torch 2" in text
    assert "One run, 0.1 hours" in text
    assert str(runs.interval([80.0, 80.1, 80.2, 80.3, 80.4])).replace(" ", "\u00a0") in text
    assert "| self-adjusting dice, α 0.1, squared" in text
    assert "WNUT 2017 |" in text
    assert "3,394" in text
    assert text.count("## Table 7: Paraphrases (profile") == 1
    assert "(profile default)" in text


def test_the_words_below_a_table_say_what_its_intervals_say() -> None:
    gains = {
        "dice": runs.Interval(1.0, -2.0, 4.0, 3),
        "focal": runs.Interval(1.0, 0.5, 1.5, 3),
        "Tversky": runs.Interval(-9.0, -10.0, -8.0, 3),
    }
    (sentence,) = tables.seen("F1", gains)
    assert sentence == (
        "**F1**: Above cross entropy: focal. Below cross entropy: Tversky. For the others no "
        "difference larger than 4.0 points was seen."
    )
    (sentence,) = tables.seen("F1", {"dice": gains["dice"]})
    assert sentence == "**F1**: For all losses no difference larger than 4.0 points was seen."
    assert list(tables.seen("F1", {})) == []

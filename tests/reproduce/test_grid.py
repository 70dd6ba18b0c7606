"""The grid: which runs there are, what they cost, and the table they make."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import yaml

from data_scripts.augment_pairs import PRINTED
from dicebook import grid, paper, runs
from dicebook.corpora.loading import EMBEDDED, REGISTERED
from dicebook.experiment import Experiment

EVERY = [(table, profile) for table in grid.TABLES for profile in grid.PROFILES]


@pytest.mark.parametrize(("table", "profile"), EVERY)
def test_every_run_is_a_valid_experiment_of_a_known_corpus(table: int, profile: str) -> None:
    found = grid.jobs(table, profile)
    assert len({job.name for job in found}) == len(found)
    for job in found:
        own = {"reader_epochs", "seeds", "by_choice"}
        parameters = {k: v for k, v in job.parameters.items() if k not in own}
        Experiment(**parameters)
        known = {**REGISTERED, **EMBEDDED, **{f"qqp_{name}": "pairs" for name in PRINTED}}
        assert parameters["corpus"] in known
        assert (Path("notebooks") / f"{job.chapter}.py").is_file()


def test_the_default_holds_all_else_equal_over_five_seeds() -> None:
    found = grid.jobs(7)
    assert len(found) == 2 * len(grid.CONFIGURATIONS) * 5
    for corpus in ("mrpc", "qqp"):
        settings = {
            tuple(job.parameters[name] for name in runs.SETTINGS[:-1])
            for job in found
            if job.parameters["corpus"] == corpus
        }
        assert len(settings) == 1


def test_the_corpora_are_those_of_the_papers_table() -> None:
    for table, corpora in grid.TABLES.items():
        assert {(corpus.printed_as or [corpus.name])[0] for corpus in corpora} == {
            row.corpus for row in paper.table(table).rows
        }
    variants = {corpus.printed_as[1] for corpus in grid.TABLES[8] if corpus.printed_as}
    assert variants == {row.variant for row in paper.table(8).rows}


def test_the_sets_of_table_8_are_those_that_augment_pairs_makes() -> None:
    assert [corpus.name for corpus in grid.TABLES[8]] == [f"qqp_{name}" for name in PRINTED]


def test_the_baseline_of_reading_is_the_reader_by_choice() -> None:
    for job in grid.jobs(6):
        is_baseline = job.parameters["loss"] == "ce"
        assert job.parameters["by_choice"] == is_baseline
        assert job.record.startswith("choice/") == is_baseline


def test_papermill_gets_its_parameters_as_yaml() -> None:
    (job, *_) = [job for job in grid.jobs(7) if job.parameters["loss_options"]]
    texts = job.arguments("runs/x")
    assert texts[::2] == ["-y"] * len(job.arguments("x")[::2])
    found = {k: v for text in texts[1::2] for k, v in yaml.safe_load(text).items()}
    assert found == {**job.parameters, "output_dir": "runs/x"}


@pytest.mark.parametrize(("table", "profile"), [(2, "default"), (5, "fast")])
def test_what_is_not_there_is_named(table: int, profile: str) -> None:
    with pytest.raises(grid.GridError, match=r"expected a (table of 3, 4|profile of default)"):
        grid.jobs(table, profile)


def test_missing_corpora_are_named_with_their_commands(tmp_path: Path) -> None:
    (tmp_path / "mrpc").mkdir()
    (tmp_path / "mrpc" / "card.json").touch()
    with pytest.raises(
        grid.GridError, match=r"qqp.*\n  python -m data_scripts\.qqp --out"
    ) as error:
        grid.check(grid.jobs(7), tmp_path)
    assert "mrpc" not in str(error.value)
    with pytest.raises(grid.GridError) as error:
        grid.check(grid.jobs(8), tmp_path)
    assert str(error.value).count("python -m") == 1
    assert "python -m data_scripts.augment_pairs --corpus qqp --out" in str(error.value)
    grid.check(grid.jobs(7, "smoke"), tmp_path)


def test_an_estimate_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    found = grid.jobs(7)
    cost = grid.estimate(found, tokens_per_second=1000)
    of_mrpc = 35 * 4 * 0.2e6 * 3  # a large encoder
    assert cost["hours"] == pytest.approx((of_mrpc + 35 * 4 * 11e6) / 1000 / 3600)
    assert grid.main(["estimate", "--table", "7"]) == 0
    assert "70 runs" in capsys.readouterr().out
    assert grid.main(["estimate", "--table", "2"]) == 2
    assert "expected a table of" in capsys.readouterr().err


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
    assert grid.main(["table", str(tmp_path), "--table", "7", "--out", str(tmp_path / "out")]) == 0
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
    frame = grid.table_of(made_up(table), table).set_index(["corpus", "loss"])
    assert frame.loc[(corpus, loss), "paper"] == printed
    assert ("Accuracy" in frame.columns) == (table == 9)


def test_the_page_of_the_records_is_up_to_date(root: Path) -> None:
    stored = (root / "docs" / "records.md").read_text(encoding="utf-8")
    assert stored == grid.page(root / "results"), "run: python -m dicebook.grid page"


def test_a_page_shows_kept_runs_and_reproduced_tables(tmp_path: Path) -> None:
    for record in made_up(7):
        record["chapter"] = "11_paraphrases"
        record["versions"] = {"torch": "2", "transformers": "5"}
        record["measured"] = {"device": "cpu", "seconds": 360}
        runs.append_record(tmp_path / f"{record['parameters']['corpus']}.jsonl", record)
    for profile in ("default", "smoke"):
        grid.write_table(made_up(7), 7, tmp_path / "reproduced" / profile)
    text = grid.page(tmp_path)
    assert "## mrpc\n\n11_paraphrases: encoder bert-large-cased, epochs 4" in text
    assert "35 runs, 3.5 hours on cpu; torch 2" in text
    assert str(runs.interval([80.0, 80.1, 80.2, 80.3, 80.4])) in text
    assert text.count("## Table 7: Paraphrases (profile") == 1
    assert "(profile default)" in text

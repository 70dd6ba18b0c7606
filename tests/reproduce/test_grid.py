"""The grid: which runs there are, beside which printed rows, and what they cost."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dicelab.corpora.registry import CORPORA
from dicelab.records import paper
from reproduce import estimate, grid, memory
from reproduce.comparisons import TABLES
from reproduce.profiles import PROFILES, RATES
from reproduce.systems import SYSTEMS, experiment_of

EVERY = [(table, profile) for table in TABLES for profile in PROFILES]
ROWS = [row for table in TABLES for row in paper.table(table).rows if row.loss]


@pytest.mark.parametrize(("table", "profile"), EVERY)
def test_every_run_is_a_valid_experiment_of_a_known_system(table: int, profile: str) -> None:
    found = grid.jobs(table, profile)
    assert len({job.name for job in found}) == len(found)
    for job in found:
        experiment = experiment_of(job.parameters)
        assert experiment.corpus in CORPORA
        assert job.parameters["system"] in SYSTEMS
        assert json.loads(job.text) == job.parameters
        assert experiment.encoder in memory.SIZES
        if profile != "smoke":
            corpus = CORPORA[experiment.corpus]
            assert corpus.examples > 0
            assert corpus.types > 0 or job.parameters["system"] != "mrc"


# Every printed row: the model's name in print is the oracle of the join.
MODELS = {"": "", "FL": "fl", "DL": "dl", "DSC": "dsc", "CE": "ce"}
SYSTEM = {3: {"tagger"}, 4: {"tagger"}, 6: {"choice", "decisions"}}
SCORERS = {
    "tagger": {"seqeval", "accuracy"},
    "mrc": {"seqeval"},
    "choice": {"squad", "quoref"},
    "decisions": {"squad", "quoref"},
    "pairs": {"f1", "accuracy"},
}


def jobs_of(row: paper.Row) -> list[grid.Job]:
    """The jobs beside a printed row, in reading of both ways; none for a cited system."""
    return [job for job in grid.jobs(row.table, "paper") if grid.printed(job.parameters) == row]


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r.table}-{r.corpus}-{r.model}{r.variant}")
def test_every_printed_row_has_its_job(row: paper.Row) -> None:
    found = jobs_of(row)
    assert found, "no run stands beside this row"
    given = [job.parameters for job in found]
    systems = {parameters["system"] for parameters in given}
    if row.table in (5, 10):
        tagger = row.model == "BERT-Tagger"
        expected = {"tagger"} if tagger else {"decisions" if row.corpus == "quoref" else "mrc"}
    else:
        expected = SYSTEM.get(row.table, {"pairs"})
    assert systems == expected
    assert {parameters["loss"] for parameters in given} == {row.loss}
    name, _, added = row.model.partition("+")
    if row.table != 10:
        assert row.loss == (MODELS[added] or "ce")
        assert {parameters["backbone"] for parameters in given} == {row.backbone}
        assert row.backbone.startswith(name)
    (encoder,) = {parameters["encoder"] for parameters in given}
    chinese = CORPORA[found[0].comparison.corpus].language == "zh"
    family = "xlnet" if "XLNet" in row.model else "bert"
    size = "-chinese" if chinese else "-base-" if row.table == 4 else "-large-"
    assert encoder.startswith(family)
    assert size in encoder
    corpora = {CORPORA[parameters["corpus"]] for parameters in given}
    assert {corpus.paper for corpus in corpora} == {row.corpus_title}
    assert {corpus.scorer for corpus in corpora} <= SCORERS[systems.pop()]
    # What the row's gain is over has its jobs too.
    if row.printed.get("delta"):
        assert jobs_of(paper.table(row.table).baseline(row))


def test_the_default_gives_every_loss_the_same_budget_and_search() -> None:
    found = grid.jobs(7)
    assert len(found) == 2 * 2 * 3  # corpora, losses, seeds
    assert {job.parameters["backbone"] for job in found} == {"BERT"}
    assert not grid.jobs(10)
    for comparison in grid.comparisons(7):
        settings = {
            json.dumps({k: v for k, v in job.parameters.items() if k not in loss_and_seed})
            for job in found
            if job.comparison == comparison
            for loss_and_seed in [("loss", "loss_options", "seed")]
        }
        assert len(settings) == 1
        assert "rates" in settings.pop()
    searched = {job.searched for job in found}
    assert len(searched) == 2 * 2  # one for all seeds of a loss
    assert not any(job.searched for job in grid.jobs(7, "paper"))


def test_the_laptop_trains_on_real_corpora_that_everybody_can_get() -> None:
    for table in TABLES:
        found = grid.jobs(table, "laptop")
        assert {job.parameters["seed"] for job in found} == ({0, 1, 2} if table != 8 else set())
        for job in found:
            corpus = CORPORA[job.parameters["corpus"]]
            assert not corpus.place  # it says where licensed files go
            assert job.parameters["encoder"] in ("minilm", "tiny")
            assert job.parameters["precision"] == "bf16"


@pytest.mark.parametrize(("table", "profile"), [(2, "default"), (5, "fast")])
def test_what_is_not_there_is_named(table: int, profile: str) -> None:
    with pytest.raises(grid.GridError, match=r"expected a (table of 3, 4|profile of default)"):
        grid.jobs(table, profile)


def test_a_table_runs_with_the_corpora_that_are_there(tmp_path: Path) -> None:
    wanted = grid.jobs(7)
    with pytest.raises(grid.GridError, match=r"none of the table's corpora") as error:
        grid.runnable(wanted, tmp_path)
    assert "dicebook data mrpc --out" in str(error.value)
    (tmp_path / "mrpc").mkdir()
    (tmp_path / "mrpc" / "card.json").touch()
    there = grid.runnable(wanted, tmp_path)
    assert {job.parameters["corpus"] for job in there} == {"mrpc"}
    assert grid.missing(wanted, tmp_path) == ["qqp"]
    text = grid.how_to_get(["qqp", "conll03", "mrpc_plus_both"], tmp_path)
    assert "Quora's terms" in text
    assert "NIST" in text
    assert "augment_pairs --corpus mrpc" in text
    with pytest.raises(grid.GridError, match=r"expected corpora of mrpc, qqp; got sst2"):
        grid.runnable(wanted, tmp_path, ["sst2"])
    assert grid.runnable(grid.jobs(7, "smoke"), tmp_path)


def test_an_estimate_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    found = [job for job in grid.jobs(7, "paper") if job.comparison.corpus == "mrpc"]
    examples, length = CORPORA["mrpc"].examples, CORPORA["mrpc"].subwords
    passes = sum(3 if job.parameters["loss"] in ("ce", "fl") else 5 for job in found)
    hours = passes * examples * length * estimate.SCORING / 1000 / 3600
    assert estimate.cost(found, lambda *_: 1000).hours == pytest.approx(hours)
    # A search is half a run for each rate, once for three seeds.
    few = grid.only(grid.jobs(9), ["sst2"], ["ce"])
    examples, length = CORPORA["sst2"].examples, CORPORA["sst2"].subwords
    tokens = (3 + 0.5 * len(RATES)) * 4 * examples * length
    assert estimate.cost(few, lambda *_: 1e6).hours == pytest.approx(tokens * 1.3 / 1e6 / 3600)
    command = ["--table", "7", "--corpora", "mrpc", "--speed", "15000"]
    assert estimate.main([*command, "--losses", "ce"]) == 0
    assert "3 runs" in capsys.readouterr().out
    assert estimate.main(command) == 0
    said = capsys.readouterr().out
    assert "6 runs" in said
    assert "as given" in said
    assert estimate.main(["--table", "2"]) == 2
    assert "expected a table of" in capsys.readouterr().err


def test_a_cluster_is_asked_for_thrice_the_minutes_that_a_run_may_take() -> None:
    job, *_ = grid.only(grid.jobs(5, "paper"), ["ontonotes5"], ["dsc"])
    assert estimate.minutes(job) == round(3 * 60 * estimate.cost([job], estimate.assumed).hours)
    searched, *_ = grid.only(grid.jobs(5), ["ontonotes5"], ["dsc"])
    once = estimate.minutes(searched)
    assert estimate.minutes(searched, search=True) == pytest.approx(once * len(RATES) / 2, abs=1)
    assert estimate.minutes(grid.jobs(9, "smoke")[0]) == 60


def test_who_has_a_licensed_corpus_trains_on_a_cut_of_it() -> None:
    usual = {job.parameters["corpus"] for job in grid.jobs(5, "laptop")}
    asked = grid.jobs(5, "laptop", ["conll03", "msra"])
    assert "conll03" not in usual
    assert {job.parameters["corpus"] for job in asked} == usual - {"wnut17"} | {"conll03", "msra"}
    genuine = grid.only(asked, ["conll03"])
    assert {job.parameters["train_size"] for job in genuine} == {350}
    assert all(grid.printed(job.parameters) for job in genuine)


def test_no_number_stands_beside_a_corpus_of_another_language() -> None:
    jobs = grid.jobs(5, "laptop") + grid.jobs(10, "laptop")
    for job in jobs:
        name = job.parameters["corpus"]
        row = grid.printed(job.parameters)
        assert row is None or CORPORA[row.corpus].language == CORPORA[name].language
    assert grid.printed(grid.only(jobs, ["uner_en_ewt"])[0].parameters) is None


def test_each_command_of_the_page_runs_the_rows_of_its_corpus(root: Path) -> None:
    stored = (root / "docs" / "tables.md").read_text(encoding="utf-8")
    commands = re.findall(r"`TABLE=(\d+) CORPORA=(\w+)`", stored)
    assert len(set(commands)) == len(commands)
    run = [
        grid.printed(job.parameters)
        for table, corpus in commands
        for job in grid.only(grid.jobs(int(table), "paper", [corpus]), [corpus])
    ]
    assert all(row in run for row in ROWS)

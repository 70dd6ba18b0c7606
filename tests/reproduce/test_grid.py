"""The grid: which runs there are, beside which printed rows, and what they cost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from data_scripts.augment_pairs import PRINTED, targets
from dicebook.corpora.registry import CORPORA
from dicebook.reproduce import estimate, grid, paper
from dicebook.reproduce.lines import CONFIGURATIONS, TABLES
from dicebook.reproduce.profiles import PROFILES, RATES
from dicebook.reproduce.systems import BESIDES, SYSTEMS, experiment_of
from docs.pages import from_here

EVERY = [(table, profile) for table in TABLES for profile in PROFILES]
ROWS = [row for table in TABLES for row in paper.table(table).rows if row.loss]


@pytest.mark.parametrize(("table", "profile"), EVERY)
def test_every_run_is_a_valid_experiment_of_a_known_system(table: int, profile: str) -> None:
    found = grid.jobs(table, profile)
    assert len({job.name for job in found}) == len(found)
    augmented = {f"mrpc_{name}" for name in targets(2, 1)}
    for job in found:
        experiment = experiment_of(job.parameters)
        assert experiment.corpus in {*CORPORA, *augmented}
        assert job.parameters["system"] in SYSTEMS
        assert json.loads(job.text) == job.parameters
        assert experiment.encoder in estimate.SHAPES
        if profile != "smoke" and experiment.corpus not in estimate.AUGMENTED:
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


@pytest.mark.parametrize("profile", ["default", "paper"])
@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r.table}-{r.corpus}-{r.model}{r.variant}")
def test_every_printed_row_has_its_job(row: paper.Row, profile: str) -> None:
    found = from_here.jobs_of(row, profile)
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
    chinese = CORPORA[found[0].line.corpus].language == "zh"
    family = "xlnet" if "XLNet" in row.model else "bert"
    size = "chinese" if chinese else "base-cased" if row.table == 4 else "large-cased"
    assert encoder.startswith(family)
    assert encoder.endswith(size)
    corpora = {CORPORA[parameters["corpus"]] for parameters in given}
    assert {corpus.paper for corpus in corpora} == {row.corpus_title}
    assert {corpus.scorer for corpus in corpora} <= SCORERS[systems.pop()]
    # What the row's gain is over has its jobs too.
    if row.printed.get("delta"):
        assert from_here.jobs_of(paper.table(row.table).baseline(row), profile)


def test_rows_of_other_systems_are_cited_and_not_run() -> None:
    cited = [row for n in TABLES for row in paper.table(n).rows if not row.loss]
    assert len(cited) > 10
    assert not any(from_here.jobs_of(row) for row in cited)
    assert all(row.source for row in cited)


def test_the_default_gives_every_loss_the_same_budget_and_search() -> None:
    found = grid.jobs(7)
    assert len(found) == 4 * len(CONFIGURATIONS) * 5
    for line in grid.lines(7):
        settings = {
            json.dumps({k: v for k, v in job.parameters.items() if k not in loss_and_seed})
            for job in found
            if job.line == line
            for loss_and_seed in [("loss", "loss_options", "seed")]
        }
        assert len(settings) == 1
        assert "rates" in settings.pop()
    searched = {job.searched for job in found}
    assert len(searched) == 4 * len(CONFIGURATIONS)  # one for all seeds of a loss
    assert not any(job.searched for job in grid.jobs(7, "paper"))


def test_the_profile_paper_has_the_habits_of_the_scripts() -> None:
    by_corpus = {job.parameters["corpus"]: job.parameters for job in grid.jobs(5, "paper")}
    conll = by_corpus["conll03"]["habits"]
    assert (conll["dropout"], conll["answerable"], conll["weights"]) == (0.2, 0.4, [1, 1, 0.3])
    assert conll["training"]["lr_scheduler_type"] == "polynomial"
    assert conll["training"]["lr_scheduler_kwargs"]["lr_end"] == 3e-5 / 4
    options = {
        (job.parameters["corpus"], job.parameters["loss"]): job.parameters["loss_options"]
        for job in grid.jobs(6, "paper")
    }
    assert options["squad11", "dsc"] == {"alpha": 0.01, "squared": True, "ohem_ratio": 0.3}
    assert options["squad11", "ce"] == {}
    assert "ohem_ratio" not in options["quoref", "dsc"]


def test_the_sets_of_table_8_are_those_that_augment_pairs_makes() -> None:
    assert [line.corpus for line in grid.lines(8)] == [f"qqp_{name}" for name in PRINTED]
    # Of a corpus whose majority is positive it removes positives.
    laptop = [line.corpus.removeprefix("mrpc_") for line in grid.lines(8, "laptop")]
    assert (
        laptop
        == list(targets(2753, 1323))
        == [
            "original",
            "plus_positive",
            "plus_negative",
            "minus_positive",
            "plus_both",
        ]
    )


def test_the_laptop_trains_on_real_corpora_that_everybody_can_get() -> None:
    for table in TABLES:
        found = grid.jobs(table, "laptop")
        assert {job.parameters["seed"] for job in found} == {0, 1}
        for job in found:
            corpus = CORPORA.get(job.parameters["corpus"])
            assert corpus is None or not corpus.place  # `place` says where licensed files go
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
    assert "python -m data_scripts.mrpc --out" in str(error.value)
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
    found = [job for job in grid.jobs(7, "paper") if job.line.corpus == "mrpc"]
    examples, length = CORPORA["mrpc"].examples, CORPORA["mrpc"].subwords
    hours = len(found) * 5 * examples * length * estimate.SCORING / 1000 / 3600
    assert estimate.cost(found, lambda *_: 1000).hours == pytest.approx(hours)
    # A search is half a run for each rate, once for five seeds.
    few = [job for job in grid.jobs(9) if job.name.startswith("sst2/bert/ce/")]
    examples, length = CORPORA["sst2"].examples, CORPORA["sst2"].subwords
    tokens = (5 + 0.5 * len(RATES)) * 4 * examples * length
    assert estimate.cost(few, lambda *_: 1e6).hours == pytest.approx(tokens * 1.3 / 1e6 / 3600)
    command = ["--table", "7", "--corpora", "mrpc", "--speed", "15000"]
    assert estimate.main(command) == 0
    said = capsys.readouterr().out
    assert "70 runs" in said
    assert "as given" in said
    assert estimate.main(["--table", "2"]) == 2
    assert "expected a table of" in capsys.readouterr().err


def test_a_machines_speed_is_measured_in_a_moment() -> None:
    assert estimate.measured("tiny", seconds=0.1) > 100
    assert estimate.measured("tiny", 1, seconds=0.1) > 100


def test_a_larger_model_and_batch_need_more_memory() -> None:
    assert from_here.memory("bert-base-cased", 32, 128) < from_here.memory(
        "bert-large-cased", 32, 128
    )
    # Weights, gradients and AdamW of 334 million parameters alone.
    assert from_here.memory("bert-large-cased", 1, 1) == pytest.approx(5.3, abs=0.1)


def test_the_guide_has_a_line_for_every_row_and_is_up_to_date(root: Path) -> None:
    stored = (root / "docs" / "from_here_to_the_paper.md").read_text(encoding="utf-8")
    assert stored == from_here.page(), "run: python -m docs.pages"
    assert stored.count("| `TABLE=") == len(ROWS)
    for official in ("88.73", "87.98", "88.98", "84.40"):
        assert official in stored


def test_what_a_job_says_besides_its_experiment_is_known() -> None:
    for job in (job for table in TABLES for job in grid.jobs(table, "paper")):
        assert {"system", "table", "backbone", "habits"} <= job.parameters.keys() & set(BESIDES)

"""The grid: which runs there are, and what they cost."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import papermill
import pytest
import yaml

from data_scripts.augment_pairs import PRINTED
from dicebook.corpora.loading import EMBEDDED, REGISTERED
from dicebook.reproduce import grid, paper, runs
from dicebook.training.experiment import Experiment

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


@pytest.mark.parametrize(("table", "profile"), EVERY)
def test_every_run_sets_parameters_that_its_chapter_has(table: int, profile: str) -> None:
    found = {job.chapter: job.parameters.keys() for job in grid.jobs(table, profile)}
    for chapter, names in found.items():
        known = papermill.inspect_notebook(str(Path("notebooks") / f"{chapter}.ipynb"))
        assert names <= known.keys() | {field.name for field in fields(Experiment)}


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

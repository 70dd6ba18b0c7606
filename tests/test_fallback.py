"""What an experiment chapter runs: its own settings, small ones, or an error."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import nbformat
import pytest
from papermill import inspect_notebook

from dicelab import chapters
from dicelab.corpora import CorpusError, load, loading
from dicelab.training.experiment import ParameterError

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
NAMES = list(chapters.settings())
NAME = "08_part_of_speech"


def parameters(chapter: str) -> dict[str, Any]:
    """What stands in a chapter's cell of parameters."""
    known = inspect_notebook(str(NOTEBOOKS / f"{chapter}.ipynb"))
    return {name: ast.literal_eval(of["default"]) for name, of in known.items()}


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The corpora that are there: none, until a test adds some. MiniLM is there."""
    names: set[str] = set()
    monkeypatch.delenv("DICEBOOK_RUN", raising=False)
    monkeypatch.setattr(loading, "is_prepared", lambda folder: folder.name in names)
    monkeypatch.setattr(chapters, "has_minilm", lambda: True)
    return names


@pytest.mark.parametrize("chapter", NAMES)
def test_a_chapter_s_settings_are_those_that_its_cell_shows(chapter: str) -> None:
    shown, own = parameters(chapter), chapters.settings()[chapter]
    assert own["run"] == {name: shown[name] for name in own["run"]}
    assert own["embedded"].keys() == own["run"].keys()


@pytest.mark.parametrize("chapter", NAMES)
def test_a_chapter_is_stored_as_its_own_run(chapter: str) -> None:
    stored = nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4)
    assert "the cells below run on" not in nbformat.writes(stored)


def test_where_everything_is_there_nothing_changes(prepared, capsys):
    prepared.add("ud_en_ewt")
    names = parameters(NAME)
    experiment = chapters.experiment(NAME, names)
    assert (experiment.corpus, experiment.encoder) == ("ud_en_ewt", "minilm")
    assert names == parameters(NAME)
    assert capsys.readouterr().out == ""


def test_a_missing_corpus_is_said_and_small_settings_take_its_place(prepared, capsys):
    names = {**parameters(NAME), "epochs": 1}
    experiment = chapters.experiment(NAME, names)
    small = chapters.settings()[NAME]["embedded"]
    assert {name: names[name] for name in small} == {**small, "epochs": 1}, "the reader's stays"
    assert experiment.corpus == small["corpus"]
    told = capsys.readouterr().out
    assert told.startswith("The corpus 'ud_en_ewt' is not in ")
    assert "dicebook data ud_en_ewt --out" in told
    assert told.count("\n") == 1


def test_a_missing_encoder_is_said_too(prepared, monkeypatch, capsys):
    prepared.add("ud_en_ewt")
    monkeypatch.setattr(chapters, "has_minilm", lambda: False)
    assert chapters.experiment(NAME, parameters(NAME)).encoder == "tiny"
    assert "The encoder MiniLM is not here" in capsys.readouterr().out


def test_a_corpus_that_the_reader_named_is_left_to_its_error(prepared: set[str]) -> None:
    experiment = chapters.experiment(NAME, {**parameters(NAME), "corpus": "ud_zh"})
    assert (experiment.corpus, experiment.encoder) == ("ud_zh", "minilm")
    with pytest.raises(CorpusError, match="run: dicebook data ud_zh"):
        load(experiment.corpus, task="tagging")


def test_a_run_that_is_to_be_stored_takes_nothing_else(prepared, monkeypatch):
    monkeypatch.setenv("DICEBOOK_RUN", "1")
    with pytest.raises(ParameterError, match="run: dicebook data ud_en_ewt"):
        chapters.experiment(NAME, parameters(NAME))

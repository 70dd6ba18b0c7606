"""The contract of the experiment chapters."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, replace

import pytest

from dicelab.training.experiment import Experiment, ParameterError


def namespace(**parameters: object) -> dict[str, object]:
    """What a kernel's globals hold after the cell of parameters."""
    kernel = {"__name__": "__main__", "_i1": "", "In": [], "Out": {}, "exit": 1, "quit": 1}
    return {**kernel, "get_ipython": len, "open": open, "math": math, "corpus": "x", **parameters}


def test_parameters_are_read_from_a_namespace() -> None:
    experiment = Experiment.from_namespace(namespace(loss="dsc", epochs=2, learning_rate=1))
    assert (experiment.corpus, experiment.loss, experiment.epochs) == ("x", "dsc", 2)


def test_an_unknown_name_is_refused_with_the_list_of_valid_ones() -> None:
    with pytest.raises(ParameterError, match=r"unknown parameter 'epoch'.*'epochs'.*batch_size"):
        Experiment.from_namespace(namespace(epoch=2))


def test_a_missing_corpus_is_refused() -> None:
    parameters = namespace()
    del parameters["corpus"]
    with pytest.raises(ParameterError, match="'corpus' is missing"):
        Experiment.from_namespace(parameters)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("loss", "dise", "one of ce, wce, fl, dl, tl, dsc"),
        ("device", "gpu", "one of auto, cpu, cuda"),
        ("epochs", 0, "at least 1"),
        ("epochs", 1.5, "expected a whole number"),
        ("seed", -1, "from 0 to"),
        ("batch_size", "32", "expected a whole number"),
        ("learning_rate", "fast", "expected a number above 0"),
        ("learning_rate", 2.0, "above 0 and at most 1"),
        ("train_size", -5, "0 \\(all\\)"),
        ("corpus", "", "a corpus name or a path"),
        ("loss_options", "alpha=1", "expected a mapping of options"),
    ],
)
def test_a_wrong_value_is_refused(name: str, value: object, expected: str) -> None:
    with pytest.raises(ParameterError, match=f"parameter '{name}'.*{expected}"):
        Experiment.from_namespace(namespace(**{name: value}))


def test_a_wrong_value_is_refused_wherever_it_comes_from() -> None:
    experiment = Experiment(corpus="x")
    with pytest.raises(ParameterError, match=r"'epochs'.*got 0"):
        replace(experiment, epochs=0)
    with pytest.raises(ParameterError, match=r"unknown parameter 'epoch'.*'epochs'"):
        Experiment(corpus="x", epoch=2)  # type: ignore[call-arg]
    with pytest.raises(FrozenInstanceError):
        experiment.epochs = 2  # type: ignore[misc]


def test_a_number_that_yaml_reads_as_text_is_a_number() -> None:
    assert Experiment(corpus="x", learning_rate="2e-5").learning_rate == 2e-5  # type: ignore[arg-type]


def test_options_belong_to_their_loss() -> None:
    single = Experiment(corpus="x", loss="dsc", loss_options={"alpha": 0.01})
    assert single.options_of("dsc") == {"alpha": 0.01}
    several = Experiment(corpus="x", loss="ce, dsc", loss_options={"dsc": {"alpha": 0.01}})
    assert several.losses == ["ce", "dsc"]
    assert several.options_of("ce") == {}
    assert several.only("dsc") == single
    assert Experiment(corpus="x", loss_options={"dsc": {"alpha": 0.01}}).options_of("ce") == {}
    with pytest.raises(ParameterError, match="a mapping from ce, wce"):
        Experiment(corpus="x", loss="ce,dsc", loss_options={"alpha": 0.01})


def test_a_chapter_may_have_parameters_of_its_own() -> None:
    given = {"corpus": "any", "reader_epochs": 3}
    assert Experiment.from_namespace(given, also=["reader_epochs"]).corpus == "any"
    with pytest.raises(ParameterError, match=r"unknown parameter 'reader_epoch'.*reader_epochs"):
        Experiment.from_namespace({"corpus": "any", "reader_epoch": 3}, also=["reader_epochs"])


def test_what_a_chapter_imports_or_defines_above_its_parameters_is_no_parameter() -> None:
    above = {"pytest": pytest, "Experiment": Experiment, "drawn": lambda: None}
    assert Experiment.from_namespace(above | {"corpus": "any"}).corpus == "any"
    with pytest.raises(ParameterError, match="unknown parameter 'table'"):
        Experiment.from_namespace(above | {"corpus": "any", "table": [1]})

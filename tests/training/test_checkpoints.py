"""What becomes of a run's folder: two runs at once, damaged files, a full disk."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dicelab.training import checkpoints
from dicelab.training.checkpoints import alone_in
from dicelab.training.encoders import EncoderError, load_tokenizer
from dicelab.training.experiment import Experiment, ParameterError
from tests.tiny_tagger import train_tagger

pytestmark = pytest.mark.slow
CUT = ["model.safetensors", "optimizer.pt", "trainer_state.json"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of two epochs."""
    folder = tmp_path_factory.mktemp("run")
    train_tagger(experiment(folder))
    return folder


def experiment(folder: Path) -> Experiment:
    return Experiment(corpus="x", epochs=2, output_dir=str(folder))


def by_step(folder: Path) -> list[Path]:
    return sorted((folder / "ce").glob("checkpoint-*"), key=lambda path: int(path.name[11:]))


def test_two_runs_in_a_folder_are_one_too_many(tmp_path: Path) -> None:
    with alone_in(tmp_path / "ce"), pytest.raises(ParameterError, match=r"another run is at work"):
        train_tagger(experiment(tmp_path))
    with alone_in(tmp_path / "ce"):  # free again
        pass


@pytest.mark.parametrize("name", CUT)
def test_a_damaged_checkpoint_is_named_and_the_one_before_it_used(finished, tmp_path, name, capsys):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    first, last = by_step(folder)
    # As if the first had been the best: what the second would load at the end is then whole.
    state = json.loads((last / "trainer_state.json").read_text())
    path = last / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert checkpoints.last_whole(folder / "ce") == str(first)
    assert f"{path} is damaged; {last.name} is not used" in capsys.readouterr().err
    assert not last.exists()
    assert [e["step"] for e in train_tagger(experiment(folder)).history] == [
        entry["step"] for entry in state["log_history"] if "loss" in entry
    ]


def test_without_a_whole_best_checkpoint_a_run_starts_anew(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "run")
    first, last = by_step(tmp_path / "run")
    state = json.loads((last / "trainer_state.json").read_text())
    state["best_model_checkpoint"] = f"elsewhere/{first.name}"
    (last / "trainer_state.json").write_text(json.dumps(state))
    assert checkpoints.last_whole(tmp_path / "run" / "ce") == str(last)
    (first / "model.safetensors").write_bytes(b"half")
    assert checkpoints.last_whole(tmp_path / "run" / "ce") is None


def test_damaged_parameters_are_named(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "run")
    (tmp_path / "run" / "ce" / "parameters.json").write_text('{"corpus": "x", "enc')
    with pytest.raises(ParameterError, match=r"run/ce/parameters\.json is damaged \(.*column"):
        train_tagger(experiment(tmp_path / "run"))


@pytest.mark.parametrize("encoder", ["./nofolder", "../no", "/no/where", "a/b/c"])
def test_a_path_that_is_none_is_not_asked_of_the_hub(encoder: str) -> None:
    with pytest.raises(EncoderError, match="there is no such folder; expected 'tiny'"):
        load_tokenizer(encoder, [])


def test_a_folder_that_holds_something_else_is_not_written_into(tmp_path: Path) -> None:
    for place in ("ce/notes.txt", "report.html"):
        own = tmp_path / place.partition(".")[0] / place
        own.parent.mkdir(parents=True)
        own.write_text("mine")
        root = own.parents[place.count("/")]
        with pytest.raises(ParameterError, match=f"found {own.name!r} in"):
            train_tagger(experiment(root))
        assert [path for path in root.rglob("*") if path.is_file()] == [own]

"""One run of each system, to a record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from dicelab.corpora import load
from dicelab.records import runs
from dicelab.training import callbacks
from reproduce import grid, memory, systems
from reproduce.comparisons import READERS
from reproduce.scripts import scripts
from tests import tiny_backbones
from tests.tiny_backbones import save_backbone

pytestmark = pytest.mark.slow
SHORT = {"train_size": 16, "eval_size": 10, "max_length": 64, "batch_size": 8}


def job(table: int, system: str, **changes: Any) -> dict[str, Any]:
    found = grid.jobs(table, "smoke")
    first = next(j for j in found if j.parameters["system"] == system)
    return {**first.parameters, **SHORT, **changes}


@pytest.mark.parametrize(
    ("table", "system", "options"),
    [
        (3, "tagger", {}),
        (5, "mrc", {"gradient_accumulation": 2, "habits": scripts()["conll03", "dice"].habits}),
        (10, "decisions", {"loss": "tl"}),
        (9, "pairs", {}),
    ],
)
def test_a_run_leaves_a_whole_record(table, system, options, tmp_path):
    out = tmp_path / "record.json"
    assert systems.main([json.dumps(job(table, system, **options)), str(out)]) == 0
    (record,) = runs.read_records(out)
    metric = "accuracy" if table == 9 else "f1"
    assert 0 <= record["metrics"]["test"][metric] <= 100
    assert 0 <= record["metrics"]["majority"][metric] <= 100
    assert ("dictionary" in record["metrics"]) == (system not in READERS)
    assert ("test_tuned" in record["metrics"]) == (table != 3)
    assert record["parameters"]["system"] == system
    assert record["parameters"]["rows"]["train"] >= 16
    assert record["parameters"]["prints"] == job(table, system, **options)["prints"]
    assert ("ceiling" in record["metrics"]) == (system != "pairs")
    if system != "pairs":
        ceiling = record["metrics"]["ceiling"]
        assert ceiling["cut"] == 0
        # Of sixteen sentences some tags are never seen; else nothing is lost.
        assert ceiling["recall"] == 100 or (table == 3 and ceiling["recall"] > 50)
        assert ceiling["f1"] == pytest.approx(2 / (1 + 100 / ceiling["recall"]) * 100)
    assert [path.name for path in tmp_path.iterdir()] == ["record.json"]  # no checkpoint stays


PAPER = {"tagger": (5, "conll03"), "mrc": (5, "conll03"), "pairs": (7, "mrpc")}
EMBEDDED = {"tagger": "entities", "mrc": "entities", "pairs": "paraphrases"}


@pytest.fixture(scope="module")
def backbones(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Folders of tiny random encoders that read a question beside a text."""
    read = load("embedded-reading-en", task="reading")["train"].select(range(30))
    texts = [f"{row['question']} {row['context']}" for row in read]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny_backbones.SIZE, "max_position_embeddings", 520)
        patch.setitem(tiny_backbones.LENGTH, "model_max_length", 512)
        return {
            name: save_backbone(name, texts, tmp_path_factory.mktemp(name))
            for name in ("bert", "roberta", "xlnet")
        }


TRAINED = [
    ("tagger", "bert", "dsc"),
    ("decisions", "bert", "dsc"),
    ("choice", "roberta", "dsc"),
    ("pairs", "xlnet", "ce"),
    ("mrc", "xlnet", "dsc"),
]


@pytest.mark.parametrize(("system", "backbone", "loss"), TRAINED)
def test_every_system_and_every_backbone_train_with_the_scripts_settings(
    system: str,
    backbone: str,
    loss: str,
    backbones: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table, corpus = PAPER.get(system, (6, "squad11"))
    of_script = next(
        j.parameters
        for j in grid.jobs(table, "paper")
        if (j.parameters["corpus"], j.parameters["system"]) == (corpus, system)
        and j.parameters["loss"] in (loss, "ce")[system == "tagger" :]
    )
    habits = of_script["habits"] | ({"stride": 32} if "stride" in of_script["habits"] else {})
    given = {
        **of_script,
        **SHORT,
        "loss": loss,
        "corpus": f"embedded-{EMBEDDED.get(system, 'reading')}-en",
        "encoder": backbones[backbone],
        "habits": habits,
        "max_length": 256,
        "max_steps": 2,
        "epochs": 1,
    }
    monkeypatch.setattr(memory, "room_on", lambda device: 0.0)  # a step's batch must be divided
    record = systems.run(given)
    whole = loss == "dsc" or system == "mrc"
    assert record["measured"]["micro_batches"] == (1 if whole else SHORT["batch_size"])
    assert record["measured"]["recomputed"] == (whole and backbone != "xlnet")
    assert record["history"][-1]["step"] == 2
    assert 0 <= record["metrics"]["test"]["f1"] <= 100


def test_the_scripts_heads_and_mask_are_those_of_the_jobs(backbones: dict[str, str]) -> None:
    found = {}
    for loss in ("fl", "dsc"):
        jobs = grid.only(grid.jobs(5, "paper"), ["conll03"], [loss])
        habits = jobs[-1].parameters["habits"]
        given = job(5, "mrc", encoder=backbones["bert"], habits=habits, loss=loss, max_length=256)
        prepared = systems.SYSTEMS["mrc"](systems.experiment_of(given), habits)
        model, batch = (
            prepared.build_model(),
            prepared.collator([prepared.encoded.splits["train"][0]]),
        )
        labels, decided = batch.pop("labels"), []
        prepared.compute_loss.loss = lambda x, y, seen=decided: (
            seen.append(int((y >= 0).sum())) or x.sum()
        )
        prepared.compute_loss(model(**batch), labels)
        found[loss] = decided[0], batch["input_ids"].numel(), int(batch["word_mask"].sum())
        for part in (model.boundaries, model.answerable):
            assert [type(layer).__name__ for layer in part] == ["Linear", "ReLU", "Linear"]
    decided, _, words = found["fl"]
    assert decided == words  # of the sentence alone
    decided, everything, words = found["dsc"]
    assert decided == everything > words


def test_the_dropout_of_a_script_is_the_encoder_s(backbones: dict[str, str]) -> None:
    for name, folder in backbones.items():
        given = job(7, "pairs", encoder=folder, habits={"dropout": 0.25})
        prepared = systems.SYSTEMS["pairs"](systems.experiment_of(given), given["habits"])
        layers = prepared.build_model().base_model.modules()
        rates = {layer.p for layer in layers if isinstance(layer, torch.nn.Dropout)}
        assert 0.25 in rates, name


def test_a_search_picks_its_rate_for_the_run(tmp_path: Path) -> None:
    given = job(7, "pairs", rates=[1e-5, 3e-3], epochs=2)
    rates, out = tmp_path / "rates.json", tmp_path / "run" / "record.json"
    (tmp_path / "rate-1e-05.json").write_text("12.5")  # a killed search has left this one
    systems.main([json.dumps(given), str(rates)])
    found = json.loads(rates.read_text())
    assert set(found) == {"1e-05", "0.003"}
    assert found["1e-05"] == 12.5
    assert json.loads((tmp_path / "rate-0.003.json").read_text()) == found["0.003"]
    assert not (tmp_path / "rate-0.003").exists()  # its checkpoints
    rates.write_text(json.dumps({"1e-05": 10.0, "0.003": 12.0}))
    systems.main([json.dumps(given), str(out), str(rates)])
    (record,) = runs.read_records(out)
    assert record["parameters"]["learning_rate"] == 3e-3


def test_a_search_that_was_killed_goes_on_where_it_was(tmp_path, monkeypatch):
    given = job(7, "pairs", rates=[1e-3, 3e-3], epochs=4)
    whole = systems.search(given, folder=tmp_path / "whole")
    saved, saves = callbacks.MarkComplete.on_save, []

    def save_and_die_in_the_second_rate(*args: Any, **more: Any) -> None:
        saved(*args, **more)
        saves.append(args)
        if len(saves) == 3:  # two passes a rate
            raise KeyboardInterrupt

    out = tmp_path / "killed" / "rates.json"
    with monkeypatch.context() as patch:
        patch.setattr(callbacks.MarkComplete, "on_save", save_and_die_in_the_second_rate)
        with pytest.raises(KeyboardInterrupt):
            systems.main([json.dumps(given), str(out)])
        assert len(list(out.parent.rglob("checkpoint-*"))) == 1
        systems.main([json.dumps(given), str(out)])
    assert len(saves) == 4  # of the second pass of the second rate alone
    assert json.loads(out.read_text()) == whole
    assert not list(out.parent.rglob("checkpoint-*"))


def test_runs_share_what_frozen_layers_say_and_leave_the_same_records(tmp_path: Path) -> None:
    states = tmp_path / "states"
    for loss in ("ce", "dl"):
        given = job(7, "pairs", habits={"frozen_layers": 1}, loss=loss)
        out = tmp_path / loss / "record.json"
        systems.main([json.dumps(given), str(out), "--states", str(states)])
        (shared,), alone = runs.read_records(out), systems.run(given)
        assert {**shared, "measured": 0} == {**alone, "measured": 0}
        (file,) = states.iterdir()
        assert file.name == f"{given['corpus']}-{given['seed']}.safetensors"

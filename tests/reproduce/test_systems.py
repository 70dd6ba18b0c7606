"""One run of each system, to a record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dicebook.corpora import load
from dicebook.reproduce import grid, runs, systems
from dicebook.reproduce.lines import READERS
from dicebook.reproduce.profiles import HABITS
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
        (5, "tagger", {}),
        (
            5,
            "mrc",
            {
                "gradient_accumulation": 2,
                "habits": {**HABITS["conll03"][1], "answerable": 0.4},
            },
        ),
        (6, "choice", {}),
        (10, "decisions", {"loss": "tl"}),
        (9, "pairs", {}),
    ],
)
def test_a_run_leaves_a_whole_record(
    table: int, system: str, options: dict[str, Any], tmp_path: Path
) -> None:
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
    assert [path.name for path in tmp_path.iterdir()] == ["record.json"]  # no checkpoint stays


@pytest.mark.parametrize(("system", "loss"), [("choice", "dl"), ("decisions", "dsc")])
def test_xlnet_reads(system: str, loss: str, tmp_path: Path) -> None:
    rows = load("embedded-reading-en", task="reading")["train"].select(range(30))
    texts = [row["question"] + " " + row["context"] for row in rows]
    folder = save_backbone("xlnet", texts, tmp_path / "xlnet")
    # Its unigrams are short pieces, so that a text fills several windows.
    record = systems.run(job(6, system, encoder=folder, loss=loss, max_length=96, train_size=8))
    assert record["parameters"]["encoder"] == "xlnet"
    assert record["metrics"]["test"]["f1"] >= 0


def test_xlnet_compares_pairs(tmp_path: Path) -> None:
    rows = load("embedded-paraphrases-en", task="pairs")["train"].select(range(30))
    folder = save_backbone("xlnet", [row["sentence1"] for row in rows], tmp_path / "xlnet")
    given = job(7, "pairs", encoder=folder, loss="dl", max_length=256)
    setup = systems.SYSTEMS["pairs"](systems.experiment_of(given), {})
    batch = setup.collator([setup.encoded.splits["train"][i] for i in range(4)])
    short = batch["attention_mask"].sum(1).argmin()
    # XLNet reads from the right: padding is on the left, the classification token last.
    assert batch["attention_mask"][short, 0] == 0
    assert (batch["input_ids"][:, -1] == setup.tokenizer.cls_token_id).all()
    assert set(batch["token_type_ids"].flatten().tolist()) >= {0, 1, 2}
    record = systems.run(job(7, "pairs", encoder=folder, loss="dl"))
    assert record["metrics"]["test"]["f1"] >= 0


def test_a_search_picks_its_rate_for_the_run(tmp_path: Path) -> None:
    given = job(7, "pairs", rates=[1e-5, 3e-3], epochs=2)
    rates, out = tmp_path / "rates.json", tmp_path / "run" / "record.json"
    systems.main([json.dumps(given), str(rates)])
    assert set(json.loads(rates.read_text())) == {"1e-05", "0.003"}
    rates.write_text(json.dumps({"1e-05": 10.0, "0.003": 12.0}))
    systems.main([json.dumps(given), str(out), str(rates)])
    (record,) = runs.read_records(out)
    assert record["parameters"]["learning_rate"] == 3e-3


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

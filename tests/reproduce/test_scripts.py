"""Every job of the profile `paper` beside the released script whose settings it has."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from reproduce import grid, scripts
from reproduce.comparisons import TABLES

ROWS = tomllib.loads(Path(scripts.__file__).with_suffix(".toml").read_text("utf-8"))["script"]
JOBS = [job for table in TABLES for job in grid.jobs(table, "paper")]


def expected(row: dict[str, Any], loss: str) -> dict[str, Any]:
    """What a script says, under the names of a job; written apart from `reproduce.scripts`."""
    schedule = {"linear": "linear", "onecycle": "linear", "polydecay": "polynomial"}
    said = {
        "learning_rate": row["lr"],
        "rows a step": row["batch"] * row["accumulate"] * row.get("gpus", 1),
        "epochs": row["epochs"],
        "max_length": row["length"],
        "warmup": row["warmup"],
        "decay": row["decay"],
        "schedule": schedule[row["schedule"]],
        "ends at": row["lr"] / 4 if row["schedule"] == "polydecay" else None,
        "dropout": row["dropout"],
        "fp32": row["precision"] == 32,
        "weights": row.get("weights"),
        "answerable": row.get("answerable"),
        "stride": row.get("stride"),
    }
    if row["loss"] == "focal" and loss == "fl":
        said["gamma"] = row["gamma"]
    if row["loss"] == "dice" and loss in ("dl", "dsc"):
        said |= {"smooth": row["smooth"], "squared": row["square"], "ohem": row["ohem"] or None}
    if row["loss"] == "dice" and loss == "dsc":
        said["alpha"] = row["alpha"]
    return said


def settings(job: grid.Job) -> dict[str, Any]:
    given, habits, options = (job.parameters, job.parameters["habits"], {})
    training = habits["training"]
    if given["loss"] == "fl":
        options = {"gamma": given["loss_options"].get("gamma")}
    if given["loss"] in ("dl", "dsc"):
        options = {name: given["loss_options"][name] for name in ("smooth", "squared")}
        options["ohem"] = given["loss_options"].get("ohem_ratio")
    if given["loss"] == "dsc":
        options["alpha"] = given["loss_options"]["alpha"]
    return {
        **{n: given[n] for n in ("learning_rate", "epochs", "max_length")},
        "rows a step": given["batch_size"] * given.get("gradient_accumulation", 1),
        "warmup": training["warmup_steps"],
        "decay": training["weight_decay"],
        "schedule": training["lr_scheduler_type"],
        "ends at": training.get("lr_scheduler_kwargs", {}).get("lr_end"),
        "dropout": habits["dropout"],
        "fp32": given["precision"] == "fp32",
        "weights": habits.get("weights"),
        "answerable": habits.get("answerable"),
        "stride": habits.get("stride"),
        **options,
    }


@pytest.mark.parametrize("job", JOBS, ids=lambda job: f"{job.parameters['table']}-{job.name}")
def test_a_job_has_the_values_of_the_script_that_it_names(job: grid.Job) -> None:
    said = job.parameters["script"]
    assert said, "a row without a script must say so"
    if said.startswith("none was released"):
        assert "training" not in job.parameters["habits"]
        assert job.parameters["batch_size"] == 32  # of sentences, pairs or windows
        return
    (row,) = [row for row in ROWS if said.startswith(f"{row['path']} at {row['commit'][:7]}")]
    found, wanted = settings(job), expected(row, job.parameters["loss"])
    # Of a loss without a script of its own the options are ours.
    found = {name: value for name, value in found.items() if name in wanted or value is None}
    assert {**dict.fromkeys(found), **wanted} == found
    if job.parameters["backbone"] != "XLNet":
        assert job.parameters["encoder"] == row["encoder"]
    whose = job.parameters["corpus"].partition("_")[0].replace("ontonotes4", "ontonotes4_zh")
    own = row["corpus"] == job.parameters["corpus"]
    assert own or f"it is of {row['corpus']}" in said
    assert own or {whose, row["corpus"]} in ({"qqp"}, {"squad20", "squad11"})
    theirs = {"ce": "ce", "fl": "focal"}.get(job.parameters["loss"], "dice")
    assert row["loss"] == theirs or f"none was released for {job.parameters['loss']}" in said


def test_where_a_script_of_the_loss_was_released_it_is_taken() -> None:
    loss = {"ce": "ce", "fl": "focal", "dl": "dice", "dsc": "dice"}
    taken = set()
    for job in JOBS:
        given = job.parameters
        if given["system"] != "tagger" and given["loss"] in loss:
            for row in ROWS:
                if (row["corpus"], row["loss"]) == (given["corpus"], loss[given["loss"]]):
                    assert row["path"] in given["script"]
                    taken.add(row["path"])
    assert taken == {row["path"] for row in ROWS}

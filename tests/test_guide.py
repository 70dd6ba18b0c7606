"""docs/what_to_do.md: numbers are those of the records, comparisons hold, commands exist."""

from __future__ import annotations

import json
import re
import shlex
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import yaml
from papermill import inspect_notebook

from dicelab.__main__ import _parser
from dicelab.records import decided, kept, runs, searched
from dicelab.records.speed import LONG, read_corpora, scores
from tests.checkout import ROOT

PAGE = " ".join((ROOT / "docs" / "what_to_do.md").read_text(encoding="utf-8").split())
BLOCKS = re.compile(r"```sh\n(.*?)```", re.DOTALL)
SPANS = ("wnut17", "crossner_ai", "crossner_politics", "wikigold")
FORMS = ("dice", "dice_start", "dice_both")


def shown(value: float) -> str:
    """A number as the page prints it."""
    return f"{value:z.1f}".replace("-", "−")


def accuracy() -> list[str]:
    by: dict[tuple[Any, ...], dict[int, float]] = defaultdict(dict)
    for r in runs.kept_records("accuracy"):
        p = r["parameters"]
        arm = (p["corpus"], p["loss"], p["options"].get("classes"))
        by[arm][p["seed"]] = r["metrics"]["test"]["accuracy"]
    gap = {
        c: runs.interval([x - by[c, "ce", None][seed] for seed, x in by[c, "dl", "all"].items()])
        for c in ("sst2", "sst5")
    }
    assert gap["sst2"].low < 0 < gap["sst2"].high
    return [f"{shown(-gap['sst5'].mean)} points lower on five classes"]


def tuned() -> list[str]:
    tasks = searched.read_tasks()
    others = ("wce", "logit_adjustment", "focal_start", "dsc_start", "tversky_start")
    for arm in ("dice", "dice_start", *others):
        mean = searched.pooled_minus_start(tasks, arm, "tuned").over_all
        assert mean.low < 0 < mean.high
    dice = searched.pooled_minus_start(tasks, "dice", "tuned").over_all
    forms = [[searched.minus_start(of, arm, "tuned") for of in tasks.values()] for arm in FORMS]
    every = [effect for form in forms for effect in form if effect]
    above, below = sum(e.low > 0 for e in every), sum(e.high < 0 for e in every)
    assert (above, below) == (0, 4)
    effects = searched.effects_of(tasks, searched.PRIMARY)
    assert 3.35 < max(abs(e.mean) for e in effects) < 3.55, "up to 3.5 points either way"
    interval = f"{shown(dice.mean)} [{shown(dice.low)}, {shown(dice.high)}] points"
    return [interval, f"{len(every)} intervals on single tasks. None lies above 0, and four"]


def linear() -> list[str]:
    tasks = kept.frozen(linear=True)
    finals = [r for of in tasks.values() for r in of if r["kind"] == "final"]
    for arm in {r["arm"] for r in finals} - {"logistic"}:
        contrast = searched.Contrast((arm, "tuned"), ("logistic", "tuned"))
        assert searched.pool(searched.effects_of(tasks, contrast)).over_all.mean < 0, arm
    solver, dice = (
        searched.pooled_minus_start(tasks, arm, "tuned").over_all for arm in ("logistic", "dice")
    )
    cost = searched.minus_start(tasks["sst2_02"], "ce", "tuned")
    assert cost
    return [
        f"was {shown(solver.mean)} [{shown(solver.low)}, {shown(solver.high)}] points above cross",
        f"cross entropy was {shown(dice.mean)} [{shown(dice.low)}, {shown(dice.high)}] points.",
        f"the log prior cost up to {cost.mean:.0f} points",
    ]


def argmax() -> list[str]:
    tasks = searched.read_tasks()
    means = [searched.pooled_minus_start(tasks, arm, "argmax").over_all for arm in ("wce", "dice")]
    family = searched.secondary(tasks, searched.ALSO)
    assert min(corrected for _, corrected in family.values()) > 0.05
    weights, dice = (shown(mean.mean) for mean in means)
    said = f"were {weights} points above cross entropy, and dice loss {dice}. After a correction"
    return [f"{said} for {len(family)} questions"]


def batches() -> list[str]:
    fear = read_corpora()["goemotions_fear"]
    last = {
        arm: float(scores(fear, arm, "tuned")[1][:, -1].mean())
        for arm in ("dice", "ce_start", "dice_start", "dice_two", "dice_128")
    }
    assert all(abs(last[a] - last["ce_start"]) < 2 for a in ("dice_start", "dice_two", "dice_128"))
    said = f"had an F1 of {shown(last['dice'])} after {LONG} steps, where cross entropy from the"
    return [f"{said} log prior had {shown(last['ce_start'])}"]


def decoder() -> list[str]:
    gains = defaultdict(list)
    for r in runs.kept_records("decoding"):
        of, found = r["parameters"], r["metrics"]
        gains[of["corpus"], of["loss"]].append(found["test_valid"]["f1"] - found["test"]["f1"])
    means = [np.mean(of) for of in gains.values()]
    return [f"{shown(min(means))} to {shown(max(means))} points of F1"]


def spans() -> list[str]:
    kept = runs.kept_records("spans")

    def against(corpus: str, arm: str, how: str = "tuned") -> decided.Estimate:
        return decided.effect(kept, corpus, (arm, how), ("bce_prior", how))

    arms = {r["parameters"]["loss"] for r in kept} - {"bce_prior"}
    assert all(against(c, arm).low < 0 for c in SPANS for arm in arms), "none lies above"
    assert all(against(c, "weighted", "half").low > 0 for c in SPANS)
    least = min(-against(c, "dice_element").mean for c in SPANS)
    return [f"at least {int(least)} points lower"]


def reading() -> list[str]:
    rows = json.loads((runs.kept_folder() / "gpu" / "chapters.json").read_text())["rows"]
    mean = {
        start: np.mean(
            [r["tuned"] for r in rows if (r["run"], r["start"]) == ("10_reading/ce", start)]
        )
        for start in ("zero", "prior")
    }
    zero, prior = (shown(float(mean[start])) for start in ("zero", "prior"))
    return [f"an F1 of {zero}, and from the log prior {prior}"]


def labels() -> list[str]:
    (compared,) = runs.kept_records("labels_comments")
    gap = {
        (d["arm"][1], d["metric"]): d
        for d in compared["metrics"]["differences"]
        if (d["arm"][0], d["over"][0]) == ("dice_macro", "bce_prior")
        and d["arm"][1] == d["over"][1]
    }
    assert gap["each", "macro"]["low"] < 0 < gap["each", "macro"]["high"]
    return [f"{shown(gap['half', 'macro']['mean'])} points of macro F1 higher"]


PLACES: dict[str, Callable[[], list[str]]] = {
    of.__name__: of
    for of in (accuracy, tuned, linear, argmax, batches, decoder, spans, reading, labels)
}


@pytest.mark.parametrize("place", PLACES)
def test_a_number_of_the_guide_is_that_of_the_records(place: str) -> None:
    for said in PLACES[place]():
        assert said in PAGE


def test_the_guide_is_one_page() -> None:
    assert len(PAGE.split()) <= 2500


def test_the_commands_are_commands() -> None:
    text = (ROOT / "docs" / "what_to_do.md").read_text(encoding="utf-8")
    lines = [line for b in BLOCKS.findall(text) for line in b.replace("\\\n", "").splitlines()]
    assert len(lines) >= 6
    for line in lines:
        program, *words = shlex.split(line)
        if program == "dicebook":
            assert _parser().parse_args(words).source == "my.tsv"
            continue
        notebook, out, *options = words
        assert out == "out.ipynb"
        known = {*inspect_notebook(str(ROOT / notebook)), "gradient_accumulation"}
        names = [options[i + 1] for i, word in enumerate(options) if word == "-p"]
        given = [yaml.safe_load(options[i + 1]) for i, word in enumerate(options) if word == "-y"]
        assert {*names, *(name for of in given for name in of)} <= known, line

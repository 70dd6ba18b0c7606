"""The front page's answer, against the records and against its own picture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image

from dicelab.records import searched
from tools import answer


@pytest.fixture(scope="module")
def shown(root: Path) -> list[answer.Gain]:
    """What the picture has to show."""
    return answer.gains(root / "results")


@pytest.mark.parametrize("name", answer.COLOURS)
def test_the_picture_is_drawn_from_the_records_as_they_are(root, shown, name) -> None:
    with Image.open(root / "_static" / f"answer-{name}.png") as picture:
        said = picture.info["Description"]
    assert said == answer.described(shown), "run: python -m tools.answer"


@pytest.mark.parametrize(("page", "intervals"), [("index.md", 5), ("README.md", 11)])
def test_every_interval_of_a_front_page_is_in_the_records(root, shown, page, intervals) -> None:
    text = " ".join((root / page).read_text(encoding="utf-8").split())
    printed = re.findall(r"(−?\d+\.\d) \[(−?\d+\.\d), (−?\d+\.\d)\]", text)
    tasks = searched.read_tasks(root / "results" / "evidence_2")
    by_stratum = searched.pool(searched.effects_of(tasks, searched.AT_ARGMAX)).strata.values()
    known = [g[2:] for g in shown] + [one[:3] for one in by_stratum]
    assert len(printed) == intervals
    assert set(printed) <= {tuple(f"{x:z.1f}".replace("-", "−") for x in g) for g in known}


def test_the_answer_follows_from_the_intervals(shown) -> None:
    tuned = {g.arm: g for g in shown if g.where == answer.HEADS["tuned"]}
    assert tuned["dice"].low < 0 < tuned["dice"].high, "could not tell from zero"
    dice, weights, _ = (g for g in shown if g.where == answer.HEADS["argmax"])
    assert weights.low > 0, "class weights help"
    assert weights.mean > dice.mean > 0, "and dice helps less"
    for where in list(answer.LAYERS.values())[:2]:
        dice, _, near = (g for g in shown if g.where == where)
        assert near.high < -3, "Start cross entropy with its bias at the log prior"
        assert dice.low < 0 < dice.high, "so it has the head start of dice"
    assert shown[-3].high < -40, "Where batches hold no positive, dice finds nothing"

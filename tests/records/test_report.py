"""The page of a run holds what its record holds."""

from __future__ import annotations

import base64
import io
import re

import pytest
from bs4 import BeautifulSoup
from PIL import Image

from dicelab.records import report, runs


@pytest.fixture
def record() -> dict:
    history = [
        {"step": 5, "epoch": 1.0, "loss": 0.5, "validation_loss": 0.6, "validation_f1": 10.0},
        {"step": 10, "epoch": 2.0, "loss": 0.25, "validation_loss": 0.55, "validation_f1": 31.25},
    ]
    return runs.make_record(
        chapter="09_named_entities",
        parameters={"corpus": "<mine>", "loss": "dsc", "loss_options": {"alpha": 0.1}, "seed": 3},
        metrics={"test": {"f1": 41.375, "recall": 50.0}, "test_tuned": {"f1": 42.0}},
        history=history,
        measured={"device": "cpu", "seconds": 1.5},
    )


def test_the_page_holds_every_part_of_the_record(record: dict) -> None:
    text = report.page(record)
    assert "<h1>09_named_entities: dsc on &lt;mine&gt;</h1>" in text
    assert "<mine>" not in text
    tables = BeautifulSoup(text, "html.parser").find_all("table")
    cells = [[[c.text for c in r.find_all(["td", "th"])] for r in t.find_all("tr")] for t in tables]
    scores, epochs, parameters, measured, versions = cells
    assert scores == [["", "f1", "recall"], ["test", "41.38", "50"], ["test_tuned", "42", ""]]
    assert [row[-1] for row in epochs] == ["validation_f1", "10", "31.25"]
    assert ["loss_options", "{'alpha': 0.1}"] in parameters
    assert ["device", "cpu"] in measured
    assert ["torch", record["versions"]["torch"]] in versions
    assert re.findall(r'(?:src|href)="(?!data:)', text) == []


def test_the_picture_is_of_the_curves(record: dict) -> None:
    found = re.search(r'alt="(.*?)" src="data:image/png;base64,(.*?)"', report.page(record))
    assert found
    assert found[1] == "At the end: loss 0.25, validation_loss 0.55, validation_f1 31.25."
    assert Image.open(io.BytesIO(base64.b64decode(found[2]))).size == (1080, 360)

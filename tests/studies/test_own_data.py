"""studies/own_data.py on a made-up corpus with the tiny encoder, and its draws and table."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dicelab.fit.data import read
from dicelab.fit.options import Options
from dicelab.records import runs
from studies import own_data
from studies.own_data import Corpus

WORDS = ["the", "old", "tree", "stands", "by", "a", "river", "and", "no", "one", "sees", "it"]


def made_up(rows: int, share: float = 0.3) -> list[dict[str, Any]]:
    rng = random.Random(rows)
    found = []
    for number in range(rows):
        yes = rng.random() < share
        words = [*rng.choices(WORDS, k=6), "Ada" if yes else f"x{number % 7}"]
        found.append({"sentence": " ".join(words), "label": int(yes)})
    return found


@pytest.fixture
def corpus(monkeypatch: pytest.MonkeyPatch) -> str:
    small = Corpus(lambda rng: (made_up(120), made_up(60)), (64, 40, 50))
    monkeypatch.setitem(own_data.CORPORA, "made_up", small)
    return "made_up"


def test_a_draw_has_its_sizes_and_no_row_twice(corpus: str) -> None:
    rows = [{"sentence": str(i), "label": i % 2} for i in range(120)]
    own_data.CORPORA[corpus] = Corpus(lambda rng: (rows, rows), (64, 40, 50))
    first, again, other = (own_data.draw(corpus, n) for n in (0, 0, 1))
    assert first == again != other
    assert [len(part) for part in first.values()] == [64, 40, 50]
    pooled = [row["sentence"] for part in ("train", "validation") for row in first[part]]
    assert len(set(pooled)) == 104


def test_thinning_keeps_the_negatives_and_three_positives_in_a_hundred() -> None:
    rows = [{"sentence": str(i), "label": int(i < 400)} for i in range(1000)]
    kept = own_data.thinned(rows, np.random.default_rng(0))
    positive = sum(row["label"] for row in kept)
    assert len(kept) - positive == 600
    assert positive / len(kept) == pytest.approx(0.03, abs=0.001)


def test_what_is_written_is_what_a_fit_reads(tmp_path: Path) -> None:
    tagged = [{"tokens": ["Ada", "saw", "it"], "tags": ["B-PER", "O", "O"]}] * 3
    quoted = [{"sentence": 'a "b",\tc', "label": i % 2} for i in range(4)]
    for name, rows in (("tagged", tagged), ("quoted", quoted)):
        parts = ("train", "validation", "test")
        folder = own_data.write(dict.fromkeys(parts, rows), tmp_path / name)
        data = read(Options(source=str(folder)))
        assert data.splits["test"].to_list() == rows


@pytest.mark.slow
def test_a_draw_is_recorded_and_not_run_again(
    corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "made_up.jsonl"
    usual = {"out": out, "work": tmp_path / "work", "steps": 3, "encoder": "tiny"}
    losses = ("ce", "wce", "dl", "fl")
    lines: list[str] = []
    own_data.run_draw(corpus, 0, losses=losses, say=lines.append, **usual)
    records = runs.read_records(out)
    grid = [r for r in records if r["parameters"]["loss"] != "fit"]
    assert len(grid) == 3 * len(losses)
    assert records[-1]["parameters"]["loss"] == "fit"
    (told,) = records[-1]["history"]
    # The fit chose among the grid's settings, by validation alone.
    of_fit = [r for r in grid if r["parameters"]["loss"] in ("ce", "wce", "dl")]
    of_arm = [r for r in of_fit if r["parameters"]["loss"] == told["loss"]]
    assert (
        own_data.best(of_arm, "validation_tuned")["parameters"]["learning_rate"]
        == told["learning_rate"]
    )
    if told["seed"] == 0:
        same = next(r for r in of_arm if r["parameters"]["learning_rate"] == told["learning_rate"])
        assert same["metrics"]["test_tuned"] == records[-1]["metrics"]["test_tuned"]
    monkeypatch.setattr("dicelab.fit.training._train", lambda *a: pytest.fail("trained again"))
    kept = [r for r in records if r["parameters"]["loss"] != "fl"]
    out.unlink()
    for record in kept[:-1]:
        runs.append_record(out, record)
    own_data.run_draw(corpus, 0, losses=losses, say=lines.append, **usual)
    again = runs.read_records(out)
    assert len(again) == len(records)
    assert again[-1]["metrics"] == records[-1]["metrics"]


def test_the_table_compares_within_a_draw() -> None:
    def record(loss: str, draw: int, validation: float, test: float) -> dict[str, Any]:
        given = own_data.parameters_of("mrpc", draw, loss, 1e-3, 0, 100, "minilm")
        scores = {
            "validation": {"f1": -validation},
            "validation_tuned": {"f1": validation},
            "test": {"f1": test - 5},
            "test_tuned": {"f1": test},
            "test_tuned_mean": {"f1": test + 1},
        }
        return {"parameters": given, "metrics": scores, "history": [{"loss": "dl"}]}

    records = [
        record("ce", 0, 50, 40),
        record("dl", 0, 60, 41),
        record("fl", 0, 10, 45),
        record("fit", 0, 60, 42),
        record("ce", 1, 90, 90),
    ]
    (row,) = own_data.table(records).to_dict("records")
    assert row == {
        "corpus": "mrpc",
        "draw": 0,
        "loss": "dl",
        "fit": 42,
        "fit, mean of seeds": 43,
        "the grid's loss": "dl",
        "grid": 41,
        "grid at argmax": 40,
        "best on test": 45,
    }


def test_what_is_recorded_was_planned(root: Path) -> None:
    folder = root / "results" / "own_data"
    records = runs.read_records(folder) if folder.is_dir() else []
    frame = pd.json_normalize([r["parameters"] for r in records])
    if frame.empty:
        pytest.skip("no draw is recorded yet")
    assert set(frame["corpus"]) <= set(own_data.CORPORA)
    assert set(frame["steps"]) == {own_data.STEPS}
    assert not frame.duplicated(["corpus", "draw", "loss", "learning_rate", "seed"]).any()
    for (corpus, draw), of in frame.groupby(["corpus", "draw"]):
        if "fit" in set(of["loss"]):
            assert len(of) == 19, (corpus, draw)

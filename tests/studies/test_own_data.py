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
    usual: dict[str, Any] = {"out": out, "work": tmp_path / "work", "encoder": "tiny"}
    usual |= {"steps": 3, "rates": (1e-3,), "losses": ("ce",), "seeds": 1, "device": "cpu"}
    noise = np.random.default_rng(0).normal(size=(154, 3))  # what the tiny encoder would say
    monkeypatch.setattr(own_data, "_embedded", lambda inputs: (noise[:104], noise[104:]))
    own_data.run_draw(corpus, 0, ("fit", "words"), **usual)
    own_data.run_draw(corpus, 0, ("characters", "stacked", "trainer"), **usual)
    records = runs.read_records(out)
    methods = ["fit", "words", "characters", "stacked", "trainer"]
    assert [r["parameters"]["method"] for r in records] == methods
    found = {r["parameters"]["method"]: r["metrics"]["test"]["f1"] for r in records}
    # A text is positive where it holds a certain word, which words alone can see.
    assert min(found[name] for name in methods[1:4]) > 95
    (chose,) = records[0]["history"]
    assert found["fit"] == pytest.approx(chose["of"][chose["kept"]], abs=1e-3)
    assert chose["validation"][chose["kept"]] == max(chose["validation"].values())
    assert {"words", "ce"} <= set(chose["of"])
    for method in ("fit", "trainer"):
        monkeypatch.setattr(own_data, method, lambda *a: pytest.fail("run again"))
    own_data.run_draw(corpus, 0, ("fit", "words", "trainer"), **usual)
    assert runs.read_records(out) == records


def test_the_table_compares_within_a_draw() -> None:
    def record(corpus: str, draw: int, method: str, f1: float) -> dict[str, Any]:
        given = own_data.parameters_of(corpus, draw, method, "minilm")
        return {"parameters": given, "metrics": {"test": {"f1": f1}}}

    scores = own_data.table(
        [
            record("wnut17", 0, "fit", 40.0),
            record("wnut17", 0, "trainer", 20.0),
            record("mrpc", 0, "fit", 80.0),
            record("mrpc", 0, "words", 83.0),
            record("mrpc", 1, "fit", 82.0),
            record("mrpc", 1, "words", 81.0),
            record("mrpc", 2, "words", 10.0),
        ]
    )
    assert list(scores.columns) == ["fit", "words", "trainer"]
    assert list(scores.index) == [("mrpc", 0), ("mrpc", 1), ("mrpc", 2), ("wnut17", 0)]
    assert own_data.means(scores).loc["mrpc", "fit"] == 81.0
    assert own_data.gaps(scores, "words").to_dict() == {"mrpc": -1.0}
    assert own_data.gaps(scores, "trainer").to_dict() == {"wnut17": 20.0}
    of_corpora = pd.Series({"goemotions_fear": 1.0, "goemotions_desire": 4.0, "mrpc": 7.0})
    assert own_data.by_source(of_corpora).to_dict() == {"goemotions": 2.5, "mrpc": 7.0}


def test_what_is_recorded_was_planned() -> None:
    frame = pd.DataFrame([r["parameters"] for r in runs.kept_records("own_data")])
    assert not frame.duplicated(["corpus", "draw", "method"]).any()
    for row in frame.itertuples():
        assert row.method in own_data.CORPORA[row.corpus].methods
        assert row.draw in range(own_data.DRAWS)

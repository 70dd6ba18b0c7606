"""studies/data_size.py: what a fit of fewer rows is given, and the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dicelab.fit.data import read
from dicelab.fit.options import Options
from studies import data_size, own_data
from studies.own_data import Corpus


def test_fewer_rows_are_the_first_of_the_draw_and_the_test_rows_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"sentence": f"text {i}", "label": i % 2} for i in range(120)]
    monkeypatch.setitem(
        own_data.CORPORA, "made_up", Corpus(lambda rng: (rows, rows[:30]), (64, 40, 30), rate=1e-3)
    )
    asked: list[Options] = []

    def fit(options: Options, say: Any) -> tuple[float, dict[str, Any]]:
        asked.append(options)
        return 50.0, {"kept": "words", "of": {"words": 50.0, "ce": 40.0 + len(asked)}}

    monkeypatch.setattr(own_data, "fit", fit)
    records = [data_size.run("made_up", 0, share, tmp_path) for share in (0.25, 1.0)]
    quarter, whole = (read(options).splits for options in asked)
    assert [len(quarter[name]) for name in ("train", "validation", "test")] == [16, 10, 30]
    assert [len(whole[name]) for name in ("train", "validation", "test")] == [64, 40, 30]
    assert quarter["train"]["sentence"][:] == whole["train"]["sentence"][:16]
    assert quarter["test"]["sentence"][:] == whole["test"]["sentence"][:]
    assert {(options.rates, options.steps) for options in asked} == {((1e-3,), data_size.STEPS)}
    table = data_size.table(records)
    assert table["ce"].to_dict() == {("made_up", 0, 16): 41.0, ("made_up", 0, 64): 42.0}

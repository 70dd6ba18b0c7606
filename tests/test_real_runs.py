"""What a run on a real corpus leaves, and how a page shows it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from dicelab import real_runs
from dicelab.training.experiment import Experiment


def page(folder: str = "") -> dict[str, object]:
    history = [{"validation_f1": 40.0}, {"validation_f1": 50.0}]
    measured = {"device": "cpu, 1 threads", "seconds": 12.3}
    return real_runs.keep(
        Experiment(corpus="embedded-entities-en", loss="ce", epochs=2, output_dir=folder),
        data={"train": 7},
        results={"ce": SimpleNamespace(history=history, measured=measured)},
        scores=[{"model": "ce", "decision": "tuned", "f1": 50.04, "interval": [40.0, 60.0]}],
        own=["a sentence"],
    )


def test_an_interval_is_that_of_scikit_learn_over_the_same_draws() -> None:
    rng = np.random.default_rng(3)
    gold, predicted = rng.integers(0, 2, (2, 60))
    counts = np.stack([gold * predicted, gold + predicted], axis=-1)
    found = real_runs.resampled(counts, lambda sums: 2 * sums[:, 0] / sums[:, 1], seed=5)
    drawn = real_runs.resampled(counts, lambda sums: 200 * sums[:, 0] / sums[:, 1])
    assert real_runs.f1_interval(gold * predicted, gold + predicted) == pytest.approx(drawn)
    draws = np.random.default_rng(5).integers(60, size=(real_runs.DRAWS, 60))
    each = [f1_score(gold[rows], predicted[rows]) for rows in draws]
    assert found == pytest.approx(np.quantile(each, [0.025, 0.975]))


def test_an_interval_of_an_accuracy_is_nearly_the_normal_one() -> None:
    right = (np.arange(900) < 600)[:, None]
    low, high = real_runs.resampled(right, lambda sums: sums[:, 0] / 900)
    half = stats.norm.ppf(0.975) * np.sqrt(2 / 3 * 1 / 3 / 900)
    assert (low, high) == pytest.approx((2 / 3 - half, 2 / 3 + half), abs=0.003)


def test_a_page_is_written_where_there_is_a_folder_and_does_not_name_it(tmp_path: Path) -> None:
    kept = page(str(tmp_path / "run"))
    assert json.loads((tmp_path / "run" / "page.json").read_text()) == kept
    assert kept["parameters"]["output_dir"] == ""
    assert kept["own"] == ["a sentence"]
    assert kept["history"]["ce"][1]["validation_f1"] == 50.0
    page()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_page_is_described_and_tabled(capsys: pytest.CaptureFixture[str]) -> None:
    real_runs.describe(page(), "ce")
    assert "2 passes, batches of 32" in capsys.readouterr().out
    table = real_runs.score_table(page(), {"f1": "F1"}, {})
    wanted = {"F1": "50.0", "95% of F1": "[40.0, 60.0]"}
    assert table.loc[("cross entropy", "tuned")].to_dict() == wanted
    assert isinstance(table, pd.DataFrame)


def test_the_curves_are_those_of_the_history(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    monkeypatch.setattr(real_runs.plt, "show", lambda: shown.append(real_runs.plt.gcf()))
    real_runs.learning_curves(page())
    (line,) = shown[0].axes[0].get_lines()
    assert line.get_xydata().tolist() == [[1, 40], [2, 50]]
    assert line.get_label() == "cross entropy"
    real_runs.plt.close(shown[0])


def test_a_run_that_starts_near_zero_is_dotted(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    monkeypatch.setattr(real_runs.plt, "show", lambda: shown.append(real_runs.plt.gcf()))
    for name in ("cross entropy, near 0", "cross entropy, log prior"):
        real_runs.learning_curves(page(), names={"ce": name})
    looks = [figure.axes[0].get_lines()[0].get_linestyle() for figure in shown]
    assert looks == [":", "-"]
    real_runs.plt.close("all")

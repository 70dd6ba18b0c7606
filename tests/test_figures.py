"""The shared plots: what is drawn is what was given."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

from dicelab import figures
from dicelab.records import searched, speed
from dicelab.training.experiment import LOSSES
from tests import made_up_study


@pytest.fixture(autouse=True)
def axes():
    with mpl.rc_context():
        figures.use_style()
        _, ax = plt.subplots()
        yield ax
        plt.close("all")


def test_losses_keep_their_colour_and_differ_from_each_other() -> None:
    names = LOSSES
    looks = [figures.style(name) for name in names]
    assert len({look["color"] for look in looks}) == len(names)
    assert len({str(look["linestyle"]) for look in looks}) == len(names)
    assert figures.style("binary_dsc") == figures.style("DSC, alpha=0.1") == figures.style("dsc")
    assert figures.style("majority")["color"] not in {look["color"] for look in looks}


def test_lines_of_equal_f1_are_of_equal_f1(axes) -> None:
    figures.precision_recall({"ce": ([0.5, 1.0], [1.0, 0.0])})
    *equal, drawn = axes.lines
    assert drawn.get_xydata().tolist() == [[1, 0.5], [0, 1]]
    for line, f1 in zip(equal, (0.2, 0.4, 0.6, 0.8), strict=True):
        recall, precision = line.get_xydata().T
        np.testing.assert_allclose(2 * precision * recall / (precision + recall), f1)
        assert precision.max() <= 1 + 1e-9


def test_training_curves_draw_mean_and_interval(axes) -> None:
    figures.training_curves({"ce": [[1.0, 2.0], [3.0, 2.0]]}, [1, 2])
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [2, 2])
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    # Student's t with one degree of freedom: 12.706 standard errors of 1 at the first step.
    assert band.max() == pytest.approx(2 + 12.7062, abs=1e-3)


def test_a_forest_has_every_task_and_each_mean(axes, tmp_path) -> None:
    made_up_study.write(tmp_path)
    effects = searched.effects_of(searched.read_tasks(tmp_path), searched.PRIMARY)
    over = searched.pool(effects)
    groups = {name: [e for e in effects if e.stratum == name] for name in over.strata}
    figures.forest(groups, over, ax=axes)
    at = {
        label.get_text(): tick
        for tick, label in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)
    }
    drawn = {
        line.get_ydata()[0]: line.get_xdata()[0]
        for line in axes.lines
        if len(line.get_xdata()) == 1
    }
    wanted = {e.task: e.mean for e in effects} | {s: m.mean for s, m in over.strata.items()}
    wanted["over all"] = over.over_all.mean
    assert {name: drawn[tick] for name, tick in at.items()} == wanted
    bold = {x.get_text() for x in axes.get_yticklabels() if x.get_fontweight() == "bold"}
    assert bold == {*over.strata, "over all"}
    assert axes.yaxis_inverted()
    for name, found in groups.items():
        assert at[name] == max(at[e.task] for e in found) + 1, "the mean is below its tasks"


def test_finished_runs_stand_at_their_steps(axes, root) -> None:
    records = speed.read_corpora()["mrpc"]
    figures.by_steps(records, ax=axes)
    drawn = {line.get_label(): line.get_linestyle() for line in axes.lines}
    assert list(drawn) == [name for arm, name in speed.ARMS.items() if arm != "wce"]
    assert all((look == ":") == ("near 0" in name) for name, look in drawn.items())
    arms = (arm for arm in speed.ARMS if arm != "wce")
    for line, arm in zip(axes.lines, arms, strict=True):
        steps, f1 = speed.scores(records, arm, "tuned")
        assert line.get_xdata().tolist() == steps
        assert line.get_ydata().tolist() == f1.mean(0).tolist()
    assert axes.get_xscale() == "log"
    assert axes.get_ylim()[0] >= 0
    assert axes.get_legend() is None

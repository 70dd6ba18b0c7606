"""What searches leave open, on runs made up so that each number is known beforehand."""

from __future__ import annotations

from typing import Any

import pytest

from dicelab.records import left_open
from dicelab.records.analysis import CHECKPOINTS, Effect, Evidence, pool


def _final(steps: int, f1: float, curve: list[float], trial: int) -> dict[str, Any]:
    return {
        "validation": {"tuned": {"steps": steps, "f1": f1}},
        "curve": {"tuned": curve},
        "trial": trial,
    }


@pytest.fixture
def runs() -> Evidence:
    last, before = CHECKPOINTS[-1], CHECKPOINTS[-2]
    return Evidence(
        finals={
            ("one", "dice", "tuned"): {
                0: _final(last, 50, [1, 2, 3, 4, 40, 50], 7),
                1: _final(before, 40, [1, 2, 3, 4, 40, 38], 7),
            },
            ("two", "dice", "tuned"): {0: _final(last, 30, [1, 2, 3, 4, 29, 30], 3)},
            ("one", "dsc", "tuned"): {0: _final(last, 50, [1] * 6, 7)},
            ("two", "dsc", "tuned"): {0: _final(last, 50, [1] * 6, 4)},
        },
        search={
            ("one", "dice"): [{"validation": {"tuned": {"f1": x}}} for x in (10, 48, 20)],
            ("two", "dice"): [{"validation": {"tuned": {"f1": x}}} for x in (31, 30)],
        },
    )


def test_finals_at_the_last_checkpoint_are_counted(runs: Evidence) -> None:
    assert left_open.at_last_checkpoint(runs, "dice", ["one", "two"]) == (2, 3)
    assert left_open.at_last_checkpoint(runs, "dice", ["two"]) == (1, 1)


def test_the_late_gain_is_a_mean_over_finals_and_not_over_tasks(runs: Evidence) -> None:
    assert left_open.late_gain(runs, "dice", ["one", "two"]) == pytest.approx((10 - 2 + 1) / 3)


def test_a_winner_stands_above_the_mean_of_its_finals(runs: Evidence) -> None:
    above = left_open.winner_above_finals(runs, "dice", ["one", "two"])
    assert above == pytest.approx(((48 - 45) + (31 - 30)) / 2)


def _effect(corpus: str, mean: float, imbalance: float) -> Effect:
    return Effect(corpus, corpus, imbalance, mean, mean - 1, mean + 1, 0.5, 1, 1, 1, 20)


def test_the_plain_mean_has_no_slope() -> None:
    effects = [_effect(str(i), float(i), 2.0 + i) for i in range(5)]
    plain, sloped = left_open.mean_over(effects), pool(effects)
    assert plain
    assert sloped
    assert plain.mu == pytest.approx(2)
    assert sloped.mu != pytest.approx(2, abs=0.5)


def test_the_other_models_join_sources_and_leave_corpora_out() -> None:
    names = ["uner_en_ewt", "ud_en_ewt", "squad11", "mrpc", "crossner_ai", "crossner_music", "qqp"]
    models = left_open.other_models([_effect(n, i / 5, 5.0 + i) for i, n in enumerate(names)])
    assert {name: (m.tasks, m.corpora) for name, m in models.items() if m} == {
        "as in the protocol": (7, 7),
        "UNER and EWT one source": (7, 6),
        "eight sources, a task effect": (7, 5),
        "without SQuAD": (6, 6),
    }
    assert models["nine negatives or more per positive"] is None, "three corpora are too few"

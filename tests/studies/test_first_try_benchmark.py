"""What the benchmark of first tries says about gradients, against derivatives by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dicelab.records import runs
from studies import first_try

ROOT = Path(__file__).resolve().parents[2]
WORDS, ENTITIES, CLASSES = 600, 3, 13


def nearly_all_outside(p):
    """One batch: three entity words of class 1, the rest ``O``; every entity class has ``p``."""
    logits = np.full((1, WORDS, CLASSES), np.log(p))
    logits[..., 0] = np.log(1 - (CLASSES - 1) * p)
    labels = np.zeros((1, WORDS), dtype=np.int64)
    labels[0, :ENTITIES] = 1
    return logits, labels


def by_hand(setup, p):
    """Minus the slope of a present class's share of the loss, when the logit of O moves alone."""
    n, a, gamma = WORDS, ENTITIES, setup.smooth
    mass = n * p**2 if setup.squared else n * p
    mass_slope = 2 * n * p if setup.squared else n
    above, below = 2 * a * p + gamma, mass + a + gamma
    slope_in_p = -(2 * a * below - above * mass_slope) / below**2
    p_outside = 1 - (CLASSES - 1) * p
    return slope_in_p * p * p_outside / CLASSES  # dp/dx_O = -p p_O, minus the gradient


@pytest.mark.parametrize("p", [1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("smooth", [1.0, 1e-4])
def test_pull_of_the_class_in_the_batch(p, squared, smooth):
    setup = replace(first_try.LINEAR, squared=squared, smooth=smooth)
    found = first_try.pulls(setup, *nearly_all_outside(p), outside=0)
    assert found["predicted_outside"] == 1
    assert found["p_gold_of_entities"] == pytest.approx(p)
    assert found["pulls"]["present"]["outside_bias"] == pytest.approx(by_hand(setup, p))


def test_near_zero_only_the_linear_form_with_smoothing_pulls_a_class_to_zero():
    linear, squared = first_try.LINEAR, first_try.SQUARED
    assert by_hand(linear, 1e-6) > 0
    assert by_hand(squared, 1e-6) < 0
    assert by_hand(replace(linear, smooth=1e-4), 1e-6) < 0


def test_what_is_left_out_has_no_pull():
    logits, labels = nearly_all_outside(1e-3)
    setup = replace(first_try.LINEAR, absent="skip", outside=False)
    found = first_try.pulls(setup, logits, labels, outside=0)["pulls"]
    assert found["absent"]["norm"] == found["O"]["norm"] == 0 < found["present"]["norm"]


def test_records_tell_setups_apart_and_name_every_option():
    keys = {
        first_try.key(first_try.parameters_of(task, setup, seed))
        for task in first_try.TASKS
        for setup in first_try.SETUPS.values()
        for seed in range(2)
    }
    distinct = len(set(map(repr, first_try.SETUPS.values())))
    assert len(keys) == 2 * distinct * len(first_try.TASKS)


def recorded(split):
    """F1 of a split by the key of the run."""
    records = runs.read_records(ROOT / "results" / "first_try.jsonl")
    return {first_try.key(r["parameters"]): r["metrics"][split]["f1"] for r in records}


def key_of(task, setup, seed):
    return first_try.key(first_try.parameters_of(task, first_try.SETUPS[setup], seed))


def test_no_default_costs_five_points_anywhere():
    """The promise of the README, on the records: validation F1, every corpus, every seed."""
    found = recorded("validation")
    for task in first_try.TASKS:
        setups = first_try.defaults(task)
        for seed in range(3):
            f1 = {loss: found[key_of(task, setup, seed)] for loss, setup in setups.items()}
            assert min(f1.values()) > f1["ce"] - 5, (task, seed, f1)

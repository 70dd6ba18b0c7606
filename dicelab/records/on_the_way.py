"""F1 during the training of all layers (Stage B): by step, and one loss less another at a step."""

from __future__ import annotations

import numpy as np

from dicelab.records.analysis import Evidence
from dicelab.records.runs import Interval, interval

SCORES = {"tuned": "validation_f1", "argmax": "validation_argmax_f1"}


def curves(runs: Evidence, task: str, arm: str, how: str = "tuned") -> tuple[list[int], np.ndarray]:
    """Validation F1 after each pass.

    Args:
        runs: One cell of ``Evidence.read_fine_tuned``.
        task: The task's name.
        arm: The loss's name.
        how: ``"tuned"`` or ``"argmax"``.

    Returns:
        The steps of the passes, and F1 in percent, ``[draws, passes]``, in the order of the seeds.
    """
    finals = runs.finals[task, arm, how]
    told = [finals[seed]["history"] for seed in sorted(finals)]
    return (
        [entry["step"] for entry in told[0]],
        np.array([[entry[SCORES[how]] for entry in one] for one in told]),
    )


def less_at_step(runs: Evidence, task: str, arm: str, step: int, other: str = "ce") -> Interval:
    """Validation F1, tuned, of one loss less another after a number of steps, draw by draw.

    Raises:
        ValueError: The two losses have other draws, or no pass ends at the step.
    """
    seeds = [runs.finals[task, name, "tuned"].keys() for name in (arm, other)]
    if seeds[0] != seeds[1]:
        raise ValueError(f"expected the same draws of {arm} and {other}, got {seeds}")
    steps, ours = curves(runs, task, arm)
    _, theirs = curves(runs, task, other)
    if step not in steps:
        raise ValueError(f"no pass ends at step {step}; passes end at {steps}")
    at = steps.index(step)
    return interval((ours[:, at] - theirs[:, at]).tolist())

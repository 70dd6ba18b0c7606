"""Which tasks of the evidence are alike: their form, and whether use differs from training."""

from __future__ import annotations

from collections.abc import Iterable

from dicelab.records.analysis import Effect, Evidence

TAGS, DECISIONS, SHIFTED = "tags", "yes or no", "yes or no, shifted"
RATIO = 1.5  # of the share of positives in training to that in the test


def shifted(runs: Evidence, task: str) -> bool:
    """Whether the share of positives in training is ``RATIO`` times that of the test, or less."""
    train, test = (
        size["positive"] / size["rows"]
        for size in (runs.tasks[task]["sizes"][part] for part in ("train", "test"))
    )
    return not 1 / RATIO < train / test < RATIO


def stratum(runs: Evidence, task: str) -> str:
    """``TAGS``, ``DECISIONS`` or ``SHIFTED``.

    Raises:
        ValueError: A shifted task of tags, for which there is no stratum.
    """
    moved = shifted(runs, task)
    if runs.tasks[task]["form"] == "tags":
        if moved:
            raise ValueError(f"expected tags with the same share of positives in use: {task}")
        return TAGS
    return SHIFTED if moved else DECISIONS


def by_stratum(runs: Evidence, effects: Iterable[Effect]) -> dict[str, list[Effect]]:
    """Effects by the stratum of their task, each list from the smallest mean to the largest."""
    found: dict[str, list[Effect]] = {TAGS: [], DECISIONS: [], SHIFTED: []}
    for effect in sorted(effects, key=lambda e: e.mean):
        found[stratum(runs, effect.task)].append(effect)
    return found

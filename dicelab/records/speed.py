"""What Stage B2 asks: how high F1 is over the logarithm of the steps, one arm minus another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dicelab.metrics.counts import Counts
from dicelab.metrics.intervals import paired
from dicelab.records import kept
from dicelab.records.analysis import RESAMPLES, Record, percent_f1, read
from dicelab.records.decided import DrawEffect
from dicelab.records.searched import ARM_NAMES

SHORT, LONG = 38, 307  # steps of the runs that pages compare
# As pictures call them.
CORPORA = {
    "crossner_politics": "CrossNER politics",
    "wnut17": "WNUT 2017",
    "mrpc": "MRPC",
    "goemotions_fear": "GoEmotions, fear",
}
ARMS = {
    "ce_start": ARM_NAMES["ce_start"],
    "ce": "cross entropy, near 0",
    "dice_start": ARM_NAMES["dice_start"],
    "dice": ARM_NAMES["dice"],
    "dice_both": "dice of both classes, log prior",
    "dice_both_zero": "dice of both classes, near 0",
    "wce": "class weights, near 0",
}


def read_corpora(folder: Path | None = None) -> dict[str, list[Record]]:
    """The records of Stage B2, by corpus.

    Args:
        folder: Of JSON Lines, as the runner leaves them; by default the tables of this package.
    """
    if folder is None:
        return kept.layers()
    return {name: read(folder / f"b-{name}.jsonl") for name in CORPORA}


def shares(steps: Sequence[int]) -> np.ndarray:
    """What each number of steps counts in the mean height of a curve over their logarithm.

    Args:
        steps: Ascending, two at least.

    Returns:
        Trapezoids' weights ``[len(steps)]``, whose sum is 1.
    """
    gaps = np.diff(np.log(steps))
    return (np.append(gaps, 0) + np.insert(gaps, 0, 0)) / 2 / gaps.sum()


def scores(records: Sequence[Record], arm: str, how: str) -> tuple[list[int], np.ndarray]:
    """Test F1 of the finals of an arm.

    Args:
        records: Of one corpus.
        arm: The arm.
        how: The way of deciding.

    Returns:
        The numbers of steps, ascending, and F1 in percent, ``[draws, steps]``, of the draws that
        have them all.
    """
    by_seed: dict[int, dict[int, float]] = {}
    for r in records:
        if (r["kind"], r.get("arm")) == ("final", arm):
            by_seed.setdefault(r["seed"], {})[r["steps"]] = r["test"][how]["f1"]
    steps = sorted({n for of_draw in by_seed.values() for n in of_draw})
    whole = [of_draw for _, of_draw in sorted(by_seed.items()) if len(of_draw) == len(steps)]
    f1 = np.array([[of_draw[n] for n in steps] for of_draw in whole])
    return steps, f1.reshape(len(whole), len(steps))


def by_rate(records: Sequence[Record], arm: str, length: int) -> tuple[list[float], np.ndarray]:
    """Validation F1, threshold tuned, of the searches of an arm.

    Args:
        records: Of one corpus.
        arm: The arm.
        length: Steps before the rate falls to zero, 64 or 256.

    Returns:
        The learning rates, ascending, and F1 in percent, of shape ``[draws, rates]``.
    """
    f1: dict[float, dict[int, float]] = {}
    for r in records:
        if (r["kind"], r["arm"], r["length"]) == ("search", arm, length):
            f1.setdefault(r["rate"], {})[r["seed"]] = r["validation"]["tuned"]["f1"]
    rates = sorted(f1)
    seeds = sorted({seed for of_rate in f1.values() for seed in of_rate})
    return rates, np.array([[f1[rate][seed] for rate in rates] for seed in seeds])


def faster(
    records: Sequence[Record], first: str, second: str, how: str, *, after: int | None = None
) -> DrawEffect | None:
    """The area under test F1 of an arm minus that of another, on one corpus.

    The interval is over draws and blocks of neighbouring test sentences, see
    :func:`dicelab.metrics.intervals.paired`.

    Args:
        records: Of one corpus.
        first: An arm.
        second: The one that is taken off.
        how: The way of deciding.
        after: A number of steps: test F1 of the runs of this length, in place of the area.

    Returns:
        None where fewer than two draws have both arms at every length.
    """
    ended = {(r["arm"], r["seed"], r["steps"]): r for r in records if r["kind"] == "final"}
    steps = sorted({n for _, _, n in ended if after in (None, n)})
    seeds = [
        s
        for s in sorted({s for _, s, _ in ended})
        if all((arm, s, n) in ended for arm in (first, second) for n in steps)
    ]
    if len(seeds) < 2 or len(steps) < (2 if after is None else 1):
        return None
    blocks = np.array(
        [
            [ended[arm, s, n]["test"][how]["blocks"] for s in seeds]
            for arm in (first, second)
            for n in steps
        ]
    )  # [2 lengths, draws, 2, blocks]
    true_positive, predicted = np.moveaxis(blocks, 2, 0)
    gold = np.array(ended[first, seeds[0], steps[0]]["gold"])
    counts = Counts(true_positive, predicted, np.broadcast_to(gold, predicted.shape))
    part = shares(steps) if after is None else np.ones(1)
    signs = np.concatenate([part, -part])
    found = paired(counts, percent_f1, signs.tolist(), resamples=RESAMPLES)
    return DrawEffect(found.mean, found.low, found.high, len(seeds))

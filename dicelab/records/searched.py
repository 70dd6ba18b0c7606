"""The analysis of ``docs/protocol_2.md``: effects that hold the scatter of searches; the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats

from dicelab.metrics.counts import Counts
from dicelab.metrics.intervals import bounds, weights
from dicelab.records import kept
from dicelab.records.analysis import (
    Fit,
    Record,
    detectable,
    equivalence,
    holm,
    percent_f1,
    read,
    restricted,
)

RESAMPLES = 4000
SIGNS = np.array([1, -1, -1, 1])  # of the arms of a contrast, and of one that is subtracted
Decided = tuple[str, str]  # an arm and its way of deciding


class Contrast(NamedTuple):
    """One arm and way of deciding minus another."""

    first: Decided
    second: Decided

    @property
    def name(self) -> str:
        """In words."""
        (a, how), (b, second_how) = self.first, self.second
        first, second = (IN_WORDS.get(arm, arm) for arm in (a, b))
        text = f"{first}, {how} minus {second_how}" if a == b else f"{first} minus {second}, {how}"
        return text.replace("plug_in", "plug-in").replace("_", " ")


# As a contrast calls them: cross entropy starts at the log prior where nothing else is said.
IN_WORDS = {
    "ce_start": "cross entropy",
    "ce": "cross entropy from near 0",
    "wce": "class weights",
    "dice_start": "dice from the log prior",
}
# As tables call them: the loss, and where the output bias starts.
ARM_NAMES = {
    "ce_start": "cross entropy, log prior",
    "wce": "class weights",
    "dice": "dice, near 0",
    "dice_start": "dice, log prior",
}
PRIMARY = Contrast(("dice", "tuned"), ("ce_start", "tuned"))
AT_ARGMAX = Contrast(("dice", "argmax"), ("ce_start", "argmax"))
ALSO = (AT_ARGMAX, Contrast(("dice_start", "argmax"), ("ce_start", "argmax")))
PLUG_IN = Contrast(("ce_start", "plug_in"), ("ce_start", "tuned"))
OTHERS = tuple(
    Contrast((arm, how), (base, how))
    for arm, base in (("wce", "ce_start"), ("logit_adjustment", "ce_start"), ("ce_start", "ce"))
    for how in ("tuned", "argmax")
)


@dataclass(frozen=True)
class SearchEffect:
    """A contrast on one task, in points of F1.

    Attributes:
        mean: Over searches of the mean over their finals.
        error: Of the bootstrap over searches, finals and blocks of test sentences.
        of_searches: The standard deviation of the searches' means.
        searches: How many are complete.
        positives: Of both halves of validation.
    """

    task: str
    source: str
    stratum: str
    positives: int
    mean: float
    low: float
    high: float
    error: float
    of_searches: float
    searches: int

    def __str__(self) -> str:
        """The mean and its interval, signed, as in ``+4.9 [+2.4, +7.4]``."""
        return f"{self.mean:+.1f} [{self.low:+.1f}, {self.high:+.1f}]".replace("-", "−")


def finals_of(records: Sequence[Record], arm: str, how: str) -> Iterator[Record]:
    """The finals of an arm that were chosen for a way of deciding."""
    for r in records:
        if r["kind"] == "final" and r["arm"] == arm and how in r["chosen_for"]:
            yield r


def blocks_of(records: Sequence[Record], arm: str, how: str) -> dict[int, dict[int, np.ndarray]]:
    """Found and predicted positives ``[2, blocks]`` of the finals, by search and seed."""
    blocks: dict[int, dict[int, np.ndarray]] = {}
    for r in finals_of(records, arm, how):
        blocks.setdefault(r["search"], {})[r["seed"]] = np.array(r["test"][how]["blocks"])
    return blocks


def mean_f1(records: Sequence[Record], arm: str, how: str) -> float | None:
    """Mean F1 on the test set over all finals of an arm; None where there is none."""
    scores = [r["test"][how]["f1"] for r in finals_of(records, arm, how)]
    return float(np.mean(scores)) if scores else None


def effect(
    records: Sequence[Record], contrast: Contrast, minus: Sequence[Record] = ()
) -> SearchEffect | None:
    """A contrast on one task, of which the records are.

    Searches count whose finals have the same seeds for both; None if fewer than two do.

    Args:
        records: Of the task.
        contrast: What is compared.
        minus: Nothing, or the task with another head, whose contrast is subtracted.
    """
    task = next((r for r in records if r["kind"] == "task"), None)
    arms = [blocks_of(of, *which) for of in (records, minus) if of for which in contrast]
    most = max([len(seeds) for arm in arms for seeds in arm.values()], default=0)
    common = set.intersection(*map(set, arms)) if arms else set()
    whole = [
        s for s in sorted(common) if len(set.intersection(*(set(arm[s]) for arm in arms))) == most
    ]
    if task is None or len(whole) < 2:
        return None
    blocks = np.array(
        [[[arm[s][seed] for seed in sorted(arm[s])] for s in whole] for arm in arms]
    )  # [arms, searches, finals, 2, blocks]
    true_positive, predicted = np.moveaxis(blocks, 3, 0)
    actual = np.broadcast_to(task["blocks"], predicted.shape)
    counts = Counts(true_positive, predicted, actual)
    of_search = np.tensordot(SIGNS[: len(arms)], percent_f1(counts.sum(3)), axes=1).mean(-1)
    drawn = bootstrap(counts)
    low, high = bounds(drawn)
    return SearchEffect(
        task["task"],
        task["source"],
        task["stratum"],
        sum(task["sizes"][half]["positive"] for half in ("validation_1", "validation_2")),
        float(of_search.mean()),
        low,
        high,
        float(drawn.std(ddof=1)),
        float(of_search.std(ddof=1)),
        len(whole),
    )


def minus_start(records: Sequence[Record], arm: str, how: str) -> SearchEffect | None:
    """An arm minus cross entropy from the log prior on one task, both decided in the same way.

    Args:
        records: Of the task.
        arm: The arm.
        how: The way of deciding, of both.

    Returns:
        None if fewer than two searches of both have their finals.
    """
    return effect(records, Contrast((arm, how), ("ce_start", how)))


def gaps(
    tasks: Mapping[str, Sequence[Record]], names: Mapping[str, str]
) -> dict[str, dict[Decided, SearchEffect]]:
    """Dice from both starts minus cross entropy from the log prior, at argmax and tuned, by task.

    Args:
        tasks: Of ``read_tasks``.
        names: Of each task that is asked for the name under which it is returned.
    """
    return {
        name: {
            (arm, how): found
            for how in ("argmax", "tuned")
            for arm in ("dice", "dice_start")
            if (found := minus_start(tasks[task], arm, how))
        }
        for task, name in names.items()
    }


def compared(records: Sequence[Record], arms: Sequence[str]) -> dict[str, str]:
    """A task's baseline and the mean test F1 of some arms at argmax and tuned, as text.

    Args:
        records: Of the task.
        arms: Keys of :data:`ARM_NAMES`. Those that are not recorded are left out.
    """
    (task,) = (r for r in records if r["kind"] == "task")
    row = {"baseline": f"{task['baseline']:.1f}"}
    for how in ("argmax", "tuned"):
        for arm in arms:
            if (mean := mean_f1(records, arm, how)) is not None:
                row[f"{ARM_NAMES[arm]}, {how}"] = f"{mean:.1f}"
    return row


def bootstrap(counts: Counts, resamples: int = RESAMPLES) -> np.ndarray:
    """Searches, finals within a search, and blocks with replacement, the same for all arms.

    With ``S`` searches the bootstrap's variance of their mean is too small by ``(S - 1) / S``, so
    the draws are moved away from their mean by the root of its inverse.

    Args:
        counts: Of positives, ``[2, searches, finals, blocks]``; or ``[4, ...]``, of which the
            difference of the last two is subtracted from that of the first two.
        resamples: How many.
    """
    rng = np.random.default_rng(0)
    _, searches, finals, blocks = counts.predicted.shape
    scores = percent_f1(counts.resampled(weights(rng, blocks, resamples), axis=3))
    s = rng.integers(searches, size=(searches, 1, resamples))
    k = rng.integers(finals, size=(searches, finals, resamples))
    differences = np.tensordot(SIGNS[: scores.shape[1]], scores, axes=(0, 1))
    drawn = differences[np.arange(resamples), s, k].mean((0, 1))
    return drawn.mean() + (drawn - drawn.mean()) * (searches / (searches - 1)) ** 0.5


def at_last_checkpoint(tasks: Mapping[str, Sequence[Record]], arm: str, last: int) -> float:
    """The share of tasks on which the winner of an arm's first search, tuned, takes all steps.

    Args:
        tasks: Of ``read_tasks``.
        arm: The arm.
        last: The last checkpoint, in steps.
    """
    taken = []
    for records in tasks.values():
        searches = [
            r["validation"]["tuned"]
            for r in sorted(records, key=lambda r: r.get("trial", 0))
            if (r["kind"], r.get("arm"), r.get("search")) == ("search", arm, 0)
        ]
        taken.append(max(searches, key=lambda tuned: tuned["f1"])["steps"] == last)
    return sum(taken) / len(taken)


def read_tasks(folder: Path | None = None) -> dict[str, list[Record]]:
    """The records of Stage A2, by task.

    Args:
        folder: Of JSON Lines, as the runner leaves them, with those of Stage B2 as ``b-*.jsonl``
            beside them; by default the tables of this package.
    """
    if folder is None:
        return kept.frozen()
    files = sorted(path for path in folder.glob("*.jsonl") if not path.name.startswith("b-"))
    return {path.stem: read(path) for path in files}


def effects_of(
    tasks: Mapping[str, Sequence[Record]],
    contrast: Contrast,
    minus: Mapping[str, Sequence[Record]] | None = None,
) -> list[SearchEffect]:
    """A contrast on every task that has two whole searches of it.

    Args:
        tasks: Of ``read_tasks``.
        contrast: What is compared.
        minus: None, or the tasks with another head, whose contrast is subtracted.
    """
    found = (
        effect(records, contrast, () if minus is None else minus[name])
        for name, records in tasks.items()
    )
    return [e for e in found if e is not None]


class Estimate(NamedTuple):
    """A mean or a slope in points of F1, its 95% interval, and the p-value that it is 0."""

    mean: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Pooled:
    """A contrast over tasks: mean + stratum + source + task + noise.

    Attributes:
        over_all: The mean of the strata's means, after Hartung and Knapp, degrees of freedom by
            sources.
        strata: The mean of each stratum.
        slope: The change for ``e`` times as many positives in validation, if the model has it; the
            means are then those at the mean log of the positives.
        source, task: Standard deviations over sources, and over tasks of one source.
        equivalent: The p-value of the equivalence tests at half a point.
        detectable: The mean that would be found four times in five.
    """

    over_all: Estimate
    strata: dict[str, Estimate]
    slope: Estimate | None
    source: float
    task: float
    equivalent: float
    detectable: float


def pool(effects: Sequence[SearchEffect], *, by_positives: bool = False) -> Pooled:
    """The model over tasks, by REML.

    Args:
        effects: One a task.
        by_positives: Whether the log of the positives in validation has a slope.

    Raises:
        ValueError: No more sources than strata and slope.
    """
    sources = sorted({e.source for e in effects})
    strata = sorted({e.stratum for e in effects})
    df = len(sources) - len(strata) - by_positives
    if df < 1:
        raise ValueError(
            f"expected more sources than strata{' and slope' * by_positives}, "
            f"got {len(sources)} and {len(strata) + by_positives} of them"
        )
    d = np.array([e.mean for e in effects])
    noise = np.maximum([e.error for e in effects], 1e-3) ** 2
    member = np.array([[e.source == s for s in sources] for e in effects], dtype=float)
    design = np.array([[e.stratum == s for s in strata] for e in effects], dtype=float)
    if by_positives:
        log = np.log([e.positives for e in effects])
        design = np.column_stack([design, log - log.mean()])

    def fit(spread: Sequence[float]) -> Fit:
        source, task = spread
        return restricted(d, design, np.diag(noise + task**2) + source**2 * member @ member.T)

    top = 10 * max(1.0, float(np.ptp(d)))
    starts = [(x, y) for x in (0.0, 0.3, 2.0) for y in (0.0, 0.3, 2.0)]
    ends = [
        optimize.minimize(lambda t: -fit(t)[3], start, bounds=[(0, top)] * 2).x for start in starts
    ]
    best = max([*starts, *ends], key=lambda t: fit(t)[3])
    b, cover, rest, _ = fit(best)
    cover = cover * max(1.0, rest / (len(d) - design.shape[1]))
    half = stats.t.ppf(0.975, df)

    def estimate(weights: np.ndarray) -> tuple[Estimate, float]:
        mean, error = float(weights @ b), float((weights @ cover @ weights) ** 0.5)
        p = float(2 * stats.t.sf(abs(mean) / error, df))
        return Estimate(mean, mean - half * error, mean + half * error, p), error

    each = [estimate(row)[0] for row in np.eye(design.shape[1])]
    even = np.zeros(design.shape[1])
    even[: len(strata)] = 1 / len(strata)
    over_all, error = estimate(even)
    return Pooled(
        over_all,
        dict(zip(strata, each[: len(strata)], strict=True)),
        each[-1] if by_positives else None,
        float(best[0]),
        float(best[1]),
        equivalence(over_all.mean, error, df),
        detectable(error, df),
    )


def pooled_minus_start(tasks: Mapping[str, Sequence[Record]], arm: str, how: str) -> Pooled:
    """An arm minus cross entropy that starts at the prior, over tasks.

    Args:
        tasks: Of ``read_tasks``.
        arm: The arm.
        how: The way of deciding, of both.

    Raises:
        ValueError: Too few sources have two whole searches of both.
    """
    return pool(effects_of(tasks, Contrast((arm, how), ("ce_start", how))))


def secondary(
    tasks: Mapping[str, Sequence[Record]], also: Sequence[Contrast] = ()
) -> dict[str, tuple[Estimate, float]]:
    """The family of the secondary questions, each with its p-value after Holm's correction.

    Args:
        tasks: Of ``read_tasks``.
        also: What is asked over all tasks beside the protocol's questions, such as ``ALSO``.

    Returns:
        Nothing before every question can be answered, since the correction is for all of them.
    """
    estimates: dict[str, Estimate] = {}
    try:
        for name, of_stratum in pool(effects_of(tasks, AT_ARGMAX)).strata.items():
            estimates[f"{AT_ARGMAX.name}: {name}"] = of_stratum
        effects = effects_of(tasks, PLUG_IN)
        estimates[PLUG_IN.name] = pool(effects).over_all
        slope = pool(effects, by_positives=True).slope
        assert slope is not None
        estimates[f"{PLUG_IN.name}: for e times as many positives"] = slope
        for contrast in (*OTHERS, *also):
            estimates[contrast.name] = pool(effects_of(tasks, contrast)).over_all
    except ValueError:
        return {}
    adjusted = holm([estimate.p for estimate in estimates.values()])
    return {
        name: (estimate, p) for (name, estimate), p in zip(estimates.items(), adjusted, strict=True)
    }


def without_each_source(effects: Sequence[SearchEffect]) -> dict[str, Estimate]:
    """The mean over tasks with one source left out after the other.

    Raises:
        ValueError: What is left has no more sources than strata.
    """
    names = sorted({e.source for e in effects})
    return {name: pool([e for e in effects if e.source != name]).over_all for name in names}

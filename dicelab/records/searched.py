"""The analysis of ``docs/protocol_2.md``: effects that hold the scatter of searches; the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import optimize, stats

from dicelab.records.analysis import Fit, Record, detectable, equivalence, f1, read, restricted

RESAMPLES = 4000


@dataclass(frozen=True)
class Effect:
    """A contrast on one task, in points of F1.

    Attributes:
        mean: Over searches of the mean over their finals.
        error: Of the bootstrap over searches, finals and blocks of test sentences.
        of_searches: The standard deviation of the searches' means.
        searches: How many are complete.
    """

    task: str
    source: str
    stratum: str
    mean: float
    low: float
    high: float
    error: float
    of_searches: float
    searches: int


def blocks_of(records: Sequence[Record], arm: str, how: str) -> dict[int, dict[int, np.ndarray]]:
    """Found and predicted positives ``[2, blocks]`` of the finals, by search and seed."""
    found: dict[int, dict[int, np.ndarray]] = {}
    for r in records:
        if r["kind"] == "final" and r["arm"] == arm and how in r["chosen_for"]:
            found.setdefault(r["search"], {})[r["seed"]] = np.array(r["test"][how]["blocks"])
    return found


def effect(path: Path, one: tuple[str, str], other: tuple[str, str]) -> Effect | None:
    """One arm and way of deciding less another, on the task of a file.

    Searches count whose finals have the same seeds for both; None if fewer than two do.
    """
    records = read(path)
    task = next((r for r in records if r["kind"] == "task"), None)
    a, b = (blocks_of(records, *which) for which in (one, other))
    most = max([len(seeds) for seeds in (*a.values(), *b.values())], default=0)
    whole = [s for s in sorted(a.keys() & b.keys()) if len(a[s].keys() & b[s].keys()) == most]
    if task is None or len(whole) < 2:
        return None
    both = np.array(
        [[[x[s][seed] for seed in sorted(x[s])] for s in whole] for x in (a, b)]
    )  # [2, searches, finals, 2, blocks]
    gold = np.array(task["blocks"])
    scores = f1(both[..., 0, :].sum(-1), both[..., 1, :].sum(-1), gold.sum())
    of_search = (scores[0] - scores[1]).mean(-1)
    drawn = bootstrap(both, gold)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Effect(
        task["task"],
        task["source"],
        task["stratum"],
        float(of_search.mean()),
        float(low),
        float(high),
        float(drawn.std(ddof=1)),
        float(of_search.std(ddof=1)),
        len(whole),
    )


def bootstrap(both: np.ndarray, gold: np.ndarray, resamples: int = RESAMPLES) -> np.ndarray:
    """Searches, finals within a search, and blocks with replacement, the same for both arms.

    With ``S`` searches the bootstrap's variance of their mean is too small by ``(S - 1) / S``, so
    the draws are moved away from their mean by the root of its inverse.

    Args:
        both: ``[2, searches, finals, 2, blocks]``, found and predicted positives.
        gold: ``[blocks]``.
        resamples: How many.
    """
    rng = np.random.default_rng(0)
    _, searches, finals, _, size = both.shape
    drawn = np.empty(resamples)
    for i in range(resamples):
        s = rng.integers(searches, size=(searches, 1))
        k = rng.integers(finals, size=(searches, finals))
        weight = rng.multinomial(size, np.full(size, 1 / size))
        counts = both[:, s, k] @ weight
        scores = f1(counts[..., 0], counts[..., 1], gold @ weight)
        drawn[i] = (scores[0] - scores[1]).mean()
    return drawn.mean() + (drawn - drawn.mean()) * (searches / (searches - 1)) ** 0.5


@dataclass(frozen=True)
class Pooled:
    """A contrast over tasks: mean + stratum + source + task + noise.

    Attributes:
        mu, low, high: The mean of the strata's means, Hartung-Knapp, 95%, degrees of freedom by
            sources.
        strata: The mean of each stratum with its interval.
        source, task: Standard deviations over sources, and over tasks of one source.
        p: Of the test that mu is 0.
        equivalent: The p-value of the equivalence tests at half a point.
        detectable: The mu that would be found four times in five.
    """

    mu: float
    low: float
    high: float
    strata: dict[str, tuple[float, float, float]]
    source: float
    task: float
    p: float
    equivalent: float
    detectable: float


def pool(effects: Sequence[Effect]) -> Pooled:
    """The model over tasks, by REML.

    Raises:
        ValueError: No more sources than strata.
    """
    sources = sorted({e.source for e in effects})
    strata = sorted({e.stratum for e in effects})
    if len(sources) <= len(strata):
        raise ValueError(
            f"expected more sources than strata, got {len(sources)} and {len(strata)} of them"
        )
    d = np.array([e.mean for e in effects])
    noise = np.maximum([e.error for e in effects], 1e-3) ** 2
    member = np.array([[e.source == s for s in sources] for e in effects], dtype=float)
    design = np.array([[e.stratum == s for s in strata] for e in effects], dtype=float)

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
    cover = cover * max(1.0, rest / (len(d) - len(strata)))
    df = len(sources) - len(strata)
    even = np.full(len(strata), 1 / len(strata))
    mu, error = float(even @ b), float((even @ cover @ even) ** 0.5)
    half = stats.t.ppf(0.975, df)
    wide = half * np.sqrt(np.diag(cover))
    return Pooled(
        mu,
        mu - half * error,
        mu + half * error,
        {
            s: (float(m), float(m - h), float(m + h))
            for s, m, h in zip(strata, b, wide, strict=True)
        },
        float(best[0]),
        float(best[1]),
        float(2 * stats.t.sf(abs(mu) / error, df)),
        equivalence(mu, error, df),
        detectable(error, df),
    )


def without_each_source(effects: Sequence[Effect]) -> dict[str, float]:
    """The mean over tasks with one source left out after the other."""
    names = sorted({e.source for e in effects})
    return {name: pool([e for e in effects if e.source != name]).mu for name in names}

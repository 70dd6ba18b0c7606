"""The primary result of the second protocol, recomputed from its records by other code."""

from __future__ import annotations

from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pytest
from scipy import linalg, optimize, stats

from dicelab.records.searched import PRIMARY, effects_of, pool, read_tasks
from tests import made_up_study


def _differences(tasks: dict[str, list[dict[str, Any]]]) -> dict[str, float]:
    """Dice minus cross entropy, tuned, by loops over the records."""
    found = {}
    for name, lines in tasks.items():
        gold = sum(lines[0]["blocks"])
        of: dict[tuple[int, int], dict[str, float]] = {}
        for line in lines:
            if line["kind"] == "final" and "tuned" in line["chosen_for"]:
                right, called = map(sum, line["test"]["tuned"]["blocks"])
                score = 200 * right / (called + gold)
                of.setdefault((line["search"], line["seed"]), {})[line["arm"]] = score
        searches = {search for search, _ in of}
        of_search = {
            one: [x["dice"] - x["ce_start"] for (s, _), x in of.items() if s == one and len(x) > 1]
            for one in searches
        }
        whole = [x for x in of_search.values() if len(x) == 4]
        if len(whole) > 1:
            found[name] = mean(map(mean, whole))
    return found


def _over_tasks(
    d: np.ndarray, error: np.ndarray, source: list[str], stratum: list[str]
) -> tuple[float, float, float]:
    """Mean and interval by the density of error contrasts and by least squares on whitened rows."""
    sources, strata = sorted(set(source)), sorted(set(stratum))
    design = np.array([[float(s == mine) for s in strata] for mine in stratum])
    same = np.array([[float(a == b) for a in source] for b in source])
    contrasts = linalg.null_space(design.T).T

    def cover(spread: np.ndarray) -> np.ndarray:
        return np.diag(error**2 + spread[1] ** 2) + spread[0] ** 2 * same

    def surprise(spread: np.ndarray) -> float:
        v = contrasts @ cover(spread) @ contrasts.T
        return -float(stats.multivariate_normal.logpdf(contrasts @ d, cov=v))

    starts = [np.array([a, b]) for a in (0.0, 0.5, 2.0) for b in (0.0, 0.5, 2.0)]
    tried = [optimize.minimize(surprise, s, method="Nelder-Mead").x for s in starts]
    spread = min(tried, key=surprise)
    white = linalg.inv(linalg.cholesky(cover(spread), lower=True))
    b, rest, _, _ = np.linalg.lstsq(white @ design, white @ d, rcond=None)
    scale = max(1.0, float(rest[0]) / (len(d) - len(strata)))
    inner = linalg.inv(design.T @ linalg.inv(cover(spread)) @ design) * scale
    half = stats.t.ppf(0.975, len(sources) - len(strata)) * inner.sum() ** 0.5 / len(strata)
    return b.mean(), b.mean() - half, b.mean() + half


def _agrees(tasks: dict[str, list[dict[str, Any]]]) -> None:
    effects = effects_of(tasks, PRIMARY)
    assert {e.task: e.mean for e in effects} == pytest.approx(_differences(tasks))
    by_hand = _over_tasks(
        np.array([e.mean for e in effects]),
        np.array([e.error for e in effects]),
        [e.source for e in effects],
        [e.stratum for e in effects],
    )
    assert pool(effects).over_all[:3] == pytest.approx(by_hand, abs=2e-3)


def test_the_two_agree_on_made_up_records(tmp_path: Path) -> None:
    made_up_study.write(tmp_path)
    _agrees(read_tasks(tmp_path))


def test_the_two_agree_on_the_records() -> None:
    _agrees(read_tasks())

"""The caveats of docs/protocol.md and of the guide, each number from the records."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dicelab.records import analysis
from dicelab.records.analysis import Effect, Evidence

DOMAINS = {f"crossner_{d}" for d in ("ai", "literature", "music", "politics", "science")}
TAGS = {"wnut17", "wikigold", "uner_en_ewt", "ud_rare_tags", *DOMAINS}


@pytest.fixture(scope="module")
def runs(root: Path) -> Evidence:
    """Stage A."""
    return Evidence.read(root / "results" / "evidence")


@pytest.fixture(scope="module")
def primary(runs: Evidence) -> list[Effect]:
    """Dice less cross entropy, tuned."""
    return analysis.effects_of(runs, analysis.PRIMARY)


def text(root: Path, page: str) -> str:
    """A page on one line."""
    return " ".join((root / page).read_text(encoding="utf-8").split())


def told(mean: float, low: float, high: float, digits: int) -> str:
    """A mean and its interval as the pages print them."""
    words = [f"{x:.{digits}f}".replace("-", "−") for x in (mean, low, high)]
    words = [w.replace("0.", ".") if w.lstrip("−").startswith("0.") else w for w in words]
    return f"{words[0]} [{words[1]}, {words[2]}]"


def test_where_the_search_of_steps_ends(runs: Evidence, root: Path) -> None:
    page = text(root, "docs/protocol.md")
    chosen, gained = {}, {}
    for arm in ("dice", "ce"):
        finals = [r for t in TAGS for r in runs.finals[t, arm, "tuned"].values()]
        assert len(finals) == 180
        steps = [r["validation"]["tuned"]["steps"] for r in finals]
        chosen[arm] = steps.count(960)
        curves = np.array([r["curve"]["tuned"] for r in finals])
        gained[arm] = f"{(curves[:, 5] - curves[:, 4]).mean():.2f}".lstrip("0")
    assert (
        f"Of 180 tuned finals on tags {chosen['dice']} of dice and {chosen['ce']} of cross entropy"
        in page
    )
    assert (
        f"dice gains {gained['dice']} points of validation F1, cross entropy {gained['ce']}" in page
    )
    rates = [r["parameters"]["learning_rate"] for found in runs.search.values() for r in found]
    assert f"{min(rates):.5f}"[1:] + " to " + f"{max(rates):.4f}"[1:] in page


def test_one_source_and_no_squad(primary: list[Effect], root: Path) -> None:
    page = text(root, "docs/protocol.md")
    one = analysis.pool(primary, sources=analysis.ONE_SOURCE)
    without = analysis.pool([e for e in primary if e.task != "squad11_sentences"])
    assert one is not None
    assert without is not None
    assert one.corpora == 12
    assert f"As one, μ is {told(one.mu, one.mu_low, one.mu_high, 2)}" in page
    assert f"Without it μ is {told(without.mu, without.mu_low, without.mu_high, 2)}" in page


def test_few_tasks_are_imbalanced(primary: list[Effect], root: Path) -> None:
    rarer = [dataclasses.replace(e, imbalance=10.0) for e in primary if e.imbalance >= 9]
    assert len(rarer) == 7
    p = analysis.pool(rarer)
    assert p is not None
    assert f"The other seven leave {told(p.mu, p.mu_low, p.mu_high, 2)}" in text(
        root, "docs/protocol.md"
    )


def test_the_schedule_has_a_part_in_the_speed(root: Path) -> None:
    cells = Evidence.read_fine_tuned(root / "results" / "evidence")
    found = {}
    for passes, step in ((4, 68), (8, 68)):
        finals = cells[0, passes].finals
        at = [
            [
                next(p["validation_f1"] for p in finals[key][seed]["history"] if p["step"] == step)
                for seed in range(8)
            ]
            for key in (("crossner_politics", arm, "tuned") for arm in ("dice", "ce"))
        ]
        d = np.subtract(*at)
        low, high = stats.t.interval(0.95, 7, d.mean(), stats.sem(d))
        found[passes, step] = (d.mean(), low, high)
    long, short = (told(*found[passes, 68], 1) for passes in (8, 4))
    assert (
        f"dice is {long.replace(' [', ' points ahead on validation [', 1)}, in those of 68 {short}"
        in text(root, "docs/protocol.md")
    )


def test_a_task_effect_changes_what_weights_do_at_argmax(runs: Evidence, root: Path) -> None:
    def corrected(task: bool) -> float:
        pooled = {
            c.name: analysis.pool(analysis.effects_of(runs, c), task=task)
            for c in analysis.SECONDARY
        }
        p = analysis.holm([p.p for p in pooled.values() if p])
        return dict(zip(pooled, p, strict=True))["wce less ce, argmax"]

    assert f"a corrected p of {corrected(True):.3f} in place of {corrected(False):.3f}".replace(
        "0.", "."
    ) in text(root, "docs/protocol.md")


def test_the_search_scores_its_winner_too_high(runs: Evidence, root: Path) -> None:
    above = {}
    for arm in ("ce", "dice"):
        gaps = [
            max(r["validation"]["tuned"]["f1"] for r in runs.search[t, arm])
            - np.mean(
                [r["validation"]["tuned"]["f1"] for r in runs.finals[t, arm, "tuned"].values()]
            )
            for t in runs.tasks
        ]
        above[arm] = f"{np.mean(gaps):.1f}"
    page = text(root, "docs/protocol.md")
    both = f"{above['ce']} (cross entropy) and {above['dice']} points (dice)"
    assert f"{both} above that of their finals" in page


def test_two_losses_that_are_nearly_one_differ_by_the_luck_of_their_searches(
    runs: Evidence, root: Path
) -> None:
    less = analysis.Contrast("", ((1, "dsc", "tuned"), (-1, "dice", "tuned")))
    p = analysis.pool(analysis.effects_of(runs, less))
    assert p is not None
    assert f"nearly one loss, has a τ of {p.tau:.2f}".replace("0.", ".") in text(
        root, "docs/protocol.md"
    )

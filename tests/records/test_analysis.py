"""The analysis of the evidence, against scipy, closed forms and simulation."""

from __future__ import annotations

import dataclasses
import json
import re
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dicelab.records import analysis
from dicelab.records.analysis import PRIMARY, Effect, Evidence
from tools.pages import evidence

RECORDS = Path(__file__).parents[2] / "results" / "evidence"


def _effect(d: float, error: float, imbalance: float = 10.0, corpus: str = "") -> Effect:
    blank = dict.fromkeys([f.name for f in dataclasses.fields(Effect)], 0.0)
    told = {"mean": d, "error": error, "imbalance": imbalance, "corpus": corpus, "task": corpus}
    return Effect(**{**blank, **told})


def _effects(d, error, imbalance=None) -> list[Effect]:
    many = imbalance if imbalance is not None else [10.0] * len(d)
    return [_effect(*row, str(i)) for i, row in enumerate(zip(d, error, many, strict=True))]


def test_welch_is_scipys() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(1, 1, 20), rng.normal(0, 3, 12)
    theirs = stats.ttest_ind(a, b, equal_var=False).confidence_interval()
    assert analysis.welch(a, b) == pytest.approx((theirs.high - theirs.low) / 2)


def test_equivalence_is_the_larger_of_scipys_one_sided_tests() -> None:
    d = np.random.default_rng(1).normal(0.1, 0.6, 20)
    low = stats.ttest_1samp(d, -0.5, alternative="greater").pvalue
    high = stats.ttest_1samp(d, 0.5, alternative="less").pvalue
    ours = analysis.equivalence(d.mean(), d.std(ddof=1) / 20**0.5, 19)
    assert ours == pytest.approx(max(low, high))


def test_holm_is_the_smallest_level_that_rejects() -> None:
    p = [0.01, 0.04, 0.03, 0.005, 0.2]

    def rejected(level: float) -> set[int]:
        out: set[int] = set()
        for rank, i in enumerate(np.argsort(p)):
            if p[i] > level / (len(p) - rank):
                break
            out.add(int(i))
        return out

    for i, adjusted in enumerate(analysis.holm(p)):
        assert i in rejected(adjusted + 1e-9)
        assert i not in rejected(adjusted - 1e-9)


@pytest.mark.parametrize("runs", [2, 20])
def test_the_detectable_difference_is_found_four_times_in_five(runs: int) -> None:
    rng = np.random.default_rng(2)
    shift = analysis.detectable(1 / runs**0.5, runs - 1)
    p = stats.ttest_1samp(rng.normal(shift, 1, (20_000, runs)), 0, axis=1).pvalue
    assert (p < 0.05).mean() == pytest.approx(0.8, abs=0.01)


def test_the_expected_best_is_that_of_a_simulation() -> None:
    scores = np.array([3.0, 9.0, 1.0, 7.0, 5.0])
    drawn = np.random.default_rng(3).choice(scores, (200_000, 3)).max(1).mean()
    ours = analysis.expected_best(scores)
    assert ours[2] == pytest.approx(drawn, abs=0.02)
    assert ours[0] == pytest.approx(scores.mean())


def test_the_bootstrap_knows_both_sources_of_scatter() -> None:
    rng = np.random.default_rng(4)
    size, seeds = 100, 20
    gold = np.full(size, 10)
    # Seeds alone: the blocks of a seed are alike.
    level = rng.integers(4, 9, (2, seeds))
    found = np.repeat(level[:, :, None], size, 2)
    blocks = np.stack([found, np.full_like(found, 10)], 2)
    draws = analysis.two_way_bootstrap(blocks, gold, [1, -1])
    d = 10.0 * (level[0] - level[1])
    assert draws.mean() == pytest.approx(d.mean(), abs=0.5)
    assert draws.std() == pytest.approx(d.std() / seeds**0.5, rel=0.05)
    # Blocks alone: the seeds are alike.
    level = rng.integers(2, 11, (2, size))
    found = np.repeat(level[:, None, :], seeds, 1)
    blocks = np.stack([found, np.full_like(found, 10)], 2)
    draws = analysis.two_way_bootstrap(blocks, gold, [1, -1])
    d = 10.0 * (level[0] - level[1])
    assert draws.std() == pytest.approx(d.std() / size**0.5, rel=0.05)


def test_equal_noise_gives_the_closed_form() -> None:
    """With equal noise REML's tau² is the variance less the noise, and mu is the mean."""
    d = np.random.default_rng(5).normal(1, 1.5, 12)
    found = analysis.pool(_effects(d, [0.5] * 12))
    assert found is not None
    assert found.mu == pytest.approx(d.mean())
    assert found.tau == pytest.approx((d.var(ddof=1) - 0.25) ** 0.5, abs=1e-3)
    theirs = stats.ttest_1samp(d, 0)
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-3)
    assert found.mu_low == pytest.approx(theirs.confidence_interval().low, rel=1e-3)


def test_with_slope_and_no_scatter_it_is_ordinary_least_squares() -> None:
    rng = np.random.default_rng(6)
    imbalance = np.exp(rng.uniform(0, 4, 14))
    x = np.log(imbalance / 10)
    d = 0.7 + 0.4 * x + rng.normal(0, 0.3, 14)
    found = analysis.pool(_effects(d, [0.3] * 14, imbalance))
    line = stats.linregress(x, d)
    assert found is not None
    assert (found.mu, found.beta) == pytest.approx((line.intercept, line.slope), abs=1e-6)


def test_intervals_hold_the_truth_nineteen_times_in_twenty() -> None:
    rng = np.random.default_rng(7)
    hits, times = 0, 300
    for _ in range(times):
        noise = rng.uniform(0.3, 1.0, 12)
        d = 0.8 + rng.normal(0, 1.0, 12) + rng.normal(0, noise)
        found = analysis.pool(_effects(d, noise))
        assert found is not None
        hits += found.mu_low < 0.8 < found.mu_high
    assert hits / times == pytest.approx(0.95, abs=0.04)


def test_the_probability_of_equivalence_is_that_of_a_sample() -> None:
    """Importance sampling of (mu, tau), the likelihood written out by scipy's densities."""
    rng = np.random.default_rng(8)
    noise = np.array([0.4, 0.6, 0.3, 0.5, 0.7])
    d = np.array([0.5, -0.4, 0.9, 0.1, 0.3])
    mu, tau = rng.uniform(-6, 6, 400_000), abs(rng.normal(0, 2, 400_000))
    spread = np.sqrt(tau[:, None] ** 2 + noise**2)
    weight = np.exp(stats.norm.logpdf(d, mu[:, None], spread).sum(1))
    found = analysis.pool(_effects(d, noise))
    assert found is not None
    assert found.within == pytest.approx((weight * (abs(mu) < 0.5)).sum() / weight.sum(), abs=0.01)


def test_tasks_of_one_corpus_are_no_independent_witnesses() -> None:
    d, noise = [1.0, 1.1, 0.9, -0.5, 0.4, 0.3], [0.2] * 6
    apart = _effects(d, noise)
    joined = [
        dataclasses.replace(e, corpus="same" if i < 3 else str(i)) for i, e in enumerate(apart)
    ]
    one, other = analysis.pool(apart), analysis.pool(joined)
    assert one is not None
    assert other is not None
    assert other.corpora == 4
    assert other.mu < one.mu
    assert analysis.pool(apart[:3]) is None


def _record(task: str, arm: str, seed: int, found: list[int]) -> dict:
    blocks = [found, [10] * len(found)]
    test = {"blocks": blocks, "f1": 100 * sum(found) / (10 * len(found))}
    return {
        "kind": "final",
        "task": task,
        "arm": arm,
        "seed": seed,
        "chosen_for": ["tuned", "argmax"],
        "test": {"tuned": test, "argmax": test},
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(9)
    for number in range(5):
        size = {"rows": 1100 + 100 * number, "positive": 100}
        sizes = {"train": size, "test": size}
        told = {"kind": "task", "task": f"t{number}", "corpus": f"c{number}", "form": "pair"}
        told |= {"sizes": sizes, "blocks": [10] * 100, "baselines": {"majority": 0.0}}
        lines = [told]
        for seed in range(4):
            for arm, mean in (("ce", 5), ("dice", 6)):
                lines.append(
                    _record(f"t{number}", arm, seed, rng.binomial(10, mean / 10, 100).tolist())
                )
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"a-t{number}.jsonl").write_text(text)
    return tmp_path


def test_the_report_finds_what_was_put_in(folder: Path) -> None:
    runs = Evidence.read(folder)
    found = analysis.pool(analysis.effects_of(runs, PRIMARY))
    assert found is not None
    assert found.mu_low < 10 < found.mu_high
    assert found.mu == pytest.approx(10, abs=1)
    assert found.within < 0.01
    assert runs.imbalance("t1") == 11
    text = evidence.page(folder)
    assert "| t4 |" in text
    mean, low, high = found.mu, found.mu_low, found.mu_high
    assert f"| as in the protocol | {mean:.2f} [{low:.2f}, {high:.2f}] |" in text
    assert len(re.findall(r"\n\| yes or no \| (?:t\d|mean) \| ", text)) == 6
    assert "Not yet on four corpora: " in text


def test_the_second_stage_is_read_cell_by_cell(folder: Path) -> None:
    cell = {"size": 0, "passes": 4}
    gains = {0: 3, 1: 5, 2: 1}
    # A final at a learning rate that the search did not choose in the end, and then its successor.
    lines = [{**_record("t0", "dice", 0, [9] * 100), **cell}]
    for seed, gain in gains.items():
        for arm, found in (("ce", [5] * 100), ("dice", [5] * 99 + [5 + gain])):
            lines.append({**_record("t0", arm, seed, found), **cell})
    lines.append({**_record("t0", "dice", 3, [10] * 100), "size": 300, "passes": 4})
    for arm in ("ce", "dice"):
        lines.append({**_record("t0", arm, 4, [10] * 100), **cell, "kind": "search"})
    (folder / "b-t0.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    runs = Evidence.read_fine_tuned(folder)[0, 4]
    assert list(runs.tasks) == ["t0"]
    found = analysis.effect(runs, PRIMARY, "t0")
    assert found is not None
    assert found.seeds == 3
    assert found.mean == pytest.approx(100 * 3 / 1000)
    assert len(Evidence.read_fine_tuned(folder)[300, 4].finals["t0", "dice", "tuned"]) == 1
    assert "| t0 | all | 4 | argmax | dice |" in evidence.page(folder)
    assert "| t0 | 300 | 4 | argmax | dice |" in evidence.page(folder)


def test_a_run_recorded_twice_is_refused(folder: Path) -> None:
    path = folder / "a-t0.jsonl"
    path.write_text(path.read_text() + path.read_text().splitlines()[-1] + "\n")
    with pytest.raises(ValueError, match="t0 dice tuned: seed 3 is recorded twice"):
        Evidence.read(folder)


@lru_cache
def _scores(arm: str, how: str = "tuned") -> dict[tuple[str, int], float]:
    """F1 of the kept records, by code that shares nothing with the analysis."""
    scores = {}
    for path in RECORDS.glob("a-*.jsonl"):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            if record["kind"] == "final" and record["arm"] == arm and how in record["chosen_for"]:
                types = list(record["test"][how]["types"].values())
                found, predicted, gold = (sum(column) for column in zip(*types, strict=True))
                precision, recall = found / max(predicted, 1), found / gold
                f1 = 2 * precision * recall / (precision + recall) if found else 0.0
                scores[record["task"], record["seed"]] = 100 * f1
    return scores


@pytest.mark.skipif(not any(RECORDS.glob("a-*.jsonl")), reason="no records are kept yet")
def test_the_primary_effects_again_from_the_raw_records() -> None:
    dice, ce = _scores("dice"), _scores("ce")
    runs = Evidence.read(RECORDS)
    for found in analysis.effects_of(runs, PRIMARY):
        pairs = [dice[key] - ce[key] for key in dice if key[0] == found.task and key in ce]
        assert found.seeds == len(pairs)
        assert found.mean == pytest.approx(np.mean(pairs), abs=1e-6)
        assert found.low < found.mean < found.high
        theirs = stats.ttest_1samp(pairs, 0).confidence_interval()
        assert found.student == pytest.approx((theirs.high - theirs.low) / 2, abs=1e-6)


@pytest.mark.skipif(not any(RECORDS.glob("a-*.jsonl")), reason="no records are kept yet")
def test_the_primary_result_again_from_the_raw_records() -> None:
    """Blocks and seeds drawn by a loop; the restricted likelihood as a density of contrasts."""
    lines = [
        json.loads(line)
        for path in sorted(RECORDS.glob("a-*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    told = {r["task"]: r for r in lines if r["kind"] == "task"}
    blocks: dict[tuple[str, str], dict[int, np.ndarray]] = {}
    for r in lines:
        if r["kind"] == "final" and "tuned" in r["test"]:
            of = blocks.setdefault((r["task"], r["arm"]), {})
            of[r["seed"]] = np.array(r["test"]["tuned"]["blocks"])
    rng = np.random.default_rng(11)
    means, noises, slopes, corpora = [], [], [], []
    for task, about in told.items():
        one, other = blocks.get((task, "dice"), {}), blocks.get((task, "ce"), {})
        seeds = sorted(one.keys() & other.keys())
        if len(seeds) < 2:
            continue
        gold = np.array(about["blocks"])
        a, b = (np.stack([of[seed] for seed in seeds]) for of in (one, other))

        def gain(s: np.ndarray, k: np.ndarray, a=a, b=b, gold=gold) -> float:
            def score(x: np.ndarray) -> np.ndarray:
                drawn = x[s][:, :, k].sum(-1)
                return 200 * drawn[:, 0] / (drawn[:, 1] + gold[k].sum())

            return float((score(a) - score(b)).mean())

        n, m = len(seeds), len(gold)
        means.append(gain(np.arange(n), np.arange(m)))
        drawn = [gain(rng.integers(n, size=n), rng.integers(m, size=m)) for _ in range(600)]
        noises.append(np.std(drawn))
        size = about["sizes"]["train"]
        slopes.append(np.log((size["rows"] / size["positive"] - 1) / 10))
        corpora.append(about["corpus"])
    d, x = np.array(means), np.stack([np.ones(len(means)), slopes], 1)
    alike = np.array([[c == other for other in corpora] for c in corpora], dtype=float)
    free = np.linalg.svd(x)[0][:, 2:]  # what is left of the scores without the fixed part

    def unlikely(tau: float) -> float:
        cover = np.diag(np.square(noises)) + tau**2 * alike
        return -float(stats.multivariate_normal.logpdf(d @ free, cov=free.T @ cover @ free))

    tau = min(np.linspace(0, 8, 801), key=unlikely)
    root = np.linalg.inv(np.linalg.cholesky(np.diag(np.square(noises)) + tau**2 * alike))
    mu = np.linalg.lstsq(root @ x, root @ d)[0][0]
    found = analysis.pool(analysis.effects_of(Evidence.read(RECORDS), PRIMARY))
    assert found is not None
    assert found.tasks == len(d)
    assert found.mu == pytest.approx(mu, abs=0.05)
    assert found.tau == pytest.approx(tau, abs=0.1)
    assert found.mu_low < mu < found.mu_high


@pytest.mark.slow
@pytest.mark.skipif(not any(RECORDS.glob("a-*.jsonl")), reason="no records are kept yet")
def test_the_page_of_the_evidence_is_that_of_the_records() -> None:
    page = RECORDS.parents[1] / "docs" / "evidence.md"
    assert page.read_text(encoding="utf-8") == evidence.page(RECORDS), "run make evidence"

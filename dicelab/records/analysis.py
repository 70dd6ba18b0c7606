"""The analysis of ``docs/protocol.md``: from records to the numbers of chapter 17, in seconds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize, stats

Record = dict[str, Any]
CHECKPOINTS = (30, 60, 120, 240, 480, 960)  # the steps at which a run of Stage A is scored
MARGIN = 0.5  # points of F1 within which two arms are held to be equivalent
RESAMPLES = 4000
Term = tuple[int, str, str]  # sign, arm, way of deciding
WAYS = ("argmax", "tuned")


def read(path: Path) -> list[Record]:
    """The records of a file; none if there is no file.

    A last line without its end is a run that was killed while it wrote: it is left out.
    """
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def f1(found: np.ndarray, predicted: np.ndarray, gold: np.ndarray | float) -> np.ndarray:
    """F1 in percent from counts; 0 where nothing is found."""
    return 200 * found / np.maximum(predicted + gold, 1)


@dataclass(frozen=True)
class Contrast:
    """A sum of scores with signs, such as dice less cross entropy, both tuned."""

    name: str
    terms: tuple[Term, ...]
    tags_only: bool = False


def less_ce(arm: str, how: str) -> Contrast:
    """An arm less cross entropy, both decided at ``"argmax"`` or both ``"tuned"``."""
    name, terms = f"{arm} less ce, {how}", ((1, arm, how), (-1, "ce", how))
    return Contrast(name, terms, tags_only=(arm, how) == ("ce_prior", "tuned"))


PRIMARY = less_ce("dice", "tuned")
OTHERS = ("ce_prior", "logit_adjustment", "wce", "focal", "dsc", "tversky", "negative_sampling")
SECONDARY = (
    *(less_ce(arm, "tuned") for arm in OTHERS),
    *(less_ce(arm, "argmax") for arm in ("dice", *OTHERS)),
    Contrast(
        "dice less ce, argmax less tuned",
        tuple(
            (a * b, arm, how)
            for a, how in ((1, "argmax"), (-1, "tuned"))
            for b, arm in ((1, "dice"), (-1, "ce"))
        ),
    ),
)


@dataclass
class Evidence:
    """Records of one stage.

    Attributes:
        tasks: What each task is.
        search: The records of the search, by task and arm.
        finals: By task, arm and way of deciding, then by seed.
    """

    tasks: dict[str, Record] = field(default_factory=dict)
    search: dict[tuple[str, str], list[Record]] = field(default_factory=dict)
    finals: dict[tuple[str, str, str], dict[int, Record]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Evidence:
        """From every ``a-*.jsonl`` of a folder.

        Raises:
            ValueError: A run is recorded twice.
        """
        runs = cls()
        for record in (r for path in sorted(folder.glob("a-*.jsonl")) for r in read(path)):
            task = record["task"]
            if record["kind"] == "task":
                runs.tasks[task] = record
            elif record["kind"] == "search":
                runs.search.setdefault((task, record["arm"]), []).append(record)
            else:
                for how in record["chosen_for"]:
                    key, seed = (task, record["arm"], how), record["seed"]
                    if seed in runs.finals.setdefault(key, {}):
                        raise ValueError(f"{' '.join(key)}: seed {seed} is recorded twice")
                    runs.finals[key][seed] = record
        return runs

    @classmethod
    def read_fine_tuned(cls, folder: Path) -> dict[tuple[int, int], Evidence]:
        """The finals of Stage B by training sentences (0 is all of a draw) and passes over them.

        Of two finals of one loss and seed the later counts: it has the learning rate of the whole
        search.

        Args:
            folder: Of the records of both stages; tasks are as in Stage A.
        """
        tasks = cls.read(folder).tasks
        cells: dict[tuple[int, int], Evidence] = {}
        for record in (r for path in sorted(folder.glob("b-*.jsonl")) for r in read(path)):
            if record["kind"] == "final":
                runs = cells.setdefault((record["size"], record["passes"]), cls())
                task, arm, seed = (record[name] for name in ("task", "arm", "seed"))
                runs.tasks[task] = tasks[task]
                for how in WAYS:
                    runs.finals.setdefault((task, arm, how), {})[seed] = record
        return cells

    def curves(self, task: str, arm: str) -> list[list[float]]:
        """Validation F1 of every final at the steps of ``CHECKPOINTS``, threshold tuned."""
        return [r["curve"]["tuned"] for r in self.finals[task, arm, "tuned"].values()]

    def precision_recall(self, task: str, arm: str) -> tuple[np.ndarray, np.ndarray]:
        """Precision and recall on the test set, ``[101]`` each: means over finals.

        The thresholds of a final call from an eighth to eight times as many as there are.
        """
        finals = list(self.finals[task, arm, "tuned"].values())
        found, called = np.array([r["precision_recall"]["test"] for r in finals]).swapaxes(0, 1)
        gold = finals[0]["test"]["tuned"]["gold"]
        return (found / np.maximum(called, 1)).mean(0), (found / gold).mean(0)

    def operating_point(self, task: str, arm: str, how: str) -> tuple[float, float]:
        """Mean precision and recall on the test set where an arm decides."""
        scores = [r["test"][how] for r in self.finals[task, arm, how].values()]
        precision = [s["found"] / max(s["predicted"], 1) for s in scores]
        return float(np.mean(precision)), float(np.mean([s["found"] / s["gold"] for s in scores]))

    def mean_f1(self, task: str, arm: str, how: str) -> float:
        """Mean F1 on the test set over finals."""
        finals = self.finals[task, arm, how].values()
        return float(np.mean([r["test"][how]["f1"] for r in finals]))

    def imbalance(self, task: str) -> float:
        """Negatives per positive of the training draw."""
        size = self.tasks[task]["sizes"]["train"]
        return float((size["rows"] - size["positive"]) / size["positive"])


@dataclass(frozen=True)
class Effect:
    """A contrast on one task, in points of F1.

    Attributes:
        mean: Of the paired differences over seeds.
        low, high: Of the two-way bootstrap, 95%.
        error: Its standard error.
        student: Half the width of Student's paired interval over seeds, 95%.
        welch: The same for Welch's unpaired one; NaN for an interaction.
        detectable: The difference that a paired test over these seeds sees four times in five.
        seeds: How many.
    """

    task: str
    corpus: str
    imbalance: float
    mean: float
    low: float
    high: float
    error: float
    student: float
    welch: float
    detectable: float
    seeds: int


def effect(runs: Evidence, contrast: Contrast, task: str) -> Effect | None:
    """A contrast on one task; None where fewer than two seeds have all of its terms."""
    if contrast.tags_only and runs.tasks[task]["form"] != "tags":
        return None
    found = [runs.finals.get((task, arm, how), {}) for _, arm, how in contrast.terms]
    seeds = sorted(set.intersection(*(set(f) for f in found)))
    if len(seeds) < 2:
        return None
    gold = np.array(runs.tasks[task]["blocks"])
    signs = [sign for sign, _, _ in contrast.terms]
    blocks = np.array(
        [
            [f[seed]["test"][how]["blocks"] for seed in seeds]
            for f, (_, _, how) in zip(found, contrast.terms, strict=True)
        ]
    )
    scores = f1(blocks[:, :, 0].sum(-1), blocks[:, :, 1].sum(-1), gold.sum())
    d = np.asarray(signs) @ scores
    draws = two_way_bootstrap(blocks, gold, signs)
    half = stats.t.ppf(0.975, len(d) - 1) * d.std(ddof=1) / len(d) ** 0.5
    both = welch(scores[0], scores[1]) if len(signs) == 2 else float("nan")
    low, high = np.quantile(draws, [0.025, 0.975])
    return Effect(
        task,
        runs.tasks[task]["corpus"],
        runs.imbalance(task),
        float(d.mean()),
        float(low),
        float(high),
        float(draws.std(ddof=1)),
        float(half),
        both,
        detectable(d.std(ddof=1) / len(d) ** 0.5, len(d) - 1),
        len(d),
    )


def two_way_bootstrap(
    blocks: np.ndarray, gold: np.ndarray, signs: Sequence[float], resamples: int = RESAMPLES
) -> np.ndarray:
    """Seeds and blocks of the test set drawn with replacement, the same for every term.

    Args:
        blocks: ``[terms, seeds, 2, blocks]``, found and predicted entities.
        gold: ``[blocks]``, gold entities.
        signs: The factor of each term.
        resamples: How many.

    Returns:
        The contrast's mean over seeds in each resample.
    """
    of_blocks, of_seeds = _drawn(blocks.shape[3], blocks.shape[1], resamples)
    total = np.zeros(resamples)
    for sign, term in zip(signs, blocks, strict=True):
        found, predicted = of_blocks @ term[:, 0].T, of_blocks @ term[:, 1].T
        total += sign * (f1(found, predicted, (of_blocks @ gold)[:, None]) * of_seeds).sum(1)
    return total


@lru_cache(maxsize=4)
def _drawn(size: int, seeds: int, resamples: int) -> tuple[np.ndarray, np.ndarray]:
    """How often each block, and what share of the time each seed, is in each resample."""
    rng = np.random.default_rng(0)
    of_blocks = rng.multinomial(size, np.full(size, 1 / size), resamples).astype(float)
    return of_blocks, rng.multinomial(seeds, np.full(seeds, 1 / seeds), resamples) / seeds


def welch(a: np.ndarray, b: np.ndarray) -> float:
    """Half the width of Welch's 95% interval for the difference of two means."""
    va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    if va + vb == 0:
        return 0.0
    df = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    return float(stats.t.ppf(0.975, df) * (va + vb) ** 0.5)


def detectable(error: float, df: float, power: float = 0.8) -> float:
    """The difference that a two-sided t test at .05 finds with that power.

    Args:
        error: The standard error of the mean.
        df: Degrees of freedom.
        power: Share of repetitions that find it.
    """
    return float(error * _detectable(df, power)) if error else 0.0


@cache
def _detectable(df: float, power: float) -> float:
    """For a standard error of 1."""
    bound = stats.t.ppf(0.975, df)

    def found(shift: float) -> float:
        # Not cdf(-bound, df, shift), which is NaN for one degree of freedom.
        sides = stats.nct.sf(bound, df, shift) + stats.nct.sf(bound, df, -shift)
        return float(sides - power)

    return float(optimize.brentq(found, 0.0, 2 * bound + 3))


def holm(p: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given."""
    order = np.argsort(p)
    steps = np.asarray(p)[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return [float(x) for x in adjusted]


def equivalence(mean: float, error: float, df: float, margin: float = MARGIN) -> float:
    """The p-value of two one-sided t tests that a mean lies within ``±margin``."""
    return float(stats.t.sf((margin - abs(mean)) / error, df))


def expected_best(scores: Sequence[float]) -> np.ndarray:
    """The expected best score of 1 to n trials drawn from n (Dodge et al., 2019)."""
    ordered, n = np.sort(scores), len(scores)
    rank = np.arange(n + 1) / n
    return np.array([ordered @ np.diff(rank**budget) for budget in range(1, n + 1)])


@dataclass(frozen=True)
class Pooled:
    """A contrast over tasks: ``d = mu + beta (log imbalance − log 10) + corpus + noise``.

    Attributes:
        mu, mu_low, mu_high: The gain at ten negatives to a positive, Hartung–Knapp, 95%.
        beta, beta_low, beta_high: The change for an e-fold imbalance; NaN where all are equal.
        tau: The standard deviation over corpora.
        own: That over tasks within a corpus; 0 where the model has none.
        p: Of the test that mu is 0.
        within: The probability that mu lies within ``±MARGIN``.
        equivalent: The p-value of the equivalence tests.
        detectable: The mu that would be found four times in five.
        tasks, corpora: How many.
    """

    mu: float
    mu_low: float
    mu_high: float
    beta: float
    beta_low: float
    beta_high: float
    tau: float
    own: float
    p: float
    within: float
    equivalent: float
    detectable: float
    tasks: int
    corpora: int


Fit = tuple[np.ndarray, np.ndarray, float, float]


def restricted(d: np.ndarray, design: np.ndarray, v: np.ndarray) -> Fit:
    """Generalised least squares of ``d = design @ b + noise`` with a known covariance.

    Args:
        d: ``[n]``.
        design: ``[n, k]``.
        v: ``[n, n]``, the covariance of the noise.

    Returns:
        ``b``; its covariance; the weighted sum of squares that is left; and the restricted
        log-likelihood, up to a constant.
    """
    inverse = np.linalg.inv(v)
    cover = np.linalg.inv(design.T @ inverse @ design)
    b = cover @ design.T @ inverse @ d
    rest = float((d - design @ b) @ inverse @ (d - design @ b))
    likelihood = (np.linalg.slogdet(cover)[1] - np.linalg.slogdet(v)[1] - rest) / 2
    return b, cover, rest, float(likelihood)


# The sentences of Universal NER English are those of UD English EWT.
ONE_SOURCE = {"uner_en_ewt": "ud_en_ewt"}


def pool(
    effects: Sequence[Effect], *, sources: Mapping[str, str] | None = None, task: bool = False
) -> Pooled | None:
    """The model over tasks; None for fewer than four corpora.

    Args:
        effects: One a task.
        sources: For a corpus the one whose effect it shares, such as ``ONE_SOURCE``; others have
            an effect of their own, as in the protocol.
        task: Whether each task has a normal effect of its own beside its corpus's, which the
            protocol's model lacks.
    """
    d, noise = (np.array([getattr(e, name) for e in effects]) for name in ("mean", "error"))
    of_task = [(sources or {}).get(e.corpus, e.corpus) for e in effects]
    corpora = sorted(set(of_task))
    if len(corpora) < 4:
        return None
    slope = np.log([e.imbalance / 10 for e in effects])
    design = np.ones((len(d), 1))
    if np.ptp(slope) > 1e-9:
        design = np.stack([design[:, 0], slope], 1)
    member = np.array([[mine == c for c in corpora] for mine in of_task], dtype=float)
    variance = np.maximum(noise, 1e-3) ** 2

    def fit(tau: float, own: float = 0.0) -> Fit:
        return restricted(d, design, np.diag(variance + own**2) + tau**2 * member @ member.T)

    top = 10 * max(1.0, float(np.ptp(d)))
    best = optimize.minimize_scalar(
        lambda t: -fit(t)[3], bounds=(0, top), method="bounded", options={"xatol": 1e-5}
    )
    tau, own = max((0.0, float(best.x)), key=lambda t: fit(t)[3]), 0.0
    if task:
        both = optimize.minimize(
            lambda t: -fit(*t)[3], (max(tau, 0.1), max(tau, 0.1)), bounds=[(0, top)] * 2
        )
        tau, own = max([(tau, own), tuple(map(float, both.x))], key=lambda t: fit(*t)[3])
    b, cover, rest, _ = fit(tau, own)
    df = len(corpora) - design.shape[1]
    cover = cover * max(1.0, rest / (len(d) - design.shape[1]))
    error = np.sqrt(np.diag(cover))
    half = stats.t.ppf(0.975, df) * error
    three = [(float(m), float(m - h), float(m + h)) for m, h in zip(b, half, strict=True)]
    return Pooled(
        *three[0],
        *(three[1] if len(b) > 1 else (float("nan"),) * 3),
        tau,
        own,
        float(2 * stats.t.sf(abs(b[0]) / error[0], df)),
        _within([fit(t, own) for t in TAUS]),
        equivalence(float(b[0]), float(error[0]), df),
        detectable(float(error[0]), df),
        len(d),
        len(corpora),
    )


TAUS = np.linspace(0, 10, 101)


def _within(fits: Sequence[tuple[np.ndarray, np.ndarray, float, float]]) -> float:
    """P(|mu| < MARGIN) with flat priors on mu and beta, half-normal of scale 2 on tau."""
    log = np.array([likelihood for _, _, _, likelihood in fits]) - TAUS**2 / 8
    weight = np.exp(log - log.max())
    mean = np.array([b[0] for b, *_ in fits])
    spread = np.sqrt([cover[0, 0] for _, cover, *_ in fits])
    inside = stats.norm.cdf((MARGIN - mean) / spread) - stats.norm.cdf((-MARGIN - mean) / spread)
    return float(weight @ inside / weight.sum())


def effects_of(runs: Evidence, contrast: Contrast) -> list[Effect]:
    """A contrast on every task that has it."""
    return [e for task in runs.tasks if (e := effect(runs, contrast, task))]


def compared(runs: Evidence, tasks: Iterable[str], arm: str = "dice") -> dict[str, dict[str, str]]:
    """An arm beside cross entropy, by task, as text: for the tasks on which both are done.

    The best baseline, mean test F1 of both at argmax and tuned, and the differences with the 95%
    interval of the two-way bootstrap.
    """
    rows = {}
    for task in tasks:
        found = {h: effect(runs, less_ce(arm, h), task) for h in WAYS}
        if task not in runs.tasks or not all(found.values()):
            continue
        row = {"baseline": f"{max(runs.tasks[task]['baselines'].values()):.1f}"}
        for how, e in found.items():
            for name in ("ce", arm):
                row[f"{name}, {how}"] = f"{runs.mean_f1(task, name, how):.1f}"
            if e:
                row[f"{arm} less ce, {how}"] = f"{e.mean:+.1f} [{e.low:+.1f}, {e.high:+.1f}]"
        rows[task] = row
    return rows

"""What a fit found, as values: the report, the record and the card are made of nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dicelab.fit import candidates, choosing
from dicelab.fit.calibration import probabilities
from dicelab.fit.candidates import Candidate
from dicelab.fit.choosing import MEAN
from dicelab.fit.data import Data
from dicelab.fit.options import Options
from dicelab.fit.plan import NO_PLAN, Plan
from dicelab.fit.predicting import Model
from dicelab.fit.problems import Problem
from dicelab.fit.training import RunResult
from dicelab.metrics.counts import Counts
from dicelab.metrics.intervals import Difference, Interval, difference, interval

NAMES = {
    "ce": "cross entropy",
    "wce": "weighted cross entropy",
    "dl": "dice",
    "fl": "focal loss",
    "tl": "Tversky",
    "dsc": "self-adjusting dice",
    **candidates.NAMES,
    MEAN: "mean of a linear model and a fine-tuned one",
}


@dataclass
class Arm:
    """An arm of the finals.

    Attributes:
        runs: its runs, a seed each.
        counts: on the test split, decided by the threshold: those of each seed.
        argmax: the same without a threshold.
    """

    runs: list[RunResult] = field(default_factory=list)
    counts: list[Counts] = field(default_factory=list)
    argmax: list[Counts] = field(default_factory=list)

    @property
    def validation(self) -> float:
        """The mean over seeds."""
        return float(np.mean([run.value for run in self.runs]))


@dataclass(eq=False, repr=False)
class FitResult:
    """What a fit found, as far as it has come.

    The steps of :class:`~dicelab.fit.fitting.Fit` fill it; ``verdict`` and ``record`` come last.

    Attributes:
        options: what was asked for.
        data: what was read.
        problem: the task, encoded.
        encoder: the encoder's name.
        max_length: sub-words in a row.
        cut: words or rows that were cut, by split.
        notes: sentences about what was left out, for the time or otherwise.
        chapter: by what name the fit is recorded.
        floors: test counts ``[rows, classes]`` of answers that need no model, by name.
        candidates: the models of the first minute, by name.
        simple: the one of them that is kept if no other is ahead of it.
        plan: the runs that there was time for.
        searched: the runs of the search.
        best: the best run of each arm in the search.
        arms: the arms of the finals.
        chosen: the arm with the best mean on validation; None where nothing was fine-tuned.
        run: the run of the chosen arm whose model is kept, if no linear model is.
        refitted: whether its model was trained again, on train and validation together.
        run_test: that run's scores on the test split, without its threshold.
        winner: :attr:`simple` or the mean that is kept, if one is.
        mean: the mean of :attr:`simple` and :attr:`run`, if there are both.
        compared: validation scores of all models on equal rows, thresholds from other rows.
        far_behind: whether the chosen arm is behind :attr:`simple` there, by more than noise.
        held: counts of the kept model there.
        ahead: how far it is ahead of each of the others there.
        cost: of what is kept, and of :attr:`simple`, bytes and seconds for 1,000 rows.
        seconds: how long the fit took.
        verdict: the result in sentences.
        record: all numbers, as in ``record.json``.
    """

    options: Options
    data: Data
    problem: Problem
    encoder: str
    max_length: int
    cut: dict[str, int]
    notes: list[str] = field(default_factory=list)
    chapter: str = "fit"
    floors: dict[str, Counts] = field(default_factory=dict)
    candidates: dict[str, Candidate] = field(default_factory=dict)
    simple: Candidate | None = None
    plan: Plan = NO_PLAN
    searched: list[RunResult] = field(default_factory=list)
    best: dict[str, RunResult] = field(default_factory=dict)
    arms: dict[str, Arm] = field(default_factory=dict)
    chosen: str | None = None
    run: RunResult | None = None
    run_test: np.ndarray | None = None
    refitted: bool = False
    winner: Candidate | None = None
    mean: Candidate | None = None
    compared: dict[str, float] = field(default_factory=dict)
    far_behind: bool = False
    held: Counts | None = None
    ahead: dict[str, Difference] = field(default_factory=dict)
    cost: dict[str, tuple[int, float]] = field(default_factory=dict)
    seconds: float = 0.0
    verdict: list[str] = field(default_factory=list)
    record: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n".join(self.verdict)

    # -- what is kept -----------------------------------------------------------------------

    @property
    def model_name(self) -> str:
        """The name of what is kept: a loss, a linear model, or ``"mean"``."""
        name = self.winner.name if self.winner is not None else self.chosen
        if name is None:
            raise RuntimeError("nothing is kept yet; call finals() and choose() of the fit first")
        return name

    @property
    def linear_alone(self) -> bool:
        """Whether a linear model is kept, and no fine-tuned one beside it."""
        return self.winner is not None and self.winner is not self.mean

    @property
    def metric(self) -> str:
        """What the score is, in words."""
        return self.problem.goal.name

    @property
    def score(self) -> Interval:
        """The kept model's score on the test split, in percent, with its 95% interval over rows."""
        return interval(self.counts()[0], self.problem.goal)

    @property
    def folder(self) -> Path:
        """The folder of all that was written."""
        return Path(self.options.out)

    @property
    def report(self) -> Path:
        """The page that shows it all."""
        return self.folder / "report.html"

    @cached_property
    def model(self) -> Model:
        """The kept model, ready to predict."""
        return Model(self.folder)

    @property
    def bias(self) -> np.ndarray:
        """The decision of the model that is kept: a number for each logit."""
        return self._run.bias if self.winner is None else self.winner.bias

    def test_scores(self) -> np.ndarray:
        """The kept model's scores on the test split, without its threshold."""
        if self.winner is not None:
            return self.winner.test
        assert self.run_test is not None
        return self.run_test

    def probabilities(self) -> np.ndarray:
        """Those that ``predict`` gives of the test split, ``[decisions, labels]``."""
        scores = self.test_scores()[:, : len(self.problem.labels)]
        fitted = self.problem.calibration(*self.decided_on())
        return probabilities(scores, fitted, several=self.data.task == "labels")

    def row_texts(self) -> list[str]:
        """The texts of the test split; their numbers, from 1, where texts are not to be shown."""
        test = self.problem.splits["test"]
        if self.options.texts:
            return self.problem.row_texts(test)
        return [str(place + 1) for place in range(len(self.problem.row_texts(test)))]

    def held_out(self) -> tuple[Counts, str]:
        """Counts of rows that the kept model did not learn from and that are not test, and which.

        Of a model of texts from the first minute, these are all rows of train and validation, out
        of fold and decided by thresholds of other folds.
        """
        made, counts, which = self.winner, self.held, "On the {} of validation"
        if made is not None and made is self.simple and made.pool.folds.any():
            rows = np.sort(made.pool.validation)
            counts = choosing.counts_of_candidate(self.problem, made, rows)
            which = "Out of fold, on the {} of train and validation"
        elif counts is None:
            scores, split = self.decided_on()
            counts = self.problem.counts(split, self.problem.decide(scores, self.bias))
        if counts is not self.held or self.data.task == "tagging":
            which += ", where its threshold was chosen," * which.startswith("On")
        kind = "sentences" if self.data.task == "tagging" else "rows"
        return counts, which.format(f"{len(counts.actual):,} {kind}")

    @cached_property
    def pieces(self) -> float:
        """How many sub-words of the encoder a word of train has, in the mean."""
        lengths = [len(ids) for ids in self.problem.splits["train"]["input_ids"][:1000]]
        words = sum(len(text.split()) for text in self.problem.texts()[:1000])
        return sum(lengths) / max(1, words)

    def decided_on(self) -> tuple[np.ndarray, Any]:
        """Scores of rows that are not test, by which the kept model's decision was chosen."""
        if self.winner is not None:
            return self.winner.scores, self.winner.pool.rows
        return self._run.validation, self.problem.splits["validation"]

    def counts(self) -> tuple[Counts, Counts]:
        """Test counts of the model that is kept: with its threshold, and at argmax."""
        if self.winner is not None:
            return self.counts_of(self.winner), self.counts_of(self.winner, argmax=True)
        return self.counts_of_run(), self.counts_of_run(argmax=True)

    def against(self, other: Counts) -> Difference:
        """How far the kept model is ahead of other test counts, rows being paired."""
        return difference([self.counts()[0]], [other], self.problem.goal.plain)

    # -- what it is compared with -----------------------------------------------------------

    def without_arms(self) -> dict[str, Candidate]:
        """The linear models and the mean, by name."""
        return self.candidates | ({MEAN: self.mean} if self.mean is not None else {})

    def counts_of(self, candidate: Candidate, *, argmax: bool = False) -> Counts:
        """Test counts of a linear model, or of the mean."""
        return self.test_counts(candidate.test, candidate.bias, argmax=argmax)

    def counts_of_run(self, *, argmax: bool = False) -> Counts:
        """Test counts of :attr:`run`, as it was trained last."""
        assert self.run_test is not None
        return self.test_counts(self.run_test, self._run.bias, argmax=argmax)

    def test_counts(self, scores: np.ndarray, bias: np.ndarray, *, argmax: bool = False) -> Counts:
        """Test counts ``[rows, classes]`` of scores that decide by a bias, or at argmax without."""
        decisions = self.problem.decide(scores, np.zeros_like(bias) if argmax else bias)
        return self.problem.counts(self.problem.splits["test"], decisions)

    def scores(self, arm: str, *, argmax: bool = False) -> list[float]:
        """An arm's test scores in percent, one a seed."""
        counts = self.arms[arm].argmax if argmax else self.arms[arm].counts
        return [self.score_of(of_seed) for of_seed in counts]

    def score_of(self, counts: Counts) -> float:
        """The score of counts ``[rows, classes]``, in percent."""
        return float(self.problem.goal.plain(counts.sum(0)))

    def scores_percent(self, counts: Counts) -> dict[str, float]:
        """Score, precision and recall of counts ``[rows, classes]``, in percent."""
        goal = self.problem.goal
        focus = goal.focused(counts.sum(0)).percent()
        score = {goal.metric: self.score_of(counts)}
        return score | {name: focus[name] for name in ("precision", "recall")}

    def rival(self) -> tuple[str, Difference] | None:
        """The second arm, and how far the chosen one is ahead of it."""
        others = [arm for arm in self.arms if arm != self.chosen]
        if not others or self.chosen is None:
            return None
        rival = "ce" if "ce" in others else max(others, key=lambda a: self.arms[a].validation)
        chosen_counts, rival_counts = self.arms[self.chosen].counts, self.arms[rival].counts
        return rival, difference(chosen_counts, rival_counts, self.problem.goal.plain)

    @property
    def _run(self) -> RunResult:
        assert self.run is not None
        return self.run

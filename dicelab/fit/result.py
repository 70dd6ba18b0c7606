"""What a fit found, as values: the report, the record and the card are made of nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dicelab.fit import candidates, choosing
from dicelab.fit.calibration import probabilities
from dicelab.fit.choosing import MEAN
from dicelab.fit.inputs import Inputs
from dicelab.fit.linear import Candidate
from dicelab.fit.options import Options
from dicelab.fit.plan import NO_PLAN, Plan
from dicelab.fit.predicting import Model
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
class FitResult(Inputs):
    """What a fit found, as far as it has come.

    The steps of :class:`~dicelab.fit.fitting.Fit` fill it; ``verdict`` and ``record`` come last.

    Attributes:
        options: what was asked for; what was read has the attributes of
            :class:`~dicelab.fit.inputs.Inputs`.
        chapter: by what name the fit is recorded.
        baselines: test counts ``[rows, classes]`` of answers that need no model, by name.
        candidates: the models of the first minute, by name.
        simple: the one of them that is kept if no other is ahead of it.
        plan: the runs that there was time for.
        searched: the runs of the search.
        best: the best run of each arm in the search.
        arms: the arms of the finals.
        chosen: the arm with the best mean on validation; None where nothing was fine-tuned.
        run: the run of the chosen arm whose model is kept, if no linear model is.
        refitted: whether its model was trained again, on train and validation together.
        fine_tuned: that run as a candidate, with the scores of the model that was trained last.
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
    chapter: str = "fit"
    baselines: dict[str, Counts] = field(default_factory=dict)
    candidates: dict[str, Candidate] = field(default_factory=dict)
    simple: Candidate | None = None
    plan: Plan = NO_PLAN
    searched: list[RunResult] = field(default_factory=list)
    best: dict[str, RunResult] = field(default_factory=dict)
    arms: dict[str, Arm] = field(default_factory=dict)
    chosen: str | None = None
    run: RunResult | None = None
    refitted: bool = False
    fine_tuned: Candidate | None = None
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

    @property
    def kept(self) -> Candidate:
        """What is kept: a model of the first minute, the mean, or :attr:`fine_tuned`."""
        kept = self.winner if self.winner is not None else self.fine_tuned
        if kept is None:
            raise RuntimeError("nothing is kept yet; call finals() and choose() of the fit first")
        return kept

    @property
    def model_name(self) -> str:
        """The name of what is kept: a loss, a linear model, or ``"mean"``."""
        return self.kept.name

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
        return self.kept.bias

    def probabilities(self) -> np.ndarray:
        """Those that ``predict`` gives of the test split, ``[decisions, labels]``."""
        scores = self.kept.test[:, : len(self.problem.labels)]
        fitted = self.problem.calibration(self.kept.scores, self.kept.pool.rows)
        return probabilities(scores, fitted, several=self.data.task == "labels")

    def row_texts(self) -> list[str]:
        """The texts of the test split; their numbers, from 1, where texts are not to be shown."""
        test = self.problem.splits["test"]
        texts = self.problem.row_texts(test)
        return texts if self.options.texts else [str(n) for n in range(1, len(texts) + 1)]

    def held_out(self) -> tuple[Counts, str]:
        """Counts of rows that the kept model did not learn from and that are not test, and which.

        Of a model of texts from the first minute, these are all rows of train and validation, out
        of fold and decided by thresholds of other folds.
        """
        kept, counts, which = self.kept, self.held, "On the {} of validation"
        if kept is self.simple and kept.pool.folds.any():
            rows = np.sort(kept.pool.validation)
            counts = choosing.counts_of_candidate(self.problem, kept, rows)
            which = "Out of fold, on the {} of train and validation"
        elif counts is None:
            counts = self.decided_on()
        if counts is not self.held or self.data.task == "tagging":
            which += ", where its threshold was chosen," * which.startswith("On")
        kind = "sentences" if self.data.task == "tagging" else "rows"
        return counts, which.format(f"{len(counts.actual):,} {kind}")

    @cached_property
    def pieces(self) -> float:
        """How many sub-words of the encoder a word of train has, in the mean."""
        lengths = [len(ids) for ids in self.problem.splits["train"]["input_ids"][:1000]]
        texts = self.problem.row_texts(self.data.splits["train"])[:1000]
        words = sum(len(text.split()) for text in texts)
        return sum(lengths) / max(1, words)

    def decided_on(self) -> Counts:
        """Counts of the rows that are not test by which the kept model's decision was chosen."""
        rows = self.kept.pool.rows
        return self.problem.counts(rows, self.problem.decide(self.kept.scores, self.bias))

    def counts(self) -> tuple[Counts, Counts]:
        """Test counts of the model that is kept: with its threshold, and at argmax."""
        return self.counts_of(self.kept), self.counts_of(self.kept, argmax=True)

    def against(self, other: Counts) -> Difference:
        """How far the kept model is ahead of other test counts, rows being paired."""
        return difference([self.counts()[0]], [other], self.problem.goal.plain)

    def without_arms(self) -> dict[str, Candidate]:
        """The linear models and the mean, by name."""
        return self.candidates | ({MEAN: self.mean} if self.mean is not None else {})

    def counts_of(self, candidate: Candidate, *, argmax: bool = False) -> Counts:
        """Test counts ``[rows, classes]`` of a model by its threshold, or at argmax without."""
        bias = np.zeros_like(candidate.bias) if argmax else candidate.bias
        decisions = self.problem.decide(candidate.test, bias)
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

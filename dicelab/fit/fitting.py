"""A fit, step by step: read, floors, linear models, plan, search, finals, choose, keep."""

from __future__ import annotations

import csv
import importlib.util
import json
import math
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import datasets
import numpy as np

from dicelab.atomic import atomic, write_json
from dicelab.extras import install_command
from dicelab.fit import candidates as linear
from dicelab.fit import data as reading
from dicelab.fit.candidates import Candidate
from dicelab.fit.floors import floors
from dicelab.fit.keeping import copy, keep, keep_linear
from dicelab.fit.options import FitError, Options
from dicelab.fit.plan import NoTime, Plan, Speed, allowed_minutes, minutes, plan, probe, rates_for
from dicelab.fit.problems import Problem, Tagging, problem_of
from dicelab.fit.tagger import ValidTagging
from dicelab.fit.training import Done, Run, drop_models, loss_of, run
from dicelab.metrics.counts import Counts
from dicelab.metrics.intervals import Difference, Interval, difference, interval
from dicelab.training.encoders import MINILM, MINILM_PACKAGE, TINY, load_tokenizer
from dicelab.training.experiment import Experiment
from dicelab.training.trainer import device_of, threads_of_torch

LONGEST = 256  # sub-words that are taken unasked
STATE = "fit.json"
NAMES = {
    "ce": "cross entropy",
    "wce": "weighted cross entropy",
    "dl": "dice",
    "fl": "focal loss",
    "tl": "Tversky",
    "dsc": "self-adjusting dice",
    **linear.NAMES,
}


@dataclass
class Arm:
    """An arm of the finals.

    Attributes:
        done: its runs, a seed each.
        counts: on the test split, decided by the threshold: one array a seed.
        argmax: the same without a threshold.
    """

    done: list[Done] = field(default_factory=list)
    counts: list[Counts] = field(default_factory=list)
    argmax: list[Counts] = field(default_factory=list)

    @property
    def validation(self) -> float:
        """The mean over seeds."""
        return float(np.mean([one.value for one in self.done]))


class Fit:
    """A fit under way.

    Each step returns what it found and may be called once the steps before it were. A fit that was
    killed goes on where it stopped when the same options are given again.

    Args:
        options: what is asked for.
        say: takes each line for the reader.

    Raises:
        FitError: ``options.out`` cannot be written to, or holds another fit.
    """

    def __init__(self, options: Options, say: Callable[[str], None] = print) -> None:
        self.options = options
        self.say = say
        self.folder = Path(options.out)
        self.began = time.monotonic()
        self.chapter = "fit"  # by what name it is recorded
        self.before = 0.0  # seconds that earlier parts of this fit took
        self.notes: list[str] = []
        self.candidates: dict[str, Candidate] = {}
        self.searched: list[Done] = []
        self.best: dict[str, Done] = {}
        self.arms: dict[str, Arm] = {}
        self.chosen: str | None = None  # of the arms
        self.winner: Candidate | None = None  # a linear model, where one is kept
        self.honest: dict[str, float] = {}
        self.of_curve: dict[float, float] = {}
        datasets.disable_progress_bars()
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = self._state()
        if kept:
            now = json.loads(json.dumps(options.fixed()))
            if more_minutes(kept["options"].get("minutes"), now["minutes"]):
                del now["minutes"]
            changed = [
                f"{name}: {kept['options'].get(name)!r} then, {value!r} now"
                for name, value in now.items()
                if kept["options"].get(name, value) != value
            ]
            if changed:
                raise FitError(
                    f"{self.folder} holds a fit with other options ({'; '.join(changed)}); choose "
                    "another --out, or delete this folder"
                )
            self.before = kept["seconds"]

    # -- steps ------------------------------------------------------------------------------

    def read(self) -> reading.Data:
        """Read the data, take the encoder, encode."""
        options = self.options
        self.data = reading.read(options)
        self.problem: Problem = problem_of(self.data, options)
        self.encoder = options.encoder or self._usual_encoder()
        texts = self.problem.texts()
        self.tokenizer = load_tokenizer(self.encoder, texts, max_length=512)
        self.max_length = self._length(texts)
        self.cut = self.problem.encode(self.tokenizer, self.max_length)
        for arm in options.losses:
            loss_of(arm, self.problem)  # a wrong name is said now, not after the other arms' runs
        kept = self._state()
        digest = self.data.digest
        if kept and kept["digest"] != digest:
            raise FitError(
                f"{self.folder} holds a fit on other data: {options.source} has changed since; "
                "choose another --out, or delete this folder"
            )
        self._save(digest=digest)
        return self.data

    def floors(self) -> dict[str, Counts]:
        """Scores that need no encoder."""
        self.of_floors = floors(self.problem)
        return self.of_floors

    def linear(self) -> dict[str, Candidate]:
        """Linear models on words and frozen embeddings; the best so far is in ``model/``.

        They are chosen by out-of-fold scores of train and validation together; taggers by those of
        validation.
        """
        if not self.options.linear:
            return {}
        place = self.folder / "linear"
        given = self.encoder, self.tokenizer, self.max_length
        told: dict[str, Any] = {
            "seed": self.options.seed,
            "device": str(device_of(Experiment(corpus="linear", device=self.options.device))),
            "folder": place,
            "seconds": self._seconds_for_linear(),
            "note": self._note,
        }
        made = (
            linear.taggers(self.problem, *given, **told)
            if isinstance(self.problem, Tagging)
            else linear.candidates(self.problem, *given, folds=self.options.folds, **told)
        )
        for one in made:
            self.candidates[one.name] = one
            best = self.best_linear() is one
            if one.model is not None:
                if best:
                    keep_linear(one.model, one.bias, place / "model", self._told_linear(one))
                one.save(place)
            found = interval(self.counts_of(one), self.problem.goal.plain)
            line = f"{NAMES[one.name]}: test {self.problem.goal.name} {found}"
            state = self._state()
            if best and not state.get("kept") and not state.get("finished"):
                copy(place / "model", self.folder / "model")
                line = f"So far the {line}; the model is in {self.folder / 'model'}"
            self.say(f"{line[0].upper()}{line[1:]}; {minutes(one.seconds)}.")
            self._save()
        return self.candidates

    def best_linear(self) -> Candidate | None:
        """Of the linear models the one with the best out-of-fold score."""
        return max(self.candidates.values(), key=lambda one: one.value, default=None)

    def plan(self) -> Plan:
        """Probe the speed and say what will be done in the time there is.

        Where there is no time for fine-tuning, but there is a linear model, the plan has no runs.
        """
        kept = self._state()
        before = Plan.of(kept["plan"]) if kept.get("plan") else None
        asked = self.options.minutes
        if before is not None and (asked is None or asked <= before.minutes):
            self.planned = before
        else:
            speed, hidden = probe(self.problem, self.encoder, self.tokenizer, self.options)
            rates = self.options.rates or rates_for(self.encoder, hidden)
            try:
                self.planned = plan(self.problem, speed, rates, self.options, spent=self.spent())
            except NoTime as error:
                if not self.candidates:
                    raise
                self._note(f"There is no time for fine-tuning, which needs --minutes {error.need}.")
                self.planned = no_runs(speed, self.options.minutes or 0.0)
                return self.planned
            self._check_space()
            if before is not None:
                if (before.steps, before.epochs) != (self.planned.steps, self.planned.epochs):
                    shutil.rmtree(self.folder / "runs", ignore_errors=True)
                    self._note("There is more time than before: longer runs replace earlier ones.")
                else:
                    self.planned = replace(self.planned, speed=before.speed)
            self._save(plan=self.planned.told())
        return self.planned

    def search(self) -> dict[str, Done]:
        """Every arm with every learning rate, one seed; of each arm the best on validation."""
        planned = self.planned
        self.searched = []
        self.number = 0
        for rate in planned.rates:
            enough = self._time_for(len(planned.arms))
            if self.searched and not enough and not self._begun(rate):
                self._note(f"The time did not suffice to search the learning rate {rate:g}.")
                continue
            for arm in planned.arms:
                one = Run(arm, rate, planned.seeds[0])
                waits = self.searched and rate == planned.rates[0] and not self._finished(one)
                if waits and not self._time_for(1):
                    self._note(f"The time did not suffice for {NAMES.get(arm, arm)}.")
                    continue
                self.searched.append(self._run(one))
        best = {
            arm: max((d for d in self.searched if d.run.arm == arm), key=lambda d: d.value)
            for arm in dict.fromkeys(d.run.arm for d in self.searched)
        }
        drop_models([d for d in self.searched if d is not best[d.run.arm]])
        self.best = best
        return best

    def finals(self) -> dict[str, Arm]:
        """The best arms with further seeds, on the test split; the arm with the best validation."""
        planned = self.planned
        order = sorted(self.best, key=lambda arm: -self.best[arm].value)[: planned.finals]
        self.arms = {arm: Arm([self.best[arm]]) for arm in order}
        if not order:
            return {}
        for seed in planned.seeds[1:]:
            of_seed = [replace(self.best[arm].run, seed=seed) for arm in order]
            if not all(map(self._finished, of_seed)) and not self._time_for(len(order)):
                self._note(f"The time did not suffice for the finals with seed {seed}.")
                break
            for arm, one in zip(order, of_seed, strict=True):
                self.arms[arm].done.append(self._run(one))
        for of_arm in self.arms.values():
            for done in of_arm.done:
                of_arm.counts.append(self._test_counts(done, done.bias))
                of_arm.argmax.append(self._test_counts(done, 0 * done.bias))
        self.chosen = max(self.arms, key=lambda arm: self.arms[arm].validation)
        self.kept = max(self.arms[self.chosen].done, key=lambda done: done.value)
        drop_models([d for arm in self.arms.values() for d in arm.done if d is not self.kept])
        return self.arms

    def choose(self) -> str:
        """The best linear model or the chosen arm, whichever scores better on validation.

        Both are scored on the same rows of validation, as they would decide rows that nobody
        tuned them on: the linear model by scores and a threshold that are out of fold, the arm by
        a threshold that is tuned on the other folds; an arm has the mean of its seeds.

        Returns:
            The name of what is kept.
        """
        best = self.best_linear()
        if best is None:
            assert self.chosen is not None
            return self.chosen
        self.winner = best
        if self.data.task == "tagging":  # both by a threshold that is tuned on these very rows
            self.honest = {best.name: best.value}
            if self.chosen is not None:
                self.honest[self.chosen] = self.arms[self.chosen].validation
        else:
            self._score_honestly(best)
        if self.chosen is not None and self.honest[self.chosen] > self.honest[best.name]:
            self.winner = None
            return self.chosen
        return best.name

    def _score_honestly(self, best: Candidate) -> None:
        held = np.flatnonzero(best.pool.validation >= 0)
        rows, problem = best.pool.rows.select(held), self.problem
        said = problem.decide(best.scores[held], best.bias)
        self.honest = {best.name: float(problem.goal.value(problem.counts(rows, said).sum(0)))}
        if self.chosen is not None:
            places, folds = best.pool.validation[held], best.pool.folds[held]
            values = [
                _other_folds(problem, done.validation[places], rows, folds)
                for done in self.arms[self.chosen].done
            ]
            self.honest[self.chosen] = float(np.mean(values))

    def curve(self) -> dict[float, float]:
        """The chosen arm on a quarter and on half of the data: would more of them help?"""
        self.of_curve = {}
        if self.planned.curve and self.chosen is not None and self.winner is None:
            whole = self.arms[self.chosen].done[0]
            for share in (0.25, 0.5):
                part = replace(whole.run, share=share)
                if not self._finished(part) and not self._time_for(share):
                    self._note("The time did not suffice for the learning curve over the data.")
                    self.of_curve = {}
                    return {}
                done = self._run(part)
                self.of_curve[share] = self._score(self._test_counts(done, done.bias))
                drop_models([done])
            self.of_curve[1.0] = self._score(self.arms[self.chosen].counts[0])
        return self.of_curve

    def keep(self) -> Path:
        """Save the model, its threshold folded in, and the predictions on the test split."""
        place = self.folder / "model"
        self._write_predictions()
        if self.winner is not None:
            copy(self.folder / "linear" / "model", place)
        elif (self.kept.folder / "model").is_dir():
            told = {
                **self._told(self.problem, self.kept.validation, self.problem.splits["validation"]),
                "loss": self.chosen,
                "rate": self.kept.run.rate,
                "seed": self.kept.run.seed,
            }
            keep(self.kept.model(self.problem), self.tokenizer, self.kept.bias, place, told)
        self._save(kept=self.kept_name)
        if self.winner is None:
            drop_models([self.kept])
        return place

    # -- what they need ---------------------------------------------------------------------

    def spent(self) -> float:
        """Seconds since the fit began, without those when it stood still."""
        return self.before + time.monotonic() - self.began

    def score(self, arm: str, *, argmax: bool = False) -> list[float]:
        """An arm's test scores, one a seed."""
        counts = self.arms[arm].argmax if argmax else self.arms[arm].counts
        return [self._score(one) for one in counts]

    def _score(self, counts: Counts) -> float:
        return float(self.problem.goal.plain(counts.sum(0)))

    def told(self, counts: Counts) -> dict[str, float]:
        """Score, precision and recall of some counts, in percent."""
        whole = counts.sum(0)
        goal = self.problem.goal
        focus = goal.focused(whole).percent()
        score = {goal.metric: float(goal.plain(whole))}
        return score | {name: focus[name] for name in ("precision", "recall")}

    def rival(self) -> tuple[str, Difference] | None:
        """The second arm, and how far the chosen one is ahead of it."""
        others = [arm for arm in self.arms if arm != self.chosen]
        if not others:
            return None
        other = "ce" if "ce" in others else max(others, key=lambda a: self.arms[a].validation)
        assert self.chosen is not None
        ours, theirs = self.arms[self.chosen].counts, self.arms[other].counts
        return other, difference(ours, theirs, self.problem.goal.plain)

    @property
    def kept_name(self) -> str:
        """Of what is kept: an arm, or a linear model."""
        name = self.winner.name if self.winner is not None else self.chosen
        assert name is not None
        return name

    @property
    def kept_problem(self) -> Problem:
        """The task, as the kept model decides."""
        return self.problem if self.winner is None else self.winner.problem

    @property
    def kept_bias(self) -> np.ndarray:
        """The decision of the model that is kept."""
        return self.kept.bias if self.winner is None else self.winner.bias

    def kept_counts(self) -> tuple[Counts, Counts]:
        """Test counts of the model that is kept: with its threshold, and at argmax."""
        if self.winner is not None:
            return self.counts_of(self.winner), self.counts_of(self.winner, argmax=True)
        arm = self.arms[self.kept_name]
        place = next(i for i, done in enumerate(arm.done) if done is self.kept)
        return arm.counts[place], arm.argmax[place]

    def kept_test(self) -> np.ndarray:
        """The kept model's scores on the test split, without its threshold."""
        return self._test(self.kept) if self.winner is None else self.winner.test

    def kept_scored(self) -> tuple[np.ndarray, Any]:
        """Scores of rows that are not test, by which the kept model's decision was chosen."""
        if self.winner is not None:
            return self.winner.scores, self.winner.pool.rows
        return self.kept.validation, self.problem.splits["validation"]

    def kept_interval(self) -> Interval:
        """The kept model's test score with its 95% interval over test rows."""
        return interval(self.kept_counts()[0], self.problem.goal.plain)

    def against(self, other: Counts) -> Difference:
        """How far the kept model is ahead of other test counts, rows being paired."""
        return difference([self.kept_counts()[0]], [other], self.problem.goal.plain)

    def counts_of(self, one: Candidate, *, argmax: bool = False) -> Counts:
        """Test counts of a linear model."""
        bias = 0 * one.bias if argmax else one.bias
        test = self.problem.splits["test"]
        return self.problem.counts(test, one.problem.decide(one.test, bias))

    def _told(self, problem: Problem, scores: np.ndarray, rows: Any) -> dict[str, Any]:
        return {
            "task": self.data.task,
            "labels": self.problem.labels,
            "columns": self.data.columns,
            "max_length": self.max_length,
            "metric": self.problem.goal.name,
            "encoder": Path(self.encoder).name,
            "calibration": problem.calibration(scores, rows),
        }

    def _told_linear(self, one: Candidate) -> dict[str, Any]:
        told = self._told(one.problem, one.scores, one.pool.rows)
        valid = isinstance(one.problem, ValidTagging)
        return {**told, "features": one.name, "valid": valid, **one.setting}

    def _seconds_for_linear(self) -> float | None:
        if self.options.steps is not None:
            return None
        whole = 60 * allowed_minutes(self.options)
        return min(0.85 * whole, max(120, 0.25 * whole)) - self.spent()

    def _test(self, done: Done) -> np.ndarray:
        with threads_of_torch(self.planned.speed.threads):
            return done.test(self.problem, self.tokenizer, self.options.device)

    def _test_counts(self, done: Done, bias: np.ndarray) -> Counts:
        test = self.problem.splits["test"]
        return self.problem.counts(test, self.problem.decide(self._test(done), bias))

    def _run(self, one: Run) -> Done:
        self.number += 1
        planned = self.planned
        where = f"[{self.number}/{planned.runs}] {one}"
        new = not self._finished(one)
        if new:
            self.say(f"{where} ...")
        started = time.monotonic()
        done = run(
            one,
            self.problem,
            self.tokenizer,
            self.encoder,
            planned,
            self.options,
            self.folder / "runs",
            self._used_up,
        )
        took = time.monotonic() - started
        if new and one.share == 1:
            self.took = took
        passes = len(done.history)
        if new and passes < planned.epochs and self._used_up():
            self._note(f"{one}: stopped after {passes} of {planned.epochs} passes, for the time.")
        goal = self.problem.goal
        threshold = f", {done.argmax:.1f} {self.problem.plainly}" if np.any(done.bias) else ""
        line = f"{where}: validation {goal.name} {done.value:.1f}{threshold}"
        if new:
            self._save()
            left = self._seconds_left(took)
            end = datetime.now() + timedelta(seconds=left)
            line += f"; {minutes(took)}, all done about {end:%H:%M}"
        self.say(line)
        return done

    took = 0.0

    def _seconds_left(self, took: float) -> float:
        return max(0, self.planned.runs - self.number) * (self.took or took)

    def _finished(self, one: Run) -> bool:
        return (self.folder / "runs" / one.name / "run.json").exists()

    def _begun(self, rate: float) -> bool:
        return any(
            (self.folder / "runs" / Run(arm, rate, self.planned.seeds[0]).name).exists()
            for arm in self.planned.arms
        )

    def _time_for(self, runs: float) -> bool:
        """Whether so many more runs end within a tenth of the time there is."""
        if self.options.steps is not None:
            return True
        each = self.took or self.planned.seconds / max(1, self.planned.runs)
        return self.spent() + runs * each <= 66 * self.planned.minutes

    def _used_up(self) -> bool:
        return self.options.steps is None and self.spent() > 60 * self.planned.minutes

    def _usual_encoder(self) -> str:
        chinese = sum(
            "\u3400" <= sign <= "\u9fff" for text in self.problem.texts()[:200] for sign in text
        )
        if self.options.source.startswith("embedded-"):
            return TINY
        if importlib.util.find_spec(MINILM_PACKAGE) is None:
            self._note(
                "The encoder is tiny, without pretraining: scores will be far below what a "
                f"pretrained one gives. {install_command('encoder')}, or --encoder FOLDER."
            )
            return TINY
        if chinese > 2000:
            self._note("The encoder minilm knows English alone; give one with --encoder.")
        return MINILM

    def _length(self, texts: list[str]) -> int:
        limit = min(512, self.tokenizer.model_max_length)
        if self.options.max_length is not None:
            return min(self.options.max_length, limit)
        if self.data.task == "tagging":  # each word is to get a tag
            return min(LONGEST, limit)
        some = texts[:: max(1, len(texts) // 2000)]
        lengths = [len(ids) for ids in self.tokenizer(some)["input_ids"]]
        wanted = 8 * math.ceil((float(np.quantile(lengths, 0.99)) + 2) / 8)
        return int(min(max(16, wanted), LONGEST, limit))

    def _check_space(self) -> None:
        size = self.planned.speed.size
        need = (len(self.planned.arms) + 9) * size
        free = shutil.disk_usage(self.folder).free
        if free < need:
            raise FitError(
                f"{self.folder}: expected {need / 1e9:.1f} GB of free disk for the models under "
                f"way, found {free / 1e9:.1f} GB"
            )

    def _note(self, text: str) -> None:
        self.notes.append(text)
        self.say(text)

    def _state(self) -> dict[str, Any]:
        path = self.folder / STATE
        try:
            return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}
        except ValueError:
            raise FitError(
                f"{path}: expected what an earlier fit wrote, got something else; choose another "
                "--out, or delete this folder"
            ) from None

    def _save(self, **more: Any) -> None:
        kept = self._state()
        kept |= {"options": self.options.fixed(), "seconds": self.spent(), **more}
        write_json(self.folder / STATE, kept)

    def _write_predictions(self) -> None:
        problem, test = self.kept_problem, self.problem.splits["test"]
        scores = self.kept_test()
        said = problem.decide(scores, self.kept_bias)
        columns = (
            problem.told(test),
            problem.said(said, test),
            [f"{p:.4f}" for p in problem.sureness(scores, self.kept_bias, test)],
            problem.shown(test),
        )
        with (
            atomic(self.folder / "predictions.tsv") as path,
            path.open("w", encoding="utf-8", newline="") as file,
        ):
            writer = csv.writer(file, delimiter="\t", lineterminator="\n")
            writer.writerow(["gold", "predicted", "probability", "text"])
            writer.writerows(zip(*columns, strict=True))


def more_minutes(before: float | None, now: float | None) -> bool:
    """Whether a fit that goes on was only given more time."""
    return now is not None and (before is None or now >= before)


def no_runs(speed: Speed, minutes: float) -> Plan:
    """The plan of a fit that fine-tunes nothing."""
    return Plan((), (), 0, (), False, 0, -1, 0, speed, 0.0, minutes)


def _other_folds(problem: Problem, scores: np.ndarray, rows: Any, folds: np.ndarray) -> float:
    """The goal's score of rows that are decided fold by fold, as tuned on the other folds."""
    said: Any = None
    for fold in np.unique(folds):
        held = folds == fold
        bias = problem.tuned(scores[~held], rows.select(np.flatnonzero(~held)))
        of_fold = problem.decide(scores[held], bias)
        said = np.zeros((len(folds), *of_fold.shape[1:]), of_fold.dtype) if said is None else said
        said[held] = of_fold
    return float(problem.goal.value(problem.counts(rows, said).sum(0)))

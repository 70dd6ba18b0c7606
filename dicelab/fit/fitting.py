"""A fit by steps.

Read, baselines, linear, plan, search, finals, choose, refit, keep, report.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import datasets
import numpy as np

from dicelab.fit import candidates, choosing
from dicelab.fit import plan as planning
from dicelab.fit.baselines import baselines
from dicelab.fit.data import Data
from dicelab.fit.inputs import Inputs, prepare
from dicelab.fit.keeping import copy, keep, keep_linear
from dicelab.fit.linear import Candidate
from dicelab.fit.options import FitError, Options
from dicelab.fit.page import write, write_predictions
from dicelab.fit.plan import Plan
from dicelab.fit.predicting import Model, cost
from dicelab.fit.problems import Problem, Tagging
from dicelab.fit.result import NAMES, Arm, FitResult
from dicelab.fit.state import State
from dicelab.fit.training import Run, RunResult, best_pass, drop_models, refit, refit_folder, run
from dicelab.metrics.counts import Counts
from dicelab.metrics.intervals import difference, interval
from dicelab.training.callbacks import Aim
from dicelab.training.trainer import threads_of_torch


class Fit:
    """A fit under way.

    Each step fills :attr:`result`, returns its part of it, and may be called once the steps before
    it were. A fit that was killed goes on where it stopped when the same options are given again.

    Args:
        options: what is asked for.
        say: takes each line for the reader.
        chapter: by what name the fit is recorded.

    Raises:
        FitError: ``options.out`` cannot be written to, or holds another fit.
    """

    def __init__(
        self, options: Options, say: Callable[[str], None] = print, chapter: str = "fit"
    ) -> None:
        self.options = options
        self.say = say
        self.chapter = chapter
        self.folder = Path(options.out)
        self.began = time.monotonic()
        self.number = 0  # of the run, in its line
        self.seconds_of_run = 0.0  # the last whole one
        datasets.disable_progress_bars()
        self.state = State(self.folder, options)

    @cached_property
    def inputs(self) -> Inputs:
        """The data, read and encoded at the first use."""
        inputs = prepare(self.options)
        for note in inputs.notes:
            self.say(note)
        self.state.check_data(inputs.data.digest)
        self._save(digest=inputs.data.digest)
        return inputs

    @cached_property
    def result(self) -> FitResult:
        """What was found so far."""
        return FitResult(options=self.options, chapter=self.chapter, **vars(self.inputs))

    @property
    def problem(self) -> Problem:
        """The task, encoded."""
        return self.inputs.problem

    # -- steps ------------------------------------------------------------------------------

    def read(self) -> Data:
        """Read the data, take the encoder, encode."""
        return self.result.data

    def baselines(self) -> dict[str, Counts]:
        """Test counts of answers that need no encoder."""
        self.result.baselines = baselines(self.problem)
        return self.result.baselines

    def linear(self) -> dict[str, Candidate]:
        """The models of the first minute; the one that is kept so far is in ``model/``.

        The first is on words, or a conditional random field; the second, which is kept where it is
        ahead by more than noise, has an encoder's frozen vectors beside it. They are chosen by
        out-of-fold scores of train and validation together; taggers by those of validation.
        """
        if not self.options.linear:
            return {}
        seconds = None
        if self.options.steps is None:
            whole = 60 * planning.allowed_minutes(self.options)
            seconds = min(0.85 * whole, max(120, 0.25 * whole)) - self.spent()
        for candidate in candidates.candidates(self.inputs, self.options, seconds, self._note):
            self._add(candidate)
        return self.result.candidates

    def _add(self, candidate: Candidate) -> None:
        """Save a model, say its score, and keep it for now where no cheaper one is as good."""
        found, of_linear = self.result.candidates, self.folder / "linear" / "model"
        found[candidate.name] = candidate
        may_be_kept = [made for name, made in found.items() if name not in candidates.PARTS]
        self.result.simple = choosing.simplest(self.problem, may_be_kept)
        best = self.result.simple is candidate
        if best:
            setting = {"features": candidate.name, "setting": candidate.setting}
            info = self._info(candidate) | setting
            keep_linear(candidate.model, candidate.bias, of_linear, info)
        goal = self.problem.goal
        score = interval(self.result.counts_of(candidate), goal)
        line = f"{NAMES[candidate.name]}: test {goal.name} {score}"
        known = self.state.known
        if best and not known.get("kept") and not known.get("finished"):
            copy(of_linear, self.folder / "model")
            line = f"So far the {line}; the model is in {self.folder / 'model'}"
        self.say(f"{line[0].upper()}{line[1:]}; {planning.minutes(candidate.seconds)}.")
        self._save()

    def plan(self) -> Plan:
        """Probe the speed and say what will be done in the time there is.

        Where there is no time for fine-tuning, but there is a linear model, the plan has no runs.
        """
        known = self.state.known.get("plan")
        before = Plan.of(known) if known else None
        asked = self.options.minutes
        if before is not None and (asked is None or asked <= before.minutes):
            self.result.plan = before
            return before
        speed, hidden = planning.probe(self.inputs, self.options)
        task = self.inputs.data.task
        rates = self.options.rates or planning.rates_for(self.inputs.encoder, hidden, task)
        try:
            planned = planning.plan(self.problem, speed, rates, self.options, spent=self.spent())
        except planning.NoTime as error:
            if not self.result.candidates:
                raise
            self._note(f"There is no time for fine-tuning, which needs --minutes {error.need}.")
            no_plan = replace(planning.NO_PLAN, speed=speed, least=error.need)
            self.result.plan = replace(no_plan, minutes=asked or 0.0)
            return self.result.plan
        if planned.arms != self.options.arms:
            self._note(
                "There is time for one loss, cross entropy. More --minutes would compare class "
                "weights and dice loss with it."
            )
        need = (len(planned.arms) + 9) * speed.size
        free = shutil.disk_usage(self.folder).free
        if free < need:
            raise FitError(
                f"{self.folder}: expected {need / 1e6:,.0f} MB of free disk for the models under "
                f"way, found {free / 1e6:,.0f} MB"
            )
        if before is not None:
            if (before.steps, before.epochs) != (planned.steps, planned.epochs):
                shutil.rmtree(self.folder / "runs", ignore_errors=True)
                self._note("There is more time than before: longer runs replace earlier ones.")
            else:
                planned = replace(planned, speed=before.speed)
        self._save(plan=asdict(planned))
        self.result.plan = planned
        return planned

    def search(self) -> dict[str, RunResult]:
        """Every arm with every learning rate, one seed; of each arm the best on validation."""
        planned, searched = self.result.plan, self.result.searched
        searched.clear()
        self.number = 0
        for rate in planned.rates:
            specs = [Run(arm, rate, planned.seeds[0]) for arm in planned.arms]
            begun = any((self.folder / "runs" / spec.name).exists() for spec in specs)
            if searched and not begun and not self._time_for(len(specs)):
                self._note(f"The time did not suffice to search the learning rate {rate:g}.")
                continue
            for spec in specs:
                waits = searched and rate == planned.rates[0] and not self._finished(spec)
                if waits and not self._time_for(1):
                    self._note(f"The time did not suffice for {NAMES.get(spec.arm, spec.arm)}.")
                    continue
                searched.append(self._run(spec))
        self.result.best = {
            arm: max((d for d in searched if d.run.arm == arm), key=lambda d: d.value)
            for arm in dict.fromkeys(d.run.arm for d in searched)
        }
        drop_models([d for d in searched if d is not self.result.best[d.run.arm]])
        return self.result.best

    def finals(self) -> dict[str, Arm]:
        """The best arms with further seeds, on the test split; the arm with the best validation."""
        result = self.result
        best, planned = result.best, result.plan
        order = sorted(best, key=lambda arm: -best[arm].value)[: planned.finals]
        result.arms = {arm: Arm([best[arm]]) for arm in order}
        if not order:
            return {}
        for seed in planned.seeds[1:]:
            of_seed = [replace(best[arm].run, seed=seed) for arm in order]
            if not all(map(self._finished, of_seed)) and not self._time_for(len(order)):
                self._note(f"The time did not suffice for the finals with seed {seed}.")
                break
            for arm, spec in zip(order, of_seed, strict=True):
                result.arms[arm].runs.append(self._run(spec))
        for of_arm in result.arms.values():
            for made in map(self._candidate, of_arm.runs):
                of_arm.counts.append(result.counts_of(made))
                of_arm.argmax.append(result.counts_of(made, argmax=True))
        result.chosen = max(result.arms, key=lambda arm: result.arms[arm].validation)
        result.run = max(result.arms[result.chosen].runs, key=lambda outcome: outcome.value)
        result.fine_tuned = self._candidate(result.run)
        drop_models([d for arm in result.arms.values() for d in arm.runs if d is not result.run])
        return result.arms

    def choose(self) -> str:
        """The model of the first minute, the chosen arm, or the mean of their logits.

        All are scored on the same rows of validation, by :func:`choosing.measure`; an arm has the
        mean of its seeds. The first model is kept, or else the mean, or else the arm: the first of
        them that is at most a standard error behind the best.

        Returns:
            The name of what is kept.
        """
        result, best = self.result, self.result.simple
        if best is None:
            return result.model_name
        runs = result.arms[result.chosen].runs if result.chosen is not None else []
        if result.fine_tuned is not None:
            result.mean = choosing.mean_of(self.problem, best, result.fine_tuned)
        problem, made = self.problem, list(result.candidates.values())
        models = problem, made, best, result.chosen, runs
        decided = choosing.counts_on_validation(*models)
        result.compared = {
            name: choosing.mean_score(by_run, problem.goal.value)
            for name, by_run in decided.items()
        }
        ranked, value = problem.ranks, choosing.measure(problem)
        counts = choosing.counts_on_validation(*models, True) if ranked else decided
        may_be_kept = dict(list(counts.items())[len(made) - 1 :])
        first = choosing.preferred(may_be_kept, value)
        result.winner = {best.name: best, choosing.MEAN: result.mean}.get(first)
        kept = [run is result.run for run in runs]
        result.held = decided[first][kept.index(True) if any(kept) else 0]
        result.ahead = {
            name: difference(counts[first], of_other, value)
            for name, of_other in may_be_kept.items()
            if name != first
        }
        if result.chosen is not None:
            gap = difference(counts[best.name], counts[result.chosen], value)
            result.far_behind = gap.low > 0
        return result.model_name

    def refit(self) -> bool:
        """Train the kept run again, on train and validation together; its threshold stays.

        The first model is kept where the second, with this threshold, scores lower on validation,
        although it learned from these rows and the first did not: then the threshold does not fit.

        Returns:
            Whether the second model is kept.
        """
        result, before = self.result, self.result.run
        worth = planning.worth_refit(self.problem, self.options)
        if before is None or result.linear_alone or not worth:
            return False
        if not result.plan.refit:
            self._note("There was no time to train again on train and validation.")
            return False
        if result.winner is not None and result.far_behind:
            self._note(
                "The fine-tuned part of the mean is far behind the other part, so it was not "
                "trained again on train and validation."
            )
            return False
        started = time.monotonic()
        new = not (refit_folder(before.folder) / "run.json").exists()
        if new:
            sizes = [len(self.problem.splits[name]) for name in ("train", "validation")]
            share = best_pass(before, self.problem) / len(before.history)
            if not self._time_for(share * sum(sizes) / sizes[0]):
                self._note("The time did not suffice to train again on train and validation.")
                return False
            self.say(f"{before.run}: again, on train and validation together ...")
        with threads_of_torch(result.plan.speed.threads):
            again = refit(before, self.inputs, result.plan, self.options)
        if new:
            self.say(f"{before.run}: trained again, {planning.minutes(time.monotonic() - started)}")
        scores = [self._decided_again(run) for run in (again, before)]
        if scores[0] < scores[1]:
            self._note(
                f"Trained again, {before.run} scored {scores[0]:.1f} on validation with the "
                f"threshold from before, where it had {scores[1]:.1f}: the first model is kept."
            )
            drop_models([again])
            return False
        drop_models([before])
        result.run, result.fine_tuned, result.refitted = again, self._candidate(again), True
        if result.simple is not None and result.mean is not None:
            test = (result.simple.test + result.fine_tuned.test) / 2
            result.mean = replace(result.mean, test=test)
            result.winner = result.mean if result.winner is not None else None
        self._save()
        return True

    def _decided_again(self, run: RunResult) -> float:
        """The goal's score on validation of a run's model, or its mean, by the threshold it has."""
        result, best = self.result, self.result.simple
        if result.winner is None or best is None:
            split = self.problem.splits["validation"]
            return self.problem.value(run.learned, run.bias, split)
        both = choosing.mean_on_validation(best, run.learned)
        return self.problem.value(both, result.winner.bias, result.winner.pool.rows)

    def keep(self) -> Path:
        """Save the model, its threshold folded in, and the predictions on the test split."""
        result, folder = self.result, self.folder / "model"
        write_predictions(result)
        simple, of_linear = result.simple, self.folder / "linear" / "model"
        if result.linear_alone:
            copy(of_linear, folder)
        elif result.run is not None and (result.run.folder / "model").is_dir():
            spec = result.run.run
            of_run = {"loss": result.chosen, "rate": spec.rate, "seed": spec.seed}
            info = {**self._info(result.kept), **of_run}
            model, tokenizer = result.run.model(self.problem), self.inputs.tokenizer
            linear = None
            if result.winner is not None and simple is not None:
                linear = of_linear
                # Each part has its own threshold in it.
                offset = result.bias - (simple.bias + result.run.bias) / 2
                info |= {"features": simple.name, "bias": result.bias.tolist()}
                info["offset"] = offset.tolist()
            keep(model, tokenizer, result.run.bias, folder, info, linear)
        test = self.inputs.data.splits["test"]
        rows = self.problem.rows(test.select(range(min(100, len(test)))))
        result.model = Model(folder, self.options.device)
        result.cost = {result.model_name: cost(result.model, folder, rows)}
        if simple is not None and not result.linear_alone:
            model = Model(of_linear, self.options.device)
            result.cost[simple.name] = cost(model, of_linear, rows)
        self._save(kept=result.model_name)
        if not result.linear_alone and result.run is not None:
            drop_models([result.run])
        return folder

    def report(self) -> FitResult:
        """Write ``report.html``, ``record.json`` and the model's card, and hand the result back."""
        self.result.seconds = self.spent()
        write(self.result)
        self._save(finished=True)
        return self.result

    # -- what they need ---------------------------------------------------------------------

    def spent(self) -> float:
        """Seconds since the fit began, without those when it stood still."""
        return self.state.seconds + time.monotonic() - self.began

    def _info(self, kept: Candidate) -> dict[str, Any]:
        problem, data = self.problem, self.inputs.data
        return {
            "task": data.task,
            "labels": problem.labels,
            "columns": data.columns,
            "max_length": self.inputs.max_length,
            "metric": problem.goal.name,
            "goal": {"metric": self.options.metric, "positive": self.options.positive},
            "background": data.background,
            "encoder": Path(self.inputs.encoder).name,
            "calibration": problem.calibration(kept.scores, kept.pool.rows),
            "valid": isinstance(problem, Tagging) and problem.entities,
        }

    def _candidate(self, outcome: RunResult) -> Candidate:
        with threads_of_torch(self.result.plan.speed.threads):
            test = outcome.test(self.inputs, self.options.device)
        return choosing.of_run(self.problem, outcome, test)

    def _run(self, spec: Run) -> RunResult:
        """Train a run, or read it, and say how it went."""
        self.number += 1
        planned, goal = self.result.plan, self.problem.goal
        where = f"[{self.number}/{planned.runs}] {spec}"
        new = not self._finished(spec)
        if new:
            self.say(f"{where} ...")
        started = time.monotonic()
        aim = Aim(self._passes(self.spent()), self._over) if planned.alone else None
        runs = self.folder / "runs"
        outcome = run(spec, self.inputs, planned, self.options, runs, self._used_up, aim)
        seconds = time.monotonic() - started
        threshold = (
            f", {outcome.argmax:.1f} {self.problem.untuned_rule}" if np.any(outcome.bias) else ""
        )
        line = f"{where}: validation {goal.name} {outcome.value:.1f}{threshold}"
        if new:
            self.seconds_of_run = seconds
            if (passes := len(outcome.history)) < planned.epochs and self._used_up():
                stopped = f"stopped after {passes} of {planned.epochs} passes, for the time."
                self._note(f"{spec}: {stopped}")
            self._save()
            further = max(0, planned.runs - self.number) + planned.refit
            left = further * (self.seconds_of_run or seconds)
            end = datetime.now() + timedelta(seconds=left)
            line += f"; {planning.minutes(seconds)}, all done about {end:%H:%M}"
        self.say(line)
        return outcome

    def _passes(self, began: float) -> Callable[[int], int]:
        """From the passes of a run that are over to how many it is to have, by their speed."""
        planned, sizes = self.result.plan, {n: len(s) for n, s in self.problem.splits.items()}
        speed = planned.speed
        between = sizes["validation"] * speed.row + speed.save
        a_pass = planned.steps / planned.epochs
        step = speed.step if planned.batch_size != speed.small_batch else speed.small_step
        more = sizes["validation"] / sizes["train"]
        before: list[int] = []  # passes of an earlier part of the fit

        def decided(done: int) -> int:
            if planned.partial or not before:
                before.append(done)
                return max(planned.epochs, done + 1)
            spent, seen = self.spent(), max(1, done - before[0])
            each = (spent - began + between) / seen  # the last pass is still to be scored
            slower = max(1.0, each / (a_pass * step + between))
            left = planning.FOR_SEEN_RUNS * 60 * planned.minutes - spent - slower * self._after_runs
            number, both = planning.passes(planned, done, each, left, more)
            if seen == 1:
                again = ", then again on all rows" if both else ""
                self.say(
                    f"A pass takes {planning.minutes(each)}: up to {number} of them, while "
                    f"validation rises{again}."
                )
            return number

        return decided

    def _finished(self, spec: Run) -> bool:
        return (self.folder / "runs" / spec.name / "run.json").exists()

    def _time_for(self, runs: float) -> bool:
        """Whether so many more runs end within a tenth of the time there is."""
        if self.options.steps is not None:
            return True
        planned = self.result.plan
        each = self.seconds_of_run or planned.seconds / max(1, planned.runs)
        return self.spent() + runs * each <= 66 * planned.minutes

    @property
    def _after_runs(self) -> float:
        """Seconds that scores of validation and test, and the report, take after the last step."""
        sizes, speed = self.problem.splits, self.result.plan.speed
        return (len(sizes["validation"]) + 2 * len(sizes["test"])) * speed.row + speed.save

    def _over(self) -> bool:
        return self.spent() > 60 * self.result.plan.minutes - 2 * self._after_runs

    def _used_up(self) -> bool:
        return self.options.steps is None and self.spent() > 60 * self.result.plan.minutes

    def _note(self, text: str) -> None:
        self.result.notes.append(text)
        self.say(text)

    def _save(self, **more: Any) -> None:
        self.state.save(self.spent(), **more)

"""How long each run may be, from the time there is and a timed probe of a few steps."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from dicelab.fit.inputs import Inputs
from dicelab.fit.options import FitError, Options
from dicelab.fit.problems import Problem
from dicelab.training.encoders import TINY
from dicelab.training.trainer import device_of, threads_of_torch

#: Of the time there is, for the runs; the rest is for floors, the report and what a guess misses.
FOR_RUNS = 0.88
FOR_SEEN_RUNS = 0.95  # the same once the speed of a pass was seen
#: A run of so many steps, or passes, needs no more; one alone goes on while validation rises.
ENOUGH_STEPS, MOST_PASSES, ENOUGH_PASSES, PASSES_ALONE = 400, 20, 4, 8
SHARED_PASSES = 3  # of a run alone, that leave time to train again on more rows
SHORTEST = 20  # steps
USUAL_BATCH, SMALL_BATCHES = 32, (8, 16)
CHEAP = 1.5  # seconds of a row in a small batch, by those in a usual one, that more steps are worth
#: Where validation has this share of the rows of train, they are learned from in the end.
WORTH_REFIT = 0.1
#: From the most to the least that a fit does: rates searched, arms in the finals, seeds.
LEVELS = ((3, 3, None), (2, 2, None), (1, 2, None), (1, 1, 1))


class NoTime(FitError):
    """Not even one short run fits in the minutes that were asked for.

    Attributes:
        need: minutes that would be enough.
    """

    def __init__(self, message: str, need: int) -> None:
        super().__init__(message)
        self.need = need


@dataclass(frozen=True)
class Speed:
    """What a probe measured, times in seconds.

    Attributes:
        step: a training step.
        row: scoring a row.
        save: a checkpoint.
        size: the bytes of a model.
        threads: how many torch takes on the CPU; 0 for as many as it takes by itself.
        small_batch: the smallest batch whose rows cost little more; 0 where there is none.
        small_step: a training step with it.
    """

    step: float
    row: float
    save: float
    size: int
    threads: int = 0
    small_batch: int = 0
    small_step: float = 0.0


@dataclass(frozen=True)
class Plan:
    """What a fit will do.

    Attributes:
        arms: losses, in the order that was asked for.
        rates: learning rates, the same for each arm, the middle one first.
        finals: how many arms get further seeds.
        seeds: the seeds of the finals.
        epochs: passes of a run.
        max_steps: where a run ends before a pass does, else -1.
        steps: how many steps a run has.
        speed: as probed.
        seconds: that all runs will take.
        minutes: that the whole fit may take.
        refit: whether the model that is kept is trained again, on train and validation together.
        batch_size: rows in a step.
        alone: whether its only run has as many passes as turn out to fit into the minutes, or ends
            within a pass once they are over.
        least: minutes that a short run would take, where there is no time for one.
    """

    arms: tuple[str, ...]
    rates: tuple[float, ...]
    finals: int
    seeds: tuple[int, ...]
    epochs: int
    max_steps: int
    steps: int
    speed: Speed
    seconds: float
    minutes: float
    refit: bool = False
    batch_size: int = USUAL_BATCH
    alone: bool = False
    least: int = 0

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Plan:
        """The plan of which ``asdict`` made these values of JSON."""
        lists = {name: tuple(fields[name]) for name in ("arms", "rates", "seeds")}
        return cls(**{**fields, **lists, "speed": Speed(**fields["speed"])})

    @property
    def partial(self) -> bool:
        """Whether a run ends before it has seen all rows."""
        return self.max_steps > 0 and self.epochs == 1

    @property
    def length(self) -> str:
        """Of a run, in words."""
        if self.max_steps < 0:
            return "a pass" if self.epochs == 1 else f"{self.epochs} passes"
        return "less than a pass" if self.partial else f"nearly {self.epochs} passes"

    @property
    def runs(self) -> int:
        """How many models are trained, before one of them is trained again."""
        further = min(self.finals, len(self.arms)) * (len(self.seeds) - 1)
        return len(self.arms) * len(self.rates) + further


NO_PLAN = Plan((), (), 0, (), 0, -1, 0, Speed(0.0, 0.0, 0.0, 0), 0.0, 0.0)  # fine-tunes nothing


def rates_for(encoder: str, hidden: int, task: str) -> tuple[float, ...]:
    """Three learning rates that suit an encoder, the middle one first.

    Those of small encoders follow from short runs of MiniLM with all layers (section 9.13 of the
    book): where rows are whole texts and positives rare, a rate that suits tags can cost half of
    the F1.

    Args:
        encoder: its name.
        hidden: its width; wide encoders want small rates.
        task: what is decided; whole texts want smaller rates than the tags of words.
    """
    if encoder == TINY:
        return (1e-3, 2e-3, 5e-4)
    if hidden > 512:
        return (3e-5, 6e-5, 1.5e-5)
    return (2e-4, 4e-4, 1e-4) if task == "tagging" else (8e-5, 1.6e-4, 4e-5)


def probe(inputs: Inputs, options: Options) -> tuple[Speed, int]:
    """Time a few steps on batches of every length, and a checkpoint.

    Returns:
        The speed, and the width of the encoder.
    """
    device, problem = device_of(options.device), inputs.problem
    torch.manual_seed(0)
    model = problem.model(inputs.encoder, inputs.tokenizer).to(device)
    collate = problem.collator(inputs.tokenizer)
    train = problem.splits["train"]
    lengths = np.array([len(ids) for ids in train["input_ids"][:]])
    order = np.argsort(lengths, kind="stable")

    def batches_of(rows: int) -> list[Any]:
        """Batches of every length, the middle one first."""
        size = min(rows, len(train))
        places = [int(share * (len(order) - size)) for share in (0.5, 0.1, 0.3, 0.5, 0.7, 0.9)]
        return [collate([train[int(i)] for i in order[at : at + size]]) for at in places]

    usual = options.batch_size or USUAL_BATCH
    size, batches = min(usual, len(train)), batches_of(usual)
    loss = problem.loss("ce").to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-9)

    def step(batch: dict[str, torch.Tensor]) -> float:
        started = time.perf_counter()
        inputs = {name: value.to(device) for name, value in batch.items()}
        labels = inputs.pop("labels")
        loss(model(**inputs).logits, labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        if device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - started

    model.train()
    threads = 0 if device.type == "cuda" else _threads(lambda: step(batches[0]))
    with threads_of_torch(threads):
        seconds = float(np.median([step(batch) for batch in batches][1:]))
        small = (0, 0.0)
        for rows in SMALL_BATCHES if options.batch_size is None and device.type == "cpu" else ():
            of_rows = float(np.median([step(batch) for batch in batches_of(rows)][1:]))
            if of_rows * usual <= CHEAP * seconds * rows:
                small = rows, of_rows
                break
        model.eval()
        started = time.perf_counter()
        with torch.inference_mode():
            for batch in batches[1::2]:
                model(**{n: v.to(device) for n, v in batch.items() if n != "labels"}).logits.cpu()
        row = (time.perf_counter() - started) / (len(batches[1::2]) * size)
    with tempfile.TemporaryDirectory(dir=options.out) as folder:
        started = time.perf_counter()
        model.save_pretrained(folder)
        save = 3 * (time.perf_counter() - started)  # the optimizer holds twice as much
    hidden: Any = getattr(model.config, "hidden_size", None)
    weights = sum(value.numel() * value.element_size() for value in model.parameters())
    speed = Speed(seconds, row, save, weights, threads, *small)
    return speed, int(hidden or model.config.d_model)


def _threads(step: Callable[[], float]) -> int:
    # Where other work keeps the cores busy, threads wait for one another: a step can take ten
    # times as long with two of them as with one.
    if torch.get_num_threads() == 1:
        return 0
    with threads_of_torch(1):
        step()
        alone = step()
    many = step()
    if many < 1:  # second; the first step with so many threads sets things up
        many = step()
    return 1 if many > 1.5 * alone else 0


def plan(
    problem: Problem, speed: Speed, rates: tuple[float, ...], options: Options, *, spent: float
) -> Plan:
    """The richest plan whose runs are long enough in the time that is left.

    Args:
        problem: for the sizes of its splits.
        speed: as probed.
        rates: the middle one first; a poor plan tries the first alone.
        options: for ``minutes``, arms and seeds.
        spent: seconds since the fit began.

    Raises:
        NoTime: not even one short run fits in the minutes that were asked for.
    """
    allowed = allowed_minutes(options)
    left = FOR_RUNS * 60 * allowed - spent
    sizes = {name: len(split) for name, split in problem.splits.items()}
    between = sizes["validation"] * speed.row + speed.save
    more = sizes["validation"] / sizes["train"]
    worth = worth_refit(problem, options)

    def planned(
        tried: int,
        finals: int,
        seeds: int | None,
        arms: tuple[str, ...] = options.arms,
        refit: bool = worth,
        small: bool = False,
    ) -> Plan:
        batch = speed.small_batch if small else options.batch_size or USUAL_BATCH
        step = speed.small_step if small else speed.step
        # Adam's steps are as large as their rate, and those of fewer rows are more in a pass.
        factor = (batch / USUAL_BATCH) ** 0.5 if small else 1.0
        rate_grid = tuple(float(f"{rate * factor:.2g}") for rate in rates[:tried])
        a_pass = math.ceil(sizes["train"] / batch)
        finals, seeds = min(finals, len(arms)), min(seeds or options.seeds, options.seeds)
        runs = len(arms) * len(rate_grid) + finals * (seeds - 1)
        trained = runs + (1 + more) * refit
        tested = (finals * seeds + refit) * sizes["test"] * speed.row
        between_all = (runs + refit) * between
        alone = runs == 1 and options.steps is None
        if options.steps is not None:
            epochs, rest = divmod(options.steps, a_pass)
            steps, max_steps = options.steps, options.steps if rest else -1
            epochs += rest > 0
        else:
            # A run scores the validation split after each pass, and once more at its end.
            own = (left - tested - between_all) / trained
            most = max(math.ceil(_enough(a_pass) / a_pass), PASSES_ALONE * alone)
            epochs = int(min(own / (a_pass * step + between), most))
            steps, max_steps = epochs * a_pass, -1
            if epochs < 1:
                steps = max_steps = int((own - between) / step)
                epochs = 1
        cost = trained * (steps * step + epochs * between) + tested + between_all
        numbers = tuple(range(options.seed, options.seed + seeds))
        made = Plan(
            arms, rate_grid, finals, numbers, epochs, max_steps, steps, speed, cost, allowed,
            refit, batch, alone,
        )  # fmt: skip
        # Of less than a pass, other rows would be other steps and nothing else.
        return planned(tried, finals, seeds, arms, False, small) if refit and made.partial else made

    plans = [planned(*level) for level in LEVELS]
    if options.steps is not None:
        return plans[0]
    least_arms = options.losses or options.arms[:1]
    usual = _enough(math.ceil(sizes["train"] / (options.batch_size or USUAL_BATCH)))
    # In Stage B2 four times the steps gain more than any loss (section 17.4). So in a short time
    # one long run is better than several that have hardly begun to learn when they end, and small
    # batches are better where they cost little more.
    small = least_arms == ("ce",) and speed.small_batch > 0
    plans.append(planned(1, 1, 1, least_arms, worth, small))
    for least, possible in [(usual, made) for made in plans] + [(usual / 4, plans[-1])]:
        if possible.steps * possible.batch_size >= least * (options.batch_size or USUAL_BATCH):
            return possible
    for possible in (planned(1, 1, 1, least_arms, False, small), *plans):
        if possible.steps >= SHORTEST:
            return possible
    shortest = len(least_arms) * ((SHORTEST + 1) * speed.step + 2 * between)
    need = math.ceil((spent + shortest + sizes["test"] * speed.row) / FOR_RUNS / 60)
    if options.minutes is None:
        return plan(problem, speed, rates, replace(options, minutes=need), spent=spent)
    raise NoTime(
        f"--minutes: expected about {need} or more for these data with this encoder, "
        f"got {options.minutes:g} (a step takes {speed.step:.2f} s)",
        need,
    )


def worth_refit(problem: Problem, options: Options) -> bool:
    """Whether a model is to learn from the rows of validation, too, in the end.

    Of a share of precision or recall only rows that nobody learned from can say where it is.
    """
    more = len(problem.splits["validation"]) / len(problem.splits["train"])
    return more >= WORTH_REFIT and options.at_recall is None and options.at_precision is None


def _enough(a_pass: int) -> int:
    """Steps that a run needs, where a pass has so many."""
    return min(max(ENOUGH_PASSES * a_pass, ENOUGH_STEPS), MOST_PASSES * a_pass)


def passes(planned: Plan, done: int, each: float, left: float, more: float) -> tuple[int, bool]:
    """How many passes a run that is alone is to have, by the speed that was seen.

    Where both fit, ``SHARED_PASSES`` or more share the time with the training on all rows at the
    end. Where they do not, the run has all of it; if validation stops rising, what is left may
    still be enough for the other.

    Args:
        planned: for whether there is to be such a training.
        done: passes that are over.
        each: seconds of one, its scoring of validation included.
        left: seconds for further passes and the training at the end.
        more: rows of validation by those of train.

    Returns:
        The passes, and whether there is time for the training on all rows after them.
    """
    most = max(PASSES_ALONE, planned.epochs)
    alone = done + int(left / each)
    both = int((left / each + done) / (2 + more)) if planned.refit else 0
    if both >= min(SHARED_PASSES, most, alone):
        return max(done, min(both, most)), True
    return max(done, min(alone, most)), False


def allowed_minutes(options: Options) -> float:
    """How long a fit may take: as asked, or ten minutes, or two for an embedded corpus."""
    usual = 2.0 if options.source.startswith("embedded-") else 10.0
    return usual if options.minutes is None else options.minutes


def minutes(seconds: float) -> str:
    """A duration for a reader: ``"40 s"``, ``"3 min"``, ``"1 h 20 min"``."""
    if seconds < 90:
        return f"{max(seconds, 0):.0f} s"
    whole = round(seconds / 60)
    return f"{whole} min" if whole < 90 else f"{whole // 60} h {whole % 60} min"

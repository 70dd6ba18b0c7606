"""What looks on while a model trains: a clock, lines to read, checkpoints by time."""

from __future__ import annotations

import base64
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback
from transformers.trainer_callback import ExportableState

from dicelab.training.checkpoints import COMPLETE

WARM_UP = 10  # steps in which a device starts, and which no speed counts
WARM = 0.1  # of the steps of a run, in which the learning rate rises
MINUTES = 20.0  # between two checkpoints, where a pass takes longer


class MarkComplete(TrainerCallback):
    """Marks a checkpoint once every file of it is on the disk.

    Args:
        durable: whether the folder outlives the run; else nothing waits for the disk.
    """

    def __init__(self, durable: bool = True) -> None:
        self.durable = durable

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if not self.durable and not state.is_world_process_zero:
            return  # of several processes only the first one writes there
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        for path in folder.iterdir() if self.durable else ():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        (folder / COMPLETE).touch()


class SaveByTime(TrainerCallback, ExportableState):
    """Saves in the middle of a pass, too, so that a kill loses minutes and not a pass.

    A pass draws its order when it begins. A checkpoint in its middle keeps the state of the random
    numbers from which it was drawn: a run that goes on there reads the rest of the same order.
    """

    def __init__(self, order: str = "") -> None:
        self.order = order
        self.last = time.monotonic()

    def state(self) -> dict[str, Any]:
        return {"args": {"order": self.order}, "attributes": {}}

    def draw(self) -> None:
        """Note the state before an order is drawn, or go back to that of the pass that goes on."""
        if self.order:
            bits = bytearray(base64.b64decode(self.order))
            torch.set_rng_state(torch.frombuffer(bits, dtype=torch.uint8))
        else:
            now = torch.get_rng_state().numpy().tobytes()
            self.order = base64.b64encode(now).decode("ascii")

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if time.monotonic() - self.last > MINUTES * 60:
            # What was lost so far is logged, for it would be forgotten; `train` adds it up.
            control.should_log = control.should_save = True

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.order = ""

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.last = time.monotonic()


class StopWhenAsked(TrainerCallback):
    """Ends a run after an epoch, which is still scored and kept."""

    def __init__(self, stop: Callable[[], bool]) -> None:
        self.stop = stop

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        control.should_training_stop = control.should_training_stop or self.stop()


class StopAfter(TrainerCallback):
    """Ends a run after a given epoch. The learning rate has fallen as in a longer run."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        control.should_training_stop = control.should_training_stop or state.epoch >= self.epoch


class Aim(TrainerCallback):
    """Ends a run after as many epochs as there is time for; the learning rate is 0 there.

    Args:
        epochs: from the epochs that are over, from 0, to how many the run is to have. It is asked
            after each, and the learning rate goes on as in a run that had so many from its start.
        over: asked after each step; True ends the run there, as at the end of an epoch.

    Attributes:
        aimed: the epochs that were decided on last.
    """

    aimed = 0

    def __init__(self, epochs: Callable[[int], int], over: Callable[[], bool]) -> None:
        self.epochs = epochs
        self.over = over

    def on_train_begin(
        self, args: Any, state: Any, control: Any, lr_scheduler: Any = None, **_: Any
    ) -> None:
        self.scheduler = getattr(lr_scheduler, "scheduler", lr_scheduler)
        self.steps = state.max_steps / args.num_train_epochs
        self._aim(state.global_step, self.epochs(int(state.epoch or 0)))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.over():
            control.should_epoch_stop = control.should_training_stop = True

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        done = round(state.epoch)
        epochs = self.epochs(done)
        if epochs <= done:
            control.should_training_stop = True
        else:
            self._aim(state.global_step, epochs)

    def _aim(self, first: int, epochs: int) -> None:
        self.aimed, last = epochs, max(epochs * self.steps, first + 1)
        warm = WARM * last

        def factor(step: int) -> float:
            return float(min(step / warm, max(0.0, last - step) / (last - warm)))

        self.scheduler.lr_lambdas = [factor] * len(self.scheduler.lr_lambdas)


class Clock(TrainerCallback, ExportableState):
    """Seconds of training without evaluation and saving, kept across a kill and a resume.

    A GPU works on while the program is ahead of it, so the clock waits for it where it stops.
    """

    def __init__(self, seconds: float = 0.0, warm: Sequence[float] = (0, 0, 0)) -> None:
        self.seconds = seconds
        self.warm = tuple(warm)  # steps, seconds and sub-words of the first steps
        self.started: float | None = None

    def state(self) -> dict[str, Any]:
        return {"args": {"seconds": self.seconds, "warm": list(self.warm)}, "attributes": {}}

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.started is None:
            self.started = time.perf_counter()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if control.should_evaluate or control.should_save or state.global_step == WARM_UP:
            self.on_epoch_end(args, state, control)
        if state.global_step == WARM_UP:
            self.warm = (WARM_UP, self.seconds, state.num_input_tokens_seen)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.started is not None:
            if args.device.type == "cuda":
                torch.cuda.synchronize(args.device)
            self.seconds += time.perf_counter() - self.started
            self.started = None

    def steady(self, state: Any) -> tuple[float, float]:
        """Seconds of a step and sub-words in a second, without the first steps if others follow."""
        steps, seconds, tokens = self.warm if state.global_step >= 2 * WARM_UP else (0, 0, 0)
        taken = max(self.seconds - seconds, 1e-9)
        return taken / (state.global_step - steps), (state.num_input_tokens_seen - tokens) / taken


class Lines(TrainerCallback):
    """One line an epoch, and in a long epoch one every minute."""

    def __init__(self, best: str, every: float = 60.0) -> None:
        self.best = best
        self.every = every
        self.last = time.monotonic()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if time.monotonic() - self.last > self.every:
            self.last = time.monotonic()
            print(f"  step {state.global_step} of {state.max_steps}", file=sys.stderr, flush=True)

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.last = time.monotonic()
        loss = next((log["loss"] for log in reversed(state.log_history) if "loss" in log), None)
        if loss is not None and state.epoch is not None:
            value, name = kwargs["metrics"][f"eval_{self.best}"], self.best.replace("_", " ")
            print(f"  epoch {state.epoch:.3g}: loss {loss:.3f}, validation {name} {value:.1f}")

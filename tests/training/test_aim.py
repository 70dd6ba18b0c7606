"""A run that is aimed anew after each pass: how long it is, and how its learning rate falls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.optim.lr_scheduler import LambdaLR

from dicelab.training.callbacks import Aim


def rates(epochs: Any, *, over: Any = lambda: False, steps: int = 10, most: int = 8) -> list[float]:
    """The learning rate of each step of a run of up to so many epochs."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = LambdaLR(optimizer, lambda step: 0.0)
    aim, args = Aim(epochs, over), SimpleNamespace(num_train_epochs=most)
    state = SimpleNamespace(max_steps=steps * most, global_step=0, epoch=0.0)
    control = SimpleNamespace(should_training_stop=False, should_epoch_stop=False)
    aim.on_train_begin(args, state, control, lr_scheduler=scheduler)
    found = []
    while not control.should_training_stop:
        for _ in range(steps):
            optimizer.step()
            scheduler.step()
            state.global_step += 1
            state.epoch = state.global_step / steps
            found.append(scheduler.get_last_lr()[0])
            aim.on_step_end(args, state, control)
            if control.should_epoch_stop:
                break
        aim.on_epoch_end(args, state, control)
    return found


@pytest.mark.parametrize(
    ("decided", "epochs"),
    [
        *[({0: 4}, 4), ({0: 4, 1: 2}, 2), ({0: 2, 1: 6}, 6), ({0: 1, 1: 6}, 6)],
        *[({0: 4, 1: 8, 2: 3}, 3), ({0: 5, 1: 1}, 1)],
    ],
)
def test_a_run_ends_where_it_is_aimed_at_last(decided: dict[int, int], epochs: int) -> None:
    last = {done: decided[max(key for key in decided if key <= done)] for done in range(9)}
    found = rates(last.__getitem__)
    assert len(found) == 10 * epochs
    begun = 10 * max(key for key in decided if key <= epochs)  # what was decided last
    whole = rates(lambda done: epochs)
    assert found[begun:] == whole[begun:], "as if it had been decided from the start"
    highest = whole.index(max(whole))
    assert whole[: highest + 1] == sorted(whole[: highest + 1])
    assert whole[highest:] == sorted(whole[highest:], reverse=True), "it never rises again"
    assert whole[-1] == pytest.approx(0, abs=1e-9)


def test_a_run_ends_within_a_pass_where_the_time_is_over() -> None:
    asked = iter([False] * 13 + [True])
    assert len(rates(lambda done: 4, over=lambda: next(asked))) == 14

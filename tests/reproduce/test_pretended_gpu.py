"""Every system on a GPU that nobody here has: train, evaluate, decode, go on after a kill."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from dicebook import make_loss
from dicelab.training import trainer
from dicelab.training.experiment import Experiment
from reproduce import grid, systems
from tests.pretended_device import GPU, MixedDevices, Pretended, pretended_gpu

SHORT = {"train_size": 16, "eval_size": 8, "max_length": 64, "batch_size": 8, "precision": "fp32"}
RUNS = [
    (3, "tagger", "ce"),
    (5, "mrc", "dsc"),
    (6, "choice", "ce"),
    (6, "decisions", "dsc"),
    (9, "pairs", "dsc"),
]
LOSSES = ("ce", "wce", "fl", "dl", "tl", "dsc")
SET_LEVEL = ("dl", "tl", "dsc")
CASES: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for loss in LOSSES if loss != "wce" for name in (loss, f"binary_{loss}")),
    *((name, {"ohem_ratio": 1.0}) for loss in SET_LEVEL for name in (loss, f"binary_{loss}")),
    *((name, {"weight": torch.tensor([1.0, 2.0, 3.0])}) for name in LOSSES),
    *((name, {"level": "example"}) for name in SET_LEVEL),
    *((name, {"classes": [1, 2], "alpha": 0.5}) for name in ("dsc",)),
]


def job(table: int, system: str, **changes: Any) -> dict[str, Any]:
    found = grid.jobs(table, "smoke")
    first = next(j for j in found if j.parameters["system"] == system)
    return {**first.parameters, **SHORT, **changes}


def numbers(record: dict[str, Any]) -> dict[str, float]:
    """Scores and history, by where they stand; sums in another order differ in the last digit."""
    steps = {f"step {entry['step']}": entry for entry in record["history"]}
    return {
        f"{name} {key}": value
        for name, scores in {**record["metrics"], **steps}.items()
        for key, value in scores.items()
    }


def test_devices_do_not_mix() -> None:
    with pretended_gpu():
        here, there = torch.ones(3), torch.ones(3, device="cuda")
        assert there.device == GPU
        with pytest.raises(MixedDevices, match=r"got cuda:0 and cpu"):
            here + there
        with pytest.raises(TypeError, match="to numpy"):
            there.numpy()
        assert (here.to("cuda") + there).tolist() == [2, 2, 2]
        assert not isinstance(there.cpu(), Pretended)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_loss_stays_on_the_device_of_its_input(name: str, options: dict[str, Any]) -> None:
    binary, loss = name.startswith("binary_"), make_loss(name, **options)
    torch.manual_seed(0)
    logits = torch.randn((6,) if binary else (6, 3))
    target = torch.tensor([0, 1, -100, 1, 0, 0])
    values, gradients = [], []
    with pretended_gpu():
        for device in ("cpu", "cuda"):
            moved = logits.clone().to(device).requires_grad_()
            value = loss.to(device)(moved, target.to(device))
            value.backward()
            values.append(value.item())
            gradients.append(moved.grad.cpu())
    # On a GPU rows that are left out stay in the sums as zeros, which moves the last digit.
    assert values[0] == pytest.approx(values[1], rel=1e-6)
    torch.testing.assert_close(*gradients, rtol=1e-6, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(("table", "system", "loss"), RUNS)
def test_a_run_on_the_gpu_is_the_run_on_the_cpu(table: int, system: str, loss: str) -> None:
    given = job(table, system, loss=loss, loss_options={}, gradient_accumulation=2)
    here = systems.run(given)
    with pretended_gpu() as asked:
        there = systems.run(given)
    assert numbers(there) == pytest.approx(numbers(here), rel=1e-4, abs=1e-4)
    measured = there["measured"]
    assert (measured["device"], measured["peak_memory_bytes"]) == ("a pretended GPU", 12345)
    assert asked["peak memory reset"] == 1


@pytest.mark.parametrize(("emulated", "expected"), [(True, "fp16"), (False, "bf16")])
def test_half_precision_is_one_that_the_hardware_has(emulated, expected, monkeypatch):
    def supported(including_emulation: bool = True) -> bool:
        return including_emulation or not emulated

    with pretended_gpu():
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
        device = trainer.device_of(Experiment(corpus="x"))
        assert device.type == "cuda"
        assert trainer.precision_of("auto", device) == expected
        assert trainer.precision_of("fp32", device) == "fp32"
        assert trainer.precision_of("auto", torch.device("cpu")) == "fp32"

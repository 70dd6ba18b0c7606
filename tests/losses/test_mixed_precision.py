"""Two passes whose backward is that of a gradient scaler, or of Accelerate, on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn

from dicebook import SelfAdjustingDiceLoss, TverskyLoss, backward_in_two_passes
from dicebook.losses.modules import SetLoss

LOSSES = [SelfAdjustingDiceLoss(), TverskyLoss(fp_weight=0.3, fn_weight=0.7)]


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4))


def batch() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(64, 6, generator=generator)
    return x, torch.randint(4, (64,), generator=generator)


def gradient(model: nn.Module) -> Tensor:
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def of_the_whole(loss: SetLoss) -> Tensor:
    """In float32 and in one piece."""
    model, (x, y) = network(), batch()
    loss(model(x), y).backward()
    return gradient(model)


def in_parts(
    loss: SetLoss, model: nn.Module, dtype: torch.dtype, backward: Callable[[Tensor], object]
) -> None:
    x, y = batch()

    def forward(rows: slice) -> tuple[Tensor, Tensor]:
        with torch.autocast("cpu", dtype):
            logits = model(x[rows])
        assert logits.dtype == dtype
        return logits, y[rows]

    parts = [slice(0, 10), slice(10, 40), slice(40, 64)]
    backward_in_two_passes(loss, forward, parts, backward=backward)


def distance(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_a_gradient_scaler_gives_the_gradient_of_the_whole(loss: SetLoss) -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)
    before = torch.cat([p.detach().flatten().clone() for p in model.parameters()])
    in_parts(loss, model, torch.float16, lambda value: scaler.scale(value).backward())
    expected = of_the_whole(loss)
    assert distance(gradient(model) / 2**12, expected) < 5e-3
    scaler.step(optimizer)
    after = torch.cat([p.detach().flatten() for p in model.parameters()])
    assert distance(before - after, 0.1 * expected) < 5e-3
    # Without it the step is divided by the scale all the same.
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    in_parts(loss, model, torch.float16, Tensor.backward)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)
    scaler.scale(torch.zeros(()))
    scaler.step(optimizer)
    after = torch.cat([p.detach().flatten() for p in model.parameters()])
    assert distance(before - after, 0.1 * expected) > 0.99


@pytest.fixture
def fresh_accelerate() -> Iterator[None]:
    """Accelerate keeps its settings for the process."""
    state = pytest.importorskip("accelerate.state")
    state.AcceleratorState._reset_state(reset_partial_state=True)
    yield
    state.AcceleratorState._reset_state(reset_partial_state=True)


@pytest.mark.usefixtures("fresh_accelerate")
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_accelerate_in_bfloat16(loss: SetLoss) -> None:  # its "fp16" on a CPU is float32
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, mixed_precision="bf16")
    plain, seen = network(), set()
    plain[2].register_forward_hook(lambda _, __, output: seen.add(output.dtype))
    model, optimizer = accelerator.prepare(plain, torch.optim.SGD(plain.parameters(), lr=0.1))
    before = torch.cat([p.detach().flatten().clone() for p in model.parameters()])
    x, y = batch()
    parts = [slice(0, 30), slice(30, 64)]
    backward_in_two_passes(
        loss, lambda rows: (model(x[rows]), y[rows]), parts, backward=accelerator.backward
    )
    assert seen == {torch.bfloat16}
    expected = of_the_whole(loss)
    assert distance(gradient(model), expected) < 3e-2
    optimizer.step()
    after = torch.cat([p.detach().flatten() for p in model.parameters()])
    assert distance(before - after, 0.1 * expected) < 3e-2

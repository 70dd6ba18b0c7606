"""torch.compile and torch.func."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from dicebook import LOSS_NAMES, MultiLabelDiceLoss, make_loss
from dicebook.losses.modules import Loss

BINARY = [name for name in LOSS_NAMES if name.startswith("binary_")]
LEVELLED = ("dl", "tl", "dsc")
CASES = [(name, "set") for name in LOSS_NAMES]
COMPILED = [*CASES, ("dsc", "example"), ("binary_dsc", "example")]
CASES += [(name, "example") for name in LOSS_NAMES if name.endswith(LEVELLED)]


def batch(name: str) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    shape = (4, 6) if name in BINARY else (4, 6, 5)
    x = torch.randn(shape, generator=generator, requires_grad=True)
    y = torch.randint(2, (4, 6), generator=generator)
    y[0, :3] = -100
    return x, y


def made(name: str, level: str = "set") -> Loss:
    options: dict[str, Any] = {"level": level} if name.endswith(LEVELLED) else {}
    if name.endswith("wce"):
        options["weight"] = [0.5, 2.0] if name in BINARY else [0.5, 2.0, 1.0, 1.0, 3.0]
    return make_loss(name, **options)


@pytest.mark.parametrize(("name", "level"), COMPILED)
def test_compiles_without_a_graph_break(name: str, level: str) -> None:
    torch._dynamo.reset()
    loss = made(name, level)
    x, y = batch(name)
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    expected, actual = loss(x, y), compiled(x, y)
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(torch.autograd.grad(actual, x), torch.autograd.grad(expected, x))


@pytest.mark.slow
def test_compiles_to_machine_code() -> None:
    torch._dynamo.reset()
    loss = make_loss("dsc")
    x, y = batch("dsc")
    compiled = torch.compile(loss, fullgraph=True)
    expected, actual = loss(x, y), compiled(x, y)
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(torch.autograd.grad(actual, x), torch.autograd.grad(expected, x))


MULTI_LABEL = {"multi_label_dice": MultiLabelDiceLoss()}


@pytest.mark.parametrize("name", ["fl", "binary_dsc", *MULTI_LABEL])
def test_a_label_out_of_range_is_an_error_compiled_too(name: str) -> None:
    torch._dynamo.reset()
    loss = MULTI_LABEL.get(name) or made(name)
    x, y = batch(name)
    if name in MULTI_LABEL:
        x, y = x[..., 0], y.clamp_min(0)
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, y), loss(x, y))
    for wrong in (-1, x.shape[-1] if x.ndim > y.ndim else 2):
        bad = y.clone()
        bad[1, 2] = wrong
        with pytest.raises(ValueError, match="target must"):
            loss(x, bad)
        with pytest.raises((IndexError, RuntimeError), match=r"out of (range|bounds)"):
            compiled(x, bad)


@pytest.mark.parametrize("name", ["fl", "dsc"])
def test_compiled_for_any_size_it_stays_exact_and_finite_at_a_margin_of_110(name: str) -> None:
    torch._dynamo.reset()
    loss = make_loss(name)
    compiled = torch.compile(loss, fullgraph=True, dynamic=True, backend="aot_eager")
    for rows in (6, 9):
        y = torch.arange(rows) % 3
        top = torch.nn.functional.one_hot((y + torch.arange(rows) // 3) % 3, 3)
        x = (110.0 * top).requires_grad_()
        expected, actual = loss(x, y), compiled(x, y)
        torch.testing.assert_close(actual, expected, rtol=1e-7, atol=1e-7)
        of_eager, of_compiled = (torch.autograd.grad(v, x)[0] for v in (expected, actual))
        assert of_compiled.isfinite().all()
        torch.testing.assert_close(of_compiled, of_eager, rtol=1e-5, atol=1e-9)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize(("name", "level"), CASES)
def test_gradients_for_each_sentence_by_vmap(name: str, level: str) -> None:
    loss = made(name, level)
    x, y = batch(name)
    each = torch.func.vmap(torch.func.grad(loss))(x.detach(), y)
    for i in range(4):
        row = x[i].detach().requires_grad_()
        torch.testing.assert_close(each[i], torch.autograd.grad(loss(row, y[i]), row)[0])


@pytest.mark.parametrize(("name", "level"), CASES)
def test_second_derivatives_pass_gradgradcheck(name: str, level: str) -> None:
    loss = made(name, level).double()
    x, y = batch(name)
    x = (3 * x[:2, :3].detach().double()).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x: loss(x, y[:2, :3]), (x,))

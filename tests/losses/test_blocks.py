"""Many rows are summed block by block; nothing may show it but the memory."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.losses import peak_memory
from dicebook.losses import block_sums
from dicebook.losses import functional as L

pytestmark = pytest.mark.filterwarnings("ignore:alpha=")


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_sums, "_CACHED", 200)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    monkeypatch.setattr(block_sums, "_ROWS", 10)


def by_autograd(x: Tensor, y: Tensor, kept: Tensor, alpha: float, squared: bool) -> Tensor:
    """The set-level loss as written down, in float64; ``y`` has the shape of ``x``."""
    x = x.double()
    p = x.softmax(-1) if x.ndim == 2 else x.sigmoid()
    weight = kept.double().unsqueeze(-1) if x.ndim == 2 else kept.double()
    q, y = (1 - p) ** alpha * p * weight, y.double() * weight
    power = 2 if squared else 1
    return (1 - (2 * (q * y).sum(0) + 1) / ((q**power).sum(0) + (y**power).sum(0) + 1)).mean()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("classes", [1, 2, 5])
@pytest.mark.parametrize("alpha", [0, 0.1, 1])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_blocks_give_the_sums_and_gradients_of_all_rows(
    classes: int, alpha: float, squared: bool, soft: bool, dtype: torch.dtype
) -> None:
    generator = torch.Generator().manual_seed(0)
    rows = 1501  # the last block is a short one
    shape = (rows,) if classes == 1 else (rows, classes)
    x = torch.randn(shape, generator=generator).to(dtype).requires_grad_()
    kept = torch.rand(rows, generator=generator) < 0.8
    labels = torch.randint(max(2, classes), (rows,), generator=generator)
    y = labels if classes == 1 else F.one_hot(labels, classes)
    if soft:
        y = 0.9 * y + 0.02
    assert block_sums._rows_per_block(x, 1) == -(-rows // (rows * classes // 200))
    loss = L.binary_self_adjusting_dice if classes == 1 else L.self_adjusting_dice
    target = y if soft or classes == 1 else labels
    value = loss(x, target, kept, alpha=alpha, squared=squared)
    (gradient,) = torch.autograd.grad(value, x)
    exact = by_autograd(x, y, kept, alpha, squared)
    (exact_gradient,) = torch.autograd.grad(exact, x)
    assert gradient.dtype == dtype
    assert gradient.is_contiguous()
    rtol = {torch.float32: 1e-5, torch.float64: 1e-10, torch.bfloat16: 1e-2}[dtype]
    torch.testing.assert_close(value.double(), exact, rtol=min(rtol, 1e-6), atol=0)
    torch.testing.assert_close(gradient, exact_gradient, rtol=rtol, atol=1e-9)
    assert (gradient[~kept] == 0).all()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("alpha", [0, 0.1])
def test_blocks_of_each_sentence_by_vmap(classes: int, alpha: float) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn((3, 700, classes), generator=generator)
    y = torch.randint(classes, (3, 700), generator=generator)

    def loss(x: Tensor, y: Tensor) -> Tensor:
        return L.self_adjusting_dice(x, y, alpha=alpha)

    each = torch.func.vmap(torch.func.grad(loss))(x, y)
    for i in range(3):
        row = x[i].clone().requires_grad_()
        torch.testing.assert_close(each[i], torch.autograd.grad(loss(row, y[i]), row)[0])


@pytest.mark.usefixtures("small_blocks")
def test_the_gradient_of_one_sum_alone() -> None:
    x = torch.randn(100, 3, requires_grad=True)
    y = torch.arange(100) % 3
    for name in ("overlap", "predicted"):
        sums = L.dice_statistics(x, y, alpha=0.1)
        (gradient,) = torch.autograd.grad(getattr(sums, name).sum(), x)
        p = x.detach().double().requires_grad_()
        q = (1 - p.softmax(-1)) ** 0.1 * p.softmax(-1)
        q = q * F.one_hot(y, 3) if name == "overlap" else q
        torch.testing.assert_close(gradient.double(), torch.autograd.grad(q.sum(), p)[0])


@pytest.mark.parametrize("shape", [(4096, 9), (65536, 9), (8192, 50), (32768, 2), (65536,)])
@pytest.mark.parametrize("alpha", [0, 0.1, 1])
def test_memory_stays_near_that_of_the_gradient_and_the_probabilities(
    shape: tuple[int, ...], alpha: float
) -> None:
    x = torch.randn(shape)
    if len(shape) == 1:
        y = (x > 1).float()
        loss = L.binary_self_adjusting_dice
    else:
        y = torch.arange(shape[0]) % shape[1]
        loss = L.self_adjusting_dice
    assert peak_memory(lambda x, y: loss(x, y, alpha=alpha), x, y) <= 2.25

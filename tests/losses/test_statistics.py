"""Statistics as a value, and accumulation in two passes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from sklearn.metrics import precision_recall_fscore_support
from torch import Tensor, nn

from dicebook import (
    BinarySelfAdjustingDiceLoss,
    CrossEntropyLoss,
    DiceLoss,
    SelfAdjustingDiceLoss,
    TverskyLoss,
    WeightedSum,
    backward_in_two_passes,
    binary_dice_statistics,
    dice_statistics,
)

LOSSES = {
    "dice": DiceLoss(),
    "squared": DiceLoss(squared=True, weight=torch.tensor([1.0, 2.0, 0.5, 1.0])),
    "tversky": TverskyLoss(fp_weight=0.3, fn_weight=0.7, classes=[1, 2]),
    "precise": TverskyLoss(fp_weight=0.8, fn_weight=0.2),
    "self-adjusting": SelfAdjustingDiceLoss(absent="skip"),
    "mined": SelfAdjustingDiceLoss(ohem_ratio=2.0, reduction="sum"),
}


def relative(actual: Tensor, expected: Tensor) -> float:
    return ((actual - expected).norm() / expected.norm()).item()


def test_the_sums_are_what_they_say() -> None:
    logits = torch.tensor([[0.0, 0.0], [2.0, 0.0]])
    p = torch.softmax(logits, -1)
    stats = dice_statistics(logits, torch.tensor([0, 1]))
    torch.testing.assert_close(stats.overlap, torch.stack([p[0, 0], p[1, 1]]))
    torch.testing.assert_close(stats.predicted, p.sum(0))
    assert stats.actual.tolist() == [1, 1]
    assert stats.tversky_shift is None
    squared = binary_dice_statistics(torch.zeros(3), torch.tensor([1, 0, 0.5]), squared=True)
    assert squared.stack().flatten().tolist() == [0.75, 0.75, 1.25, 0.25]


@pytest.mark.parametrize("name", [n for n in LOSSES if n != "mined"])
def test_statistics_of_parts_add_up_to_those_of_the_whole(name: str) -> None:
    loss = LOSSES[name]
    torch.manual_seed(0)
    x, y = torch.randn(3, 7, 4, requires_grad=True), torch.randint(3, (3, 7))
    y[1] = -100
    whole = loss(x, y)
    parts = sum(loss.statistics(x[i], y[i]) for i in range(3))
    torch.testing.assert_close(loss.loss_of(parts), whole)
    torch.testing.assert_close(loss.loss_of(loss.statistics(x, y)), whole)
    torch.testing.assert_close(
        torch.autograd.grad(loss.loss_of(parts), x), torch.autograd.grad(whole, x)
    )
    # What adding up statistics is for: the mean of the parts' losses is something else.
    assert abs(sum(loss(x[i], y[i]) for i in range(3)) / 3 - whole).item() > 1e-3


def test_soft_scores_of_hard_predictions_are_those_of_sklearn() -> None:
    generator = torch.Generator().manual_seed(0)
    predicted, gold = (torch.randint(4, (50,), generator=generator) for _ in range(2))
    logits = 200.0 * torch.nn.functional.one_hot(predicted, 5)  # the last class: nowhere
    scores = dice_statistics(logits, gold).soft_scores()
    precision, recall, f1, _ = precision_recall_fscore_support(
        gold, predicted, labels=range(5), zero_division=0
    )
    for name, expected in (("precision", precision), ("recall", recall), ("f1", f1)):
        torch.testing.assert_close(scores[name].double(), torch.tensor(expected))
    with pytest.raises(ValueError, match="squared=False"):
        DiceLoss().statistics(logits, gold).soft_scores()


def test_statistics_refuse_what_they_cannot_do() -> None:
    stats = dice_statistics(torch.zeros(1, 2), torch.tensor([0]))
    with pytest.raises(TypeError):
        stats + 1
    with pytest.raises(ValueError, match="both fp_weight and fn_weight"):
        stats.loss(fp_weight=0.5)
    assert stats.all_reduce(None) is stats


def network(binary: bool = False) -> nn.Sequential:
    torch.manual_seed(7)
    return nn.Sequential(
        nn.Linear(5, 16), nn.Tanh(), nn.Dropout(0.5), nn.Linear(16, 1 if binary else 4)
    )


def micro_batches() -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(1)
    made = []
    for size in (9, 1, 30, 4, 17):
        x = torch.randn(size, 5, generator=generator)
        made.append((x, torch.randint(4, (size,), generator=generator)))
    made[3][1][:] = -100
    return made


@pytest.mark.parametrize("name", [n for n in LOSSES if n != "mined"])
def test_two_passes_give_the_full_batch_gradient_with_dropout_replayed(name: str) -> None:
    loss = LOSSES[name]
    batches = micro_batches()
    model = network()
    torch.manual_seed(11)
    value = backward_in_two_passes(loss, lambda b: (model(b[0]), b[1]), iter(batches))
    actual = [p.grad for p in model.parameters()]
    after = torch.rand(1)

    other = network()
    torch.manual_seed(11)
    logits = torch.cat([other(x) for x, _ in batches])  # the same draws for dropout
    expected = loss(logits, torch.cat([y for _, y in batches]))
    expected.backward()
    torch.testing.assert_close(value, expected.detach())
    for a, p in zip(actual, other.parameters(), strict=True):
        assert relative(a, p.grad) < 1e-6
    assert after == torch.rand(1)  # the generator goes on as after one pass


def test_two_passes_of_a_binary_loss_with_a_mask() -> None:
    loss = BinarySelfAdjustingDiceLoss()
    batches = [(x, (y == 1).float(), y != 3) for x, y in micro_batches()]
    model = network(binary=True).eval()
    backward_in_two_passes(loss, lambda b: (model(b[0]).squeeze(-1), b[1], b[2]), batches)
    other = network(binary=True).eval()
    x, y, mask = (torch.cat(parts) for parts in zip(*batches, strict=True))
    loss(other(x).squeeze(-1), y, mask).backward()
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        assert relative(a.grad, b.grad) < 1e-6


def test_two_passes_go_through_a_gradient_scaler_and_through_accelerate() -> None:
    loss, batches, plain = LOSSES["self-adjusting"], micro_batches(), network().eval()
    logits = torch.cat([plain(x) for x, _ in batches])
    loss(logits, torch.cat([y for _, y in batches])).backward()
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)
    state = pytest.importorskip("accelerate.state").AcceleratorState
    state._reset_state(reset_partial_state=True)  # Accelerate keeps its settings for the process
    accelerator = pytest.importorskip("accelerate").Accelerator(cpu=True, mixed_precision="bf16")
    for model, dtype, scale, backward in (
        (network().eval(), torch.float16, 2**12, lambda v: scaler.scale(v).backward()),
        (accelerator.prepare(network().eval()), torch.bfloat16, 1, accelerator.backward),
    ):

        def forward(part: tuple[Tensor, Tensor], model=model, dtype=dtype) -> Any:
            with torch.autocast("cpu", dtype):
                return model(part[0]), part[1]

        backward_in_two_passes(loss, forward, batches, backward=backward)
        for ours, theirs in zip(model.parameters(), plain.parameters(), strict=True):
            assert relative(ours.grad / scale, theirs.grad) < 3e-2
    state._reset_state(reset_partial_state=True)


def test_two_passes_refuse_what_they_cannot_do() -> None:
    model = network()
    with pytest.raises(ValueError, match="at least one micro-batch"):
        backward_in_two_passes(DiceLoss(), lambda b: (model(b[0]), b[1]), [])
    for loss in (CrossEntropyLoss(), WeightedSum(CrossEntropyLoss(), DiceLoss())):
        with pytest.raises(ValueError, match="expected a loss of the dice family"):
            backward_in_two_passes(loss, lambda b: (model(b[0]), b[1]), micro_batches())
    with pytest.raises(ValueError, match="statistics need level='set'"):
        backward_in_two_passes(
            DiceLoss(level="example"), lambda b: (model(b[0]), b[1]), micro_batches()
        )

"""The adapter in a real ``transformers.Trainer``, and its bookkeeping."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from dicebook import CrossEntropyLoss, DiceLoss, SelfAdjustingDiceLoss, TrainerLoss, WeightedSum
from losses import trainer_worker
from losses.trainer_worker import LOSSES, check
from tests.processes import run_on


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("accumulation", [1, 4])
def test_a_trainer_step_is_the_gradient_of_the_whole_batch(name: str, accumulation: int) -> None:
    error, logged, true = check(name, accumulation=accumulation)
    assert error < 2e-6
    assert logged == pytest.approx(true, abs=1e-3)


@pytest.mark.slow
def test_gradient_checkpointing_changes_nothing() -> None:
    error, _, _ = check("self-adjusting", accumulation=4, checkpointing=True)
    assert error < 2e-6


@pytest.mark.slow
def test_a_trainer_on_two_processes_is_exact_too() -> None:
    run_on(2, trainer_worker.main)


def outputs(rows: int, seed: int = 0) -> SimpleNamespace:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, 3, 4, generator=generator, requires_grad=True)
    return SimpleNamespace(logits=logits)


def test_a_set_level_loss_comes_with_the_last_micro_batch() -> None:
    adapter = TrainerLoss(SelfAdjustingDiceLoss())
    labels = torch.tensor([[0, 1, -100], [3, -100, -100]])
    first, empty, last = outputs(2, 1), outputs(2, 2), outputs(2, 3)
    assert adapter(first, labels, torch.tensor(6)).item() == 0
    nothing = adapter(empty, torch.full_like(labels, -100), torch.tensor(6))
    nothing.backward()
    assert nothing.item() == 0
    assert (empty.logits.grad == 0).all()
    value = adapter(last, labels, torch.tensor(6))
    both = torch.cat([first.logits, last.logits])
    torch.testing.assert_close(value, SelfAdjustingDiceLoss()(both, torch.cat([labels, labels])))
    value.backward()
    assert first.logits.grad.abs().sum() > 0
    # The next step starts afresh.
    assert adapter(outputs(2), labels, 3).item() > 0


def test_a_mean_is_divided_by_the_labels_of_the_step() -> None:
    labels = torch.tensor([[0, 1, -100], [3, -100, -100]])
    seen = outputs(2)
    value = TrainerLoss(CrossEntropyLoss())(seen, labels, 12)
    expected = CrossEntropyLoss(reduction="sum")(seen.logits, labels) / 12
    torch.testing.assert_close(value, expected)


def test_without_a_count_it_is_the_loss_of_the_micro_batch() -> None:
    labels = torch.tensor([[0, 1, -100], [3, -100, -100]])
    seen = outputs(2)
    for loss in (DiceLoss(), CrossEntropyLoss(), WeightedSum(DiceLoss(), CrossEntropyLoss())):
        torch.testing.assert_close(TrainerLoss(loss)(seen, labels), loss(seen.logits, labels))
        for form in ({"logits": seen.logits}, (seen.logits, None)):
            torch.testing.assert_close(TrainerLoss(loss)(form, labels), loss(seen.logits, labels))


def test_evaluation_in_the_middle_of_a_step_keeps_it() -> None:
    adapter = TrainerLoss(DiceLoss())
    labels = torch.tensor([[0, 1, -100], [3, -100, -100]])
    first, other, last = outputs(2, 1), outputs(2, 2), outputs(2, 3)
    adapter(first, labels, 6)
    with torch.no_grad():
        value = adapter(other, labels, 3)
    torch.testing.assert_close(value, DiceLoss()(other.logits.detach(), labels))
    both = torch.cat([first.logits, last.logits])
    expected = DiceLoss()(both, torch.cat([labels, labels]))
    torch.testing.assert_close(adapter(last, labels, 6), expected)


def test_errors() -> None:
    labels = torch.tensor([[0, 1, -100], [3, -100, -100]])
    with pytest.raises(ValueError, match="reduction='none'"):
        TrainerLoss(DiceLoss(reduction="none"))
    with pytest.raises(ValueError, match="ignore_index=0"):
        TrainerLoss(WeightedSum(DiceLoss(), CrossEntropyLoss(ignore_index=0)))
    with pytest.raises(ValueError, match="got None"):
        TrainerLoss(DiceLoss())(outputs(2), None, 3)
    adapter = TrainerLoss(DiceLoss())
    with pytest.raises(RuntimeError, match=r"expected 2 labels in this step.*got 3"):
        adapter(outputs(2), labels, 2)
    assert adapter(outputs(2), labels, 3).item() > 0  # nothing is left behind
    with pytest.raises(RuntimeError, match="DataParallel"):
        adapter(outputs(2), labels, torch.tensor([[3], [3]]))

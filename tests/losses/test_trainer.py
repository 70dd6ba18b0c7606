"""The adapter in a real ``transformers.Trainer``, and its bookkeeping."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from dicebook import CrossEntropyLoss, DiceLoss, SelfAdjustingDiceLoss, TrainerLoss, WeightedSum
from dicebook.diagnosis.watchdog import Watchdog
from dicebook.losses import functional as L
from losses import trainer_worker
from losses.trainer_worker import LOSSES, check, distance, failing, fit, network, truth
from tests.processes import run_on


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("accumulation", [1, 4])
def test_a_trainer_step_is_the_gradient_of_the_whole_batch(name: str, accumulation: int) -> None:
    error, logged, true = check(name, accumulation=accumulation, size=16)
    assert error < 2e-6
    assert logged == pytest.approx(true, abs=1e-3)


@pytest.mark.slow
def test_a_trainer_after_two_that_were_interrupted_in_a_micro_batch_is_exact() -> None:
    adapter, dataset = TrainerLoss(DiceLoss()), trainer_worker.rows(16)
    steps = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 4}
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            fit(failing(KeyboardInterrupt(), 2), adapter, dataset, **steps)
    _, gradient = fit(network(), adapter, dataset, **steps)
    assert distance(gradient, truth(DiceLoss(), dataset)[0]) < 2e-6


@pytest.mark.slow
def test_a_trainer_that_finds_its_batch_size_is_exact() -> None:
    dataset = trainer_worker.rows(16)
    model = failing(RuntimeError("CUDA out of memory. Tried to allocate"), 2, 4)
    steps = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 4}
    adapter = TrainerLoss(WeightedSum(CrossEntropyLoss(), DiceLoss()))
    trainer, gradient = fit(model, adapter, dataset, auto_find_batch_size=True, **steps)
    size = trainer._train_batch_size
    assert size < 4
    assert distance(gradient, truth(adapter.loss, dataset[: 4 * size])[0]) < 2e-6


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
    items = torch.tensor(6)
    assert adapter(first, labels, items).item() == 0
    nothing = adapter(empty, torch.full_like(labels, -100), items)
    nothing.backward()
    assert nothing.item() == 0
    assert (empty.logits.grad == 0).all()
    value = adapter(last, labels, items)
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


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_compiled_loss_is_unwrapped_wherever_it_stands(wrapped: bool) -> None:
    inner = torch.compile(DiceLoss(), backend="eager")
    loss = torch.compile(WeightedSum(CrossEntropyLoss(), inner)) if wrapped else inner
    plain = WeightedSum(CrossEntropyLoss(), DiceLoss()) if wrapped else DiceLoss()
    labels, parts = torch.tensor([[0, 1, -100], [3, -100, -100]]), (outputs(2, 1), outputs(2, 2))
    adapter, items = TrainerLoss(loss), torch.tensor(6)
    value = adapter(parts[0], labels, items) + adapter(parts[1], labels, items)
    both = torch.cat([part.logits for part in parts])
    torch.testing.assert_close(value, plain(both, torch.cat([labels, labels])))


class Both(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dice = DiceLoss()

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.dice(x, y) + 1


dice_of_the_module = DiceLoss()


def named(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return L.cross_entropy(x, y) + L.tversky(x, y)


def called(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return dice_of_the_module(x, y)


@pytest.mark.parametrize(
    ("loss", "wanted"),
    [
        (L.dice, "DiceLoss(...) itself"),
        (functools.partial(L.binary_tversky, smooth=2.0), "BinaryTverskyLoss(smooth=2.0) itself"),
        (DiceLoss().forward, "DiceLoss(smooth=1.0"),
        (Both(), "DiceLoss(smooth=1.0"),
        (named, "TverskyLoss(...) itself"),
        (called, "DiceLoss(smooth=1.0"),
        ((lambda loss: lambda x, y: loss(x, y) + 1)(DiceLoss()), "DiceLoss(smooth=1.0"),
        (WeightedSum(CrossEntropyLoss(), Both()), "DiceLoss(smooth=1.0"),
    ],
)
def test_a_set_level_loss_hidden_in_a_function_is_refused(loss: object, wanted: str) -> None:
    with pytest.raises(TypeError, match="no mean over labels") as error:
        TrainerLoss(loss)  # type: ignore[arg-type]
    assert f"Expected {wanted}" in str(error.value)


def test_a_compiled_function_is_refused_by_its_loss() -> None:
    compiled = torch.compile(L.self_adjusting_dice)
    with pytest.raises(TypeError, match=r"Expected SelfAdjustingDiceLoss\(\.\.\.\) itself"):
        TrainerLoss(compiled)


def test_means_may_come_as_functions() -> None:
    TrainerLoss(functools.partial(L.focal, gamma=1.0))
    TrainerLoss(lambda x, y: L.cross_entropy(x, y) + L.focal(x, y))
    TrainerLoss(DiceLoss(level="example").forward)


def test_an_interrupted_step_leaves_nothing_behind() -> None:
    adapter = TrainerLoss(DiceLoss())
    labels = torch.tensor([[0, 1, -100], [3, -100, -100]])
    adapter(outputs(2, 1), labels, torch.tensor(6)).backward()  # and then Ctrl-C
    step = [outputs(2, 2), outputs(2, 3)]
    items = torch.tensor(6)
    value = adapter(step[0], labels, items) + adapter(step[1], labels, items)
    both = torch.cat([part.logits for part in step])
    torch.testing.assert_close(value, DiceLoss()(both, torch.cat([labels, labels])))
    adapter(outputs(2, 1), labels, torch.tensor(9))
    adapter(outputs(2, 1), labels, torch.tensor(9))
    with pytest.raises(RuntimeError, match="two steps ended with fewer labels"):
        adapter(outputs(2, 1), labels, torch.tensor(9))


class CausalLMOutput(SimpleNamespace):
    """Named as those of transformers are."""


def test_a_causal_language_model_is_refused_with_the_call_to_use() -> None:
    adapter = TrainerLoss(DiceLoss())
    labels = torch.tensor([[0, 1, 2], [3, -100, 1]])
    seen = CausalLMOutput(logits=outputs(2).logits)
    with pytest.raises(ValueError, match="those of the next position") as error:
        adapter(seen, labels, 5)
    call = str(error.value).split("compute_loss_func=")[1]
    value = eval(call, {"adapter": adapter})(seen, labels, 3)
    torch.testing.assert_close(value, DiceLoss()(seen.logits[:, :-1], labels[:, 1:]))


class StandIn:
    """What the adapter looks at in a Trainer."""

    def __init__(self, factor: float) -> None:
        self.args = SimpleNamespace(label_smoothing_factor=factor)

    def compute_loss(self, adapter: Callable[..., torch.Tensor]) -> torch.Tensor:
        return adapter(outputs(2), torch.zeros(2, 3, dtype=torch.long), num_items_in_batch=6)


def test_label_smoothing_by_the_trainer_is_refused() -> None:
    adapter = TrainerLoss(CrossEntropyLoss())
    assert StandIn(0.0).compute_loss(adapter).item() > 0
    watching = Watchdog().watching(adapter)
    for called_by_the_trainer in (adapter, lambda *a, **k: adapter(*a, **k), watching):
        with pytest.raises(ValueError, match=r"label_smoothing_factor=0.1 has no effect"):
            StandIn(0.1).compute_loss(called_by_the_trainer)


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

"""The adapter in a real ``transformers.Trainer``, and its bookkeeping."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from dicebook import (
    BinaryDiceLoss,
    CrossEntropyLoss,
    DiceLoss,
    SelfAdjustingDiceLoss,
    TrainerLoss,
    WarmStart,
    WeightedSum,
)
from dicebook.losses import functional as L
from losses import trainer_worker
from losses.trainer_worker import LOSSES, check, distance, failing, fit, network, truth
from tests.processes import run_on


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
def test_a_trainer_step_is_the_gradient_of_the_whole_batch(name: str) -> None:
    error, logged, true = check(name, accumulation=4, size=16)
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


class Both(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dice = DiceLoss()

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.dice(x, y) + 1


def home_made(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    p, one_hot = x.flatten(0, -2).softmax(-1), torch.nn.functional.one_hot(y.flatten(), 4)
    return 1 - ((2 * (p * one_hot).sum(0) + 1) / ((p + one_hot).sum(0) + 1)).mean()


def flat(loss: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    return lambda x, y: loss(x.flatten(0, -2), y.flatten())


WEIGHTED = nn.CrossEntropyLoss(weight=torch.tensor([0.1, 1.0, 2.0, 5.0]))
NO_MEANS = {
    "function": L.dice,
    "partial": functools.partial(L.dice, fp_weight=0.5, fn_weight=0.5),
    "method": DiceLoss().forward,
    "module": Both(),
    "sum": lambda x, y: L.cross_entropy(x, y) + L.dice(x, y),
    "in a sum": WeightedSum(CrossEntropyLoss(), Both()),
    "home-made": home_made,
    "weighted by class": flat(WEIGHTED),
    "compiled": torch.compile(functools.partial(L.dice, alpha=0.1), backend="eager"),
}
MEANS = {
    "focal": functools.partial(L.focal, gamma=1.0),
    "sum": lambda x, y: L.cross_entropy(x, y) + L.focal(x, y),
    "example level": DiceLoss(level="example").forward,
    "torch": flat(nn.CrossEntropyLoss(label_smoothing=0.1)),
    "a sum": flat(nn.CrossEntropyLoss(weight=WEIGHTED.weight, reduction="sum")),
    "own": CrossEntropyLoss(weight=[0.1, 1.0, 2.0, 5.0]),
}
MEANS["a sum"].reduction = "sum"  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", NO_MEANS)
def test_a_loss_that_parts_do_not_add_up_to_is_refused(name: str) -> None:
    adapter = TrainerLoss(NO_MEANS[name])
    with pytest.raises(ValueError, match="is no mean over labels"):
        adapter(outputs(2), torch.zeros(2, 3, dtype=torch.long), torch.tensor(6))


@pytest.mark.parametrize("name", MEANS)
def test_means_and_sums_are_taken(name: str) -> None:
    adapter = TrainerLoss(MEANS[name])
    labels = torch.tensor([[0, 1, 2], [3, 3, 1]])
    assert adapter(outputs(2), labels, torch.tensor(6)).isfinite()


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


def test_label_smoothing_by_the_trainer_is_refused() -> None:
    follow = TrainerLoss(CrossEntropyLoss()).callback()
    follow.on_train_begin(SimpleNamespace(label_smoothing_factor=0.0))
    with pytest.raises(ValueError, match=r"label_smoothing_factor=0.1 has no effect"):
        follow.on_train_begin(SimpleNamespace(label_smoothing_factor=0.1))


@pytest.mark.parametrize(
    "loss", [DiceLoss(), CrossEntropyLoss(), WeightedSum(CrossEntropyLoss(), DiceLoss())], ids=str
)
def test_the_evaluation_loss_is_that_of_the_split_whatever_the_batches(loss: nn.Module) -> None:
    labels = torch.tensor([[0, 1, -100], [3, -100, -100], [1, 2, 2], [0, 0, 0], [1, 0, 3]])
    whole = outputs(5).logits.detach()
    for size in (1, 2, 5):
        adapter = TrainerLoss(loss)
        follow = adapter.callback()
        with torch.no_grad():
            for x, y in zip(whole.split(size), labels.split(size), strict=True):
                adapter(SimpleNamespace(logits=x), y, y.ne(-100).sum())
        metrics, log = {"eval_loss": 9.0, "eval_f1": 0.5}, [{"loss": 1.0}, {"eval_loss": 9.0}]
        follow.on_evaluate(None, SimpleNamespace(log_history=log), None, metrics=metrics)
        assert metrics == {"eval_loss": pytest.approx(loss(whole, labels).item()), "eval_f1": 0.5}
        assert log[1]["eval_loss"] == metrics["eval_loss"]
        assert adapter.evaluated() is None


def test_a_warm_start_that_does_not_start_is_said_once() -> None:
    labels = torch.tensor([[0, 1, -100], [3, -100, -100]])
    for callback in (False, True):
        loss = WarmStart(CrossEntropyLoss(), DiceLoss(), end=3)
        adapter = TrainerLoss(loss)
        follow = adapter.callback()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for step in range(8):
                if callback:
                    follow.on_step_begin(None, SimpleNamespace(global_step=step), None)
                adapter(outputs(2), labels, torch.tensor(3))
        said = [str(warning.message) for warning in seen]
        assert len([text for text in said if "still at step 0" in text]) == (not callback)


@pytest.mark.parametrize(("every", "warned"), [(5, True), (1, False)])
@pytest.mark.parametrize("loss", [DiceLoss(), DiceLoss(classes=[1]), BinaryDiceLoss()], ids=str)
def test_sets_that_seldom_hold_a_positive_are_said_once(loss, every, warned):
    adapter = TrainerLoss(loss)
    x = torch.randn(4) if isinstance(loss, BinaryDiceLoss) else torch.randn(4, 2)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for step in range(50):
            labels = torch.tensor([0, 0, 0, int(step % every == 0)])
            adapter((x.requires_grad_(),), labels, torch.tensor(4))
    assert len(seen) == warned
    assert all("in only 20% of the sets" in str(warning.message) for warning in seen)


def test_a_head_of_one_logit_may_keep_its_dimension() -> None:
    labels = torch.tensor([0, 1, 1, 0])
    x = torch.randn(4, 1, requires_grad=True)
    value = TrainerLoss(BinaryDiceLoss())((x,), labels, torch.tensor(4))
    torch.testing.assert_close(value, BinaryDiceLoss()(x.squeeze(-1), labels))


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

"""The modules and the registry: options, errors, representation, state."""

from __future__ import annotations

import copy
import functools
import inspect
import math
import pickle
import re
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import dicebook
from dicebook import (
    LOSS_NAMES,
    BinaryDiceLoss,
    CrossEntropyLoss,
    DiceLoss,
    FocalLoss,
    LogitAdjustedCrossEntropyLoss,
    MultiLabelDiceLoss,
    SelfAdjustingDiceLoss,
    TverskyLoss,
    WarmStart,
    WeightedSum,
    make_loss,
)
from dicebook.losses import functional, modules
from dicebook.losses.modules import Loss

MODULES = [
    value
    for value in vars(modules).values()
    if isinstance(value, type) and issubclass(value, Loss) and "function" in value.__dict__
]


@pytest.mark.parametrize("name", LOSS_NAMES)
def test_a_module_calls_its_function_with_its_options(name: str) -> None:
    torch.manual_seed(0)
    shape = (4, 3) if "binary" in name else (4, 3, 5)
    x, y = torch.randn(shape), torch.randint(2, (4, 3))
    options: dict[str, Any] = {"weight": [0.5, 1, 2, 3, 4]} if name == "wce" else {}
    options = {"weight": (0.5, 2.0)} if name == "binary_wce" else options
    loss = make_loss(name, **options)
    torch.testing.assert_close(loss(x, y), type(loss).function(x, y, **loss.options()))
    mask = torch.rand(4, 3) < 0.5
    torch.testing.assert_close(loss(x, y, mask), type(loss).function(x, y, mask, **loss.options()))
    for other in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert repr(other) == repr(loss)
        torch.testing.assert_close(other(x, y), loss(x, y))


def test_the_defaults() -> None:
    options = SelfAdjustingDiceLoss().options()
    assert (options["alpha"], options["smooth"], options["level"]) == (0.1, 1.0, "set")
    for kind in (DiceLoss, BinaryDiceLoss, MultiLabelDiceLoss, TverskyLoss, SelfAdjustingDiceLoss):
        assert kind().squared is True
    assert make_loss("dl", squared=False).squared is False
    assert (TverskyLoss().fp_weight, TverskyLoss().fn_weight) == (0.5, 0.5)
    assert FocalLoss().gamma == 2.0


def test_a_linear_form_over_every_class_warns_once_with_the_remedy() -> None:
    modules._warn_standing_start.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for quiet in ({}, {"squared": False, "smooth": 0}, {"squared": False, "classes": [1, 2]}):
            TverskyLoss(**quiet)
        BinaryDiceLoss(squared=False)
    with pytest.warns(UserWarning, match=r"squared=False: .* squared=True, the default") as seen:
        DiceLoss(squared=False)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_loss("eq10")  # once is enough


def test_weights_are_state_and_move_with_the_module() -> None:
    loss = CrossEntropyLoss(weight=torch.tensor([1.0, 2.0]))
    assert list(loss.state_dict()) == ["weight"]
    assert loss.double().weight.dtype == torch.float64
    other = CrossEntropyLoss(weight=torch.zeros(2))
    other.load_state_dict(loss.state_dict())
    assert other.weight.tolist() == [1.0, 2.0]
    assert not DiceLoss().state_dict()


def test_errors_come_when_the_module_is_made() -> None:
    for kind, options, said in (
        (
            DiceLoss,
            {"reduction": "avg"},
            "reduction must be one of 'none', 'mean', 'sum'; got 'avg'",
        ),
        (DiceLoss, {"level": "batch"}, "level must be one of 'set', 'example'; got 'batch'"),
        (DiceLoss, {"absent": "drop"}, "absent must be"),
        (BinaryDiceLoss, {"smooth": -1}, "smooth must be a finite number of at least 0; got -1"),
        (SelfAdjustingDiceLoss, {"alpha": math.nan}, "alpha must be"),
        (SelfAdjustingDiceLoss, {"alpha": -0.1}, r"alpha must be .* at least 0; got -0\.1"),
        (MultiLabelDiceLoss, {"alpha": -0.1}, r"alpha must be .* at least 0; got -0\.1"),
        (FocalLoss, {"gamma": "2"}, "gamma must be"),
        (FocalLoss, {"gamma": -0.5}, r"gamma must be .* at least 0; got -0\.5"),
        (functools.partial(make_loss, "binary_fl"), {"gamma": -0.5}, "at least 0"),
        (TverskyLoss, {"fp_weight": 0, "fn_weight": 0}, "must not both be 0"),
        (DiceLoss, {"ohem_ratio": 0}, "ohem_ratio must be None or a number above 0"),
        (DiceLoss, {"level": "example", "absent": "skip"}, "needs level='set'"),
        (DiceLoss, {"level": "example", "ohem_ratio": 1.0}, "needs level='set'"),
        (DiceLoss, {"level": "example", "process_group": "world"}, "needs level='set'"),
    ):
        with pytest.raises(ValueError, match=said):
            kind(**options)


WEIGHTED = [kind for kind in MODULES if "weight" in kind.option_names]


@pytest.mark.parametrize("kind", WEIGHTED)
def test_a_module_and_its_function_take_the_same_weights(kind: type[Loss]) -> None:
    torch.manual_seed(0)
    binary = "Binary" in kind.__name__
    x, y = torch.randn(6) if binary else torch.randn(6, 3), torch.randint(2, (6,))
    y = torch.tensor([[1, 0, 1], [0, 1, 0]] * 3) if kind is MultiLabelDiceLoss else y
    numbers = [1, 4] if binary else [1, 2, 5]
    expected = kind(weight=torch.tensor(numbers).double())(x, y)

    def call(weight: Any) -> torch.Tensor:
        return kind.function(x, y, **kind().options() | {"weight": weight})

    assert not torch.equal(expected, kind()(x, y))
    for weight in (numbers, tuple(numbers), torch.tensor(numbers), np.float32(numbers)):
        torch.testing.assert_close(kind(weight=weight)(x, y), expected)
        torch.testing.assert_close(call(weight), expected)
    torch.testing.assert_close(kind(weight=None)(x, y), call(None))
    said = r"weight must be None or one number a class, a list or tensor of shape \[\w\]; got "
    for weight in ("ab", 2.0, {0: 1.0}, [1.0, "2"], [True, False], [math.nan, 1.0], torch.eye(2)):
        got = "shape [2, 2]" if isinstance(weight, torch.Tensor) else repr(weight)
        for made in (lambda w: kind(weight=w), call):
            with pytest.raises(ValueError, match=said + re.escape(got)):
                made(weight)
    for weight in ([-1.0, 0.5], [math.inf, 1.0]):  # they would turn a loss round
        with pytest.raises(ValueError, match="weight must be"):
            kind(weight=weight)
    for made in (lambda w: kind(weight=w)(x, y), call):
        with pytest.raises(ValueError, match=rf"shape \[{len(numbers)}\]; got shape \[4\]"):
            made([1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        *(
            ("classes", bad, "must be a list of one or more distinct")
            for bad in ("ab", 1, [0.5], [1, 1])
        ),
        ("squared", "no", "must be one of True, False; got 'no'"),
        ("ignore_index", "O", "must be an integer; got 'O'"),
        ("process_group", "wrld", "must be None, 'world' or a group; got 'wrld'"),
    ],
)
def test_a_module_and_its_function_refuse_the_same_options(option, value, said):
    x, y = torch.randn(4, 3), torch.tensor([0, 1, 2, 1])
    for call in (lambda **o: DiceLoss(**o), lambda **o: functional.dice(x, y, **o)):
        with pytest.raises(ValueError, match=f"{option} {said}"):
            call(**{option: value})


def test_numbers_of_numpy_are_numbers() -> None:
    loss = DiceLoss(smooth=np.float32(0.5), classes=np.arange(1, 3), ignore_index=np.int64(-1))
    assert (loss.smooth, loss.classes, loss.ignore_index) == (0.5, [1, 2], -1)
    assert torch.compiler.is_compiling() is False
    x, y = torch.randn(4, 3), torch.tensor([0, 1, 2, -1])
    torch.testing.assert_close(
        loss(x, y),
        functional.dice(x, y, smooth=np.float64(0.5), classes=np.arange(1, 3), ignore_index=-1),
    )


@pytest.mark.parametrize("tau", [0.0, 0.5, 1.0])
def test_logit_adjustment_is_cross_entropy_of_a_shifted_batch(tau: float) -> None:
    torch.manual_seed(0)
    x, y = torch.randn(2, 5, 3), torch.randint(3, (2, 5))
    y[0, 0], x[0, 0] = -100, math.nan
    counts = [90, 9, 1]
    loss = LogitAdjustedCrossEntropyLoss(counts=counts, tau=tau)
    shifted = x.flatten(0, 1) + tau * (torch.tensor(counts) / 100).log()
    expected = torch.nn.functional.cross_entropy(shifted[1:], y.flatten()[1:])
    torch.testing.assert_close(loss(x, y), expected)
    for bad in (None, [1, 0, 2], [1, 2]):
        with pytest.raises(ValueError, match=r"counts|weight"):
            LogitAdjustedCrossEntropyLoss(counts=bad)(x, y)
    with pytest.raises(TypeError, match="counts"):
        LogitAdjustedCrossEntropyLoss()


def test_make_loss_says_what_is_valid() -> None:
    names = ", ".join(LOSS_NAMES)
    with pytest.raises(ValueError, match=rf"unknown loss 'hinge'; expected one of {names},.* eq12"):
        make_loss("hinge")
    with pytest.raises(
        ValueError, match=r"loss 'fl' has no option 'alpha'; its options are gamma, weight"
    ):
        make_loss("fl", alpha=0.25)
    with pytest.raises(ValueError, match="loss 'wce' needs the option 'weight'"):
        make_loss("wce")


def test_a_weighted_sum_is_the_sum() -> None:
    torch.manual_seed(0)
    x, y, mask = torch.randn(3, 4, 5), torch.randint(5, (3, 4)), torch.ones(3, 4)
    mask[0, 0] = 0
    first, second = CrossEntropyLoss(), DiceLoss()
    both = WeightedSum(first, second, first_weight=0.25, second_weight=3)
    torch.testing.assert_close(both(x, y, mask), 0.25 * first(x, y, mask) + 3 * second(x, y, mask))
    with pytest.raises(ValueError, match="second_weight must be"):
        WeightedSum(first, second, second_weight=-1)
    with pytest.raises(ValueError, match="scalar"):
        WeightedSum(first, DiceLoss(reduction="none"))


class _Infinite(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.sum() * math.inf


def test_a_loss_of_torch_may_be_part_of_a_sum_and_a_function_may_not() -> None:
    torch.manual_seed(0)
    x, y = torch.randn(6, 5), torch.randint(5, (6,))
    both = WeightedSum(torch.nn.CrossEntropyLoss(), DiceLoss())
    expected = torch.nn.functional.cross_entropy(x, y) + DiceLoss()(x, y)
    torch.testing.assert_close(both(x, y), expected)
    with pytest.raises(TypeError, match="both losses must be modules; got <function dice"):
        WeightedSum(CrossEntropyLoss(), functional.dice)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected a weight above 0"):
        WeightedSum(CrossEntropyLoss(), DiceLoss(), first_weight=0, second_weight=0.0)


def test_a_warm_start_goes_from_the_first_loss_to_the_second() -> None:
    torch.manual_seed(0)
    x, y = torch.randn(6, 5), torch.randint(5, (6,))
    first, second = CrossEntropyLoss(), SelfAdjustingDiceLoss()
    loss = WarmStart(first, second, start=2, end=4)
    values = []
    for _ in range(6):
        values.append(loss(x, y).item())
        loss.advance()
    a, b = first(x, y).item(), second(x, y).item()
    assert values == pytest.approx([a, a, a, (a + b) / 2, b, b])
    other = WarmStart(first, second, start=2, end=4)
    other.load_state_dict(loss.state_dict())
    assert other.step == 6
    other.advance(to=3)
    assert other(x, y).item() == pytest.approx((a + b) / 2)
    switch = WarmStart(first, second, start=1, end=1)
    assert switch(x, y).item() == pytest.approx(a)
    switch.advance()
    assert switch(x, y).item() == pytest.approx(b)
    late = WarmStart(_Infinite(), second, start=0, end=2)
    late.advance(to=2)
    assert late(x, y).item() == pytest.approx(b)
    with pytest.raises(ValueError, match="0 <= start <= end"):
        WarmStart(first, second, start=3, end=2)


def options_told(function: Any) -> set[str]:
    """The options in a function's ``Args``, and those in its module's docstring."""
    common = re.findall(r"^``(\w+)``$", functional.__doc__ or "", re.MULTILINE)
    _, _, own = (inspect.getdoc(function) or "").partition("Args:\n")
    return {*common, *re.findall(r"^    (\w+): ", own, re.MULTILINE)}


@pytest.mark.parametrize("kind", MODULES)
def test_each_option_is_told_with_its_function_or_with_dice(kind: type[Loss]) -> None:
    function, text = kind.function, inspect.getdoc(kind.function) or ""
    assert any(f"`functional.{function.__name__}`" in (c.__doc__ or "") for c in kind.__mro__)
    taken = set(inspect.signature(function).parameters)
    told = options_told(function) | (
        options_told(functional.dice) & taken if "those of `dice`" in text else set()
    )
    assert told - {"TypeError", "UserWarning"} == taken


@pytest.mark.parametrize("kind", MODULES)
def test_an_option_has_the_default_of_the_function(kind: type[Loss]) -> None:
    own = {"alpha": 0.1} if "SelfAdjusting" in kind.__name__ else {}
    own |= {"fp_weight": 0.5, "fn_weight": 0.5} if "Tversky" in kind.__name__ else {}
    theirs = inspect.signature(kind.function).parameters
    for name, option in inspect.signature(kind).parameters.items():
        assert option.default == own.get(name, theirs[name].default), name
        assert option.annotation in theirs[name].annotation, name
    fixed = {name for name, option in theirs.items() if option.kind is option.KEYWORD_ONLY}
    assert fixed - set(kind.option_names) <= {"alpha", "fp_weight", "fn_weight"}


@pytest.mark.parametrize("kind", MODULES)
def test_errors_name_the_loss_and_each_of_its_options(kind: type[Loss]) -> None:
    assert getattr(dicebook, kind.__name__) is kind
    known = f"{kind.__name__} has no option 'gamme'; its options are {', '.join(kind.option_names)}"
    with pytest.raises(TypeError, match=f"^{known}$"):
        kind(gamme=2)
    with pytest.raises(TypeError, match=f"^{kind.__name__} takes options by name alone"):
        kind(1.0)

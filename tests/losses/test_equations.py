"""Every equation against loops written from the paper, symbolic derivatives and identities."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from sklearn.metrics import f1_score
from torch import Tensor

from dicebook import log_ratio_weights, make_loss
from dicebook.losses import functional as L
from losses import oracle

pytestmark = pytest.mark.filterwarnings("ignore:alpha=")


@pytest.fixture
def batch() -> tuple[Tensor, Tensor]:
    """Twelve examples of four classes in float64, one class absent."""
    torch.manual_seed(3)
    return 2 * torch.randn(12, 4, dtype=torch.float64), torch.randint(3, (12,))


def per_class(batch: tuple[Tensor, Tensor]) -> list[tuple[list[float], list[float]]]:
    return oracle.one_vs_rest(batch[0].tolist(), batch[1].tolist())


def mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def test_cross_entropy_is_equation_1_and_2(batch: tuple[Tensor, Tensor]) -> None:
    logits, labels = batch
    expected = oracle.equation_1(logits.tolist(), labels.tolist())
    assert L.cross_entropy(logits, labels).item() == pytest.approx(expected, rel=1e-12)
    weights = [0.5, 1.5, 2.0, -0.25]
    expected = oracle.equation_1(logits.tolist(), labels.tolist(), weights)
    actual = L.cross_entropy(logits, labels, weight=torch.tensor(weights))
    assert actual.item() == pytest.approx(expected, rel=1e-12)


def test_weights_are_those_below_equation_2() -> None:
    counts, K = [90, 9, 1], 0.5
    expected = [math.log10((100 - n) / n + K) for n in counts]
    torch.testing.assert_close(log_ratio_weights(counts, K), torch.tensor(expected))
    # The paper's "in [0, 1]" does not hold.
    assert log_ratio_weights([90, 10], K=0)[0].item() == pytest.approx(-0.9542, abs=1e-4)
    assert log_ratio_weights([99, 1], K=1)[1].item() == pytest.approx(2.0, abs=1e-6)


@pytest.mark.parametrize("fp", [0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("level", ["set", "example"])
def test_right_answers_are_the_minimum_of_squared_tversky(fp: float, level: str) -> None:
    y = torch.tensor([1, 1, 1, 0, 0])
    right = torch.where(y == 1, 1.0, -1.0).double()
    options = {"fp_weight": fp, "fn_weight": 1 - fp + 0.1, "level": level}
    surety = torch.linspace(0.0, 20, 401, dtype=torch.float64)
    losses = [L.binary_dice(s * right, y, **options).item() for s in surety]
    assert max(b - a for a, b in itertools.pairwise(losses)) < 1e-15
    assert losses[-1] == pytest.approx(0, abs=1e-6)


def equation_12(p: list[float], y: list[float]) -> float:
    return oracle.one_minus_equation_6(oracle.decay(p, 1), y, 1.0)


PRINTED = {
    "eq6": (lambda p, y: oracle.one_minus_equation_6(p, y, 1.0), {}),
    "eq7": (lambda p, y: oracle.equation_7(p, y, 1.0), {}),
    "eq8": (lambda p, y: oracle.equation_8(p, y, 1.0), {}),
    "eq9": (
        lambda p, y: oracle.one_minus_equation_9(p, y, 0.0, 0.3, 0.7),
        {"fp_weight": 0.3, "fn_weight": 0.7},
    ),
    "eq10": (
        lambda p, y: oracle.equation_10(p, y, 1.0, 0.3, 0.7),
        {"fp_weight": 0.3, "fn_weight": 0.7},
    ),
    "eq12": (equation_12, {}),
}


@pytest.mark.parametrize("name", PRINTED)
def test_an_equation_by_its_number_is_what_is_printed(
    batch: tuple[Tensor, Tensor], name: str
) -> None:
    printed, options = PRINTED[name]
    expected = mean([printed(p, y) for p, y in per_class(batch)])
    assert make_loss(name, **options)(*batch).item() == pytest.approx(expected, rel=1e-12)
    x, y = batch[0][:, 0], (batch[1] == 0).long()
    of_one = printed(x.sigmoid().tolist(), y.tolist())
    assert make_loss(f"binary_{name}", **options)(x, y).item() == pytest.approx(of_one, rel=1e-12)
    with pytest.raises(ValueError, match="has no option 'level'; its options are"):
        make_loss(name, level="set")


def by_autograd(x: Tensor, y: Tensor, kept: Tensor, alpha: float, squared: bool) -> Tensor:
    """The set-level loss as written down, in float64; ``y`` has the shape of ``x``."""
    x = x.double()
    p = x.softmax(-1) if x.ndim == 2 else x.sigmoid()
    weight = kept.double().unsqueeze(-1) if x.ndim == 2 else kept.double()
    q, y = (1 - p) ** alpha * p * weight, y.double() * weight
    power = 2 if squared else 1
    return (1 - (2 * (q * y).sum(0) + 1) / ((q**power).sum(0) + (y**power).sum(0) + 1)).mean()


@pytest.mark.parametrize("classes", [1, 2, 5])
@pytest.mark.parametrize("alpha", [0, 0.1, 1])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_values_and_gradients_of_every_form_and_dtype(
    classes: int, alpha: float, squared: bool, soft: bool, dtype: torch.dtype
) -> None:
    generator = torch.Generator().manual_seed(0)
    rows = 1501
    x = torch.randn((rows, classes)[: min(classes, 2)], generator=generator)
    x = x.to(dtype).requires_grad_()
    kept = torch.rand(rows, generator=generator) < 0.8
    labels = torch.randint(max(2, classes), (rows,), generator=generator)
    y = labels if classes == 1 else torch.nn.functional.one_hot(labels, classes)
    y = 0.9 * y + 0.02 if soft else y
    loss = L.binary_dice if classes == 1 else L.dice
    target = y if soft or classes == 1 else labels
    value = loss(x, target, kept, alpha=alpha, squared=squared)
    (gradient,) = torch.autograd.grad(value, x)
    exact = by_autograd(x, y, kept, alpha, squared)
    (exact_gradient,) = torch.autograd.grad(exact, x)
    assert gradient.dtype == dtype
    rtol = {torch.float32: 1e-5, torch.float64: 1e-10, torch.bfloat16: 1e-2}[dtype]
    torch.testing.assert_close(value.double(), exact, rtol=min(rtol, 1e-6), atol=0)
    torch.testing.assert_close(gradient, exact_gradient, rtol=rtol, atol=1e-9)
    assert (gradient[~kept] == 0).all()


BINARY = {
    "binary_cross_entropy": (L.binary_cross_entropy, L.cross_entropy, {}),
    "binary_focal": (L.binary_focal, L.focal, {"gamma": 1.5}),
    "binary_dice": (L.binary_dice, L.dice, {}),
    "linear binary_dice": (L.binary_dice, L.dice, {"squared": False}),
    "binary_tversky": (L.binary_dice, L.dice, {"fp_weight": 0.3, "fn_weight": 0.7}),
    "binary_self_adjusting_dice": (L.binary_dice, L.dice, {"alpha": 0.1}),
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("level", ["set", "example"])
def test_a_binary_loss_is_class_1_of_two_logits(name: str, level: str) -> None:
    torch.manual_seed(0)
    binary, multi, options = BINARY[name]
    x = torch.randn(3, 7, dtype=torch.float64, requires_grad=True)
    y = torch.randint(2, (3, 7))
    two = torch.stack([torch.zeros_like(x), x], dim=-1)
    one_class = {} if "entropy" in name or "focal" in name else {"level": level}
    expected = multi(two, y, **options, **one_class, **({"classes": [1]} if one_class else {}))
    actual = binary(x, y, **options, **one_class)
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(*(torch.autograd.grad(v, x)[0] for v in (actual, expected)))


def test_hard_predictions_give_one_minus_macro_f1() -> None:
    generator = torch.Generator().manual_seed(6)
    gold, predicted = torch.randint(5, (2, 300), generator=generator)
    logits = 200.0 * torch.nn.functional.one_hot(predicted, 5)
    expected = 1 - f1_score(gold, predicted, average="macro")
    assert L.dice(logits, gold, smooth=0).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("smooth", [0.5, 1.0])
def test_per_example_dice_of_hard_predictions_is_the_error_rate(
    squared: bool, smooth: float
) -> None:
    gold = torch.tensor([0, 0, 0, 1, 1, 0, 0, 1])
    logits = 200.0 * torch.tensor([-1, -1, 1, 1, -1, -1, -1, 1])
    loss = L.binary_dice(logits, gold, smooth=smooth, squared=squared, level="example")
    assert loss.item() == pytest.approx((2 / 8) / (1 + smooth), rel=1e-6)


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5, 1, 2])
def test_the_turning_point_and_the_floor_are_where_the_docstring_says(alpha: float) -> None:
    p = torch.linspace(0.001, 0.999, 9981, dtype=torch.float64)
    x = torch.logit(p)
    losses = torch.stack(
        [L.binary_dice(v, torch.tensor(1), alpha=alpha, squared=False) for v in x[::10]]
    )
    lowest = losses.argmin()
    assert p[::10][lowest].item() == pytest.approx(1 / (1 + alpha), abs=2e-3)
    top = alpha**alpha / (1 + alpha) ** (1 + alpha)
    assert losses[lowest].item() == pytest.approx(1 - (2 * top + 1) / (top + 2), abs=1e-5)
    known = {0.1: 0.105, 0.5: 0.258, 1: 0.333}
    if alpha in known:
        assert losses[lowest].item() == pytest.approx(known[alpha], abs=5e-4)


@pytest.mark.parametrize("weight", [None, [0.5, 1.0, 2.0, 3.0]])
def test_label_smoothing_is_that_of_torch(weight: list[float] | None) -> None:
    torch.manual_seed(0)
    x, y = torch.randn(9, 4, dtype=torch.float64), torch.randint(4, (9,))
    y[2] = -100
    options = {"label_smoothing": 0.3, "reduction": "sum"}
    weights = None if weight is None else torch.tensor(weight).double()
    expected = torch.nn.functional.cross_entropy(x, y, weights, **options)
    torch.testing.assert_close(L.cross_entropy(x, y, weight=weight, **options), expected)
    soft = torch.nn.functional.one_hot(y.clamp(min=0), 4).double()
    mask = y >= 0
    actual = L.cross_entropy(x, soft, mask, weight=weight, **options)
    torch.testing.assert_close(actual, expected)
    with pytest.raises(ValueError, match=r"label_smoothing must be .* from 0 to 1; got 1\.5"):
        L.cross_entropy(x, y, label_smoothing=1.5)

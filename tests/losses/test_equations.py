"""Every equation against loops written from the paper, symbolic derivatives and identities."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from dicebook import log_ratio_weights, make_loss
from dicebook.losses import functional as L

pytestmark = pytest.mark.filterwarnings("ignore:alpha=")


@pytest.fixture
def batch() -> tuple[Tensor, Tensor]:
    """Twelve examples of four classes in float64, one class absent."""
    torch.manual_seed(3)
    return 2 * torch.randn(12, 4, dtype=torch.float64), torch.randint(3, (12,))


def mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


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


Pairs = list[tuple[float, float]]  # p and y of each example


def dice_of_each(pairs: Pairs, power: int = 1) -> float:
    """One minus Equation 6, the mean over examples; with ``power=2`` Equation 7."""
    return mean([1 - (2 * p * y + 1) / (p**power + y**power + 1) for p, y in pairs])


def equation_8(pairs: Pairs) -> float:
    overlap, below = sum(p * y for p, y in pairs), sum(p**2 + y**2 for p, y in pairs)
    return 1 - (2 * overlap + 1) / (below + 1)


def tversky(pairs: Pairs, gamma: float) -> float:
    """One minus Equation 9, of a set; of one example, Equation 10."""
    TP = sum(p * y for p, y in pairs)
    FP, FN = sum(p * (1 - y) for p, y in pairs), sum((1 - p) * y for p, y in pairs)
    return 1 - (TP + gamma) / (TP + 0.3 * FP + 0.7 * FN + gamma)


PRICES = {"fp_weight": 0.3, "fn_weight": 0.7}
PRINTED = {
    "eq6": (dice_of_each, {}),
    "eq7": (lambda pairs: dice_of_each(pairs, power=2), {}),
    "eq8": (equation_8, {}),
    "eq9": (lambda pairs: tversky(pairs, 0.0), PRICES),
    "eq10": (lambda pairs: mean([tversky([pair], 1.0) for pair in pairs]), PRICES),
    "eq12": (lambda pairs: dice_of_each([((1 - p) * p, y) for p, y in pairs]), {}),
}


@pytest.mark.parametrize("name", PRINTED)
def test_an_equation_by_its_number_is_what_is_printed(batch, name):
    printed, options = PRINTED[name]
    p, one_hot = batch[0].softmax(-1), torch.nn.functional.one_hot(batch[1], 4)
    expected = mean([printed(torch.stack([p[:, c], one_hot[:, c]], 1).tolist()) for c in range(4)])
    assert make_loss(name, **options)(*batch).item() == pytest.approx(expected, rel=1e-12)
    x, y = batch[0][:, 0], (batch[1] == 0).long()
    of_one = printed(torch.stack([x.sigmoid(), y], 1).tolist())
    assert make_loss(f"binary_{name}", **options)(x, y).item() == pytest.approx(of_one, rel=1e-12)
    with pytest.raises(ValueError, match="has no option 'level'; its options are"):
        make_loss(name, level="set")


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

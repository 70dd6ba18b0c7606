"""Faulty losses and sound ones: what `diagnose` says of each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dicebook import DiceLoss, diagnose
from dicebook.diagnosis.report import NOTE, OK, PROBLEM

Loss = Callable[..., Tensor]


def tokens(rows: int = 200, classes: int = 5) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    gold = torch.randint(1, classes, (rows,), generator=generator)
    y = torch.where(torch.rand(rows, generator=generator) < 0.85, 0, gold)
    return torch.randn(rows, classes, generator=generator), y


def decisions() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    y = (torch.rand(200, generator=generator) < 0.1).float()
    return torch.randn(200, generator=generator) - 1, y


def shares(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    x, y = x[y != -100], y[y != -100]
    return x.softmax(-1), F.one_hot(y, x.shape[-1]).to(x.dtype)


def of_gold(numbers: Tensor, y: Tensor) -> Tensor:
    return numbers[y != -100].gather(-1, y[y != -100].unsqueeze(-1)).squeeze(-1)


def dice(p: Tensor, t: Tensor, smooth: float = 1.0, power: int = 1) -> Tensor:
    above, below = 2 * (p * t).sum(0), (p**power + t).sum(0)
    return (1 - (above + smooth) / (below + smooth)).mean()


# Faulty: what is wrong stands in the name.


def numerator_per_example(x: Tensor, y: Tensor) -> Tensor:
    p, t = shares(x, y)
    return (1 - (2 * p * t + 1e-6) / ((p + t).sum(0) + 1e-6)).mean(0).sum()


def focal_of_the_mean(x: Tensor, y: Tensor) -> Tensor:
    mean = F.cross_entropy(x, y)
    return (1 - (-mean).exp()) ** 2 * mean


def focal_with_p_for_1_minus_p(x: Tensor, y: Tensor) -> Tensor:
    log_p = of_gold(x.log_softmax(-1), y)
    return -(log_p.exp() ** 2 * log_p).mean()


def sigmoid_for_softmax(x: Tensor, y: Tensor) -> Tensor:
    kept = y != -100
    return dice(x[kept].sigmoid(), shares(x, y)[1])


def argmax_for_p(x: Tensor, y: Tensor) -> Tensor:
    p, t = shares(x, y)
    return dice(F.one_hot(p.argmax(-1), p.shape[-1]) + 0 * p, t)


def counts_in_the_input_s_precision(x: Tensor, y: Tensor) -> Tensor:
    p, t = shares(x, y)
    p = p.to(x.dtype)  # under autocast the softmax has come in float32
    above, below = torch.einsum("nc,nc->c", p, t), torch.einsum("nc,nc->c", p + t, t * 0 + 1)
    return (1 - (2 * above + 1) / (below + 1)).mean()


def column_against_row(x: Tensor, y: Tensor) -> Tensor:
    return dice((x.sigmoid().unsqueeze(-1) * torch.ones_like(y)).mean(-1), y)


def mask_n_by_n(x: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
    p, t = x.sigmoid(), y
    if mask is not None:
        p, t = p * mask.unsqueeze(-1), t * mask.unsqueeze(-1)
    return 1 - (2 * (p * t).sum() + 1) / (p.sum() + t.sum() + 1)


def mining_that_keeps_none(x: Tensor, y: Tensor) -> Tensor:
    p = x.sigmoid()
    hardest = p[y == 0].topk(min(10, int((y == 0).sum()))).values
    kept = (y == 1) | (p > hardest[0])
    return dice(p[kept], y[kept])


def mining_one_place_off(x: Tensor, y: Tensor) -> Tensor:
    p = x.sigmoid()
    negatives = p[y == 0].sort().values
    kept = (y == 1) | ((y == 0) & (p > negatives[1 - int(0.3 * int((y == 1).sum()))]))
    return dice(p[kept], y[kept])


def softmax_over_tokens(x: Tensor, y: Tensor) -> Tensor:
    p, t = x.softmax(1 if x.ndim == 3 else -1), F.one_hot(y, x.shape[-1])
    dims = tuple(range(y.ndim))
    return 1 - ((2 * (p * t).sum(dims) + 1) / (p.sum(dims) + t.sum(dims) + 1)).mean()


def focal_with_a_negative_exponent(x: Tensor, y: Tensor) -> Tensor:
    m = x * (2 * y - 1)
    return (torch.exp(-0.25 * F.logsigmoid(-m)) * F.softplus(-m)).mean()


MULTI, BINARY, PADDED = tokens(), decisions(), decisions()
PADDED[1][:3] = -100
FAULTY: list[tuple[Loss, tuple[Tensor, Tensor], str]] = [
    (numerator_per_example, MULTI, "batch size"),
    (lambda x, y: F.cross_entropy(x.softmax(-1), y), MULTI, "softmax twice"),
    (lambda x, y: F.binary_cross_entropy_with_logits(x.sigmoid(), y), BINARY, "softmax twice"),
    (lambda x, y: -of_gold(x.softmax(-1).log(), y).mean(), MULTI, "saturation"),
    (focal_of_the_mean, MULTI, "focus"),
    (focal_with_p_for_1_minus_p, MULTI, "sign"),
    (sigmoid_for_softmax, MULTI, "shift"),
    (lambda x, y: 1 - dice(*shares(x, y)), MULTI, "range"),
    (argmax_for_p, MULTI, "gradient"),
    (counts_in_the_input_s_precision, MULTI, "half precision"),
    (column_against_row, BINARY, "memory"),
    (mask_n_by_n, BINARY, "mask"),
    (lambda x, y: dice(x.sigmoid(), y), PADDED, "ignored labels"),
    (mining_that_keeps_none, BINARY, "reach"),
    (softmax_over_tokens, MULTI, "shape"),
    (focal_with_a_negative_exponent, BINARY, "saturation"),
    (lambda x, y: (x.detach().sigmoid() - y).abs().mean(), BINARY, "gradient"),
]


def name(value: object) -> str | None:
    if isinstance(value, partial):
        return f"{value.func.__name__}-{value.keywords}"
    return getattr(value, "__name__", None) or (value if isinstance(value, str) else None)


@pytest.mark.parametrize(("loss", "batch", "check"), FAULTY, ids=name)
def test_a_faulty_loss_is_found(loss: Loss, batch: tuple[Tensor, Tensor], check: str) -> None:
    report = diagnose(loss, *batch)
    assert report[check].verdict == PROBLEM, str(report)
    assert report[check].meaning
    assert check in str(report)
    assert not report.ok


# Sound, though some are unusual.


def focal(x: Tensor, y: Tensor) -> Tensor:
    each = F.cross_entropy(x, y, reduction="none")
    return (((1 - (-each).exp()) ** 2) * each)[y != -100].mean()


def hardest_quarter(x: Tensor, y: Tensor) -> Tensor:
    each = F.cross_entropy(x[y != -100], y[y != -100], reduction="none")
    return each.topk(max(1, len(each) // 4)).values.mean()


def squared_error(x: Tensor, y: Tensor) -> Tensor:
    p, t = shares(x, y)
    return ((p - t) ** 2).sum(-1).mean()


def jaccard(x: Tensor, y: Tensor) -> Tensor:
    p, t = shares(x, y)
    both = (p * t).sum(0)
    return (1 - (both + 1) / ((p + t).sum(0) - both + 1)).mean()


def binary_dice(x: Tensor, y: Tensor) -> Tensor:
    kept = y != -100
    return dice(x[kept].sigmoid(), y[kept])


SOUND: list[tuple[Loss, tuple[Tensor, Tensor]]] = [
    *((F.cross_entropy, tokens(classes=classes)) for classes in (2, 300, 3000)),
    (nn.CrossEntropyLoss(), tokens(1000, 17)),
    (nn.CrossEntropyLoss(label_smoothing=0.1), MULTI),
    (nn.CrossEntropyLoss(torch.arange(1.0, 6)), MULTI),
    (nn.CrossEntropyLoss(reduction="sum"), MULTI),
    (lambda x, y: F.multi_margin_loss(x[y != -100], y[y != -100]), MULTI),
    *((loss, MULTI) for loss in (focal, hardest_quarter, squared_error, jaccard)),
    (nn.BCEWithLogitsLoss(pos_weight=torch.tensor(9.0)), BINARY),
    (nn.BCEWithLogitsLoss(), (BINARY[0], BINARY[1].long())),
    (binary_dice, BINARY),
]


@pytest.mark.parametrize(("loss", "batch"), SOUND, ids=name)
def test_a_sound_loss_is_left_in_peace(loss: Loss, batch: tuple[Tensor, Tensor]) -> None:
    report = diagnose(loss, *batch)
    assert report.ok, str(report)


def test_memory_grows_with_the_rows_alone_or_with_their_square() -> None:
    def pairs(x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(x, y) + 0 * (x[:, 0].unsqueeze(0) * x[:, 0].unsqueeze(1)).sum()

    for classes in (2, 700):
        assert diagnose(pairs, *tokens(classes=classes))["memory"].verdict == "problem"
        assert diagnose(F.cross_entropy, *tokens(classes=classes))["memory"].verdict == "ok"


def smoothed_above(x: Tensor, y: Tensor) -> Tensor:
    p, gold = x.softmax(-1), F.one_hot(y, x.shape[-1])
    return (1 - (2 * (p * gold).sum(0) + 1) / ((p + gold).sum(0) + 1e-8)).mean()


def detached_below(x: Tensor, y: Tensor) -> Tensor:
    p, gold = x.softmax(-1), F.one_hot(y, x.shape[-1])
    return (1 - (2 * (p * gold).sum(0) + 1) / ((p + gold).sum(0) + 1).detach()).mean()


@pytest.mark.parametrize(
    ("loss", "check"), [(smoothed_above, "range"), (detached_below, "detached")]
)
def test_what_may_be_meant_is_noted(loss: Loss, check: str) -> None:
    assert diagnose(loss, *MULTI)[check].verdict == NOTE
    for sound in (F.cross_entropy, DiceLoss(), DiceLoss(level="example")):
        named = {finding.name: finding.verdict for finding in diagnose(sound, *MULTI).findings}
        assert named.get(check, OK) == OK


def test_noise_is_called_no_other_fault() -> None:
    report = diagnose(lambda x, y: F.cross_entropy(F.dropout(x, 0.3), y), *MULTI)
    assert [finding.name for finding in report.problems] == ["random"]
    assert report["shift"].verdict == NOTE

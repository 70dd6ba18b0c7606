"""The check-up of losses: it finds each bug by name, and nothing in losses that are sound."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dicebook import (
    LOSS_NAMES,
    DiceLoss,
    SelfAdjustingDiceLoss,
    TverskyLoss,
    diagnose,
    make_loss,
)
from dicebook.diagnosis.standing_start import standing_start
from tests.diagnosis.test_many_losses import (
    BINARY,
    MULTI,
    decisions,
    mining_one_place_off,
    numerator_per_example,
    tokens,
)

Loss = Callable[..., Tensor]


def batch_for(name: str) -> tuple[Tensor, Tensor]:
    return decisions() if name.startswith("binary") else tokens()


def smoothed_n_times(logits: Tensor, targets: Tensor) -> Tensor:
    p, t = probabilities(logits, targets)
    return 1 - ((2 * p * t + 1).sum(0) / (p + t + 1).sum(0)).mean()


def squared_per_example(logits: Tensor, targets: Tensor) -> Tensor:
    p, t = probabilities(logits, targets)
    return (1 - (2 * (p * t).sum(1) + 1) / ((p**2).sum(1) + (t**2).sum(1) + 1)).mean()


def chokes_on_minus_100(logits: Tensor, targets: Tensor) -> Tensor:
    p, t = probabilities(logits, targets)
    return 1 - ((2 * (p * t).sum(0) + 1) / ((p + t).sum(0) + 1)).mean()


def sums_in_half(logits: Tensor, targets: Tensor) -> Tensor:
    p, t = probabilities(logits, targets)
    return 1 - ((2 * (p * t).sum(0) + 1) / (p.sum(0) + t.sum(0) + 1)).mean()


def probabilities(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    return logits.softmax(-1), F.one_hot(targets, logits.shape[-1]).to(logits.dtype)


@pytest.mark.parametrize("loss", [smoothed_n_times, squared_per_example])
def test_a_dice_loss_that_is_an_error_rate_is_noted(loss: Loss) -> None:
    finding = diagnose(loss, *MULTI)["measure"]
    assert finding.verdict == "note"
    assert "like accuracy" in finding.meaning
    assert finding.number < 0.3
    sound = diagnose(make_loss("dl"), *MULTI)["measure"]
    assert sound.verdict == "ok"
    assert sound.number > 0.8


def test_an_error_for_an_ignored_label_is_noted() -> None:
    finding = diagnose(chokes_on_minus_100, *MULTI)["ignored labels"]
    assert finding.verdict == "note"
    assert "raised RuntimeError" in finding.meaning
    assert "ignored labels" not in str(diagnose(chokes_on_minus_100, *MULTI, ignore_index=None))


@pytest.mark.parametrize("level", ["set", "example"])
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_no_false_alarm_on_our_own_losses(name: str, level: str) -> None:
    options: dict = {"wce": {"weight": [1.0] + [3.0] * 4}, "binary_wce": {"weight": [1.0, 3.0]}}
    options = options.get(name, {})
    levels = name.endswith(("dl", "tl", "dsc"))
    if levels:
        options["level"] = level
    elif level == "example":
        pytest.skip("this loss has no levels")
    report = diagnose(make_loss(name, **options), *batch_for(name))
    assert report.ok, str(report)
    notes = {finding.name for finding in report.findings if finding.verdict == "note"}
    expected = {"measure"} if level == "example" or not levels else set()
    assert notes == expected | ({"sign"} if name.endswith("dsc") else set()), str(report)


@pytest.mark.parametrize(
    "options",
    [
        {"smooth": 0.0},
        {"squared": False},
        {"absent": "skip"},
        {"ohem_ratio": 1.0},
        {"classes": [1, 2]},
    ],
    ids=str,
)
def test_no_false_alarm_on_their_options(options: dict) -> None:
    report = diagnose(make_loss("dl", **options), *tokens())
    assert {finding.name for finding in report.problems} == set(), str(report)


def test_the_papers_exponent_turns_at_one_half() -> None:
    """alpha = 1 pushes right answers back from 0.5 on; alpha = 0.1 from 1/1.1 = 0.91 on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        paper = diagnose(make_loss("binary_dsc", alpha=1.0), *BINARY)
    assert paper["sign"].verdict == "problem"
    assert paper["range"].verdict == "problem"
    gentle = diagnose(make_loss("binary_dsc", alpha=0.1), *BINARY)["sign"]
    assert gentle.verdict == "note"
    assert "at least 0.92" in gentle.meaning
    assert diagnose(make_loss("binary_dl"), *BINARY)["sign"].verdict == "ok"


def test_gradient_over_n_is_measured() -> None:
    """Eight copies: the mixed loss's gradient falls to an eighth, a mean's stays, a sum's grows."""
    numbers = [
        diagnose(loss, *MULTI)["batch size"].number
        for loss in (
            numerator_per_example,
            nn.CrossEntropyLoss(),
            nn.CrossEntropyLoss(reduction="sum"),
        )
    ]
    assert numbers == pytest.approx([1 / 8, 1, 8], rel=0.01)
    assert diagnose(nn.CrossEntropyLoss(reduction="sum"), *MULTI)["batch size"].verdict == "note"


def test_an_overflow_that_needs_400_000_rows_and_no_autocast_is_noted() -> None:
    report = diagnose(sums_in_half, *MULTI)
    finding = report["half precision"]
    assert finding.verdict == "note", str(report)
    assert "400,000 rows, in half precision throughout" in finding.meaning
    assert "right under autocast" in finding.mend
    assert "float32" in finding.mend


def mines_by_topk(logits: Tensor, targets: Tensor) -> Tensor:
    p = logits.sigmoid()
    keep = max(1, int(0.3 * int((targets == 1).sum())))
    chosen = torch.cat([p[targets == 1], p[targets == 0].topk(keep).values])
    return 1 - (2 * p[targets == 1].sum() + 1) / (chosen.sum() + (targets == 1).sum() + 1)


def test_hard_negative_mining_that_keeps_all_or_none_is_found() -> None:
    finding = diagnose(mining_one_place_off, *BINARY)["mining"]
    assert finding.verdict == "problem"
    finding = diagnose(mines_by_topk, *BINARY)["mining"]
    assert (finding.verdict, "1 (1), 1 (3)" in finding.meaning) == ("ok", True)
    assert "mining" not in str(diagnose(F.binary_cross_entropy_with_logits, *BINARY))


def clamped_focal(logits: Tensor, targets: Tensor) -> Tensor:
    p = logits.softmax(-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return -((1 - p) ** 2 * (p + 1e-4).log()).mean()


def test_a_clamp_that_silences_sure_mistakes_is_found() -> None:
    finding = diagnose(clamped_focal, *MULTI, ignore_index=None)["clamp"]
    assert finding.verdict == "problem"
    p = math.exp(-12) / 4  # of the gold class, where a wrong one of five has the margin 12
    assert finding.number == pytest.approx(p / (p + 1e-4), rel=0.05)
    assert diagnose(make_loss("fl"), *MULTI)["clamp"].verdict == "ok"
    assert "clamp" not in str(diagnose(make_loss("dl"), *MULTI))


# How often each tag occurs in the training part of WNUT 2017, O first.
WNUT = [59570, 660, 548, 335, 264, 245, 221, 206, 203, 150, 142, 140, 46]
NOT_O = list(range(1, len(WNUT)))


@pytest.mark.parametrize(
    ("loss", "verdict"),
    [
        (DiceLoss(squared=False, absent="keep"), "problem"),
        (DiceLoss(squared=False, absent="skip"), "problem"),
        (DiceLoss(squared=False, absent="skip", classes=NOT_O), "ok"),
        (DiceLoss(squared=True), "ok"),
        (SelfAdjustingDiceLoss(squared=False, alpha=0.1, absent="keep"), "problem"),
        (SelfAdjustingDiceLoss(squared=True, alpha=0.1), "ok"),
        (TverskyLoss(squared=False, absent="keep"), "problem"),
        (F.cross_entropy, "ok"),
        (make_loss("fl"), "ok"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_the_standing_start_ends_as_training_an_encoder_does(loss: Loss, verdict: str) -> None:
    """As measured with MiniLM on WNUT 2017: F1 0 for each "problem", 23 to 50 for the others."""
    finding = standing_start(loss, WNUT, binary=False)
    assert finding.verdict == verdict, str(finding)
    assert ("does not leave the majority class" in finding.meaning) == (verdict == "problem")
    assert ("squared=True" in finding.mend) == (verdict == "problem")


def test_counts_alone_are_enough_and_add_the_standing_start() -> None:
    report = diagnose(DiceLoss(squared=False), counts=WNUT)
    assert [finding.name for finding in report.problems] == ["standing start"], str(report)
    assert "standing start" not in str(diagnose(DiceLoss(squared=False), *MULTI))
    assert str(report) == str(diagnose(DiceLoss(squared=False), counts=WNUT))


def test_a_binary_loss_starts_too() -> None:
    loss = F.binary_cross_entropy_with_logits
    assert diagnose(loss, *BINARY, counts=[900, 100])["standing start"].number > 90


def test_no_reproach_where_cross_entropy_finds_nothing_either() -> None:
    counts = [10_000_000, 1, 1]
    finding = standing_start(make_loss("dl"), counts, binary=False)
    assert finding.verdict == "note"
    assert "nor does cross entropy" in finding.meaning


@pytest.mark.parametrize("counts", [[5], [5, 0], [5, -1], [[5, 1]]])
def test_bad_counts_are_errors(counts: list) -> None:
    with pytest.raises(ValueError, match="expected a count for each class"):
        diagnose(make_loss("ce"), counts=counts)
    with pytest.raises(ValueError, match="expected logits and targets, or counts"):
        diagnose(make_loss("ce"), MULTI[0])


def test_leading_dimensions_and_ignored_rows_of_the_batch() -> None:
    logits, targets = tokens(240)
    targets[5] = -100
    flat = diagnose(make_loss("dl"), logits, targets)
    deep = diagnose(make_loss("dl"), logits.reshape(6, 40, 5), targets.reshape(6, 40))
    assert str(flat) == str(deep)
    assert flat["call"].number == pytest.approx(
        make_loss("dl")(logits[targets >= 0].repeat(2, 1), targets[targets >= 0].repeat(2)).item()
    )


def test_the_batch_is_not_changed() -> None:
    logits, targets = decisions()
    before = logits.clone(), targets.clone()
    diagnose(make_loss("binary_dl"), logits.requires_grad_(), targets)
    assert torch.equal(logits, before[0])
    assert torch.equal(targets, before[1])
    assert logits.grad is None


def raises(logits: Tensor, targets: Tensor) -> Tensor:
    raise RuntimeError("view size is not compatible\nsecond line")


def returns_rows(logits: Tensor, targets: Tensor) -> Tensor:
    return logits * targets


def not_finite(logits: Tensor, targets: Tensor) -> Tensor:
    return (logits * 0).log().sum()


@pytest.mark.parametrize(
    ("loss", "meaning"),
    [
        (raises, "raised RuntimeError: view size is not compatible"),
        (returns_rows, "returned [400] instead of a scalar"),
        (not_finite, "not finite"),
    ],
)
def test_a_loss_that_cannot_be_called_is_one_finding(loss: Loss, meaning: str) -> None:
    report = diagnose(loss, *BINARY)
    assert [finding.name for finding in report.findings] == ["call"]
    assert meaning in report["call"].meaning
    assert not report.ok


def leaks(logits: Tensor, targets: Tensor) -> Tensor:
    """The right value, and a gradient on every row, ignored or not."""
    value: Tensor = make_loss("ce")(logits, targets)
    return value + (logits - logits.detach()).sum()


def test_a_gradient_on_ignored_rows_is_found_though_the_value_is_right() -> None:
    finding = diagnose(leaks, *MULTI)["ignored labels"]
    assert (finding.verdict, finding.number) == ("problem", pytest.approx(0, abs=1e-6))
    assert "largest gradient is 1" in finding.meaning


def test_a_finite_but_wrong_value_in_half_precision_is_found() -> None:
    dice = make_loss("dl")
    finding = diagnose(lambda x, y: dice(x, y) + (x.dtype == torch.half), *MULTI)["half precision"]
    assert (finding.verdict, round(finding.number, 2)) == ("problem", 1.0)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((torch.ones(4, 3, dtype=torch.long), torch.zeros(4)), "logits must be a floating tensor"),
        ((torch.ones(4, 3), [0, 1, 2, 0]), "targets must be a tensor; got list"),
        ((torch.ones(4, 3), torch.zeros(3).long()), r"expected targets \[4\]"),
        ((torch.ones(4, 3), torch.zeros(4).long()), r"two classes or more; got \[0\]"),
        (
            (torch.ones(3), torch.tensor([0, 1, 2])),
            r"0/1 targets for a binary loss; got \[0, 1, 2\]",
        ),
    ],
)
def test_bad_batches_are_errors(arguments: tuple, error: str) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        diagnose(make_loss("ce"), *arguments)

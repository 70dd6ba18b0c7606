"""The check-up of losses: it finds each bug by name, and nothing in losses that are sound."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dicebook import LOSS_NAMES, diagnose, make_loss
from dicebook.diagnosis import Report

Loss = Callable[..., Tensor]


def tokens(rows: int = 200, classes: int = 5) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    gold = torch.randint(1, classes, (rows,), generator=generator)
    targets = torch.where(torch.rand(rows, generator=generator) < 0.9, 0, gold)
    return torch.randn(rows, classes, generator=generator), targets


def yes_or_no(rows: int = 200) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    targets = (torch.rand(rows, generator=generator) < 0.1).float()
    return torch.randn(rows, generator=generator) - 1, targets


def batch_for(name: str) -> tuple[Tensor, Tensor]:
    return yes_or_no() if name.startswith("binary") else tokens()


def probabilities(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    return logits.softmax(-1), F.one_hot(targets, logits.shape[-1]).to(logits.dtype)


def numerator_per_example(logits: Tensor, targets: Tensor) -> Tensor:
    p, t = probabilities(logits, targets)
    return (1 - (2 * p * t + 1e-6) / ((p + t).sum(0) + 1e-6)).mean(0).sum()


def smoothed_n_times(logits: Tensor, targets: Tensor) -> Tensor:
    p, t = probabilities(logits, targets)
    return 1 - ((2 * p * t + 1).sum(0) / (p + t + 1).sum(0)).mean()


def squared_per_example(logits: Tensor, targets: Tensor) -> Tensor:
    p, t = probabilities(logits, targets)
    return (1 - (2 * (p * t).sum(1) + 1) / ((p**2).sum(1) + (t**2).sum(1) + 1)).mean()


def mask_n_by_n(logits: Tensor, targets: Tensor, mask: Tensor | None = None) -> Tensor:
    p = logits.sigmoid()
    if mask is not None:
        p, targets = p * mask.unsqueeze(-1), targets * mask.unsqueeze(-1)
    return 1 - (2 * (p * targets).sum() + 1) / (p.sum() + targets.sum() + 1)


def column_against_row(logits: Tensor, targets: Tensor) -> Tensor:
    p = logits.sigmoid().unsqueeze(-1)
    return 1 - (2 * (p * targets).sum() + 1) / (p.sum() + targets.sum() + 1)


def counts_minus_100(logits: Tensor, targets: Tensor) -> Tensor:
    p = logits.sigmoid()
    return 1 - (2 * (p * targets).sum() + 1) / (p.sum() + targets.sum() + 1)


def chokes_on_minus_100(logits: Tensor, targets: Tensor) -> Tensor:
    p, t = probabilities(logits, targets)
    return 1 - ((2 * (p * t).sum(0) + 1) / ((p + t).sum(0) + 1)).mean()


def sigmoid_for_softmax(logits: Tensor, targets: Tensor) -> Tensor:
    p, t = logits.sigmoid(), F.one_hot(targets, logits.shape[-1])
    return 1 - ((2 * (p * t).sum(0) + 1) / ((p + t).sum(0) + 1)).mean()


def naive_power(alpha: float) -> Loss:
    def loss(logits: Tensor, targets: Tensor) -> Tensor:
        p = logits.sigmoid()
        q = (1 - p) ** alpha * p
        return 1 - (2 * (q * targets).sum() + 1) / (q.sum() + targets.sum() + 1)

    return loss


def sums_in_half(logits: Tensor, targets: Tensor) -> Tensor:
    p, t = probabilities(logits, targets)
    return 1 - ((2 * (p * t).sum(0) + 1) / (p.sum(0) + t.sum(0) + 1)).mean()


def mining_keeps_none(logits: Tensor, targets: Tensor) -> Tensor:
    p = logits.sigmoid()
    negatives = p[targets == 0]
    hardest = negatives.topk(min(10, len(negatives))).values
    kept = (targets == 1) | (p > hardest[0])  # hardest[-1] is meant
    p, t = p[kept], targets[kept]
    return 1 - (2 * (p * t).sum() + 1) / (p.sum() + t.sum() + 1)


def hard_predictions(logits: Tensor, targets: Tensor) -> Tensor:
    p, t = (logits > 0).float() + 0 * logits, targets
    return 1 - (2 * (p * t).sum() + 1) / (p.sum() + t.sum() + 1)


def softmax_over_tokens(logits: Tensor, targets: Tensor) -> Tensor:
    p = logits.softmax(1) if logits.ndim == 3 else logits.softmax(-1)
    t = F.one_hot(targets, logits.shape[-1])
    dims = tuple(range(targets.ndim))
    return 1 - ((2 * (p * t).sum(dims) + 1) / (p.sum(dims) + t.sum(dims) + 1)).mean()


def no_smoothing_per_example(logits: Tensor, targets: Tensor) -> Tensor:
    p = logits.sigmoid()
    return (1 - 2 * p * targets / (p + targets)).mean()


MULTI, BINARY = tokens(), yes_or_no()
BUGS = [
    (numerator_per_example, MULTI, "batch size"),
    (numerator_per_example, MULTI, "range"),
    (mask_n_by_n, BINARY, "mask"),
    (column_against_row, BINARY, "memory"),
    (counts_minus_100, BINARY, "ignored labels"),
    (sigmoid_for_softmax, MULTI, "shift"),
    (naive_power(0.01), BINARY, "saturation"),
    (naive_power(0.5), BINARY, "saturation"),
    (naive_power(1.0), BINARY, "sign"),
    (sums_in_half, MULTI, "half precision"),
    (mining_keeps_none, BINARY, "reach"),
    (no_smoothing_per_example, BINARY, "reach"),
    (hard_predictions, BINARY, "gradient"),
    (softmax_over_tokens, MULTI, "shape"),
]


@pytest.mark.parametrize(
    ("loss", "batch", "name"), BUGS, ids=[f"{b[0].__name__}-{b[2]}" for b in BUGS]
)
def test_a_bug_is_found_by_name(loss: Loss, batch: tuple[Tensor, Tensor], name: str) -> None:
    report = diagnose(loss, *batch)
    assert not report.ok
    finding = report[name]
    assert finding.verdict == "problem", str(report)
    assert finding.meaning
    assert name in str(report)


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
    if name.endswith(("dl", "tl", "dsc")):
        options["level"] = level
    elif level == "example":
        pytest.skip("this loss has no levels")
    report = diagnose(make_loss(name, **options), *batch_for(name))
    assert report.ok, str(report)
    notes = {finding.name for finding in report.findings if finding.verdict == "note"}
    expected = {"measure"} if level == "example" or name.endswith(("ce", "fl")) else set()
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
    """alpha = 1 pushes right answers back from .5 on; alpha = .1 from 1/1.1 = .91 on."""
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


def test_losses_of_torch() -> None:
    report = diagnose(F.cross_entropy, *MULTI)
    # On a CPU it sums in half precision, and 160,000 rows give 0.
    assert {finding.name for finding in report.problems} <= {"half precision"}, str(report)
    assert report["shape"].verdict == "note"  # torch wants [N, C, T]
    report = diagnose(F.binary_cross_entropy_with_logits, *BINARY)
    assert {finding.name for finding in report.problems} == {"ignored labels"}, str(report)
    assert diagnose(F.binary_cross_entropy_with_logits, *BINARY, ignore_index=None).ok


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
    logits, targets = yes_or_no()
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


def detached(logits: Tensor, targets: Tensor) -> Tensor:
    return (logits.detach().sigmoid() - targets).abs().mean()


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


def test_no_graph_is_no_gradient() -> None:
    finding = diagnose(detached, *BINARY)["gradient"]
    assert (finding.verdict, finding.number) == ("problem", 0.0)


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


def test_the_report_reads() -> None:
    report = diagnose(numerator_per_example, *MULTI)
    assert isinstance(report, Report)
    assert str(report).startswith(f"{len(report.problems)} problems found\n")
    assert "multiplied by 0.12" in str(report)
    assert str(diagnose(make_loss("dl"), *MULTI)).startswith("no problem found\n")
    with pytest.raises(KeyError, match="checked: call, gradient"):
        report["nonsense"]


def image(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Rows as a picture of one column, the layout of segmentation libraries."""
    rows = logits.reshape(-1, logits.shape[-1])
    return rows.transpose(0, 1)[None, :, :, None], targets.reshape(1, -1, 1)


def test_monai() -> None:
    losses = pytest.importorskip("monai.losses")
    dice = losses.DiceLoss(softmax=True, to_onehot_y=True)
    report = diagnose(lambda x, y: dice(image(x, y)[0], image(x, y)[1][:, None]), *MULTI)
    assert {finding.name for finding in report.problems} <= {"half precision", "ignored labels"}


def test_segmentation_models_pytorch() -> None:
    losses = pytest.importorskip("segmentation_models_pytorch.losses")
    dice = losses.DiceLoss("multiclass", ignore_index=-100)
    report = diagnose(lambda x, y: dice(*image(x, y)), *MULTI)
    assert {finding.name for finding in report.problems} <= {"half precision"}, str(report)

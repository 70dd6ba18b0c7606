"""The losses of the studies of spans and labels, against the library's and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dicebook import BinaryDiceLoss, MultiLabelDiceLoss, make_loss
from dicelab.records import runs
from studies import decisions, spans
from studies.decisions import Arm, Trial

torch.manual_seed(0)
X, Y = torch.randn(3, 30, 4), (torch.rand(30, 4) < 0.2).float()
PRIOR = decisions.log_prior(Y)


def value(number: float) -> torch.Tensor:
    return torch.full((3, 1, 1), number)


@pytest.mark.parametrize(
    ("stacked", "number", "single"),
    [
        (decisions.cross_entropy, 0.0, make_loss("binary_ce")),
        (decisions.focal, 1.5, make_loss("binary_fl", gamma=1.5)),
        (decisions.retina, 0.0, make_loss("binary_fl", gamma=2.0, weight=[0.75, 0.25])),
        (decisions.dice((1, 2)), 0.7, BinaryDiceLoss(smooth=0.7)),
        (decisions.dice((1,)), 0.7, MultiLabelDiceLoss(smooth=0.7, absent="keep")),
        (decisions.dice((1, 2), alpha=0.1), 2.0, make_loss("binary_dsc", alpha=0.1, smooth=2.0)),
        (decisions.adjusted, 0.5, lambda x, y: make_loss("binary_ce")(x + 0.5 * PRIOR, y)),
    ],
)
def test_a_stack_has_the_library_s_loss_in_each_place(stacked, number, single) -> None:
    found = stacked(X, Y, value(number), PRIOR)
    torch.testing.assert_close(found, torch.stack([single(x, Y) for x in X]))


def test_weights_are_those_of_pytorch() -> None:
    found = decisions.weighted(X, Y, value(0.5), PRIOR)
    loss = torch.nn.BCEWithLogitsLoss(pos_weight=(-PRIOR / 2).exp())
    torch.testing.assert_close(found, torch.stack([loss(x, Y) for x in X]))


def test_element_wise_dice_by_hand() -> None:
    found = decisions.element_dice(torch.zeros(1, 1, 2), torch.tensor([[1.0, 0.0]]), X, X)
    positive, negative = 1 - (0.5 + 1e-6) / (1.25 + 1e-6), 1 - 1e-6 / (0.25 + 1e-6)
    assert found.item() == pytest.approx((positive + negative) / 2)


def test_about_as_many_negatives_are_drawn_as_asked_for() -> None:
    decisions.seeded(0)
    gold = torch.zeros(4000, 1)
    gold[:100] = 1
    # With logits of 0 for positives and far above for negatives the loss counts the negatives.
    x = torch.where(gold == 1, 100.0, 10.0)[None]
    found = decisions.sampled(x, gold, torch.full((1, 1, 1), 3.0), PRIOR).item()
    assert found == pytest.approx(10 * 0.75, rel=0.1)


def test_trials_share_rates_and_starts_between_arms() -> None:
    one, other = Arm(decisions.focal, lambda u: u), Arm(decisions.sampled, lambda u: 100 + u)
    for number in range(4):
        a, b = (Trial.random(arm, 3, number) for arm in (one, other))
        assert (a.learning_rate, a.dropout, a.start) == (b.learning_rate, b.dropout, b.start)
        assert a.value < 1 < b.value
    assert Trial.random(Arm(decisions.focal, start="zero"), 3, 1).start == "zero"


def test_greedy_decoding_of_the_study_is_the_task_s() -> None:
    from dicelab.tasks import spans as task

    rng = np.random.default_rng(0)
    n, k, types = 9, 3, ["A", "B"]
    i, width = np.nonzero(np.arange(n)[:, None] + np.arange(k) < n)
    scores = rng.normal(size=(n, k, 2))
    gold = torch.zeros(len(i), 2)
    gold[:9, 0] = 1
    start, wide = torch.from_numpy(i), torch.from_numpy(width)
    told = spans.Spans(start, start + wide, wide, gold, 0, torch.zeros(len(i)))
    found = spans.decode(scores[i, width], told)
    split = {"first_subword": [list(range(n))]}
    for threshold in (-0.5, 0.0, 0.8):
        there = task.decode([scores], split, types, threshold=threshold)[0]
        assert int((found.certainty > threshold).sum()) == len(there)


@pytest.mark.parametrize("name", ["spans", "spans_all_layers", "labels"])
def test_no_run_is_recorded_twice(root, name: str) -> None:
    kept = [r["parameters"] for r in runs.read_records(root / "results" / f"{name}.jsonl")]
    assert kept
    assert len({repr(sorted(p.items())) for p in kept}) == len(kept)

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.metrics import f1_score as sklearn_f1
from sklearn.metrics import precision_score, recall_score

from dicebook import make_loss
from dicelab.toy import (
    best_threshold,
    f1_score,
    imbalanced_blobs,
    misspecified_blobs,
    optimal_logits,
    train_from_starts,
    train_logistic,
)

cross_entropy = F.binary_cross_entropy_with_logits


@given(
    n=st.integers(2, 200), positive=st.floats(0.01, 0.99), seed=st.integers(0, 10), sep=st.just(1.5)
)
def test_blobs_hold_the_exact_number_of_positives(n, positive, seed, sep):
    x, y = imbalanced_blobs(n, positive=positive, separation=sep, seed=seed)
    assert x.shape == (n, 2)
    assert x.dtype == y.dtype == torch.float64
    assert set(y.tolist()) == {0.0, 1.0}
    assert int(y.sum()) == min(max(round(n * positive), 1), n - 1)
    again, _ = imbalanced_blobs(n, positive=positive, separation=sep, seed=seed)
    assert torch.equal(x, again)
    other, _ = imbalanced_blobs(n, positive=positive, separation=sep, seed=seed + 1)
    assert not torch.equal(x, other)


def test_the_misspecified_toy_moves_some_negatives_and_nothing_else():
    x, y = misspecified_blobs(20_000, separation=2.5, seed=3)
    plain, same = imbalanced_blobs(20_000, separation=2.5, seed=3)
    assert torch.equal(y, same)
    far = (x != plain).any(1)
    assert not y[far].any()
    assert float(far.double().mean()) == pytest.approx(0.03 * 0.95, abs=0.004)
    torch.testing.assert_close(
        (x - plain)[far], torch.tensor([[7.5, 1.25]]).double().expand_as(x[far])
    )
    assert torch.equal(x, misspecified_blobs(20_000, separation=2.5, seed=3)[0])
    with pytest.raises(ValueError, match="positive: expected a share"):
        misspecified_blobs(positive=0)


def test_optimal_logits_are_bayes_rule():
    x, _ = imbalanced_blobs(50, positive=0.05, separation=2.0)
    centre = torch.full((2,), 2**0.5, dtype=torch.float64)
    density = torch.distributions.Normal(0.0, 1.0).log_prob
    log_odds = density(x - centre).sum(-1) - density(x).sum(-1) + np.log(0.05 / 0.95)
    torch.testing.assert_close(
        optimal_logits(x, positive=0.05, separation=2.0), log_odds, rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("bias", [-3.0, 0.0, 2.0])
def test_cross_entropy_ends_at_the_maximum_likelihood_fit(bias):
    x, y = imbalanced_blobs(1000, positive=0.2, seed=3)

    def negative_log_likelihood(w):  # a second oracle: numpy and BFGS
        z = x.numpy() @ w[:2] + w[2]
        return np.mean(np.logaddexp(0, z) - y.numpy() * z)

    best = minimize(negative_log_likelihood, np.zeros(3)).x
    fit = train_logistic(cross_entropy, x, y, bias=bias, steps=400)
    assert fit.weight.tolist() == pytest.approx(best[:2], abs=2e-3)
    assert fit.bias == pytest.approx(best[2], abs=2e-3)
    assert float(fit.losses[-1]) == pytest.approx(negative_log_likelihood(best), abs=1e-5)


def test_training_starts_at_the_bias_and_records_what_was_asked():
    x, y = imbalanced_blobs(40, positive=0.2)
    fit = train_logistic(cross_entropy, x, y, bias=-3, steps=25, record_every=10)
    assert fit.logits.shape == (4, 40)  # steps 0, 10, 20 and the end
    assert fit.logits[0].tolist() == [-3.0] * 40
    torch.testing.assert_close(fit.logits[-1], fit.predict(x))
    assert float(fit.losses[0]) == pytest.approx(float(cross_entropy(fit.logits[0], y)))
    assert fit.losses.shape == (25,)
    assert train_logistic(cross_entropy, x, y, steps=1).logits.shape == (0, 40)


def test_batches_hold_distinct_examples_and_follow_the_seed():
    x, y = imbalanced_blobs(40, positive=0.5)
    seen = []

    def spy(logits, targets):
        seen.append(len(targets))
        return cross_entropy(logits, targets)

    first = train_logistic(spy, x, y, steps=5, batch_size=16, seed=1)
    assert seen == [16] * 5
    same = train_logistic(spy, x, y, steps=5, batch_size=16, seed=1)
    other = train_logistic(spy, x, y, steps=5, batch_size=16, seed=2)
    assert torch.equal(first.weight, same.weight)
    assert not torch.equal(first.weight, other.weight)
    whole = train_logistic(spy, x, y, steps=5, batch_size=40)
    torch.testing.assert_close(whole.weight, train_logistic(spy, x, y, steps=5).weight)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1))
def test_f1_agrees_with_sklearn(pairs):
    said, gold = torch.tensor(pairs).T
    expected = sklearn_f1(gold, said, zero_division=0)
    assert f1_score(said, gold) == pytest.approx(expected)


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1))
def test_best_threshold_beats_every_other_threshold(pairs):
    scores = torch.tensor([float(s) for s, _ in pairs], dtype=torch.float64)
    gold = torch.tensor([g for _, g in pairs])
    if not gold.any():
        with pytest.raises(ValueError, match="at least one positive"):
            best_threshold(scores, gold)
        return
    threshold, f1 = best_threshold(scores, gold)
    assert f1 == pytest.approx(f1_score(scores > threshold, gold))
    assert f1 == pytest.approx(max(f1_score(scores > t / 2, gold) for t in range(-8, 8)))


def test_train_from_starts_gives_every_loss_the_same_data():
    rows = train_from_starts(
        {"a": cross_entropy, "b": lambda x, y: 2 * cross_entropy(x, y)},
        biases=[0.0],
        seeds=[0, 1],
        n=400,
        steps=300,
        batch_size=None,
    )
    assert set(rows) == {("a", 0.0), ("b", 0.0)}
    for one, two in zip(rows["a", 0.0], rows["b", 0.0], strict=True):
        assert one == pytest.approx(two, abs=1e-3)  # a factor does not move the minimum
    fit = train_logistic(cross_entropy, *imbalanced_blobs(400, seed=2), steps=300)
    x, y = imbalanced_blobs(400, seed=3)  # seed 1: its own training set, its own test set
    row = rows["a", 0.0][1]
    said, gold = (fit.predict(x) > 0).tolist(), y.bool().tolist()
    assert row["precision"] == pytest.approx(precision_score(gold, said))
    assert row["recall"] == pytest.approx(recall_score(gold, said))
    assert row["f1"] == f1_score(fit.predict(x) > 0, y)
    assert row["predicted"] == (fit.predict(x) > 0).double().mean()
    cut = torch.tensor(row["threshold"], dtype=torch.float64).logit()
    assert row["tuned"] == f1_score(fit.predict(x) > cut, y)


@pytest.mark.parametrize("size", [None, 32])
def test_runs_side_by_side_are_those_made_one_by_one(size):
    loss = make_loss("binary_dl")
    biases, seeds = [-3.0, 1.0], [4, 0]
    rows = train_from_starts(
        {"dice": loss}, biases=biases, seeds=seeds, n=200, positive=0.2, steps=40, batch_size=size
    )
    for bias in biases:
        for seed, row in zip(seeds, rows["dice", bias], strict=True):
            data = imbalanced_blobs(200, positive=0.2, seed=2 * seed)
            x, y = imbalanced_blobs(200, positive=0.2, seed=2 * seed + 1)
            fit = train_logistic(loss, *data, bias=bias, steps=40, batch_size=size, seed=seed)
            assert row["f1"] == f1_score(fit.predict(x) > 0, y)
            assert row["predicted"] == (fit.predict(x) > 0).double().mean()

"""Toy problems on which a loss can be watched: overlapping blobs and a logistic model.

Everything here is small enough to see: the data is a picture, the model has three numbers, the best
possible answer is known in closed form, and a run takes a fraction of a second. Chapters 04, 06 and
07 train every loss on it from several starting biases. In the second toy no line is right.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from dicebook.decision import candidates, nearest_to_0

Loss = Callable[[Tensor, Tensor], Tensor]


def imbalanced_blobs(
    n: int = 2000, *, positive: float = 0.05, separation: float = 2.0, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """Draws two round Gaussian blobs of unequal size in the plane.

    Negatives lie around (0, 0), positives around (separation/√2, separation/√2), both with unit
    variance. The number of positives is exact, so that runs with different seeds share one prior.

    Args:
        n: Number of examples.
        positive: Share of positive examples, in (0, 1); the count is rounded to at least 1.
        separation: Distance between the two centres, in standard deviations. At 2 and 5%
            positives the blobs overlap and no classifier does better than an F1 of about 0.5.
        seed: Seed of the draw.

    Returns:
        features: float64 [n, 2].
        targets: float64 [n], 1 for a positive and 0 for a negative, in random order.

    Raises:
        ValueError: If `n` is below 2 or `positive` is outside (0, 1).
    """
    if n < 2:
        raise ValueError(f"n: expected at least 2 examples, got {n}")
    if not 0 < positive < 1:
        raise ValueError(f"positive: expected a share between 0 and 1 (exclusive), got {positive}")
    generator = torch.Generator().manual_seed(seed)
    count = min(max(round(n * positive), 1), n - 1)
    targets = torch.zeros(n, dtype=torch.float64)
    targets[torch.randperm(n, generator=generator)[:count]] = 1
    noise = torch.randn(n, 2, generator=generator, dtype=torch.float64)
    return noise + targets[:, None] * separation / 2**0.5, targets


def misspecified_blobs(
    n: int = 2000, *, positive: float = 0.05, separation: float = 2.0, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """Draws `imbalanced_blobs` with some negatives moved far out, where no line is the Bayes rule.

    About three negatives in a hundred form a third blob around (3·separation, separation/2). A line
    that separates the first two blobs has it on the side of the positives: a linear model must turn
    away from it or call it positive.

    Args:
        n: Number of examples.
        positive: Share of positive examples, as in `imbalanced_blobs`.
        separation: Distance between the centres of the first two blobs, in standard deviations.
        seed: Seed of the draw; with it, all other examples are those of `imbalanced_blobs`.

    Returns:
        features: float64 [n, 2].
        targets: float64 [n], 1 for a positive and 0 for a negative, in random order.

    Raises:
        ValueError: As in `imbalanced_blobs`.
    """
    features, targets = imbalanced_blobs(n, positive=positive, separation=separation, seed=seed)
    generator = torch.Generator().manual_seed(seed + 2**32)  # apart from the blobs' own draws
    far = (torch.rand(n, generator=generator, dtype=torch.float64) < 0.03) & (targets == 0)
    centre = torch.tensor([3.0, 0.5], dtype=torch.float64) * separation
    return features + far[:, None] * centre, targets


def optimal_logits(features: Tensor, *, positive: float = 0.05, separation: float = 2.0) -> Tensor:
    """The true log-odds of a positive in `imbalanced_blobs`: what cross entropy should find.

    For two Gaussians of one covariance the posterior is logistic in x (Bayes' rule):
    ``log P(1|x)/P(0|x) = μ·x − |μ|²/2 + log(π/(1−π))``, μ being the positives' centre and π their
    share.

    Args:
        features: [n, 2].
        positive: Share of positives π, as given to `imbalanced_blobs`.
        separation: ``|μ|``, as given to `imbalanced_blobs`.

    Returns:
        Log-odds, [n].
    """
    prior = torch.tensor(positive, dtype=features.dtype)
    return features.sum(-1) * separation / 2**0.5 - separation**2 / 2 + torch.logit(prior)


@dataclass(frozen=True)
class Fit:
    """A trained logistic model.

    Attributes:
        weight: [d], the slope for each feature.
        bias: The intercept.
        losses: [steps], the loss before each step (of that step's batch).
        logits: [k, n], the logits of all training examples at step 0, `record_every`,
            2·`record_every`, ... and after the last step; [0, n] where nothing was recorded.
    """

    weight: Tensor
    bias: float
    losses: Tensor
    logits: Tensor

    def predict(self, features: Tensor) -> Tensor:
        """Logits of `features` ([n, d]): weight·x + bias, [n]."""
        return features @ self.weight + self.bias


def train_logistic(
    loss: Loss,
    features: Tensor,
    targets: Tensor,
    *,
    bias: float = 0.0,
    steps: int = 200,
    learning_rate: float = 0.3,
    batch_size: int | None = None,
    record_every: int = 0,
    seed: int = 0,
) -> Fit:
    """Minimises a loss over a logistic model by Adam.

    The slopes start at 0, so that before the first step every example has the logit `bias`: the
    starting bias is the model's first guess of how common positives are.

    Args:
        loss: Called as `loss(logits [b], targets [b])`; returns a scalar.
        features: [n, d].
        targets: [n], 0 or 1.
        bias: Starting bias. −3 guesses 5% positives, 0 guesses 50%, 2 guesses 88%.
        steps: Number of updates.
        learning_rate: Adam's step size.
        batch_size: Examples an update, drawn without replacement; None takes all of them.
        record_every: Record all logits every so many steps; 0 records none.
        seed: Seed of the batches. Nothing else is random.

    Returns:
        The fit.

    Raises:
        ValueError: If shapes disagree, or `batch_size` is not in [1, n].
    """
    n = len(features)
    if features.ndim != 2 or targets.shape != (n,):
        raise ValueError(
            f"expected features [n, d] and targets [n], got {list(features.shape)} and "
            f"{list(targets.shape)}"
        )
    _check_batch_size(batch_size, n)
    # Far from the seeds of `imbalanced_blobs`: the same seed would repeat the permutation that
    # placed the positives, and the first batch would hold nothing else.
    generator = torch.Generator().manual_seed(seed + 2**31)
    weight = torch.zeros(features.shape[1], dtype=features.dtype, requires_grad=True)
    intercept = torch.tensor(float(bias), dtype=features.dtype, requires_grad=True)
    optimizer = torch.optim.Adam([weight, intercept], lr=learning_rate)
    losses, recorded = [], []
    x, y = features, targets
    for step in range(steps):
        if record_every and step % record_every == 0:
            recorded.append((features @ weight + intercept).detach())
        if batch_size is not None:
            chosen = torch.randperm(n, generator=generator)[:batch_size]
            x, y = features[chosen], targets[chosen]
        value = loss(x @ weight + intercept, y)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        losses.append(value.detach())
    if record_every:
        recorded.append((features @ weight + intercept).detach())
    return Fit(
        weight=weight.detach(),
        bias=intercept.item(),
        losses=torch.stack(losses) if losses else features.new_empty(0),
        logits=torch.stack(recorded) if recorded else features.new_empty(0, n),
    )


def _check_batch_size(batch_size: int | None, n: int) -> None:
    if batch_size is not None and not 1 <= batch_size <= n:
        raise ValueError(f"batch_size: expected 1 to {n}, got {batch_size}")


def f1_score(predicted: Tensor, targets: Tensor) -> float:
    """F1 of the positive class, 2TP/(2TP + FP + FN) (Eq. 4 of the paper).

    Args:
        predicted: [n], true or 1 where the model says positive, e.g. `logits > 0`.
        targets: [n], 0 or 1.

    Returns:
        F1 in [0, 1]; 0 where there is no true positive, also when nothing is predicted.
    """
    positive, gold = predicted.bool(), targets.bool()
    true_positive = int((positive & gold).sum())
    total = int(positive.sum()) + int(gold.sum())
    return 2 * true_positive / total if true_positive else 0.0


def best_threshold(scores: Tensor, targets: Tensor) -> tuple[float, float]:
    """The threshold t that maximises the F1 of `scores > t`.

    Tune it on data that the report does not score: it is a parameter like any other.

    Args:
        scores: [n], logits or probabilities; higher means more surely positive.
        targets: [n], 0 or 1, at least one of each.

    Returns:
        (threshold, its F1). The threshold lies half-way between two scores, or beyond all of
        them; of equals it is the one nearest to 0.

    Raises:
        ValueError: If `targets` holds no positive.
    """
    if not targets.bool().any():
        raise ValueError("targets: expected at least one positive, got none")
    tried = candidates(scores, targets)
    f1 = 2 * tried.hits / (tried.predicted + targets.double().sum())
    return float(nearest_to_0(tried.thresholds, f1)), float(f1.max())


def train_from_starts(
    losses: Mapping[str, Loss],
    *,
    blobs: Callable[..., tuple[Tensor, Tensor]] = imbalanced_blobs,
    biases: Iterable[float] = (-3.0, 0.0, 2.0),
    seeds: Iterable[int] = range(5),
    n: int = 2000,
    positive: float = 0.05,
    separation: float = 2.0,
    **training: Any,
) -> dict[tuple[str, float], list[dict[str, float]]]:
    """Trains every loss from every starting bias on every seed, all else equal.

    A seed fixes the training blobs, the test blobs (drawn apart, of the same size) and the
    batches. One seed thus gives every loss the same data in the same order.

    Args:
        losses: Name → `loss(logits, targets)`, which must allow `torch.vmap`: the runs of a loss
            are trained side by side.
        blobs: What draws the data: `imbalanced_blobs` or `misspecified_blobs`.
        biases: Starting biases.
        seeds: Seeds, one run each; give at least five before you compare losses.
        n: Examples in each of the two sets.
        positive: Share of positives.
        separation: Distance of the blobs.
        **training: Options of `train_logistic`: ``steps``, ``learning_rate``, ``batch_size``.

    Returns:
        (name, bias) → one row a seed, each with "precision", "recall" and "f1" (of the test set at
        probability 0.5), "tuned" (test F1 at the threshold tuned on the training set), "threshold"
        (that threshold, a probability) and "predicted" (share of the test set called positive at
        0.5).
    """
    seeds, biases = list(seeds), list(biases)
    draw = partial(blobs, n, positive=positive, separation=separation)
    train, test = ([draw(seed=2 * seed + part) for seed in seeds] for part in (0, 1))
    starts = [(bias, i) for bias in biases for i in range(len(seeds))]
    rows: dict[tuple[str, float], list[dict[str, float]]] = {}
    for name, loss in losses.items():
        weights, intercepts = _side_by_side(
            torch.vmap(loss),
            torch.stack([train[i][0] for _, i in starts]),
            torch.stack([train[i][1] for _, i in starts]),
            biases=[bias for bias, _ in starts],
            seeds=[seeds[i] for _, i in starts],
            **training,
        )
        for (bias, i), weight, intercept in zip(starts, weights, intercepts, strict=True):
            (x, y), (x_test, y_test) = train[i], test[i]
            scores = x_test @ weight + intercept
            cut, _ = best_threshold(x @ weight + intercept, y)
            hits = float(((scores > 0) * y_test).sum())
            rows.setdefault((name, bias), []).append(
                {
                    "precision": hits / max(int((scores > 0).sum()), 1),
                    "recall": hits / float(y_test.sum()),
                    "f1": f1_score(scores > 0, y_test),
                    "tuned": f1_score(scores > cut, y_test),
                    "threshold": torch.tensor(cut).sigmoid().item(),
                    "predicted": (scores > 0).double().mean().item(),
                }
            )
    return rows


def train_each(
    loss: Loss,
    sets: Sequence[tuple[Tensor, Tensor]],
    *,
    bias: float = 0.0,
    **training: Any,
) -> list[Fit]:
    """`train_logistic` on each of several data sets of one size, all at once.

    Args:
        loss: As for `train_logistic`; it must allow `torch.vmap`.
        sets: Features [n, d] and targets [n] of each.
        bias: Starting bias.
        **training: ``steps``, ``learning_rate``, ``batch_size``; the batches are those of seed 0.

    Returns:
        A fit for each, without its course: ``losses`` and ``logits`` are empty.
    """
    features, targets = (torch.stack(parts) for parts in zip(*sets, strict=True))
    models = _side_by_side(
        torch.vmap(loss),
        features,
        targets,
        biases=[bias] * len(sets),
        seeds=[0] * len(sets),
        **training,
    )
    none = features.new_empty(0), features.new_empty(0, features.shape[1])
    return [Fit(weight, start.item(), *none) for weight, start in zip(*models, strict=True)]


def _side_by_side(
    losses_of: Loss,
    features: Tensor,
    targets: Tensor,
    *,
    biases: Sequence[float],
    seeds: Sequence[int],
    steps: int = 200,
    learning_rate: float = 0.3,
    batch_size: int | None = None,
) -> tuple[Tensor, Tensor]:
    """`train_logistic` of r runs at once, for no step of one depends on another.

    ``losses_of(logits [r, b], targets [r, b])`` returns [r]; features are [r, n, d], targets
    [r, n]. Returns weights [r, d] and biases [r].
    """
    r, n, _ = features.shape
    _check_batch_size(batch_size, n)
    generators = [torch.Generator().manual_seed(seed + 2**31) for seed in seeds]
    weight = torch.zeros_like(features[:, 0], requires_grad=True)
    intercept = torch.tensor(biases, dtype=features.dtype, requires_grad=True)
    optimizer = torch.optim.Adam([weight, intercept], lr=learning_rate)
    x, y = features, targets
    for _ in range(steps):
        if batch_size is not None:
            chosen = [torch.randperm(n, generator=each)[:batch_size] for each in generators]
            rows = torch.arange(r)[:, None], torch.stack(chosen)
            x, y = features[rows], targets[rows]
        logits = (x @ weight[..., None])[..., 0] + intercept[:, None]
        optimizer.zero_grad()
        losses_of(logits, y).sum().backward()
        optimizer.step()
    return weight.detach(), intercept.detach()

"""The bias of the output layer: where training starts, and where a decision is made.

A classifier's last layer adds one number to each logit. Set to the log prior before training, it
spares the model the steps in which it would learn how frequent each class is. Chapter 02 says why.
After training, a decision threshold is another such number: tuned on validation data and added to
that bias, it is part of the model wherever the model goes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

__all__ = ["TunedBias", "fold_bias", "output_layer", "start_at_prior", "tune_bias"]

#: With fewer positives than this, a logistic curve over the scores decides, not the labels alone:
#: where scores are normal, thresholds by the curve are still better than tuned ones at this number.
FEW_POSITIVES = 30


def start_at_prior(
    model: nn.Module,
    counts: Tensor | Sequence[int] | Sequence[Sequence[int]],
    *,
    layer: str | None = None,
) -> Tensor:
    """Set the bias of a model's output layer to the log prior, before training.

    A model whose weights say nothing yet then gives each class its share of the training labels,
    and spends no steps on learning that a class is rare.

    Args:
        model: a model of transformers, any other module in which one linear layer has as many
            outputs as there are logits, or that ``nn.Linear`` itself. It may be wrapped by PEFT,
            ``torch.compile`` or ``DistributedDataParallel``.
        counts: how often each class occurs in the training labels; 0 is taken as one half.

            - ``[C]`` for C logits under a softmax: the bias becomes ``log(counts / sum(counts))``;
            - ``[2]``, negatives and positives, for a single logit: the log-odds of the positives;
            - ``[L, 2]``, negatives and positives of each logit, where each is a decision of its own
              (several labels, the start and the end of an answer): the log-odds of each.
        layer: the name of the output layer, such as ``"classifier"``, where several would fit.

    Returns:
        The bias, a copy of shape ``[C]``, ``[1]`` or ``[L]``.

    Raises:
        ValueError: if ``counts`` has another shape, negative numbers or nothing but zeros; if the
            model has no linear layer of that size, several of them, or one without a bias.

    Examples:
        >>> start_at_prior(nn.Linear(8, 3), [90, 9, 1])
        tensor([-0.1054, -2.4079, -4.6052])
        >>> start_at_prior(nn.Linear(8, 1), [75, 25])
        tensor([-1.0986])
    """
    counted = torch.as_tensor(counts, dtype=torch.float64)
    pairs = counted.ndim == 2 and counted.shape[1] == 2
    if not pairs and (counted.ndim != 1 or len(counted) < 2):
        raise ValueError(
            f"counts: expected shape [C], [2] or [L, 2], got {list(counted.shape)}; give how often "
            "each class occurs, or negatives and positives of each logit"
        )
    if bool((counted < 0).any()) or bool((counted.sum(-1) == 0).any()):
        raise ValueError("counts: expected numbers of 0 or more, of which some are above 0")
    logs = counted.clamp_min(0.5).log()
    alone = () if pairs or len(counted) != 2 else (1,)  # two classes may be one logit
    found = output_layer(model, len(counted), *alone, layer=layer)
    if pairs:
        bias = logs[:, 1] - logs[:, 0]
    elif found.out_features == 1:
        bias = logs[1:] - logs[:1]
    else:
        bias = logs - counted.sum().log()
    with torch.no_grad():
        found.bias.copy_(bias)
    return found.bias.detach().clone()


@dataclass(frozen=True, eq=False)
class TunedBias:
    """What :func:`tune_bias` found. The metric is a share between 0 and 1.

    Attributes:
        bias: the number to add to each logit. Shape ``[C]`` for a softmax, ``[1]`` for one logit,
            ``[L]`` for several labels.
        threshold: the same as a threshold: on the logit, or on the margin of the highest other
            logit over that of the background. One number, or one for each label.
        plug_in: whether the threshold follows from calibrated probabilities, because there were
            too few positives to tune it on. It has the shape of ``threshold``.
        before: the metric without the bias.
        after: the metric with the bias.
        interval: the 95% bootstrap interval of ``after`` for this bias; where all is right, the
            exact one (Clopper and Pearson, 1934). The bias was chosen on the same rows, so expect
            somewhat less on new ones. None without resamples, and where the metric is a function.
    """

    bias: Tensor
    threshold: Tensor
    plug_in: Tensor
    before: float
    after: float
    interval: tuple[float, float] | None


def tune_bias(
    logits: Any,
    labels: Any,
    metric: Literal["f1"] | Callable[[Tensor], float] = "f1",
    *,
    beta: float = 1.0,
    min_precision: float | None = None,
    min_recall: float | None = None,
    background: int = 0,
    common: bool = False,
    few: int = FEW_POSITIVES,
    ignore_index: int = -100,
    resamples: int = 1000,
    seed: int = 0,
) -> TunedBias:
    """Find on validation data the bias with which plain argmax, or "logit above 0", decides best.

    The shapes say what is decided:

    - logits ``[N]`` or ``[N, 1]`` with labels ``[N]`` of 0 and 1: one logit, positive above 0.
    - logits ``[N, C]`` with labels ``[N]``, or ``[B, L, C]`` with ``[B, L]`` for tokens: a softmax,
      of which one class is the background. One threshold decides between it and the most likely
      other class. The metric is the micro average over all classes but the background. **It counts
      tokens.** The F1 of entities, which are spans, needs a scorer: give a function as ``metric``.
    - logits ``[N, L]`` with labels ``[N, L]`` of 0 and 1: several labels, each with a threshold of
      its own. The metric is the mean over labels (macro).

    Of thresholds that are equally good, the one nearest to 0 is taken.

    Args:
        logits: a tensor, or what ``torch.as_tensor`` takes, such as the ``predictions`` of
            ``Trainer.predict``. Half precision is decided in float32.
        labels: the correct answers, such as the ``label_ids`` of ``Trainer.predict``.
        metric: ``"f1"``, or a function from decisions to a number, the higher the better. The
            decisions have the shape of ``labels``: classes for a softmax, true or false otherwise.
            It is called for 0 and up to 66 other thresholds, chosen so that the number of positive
            decisions grows from none to all by equal factors.
        beta: for F-beta. With 2, recall counts more than precision; with 0.5, it counts less.
        min_precision: keep precision at or above this value, and maximise recall instead of F1.
        min_recall: keep recall at or above this value, and maximise precision instead of F1.
        background: the class of a softmax that is not counted.
        common: take one threshold for all labels, and pool their decisions in the metric (micro).
        few: with fewer positives than this, a tuned threshold is mostly luck, and the plug-in
            threshold is taken instead: the best one if the probabilities of a logistic curve over
            the scores, fitted to the labels, are right. With 0 the labels alone decide.
        ignore_index: labels of this value are left out.
        resamples: how many resamples the bootstrap takes. It draws rows: examples, or sentences
            with all their tokens.
        seed: seed of the bootstrap.

    Raises:
        ValueError: if shapes or values do not fit, if there is no positive, or if no threshold
            reaches ``min_precision`` or ``min_recall``.

    Examples:
        >>> tuned = tune_bias(torch.tensor([-4.0, -3.0, -2.0, -1.0]), [0, 0, 1, 1], few=0)
        >>> tuned.bias, tuned.before, tuned.after
        (tensor([2.5000]), 0.0, 1.0)
    """
    goal = _Goal(beta, min_precision, min_recall)
    goal.check(metric)
    x, y = _matched(logits, labels, background, ignore_index)
    softmax = x.shape != y.shape
    data = _of_softmax(x, y, background) if softmax else _of_logits(x, y)
    if common:
        data = _Decisions(*(part.flatten(1).unsqueeze(-1) for part in data))
    # Scores as close as this may change places when the bias is added and rounded.
    tolerance = 16 * torch.finfo(x.dtype).eps * float(x.abs().max())

    def bias_of(threshold: Tensor) -> Tensor:
        bias = x.new_zeros(x.shape[-1])
        if softmax:
            bias[background] = threshold[0]
        else:
            bias -= threshold
        return bias

    columns = data.valid.shape[-1]
    zero, threshold = x.new_zeros(2, columns)
    plug_in, interval = zero.bool(), None
    if callable(metric):
        if columns > 1:
            raise ValueError(
                f"metric: expected one threshold for a function to choose, got {columns} labels; "
                "give common=True, or tune each label by itself"
            )

        def score(threshold: Tensor) -> float:
            shifted = x + bias_of(threshold)
            decided = shifted.argmax(-1) if softmax else shifted > 0
            return float(metric(decided.reshape(torch.as_tensor(labels).shape)))

        tried = _spread(candidates(data.scores[data.valid], tolerance=tolerance, also=(0,)))
        values = tried.new_tensor([score(candidate[None]) for candidate in tried])
        threshold[0] = nearest_to_0(tried, values)
        before, after = score(zero), score(threshold)
    else:
        for label in range(columns):
            valid, scores, hits, positives = (part[..., label] for part in data)
            scores, hits, actual = scores[valid], hits[valid], positives.sum()
            if actual < few:
                plug_in[label], hits = True, calibrated_probabilities(scores, hits)
            name = f"label {label}: " if columns > 1 else ""
            cuts = candidates(scores, hits, tolerance=tolerance, also=(0,))
            threshold[label] = nearest_to_0(cuts.thresholds, goal.values(cuts, actual, name))

        def mean(counts: Tensor) -> Tensor:
            return goal.value(counts).mean(-1)

        counts = data.counts(threshold)
        before, after = float(mean(data.counts(zero).sum(0))), float(mean(counts.sum(0)))
        if resamples:
            interval = _interval(counts, mean, resamples, seed)
    return TunedBias(
        bias_of(threshold), threshold.squeeze(), plug_in.squeeze(), before, after, interval
    )


def fold_bias(
    model: nn.Module, bias: TunedBias | Tensor | Sequence[float], *, layer: str | None = None
) -> Tensor:
    """Add a tuned bias to that of a model's output layer, so that the model decides as tuned.

    After this the argmax of the model's logits, or "logit above 0", is the tuned decision, also
    in a pipeline of transformers and after ``save_pretrained`` and ``from_pretrained``. The
    probabilities are shifted, too: one half is now the threshold. A second call adds a second time.

    Args:
        model: as in :func:`start_at_prior`.
        bias: the result of :func:`tune_bias`, or one number for each logit.
        layer: as in :func:`start_at_prior`.

    Returns:
        The layer's new bias, a copy.

    Raises:
        ValueError: if ``bias`` is not one number for each logit, or the model has no linear layer
            of that size, several of them, or one without a bias.

    Examples:
        >>> layer = nn.Linear(8, 1)
        >>> start_at_prior(layer, [75, 25])
        tensor([-1.0986])
        >>> fold_bias(layer, [1.0])
        tensor([-0.0986])
    """
    added = torch.as_tensor(bias.bias if isinstance(bias, TunedBias) else bias)
    if added.ndim != 1 or not bool(added.isfinite().all()):
        raise ValueError(
            f"bias: expected one finite number for each logit, got {added.tolist()}; give the "
            "result of tune_bias"
        )
    found = output_layer(model, len(added), layer=layer)
    with torch.no_grad():
        found.bias.add_(added.to(found.bias))
    return found.bias.detach().clone()


def output_layer(model: nn.Module, *outputs: int, layer: str | None = None) -> nn.Linear:
    """The linear layer of a model that gives the logits.

    Args:
        model: the model, or the layer itself; see :func:`start_at_prior`.
        *outputs: the number of logits, or the numbers that there may be.
        layer: the layer's name, where several have so many outputs.

    Raises:
        ValueError: if there is no such layer, if there are several, or if it has no bias.
    """
    model = _unwrapped(model)
    kind, size = type(model).__name__, f"{' or '.join(map(str, sorted(outputs)))} outputs"
    linear = {n: m for n, m in model.named_modules() if isinstance(m, nn.Linear) and _used(n)}
    fitting = {name: found for name, found in linear.items() if found.out_features in outputs}
    if layer not in (None, *fitting):
        known = ", ".join(fitting) or "none"
        raise ValueError(
            f"layer: expected the name of a linear layer with {size} in {kind} ({known}), got "
            f"{layer!r}"
        )
    if layer is not None:
        fitting = {layer: fitting[layer]}
    base = getattr(model, "base_model", None)
    if len(fitting) > 1 and isinstance(base, nn.Module) and base is not model:
        inner = set(base.modules())  # the encoder gives no logits
        fitting = {name: found for name, found in fitting.items() if found not in inner}
    if len({id(found.bias) for found in fitting.values()}) > 1:
        raise ValueError(
            f"expected one linear layer with {size} in {kind}, got {', '.join(fitting)}; say which "
            f"gives the logits, such as layer={[*fitting][-1]!r}"
        )
    if not fitting:
        last = [found.out_features for found in linear.values()][-1:]
        held = f"its last has {last[0]}" if last else "it has none at all"
        raise ValueError(
            f"expected a linear layer with {size} in {kind}, but {held}; give one number for each "
            "logit, or the layer itself"
        )
    (found, *_) = fitting.values()
    if found.bias is None:
        raise ValueError(
            f"expected an output layer with a bias in {kind}, got one without; replace it by "
            "nn.Linear(..., bias=True) before training"
        )
    return found


def _unwrapped(model: nn.Module) -> nn.Module:
    """The model in DistributedDataParallel, torch.compile or PEFT."""
    while True:
        inner = getattr(model, "_orig_mod", None)
        if isinstance(model, nn.parallel.DistributedDataParallel | nn.DataParallel):
            inner = model.module
        elif callable(base := getattr(model, "get_base_model", None)):
            inner = base()
        if not isinstance(inner, nn.Module) or inner is model:
            return model
        model = inner


def _used(name: str) -> bool:
    """Whether a layer is neither a part of an adapter nor the copy that PEFT keeps beside it."""
    parts = name.split(".")
    return "original_module" not in parts and not any(part.startswith("lora_") for part in parts)


class Candidates(NamedTuple):
    """Thresholds in ascending order, and what lies above each. All of the shape ``[thresholds]``.

    Attributes:
        thresholds: float64.
        hits: the sum of the hits above, float64.
        predicted: the number of scores above.
    """

    thresholds: Tensor
    hits: Tensor
    predicted: Tensor


def candidates(
    scores: Any, hits: Any = None, *, tolerance: float = 0.0, also: Sequence[float] = ()
) -> Candidates:
    """All thresholds that decide some scores differently, with the counts that they lead to.

    They are one below all scores, one half-way between each two neighbours that differ, and one
    above all.

    Args:
        scores: one a decision, such as logits; positive above the threshold. Shape ``[n]``.
        hits: whether, or with which probability, positive is correct. Shape ``[n]``.
        tolerance: neighbours that differ by no more than this are decided alike.
        also: further thresholds, which come last.
    """
    ordered, order = torch.as_tensor(scores, dtype=torch.float64).sort(descending=True)
    hits = torch.zeros_like(ordered) if hits is None else torch.as_tensor(hits).double()
    above = torch.cat([ordered.new_zeros(1), hits[order].cumsum(0)])
    ordered = ordered.flip(0)
    between = ((ordered[1:] + ordered[:-1]) / 2)[ordered.diff() > tolerance]
    more = ordered.new_tensor(also)
    thresholds = torch.cat([ordered[:1] - 1, between, ordered[-1:] + 1, more])
    predicted = len(ordered) - torch.searchsorted(ordered, thresholds, right=True)
    return Candidates(thresholds, above[predicted], predicted)


def nearest_to_0(thresholds: Tensor, values: Tensor) -> Tensor:
    """Of the thresholds with the highest value the one nearest to 0. Both ``[thresholds]``."""
    tied = thresholds[values == values.max()]
    return tied[tied.abs().argmin()]


def calibrated_probabilities(scores: Any, hits: Any) -> Tensor:
    """The probability of a hit by a logistic curve that does not fall: two numbers are fitted.

    The slope has the L2 penalty of scikit-learn's ``LogisticRegression``, on scores with a standard
    deviation of 1. The sum of the probabilities is the number of hits.

    Args:
        scores: shape ``[n]``.
        hits: 0 or 1, shape ``[n]``. Where all are equal they are returned as they are.
    """
    x, y = torch.as_tensor(scores, dtype=torch.float64), torch.as_tensor(hits).double()
    if not len(y) or y.min() == y.max():
        return y
    x = x - x.mean()
    x = torch.stack([x / (x.pow(2).mean().sqrt() or 1.0), torch.ones_like(x)], -1)
    penalty = torch.diag(x.new_tensor([1.0, 0.0]))

    def cost(w: Tensor) -> Tensor:
        z = x @ w
        return (nn.functional.softplus(z) - y * z).sum() + w @ penalty @ w / 2

    w = torch.stack([x.new_zeros(()), y.mean().logit()])
    for _ in range(100):
        p = (x @ w).sigmoid()
        gradient = x.T @ (p - y) + penalty @ w
        step = torch.linalg.solve((x.T * (p * (1 - p))) @ x + penalty, gradient)
        while step.abs().max() > 1e-9 and cost(w - step) > cost(w):
            step = step / 2
        w = w - step
        if step.abs().max() < 1e-9:
            break
    return (x @ w).sigmoid() if w[0] > 0 else torch.full_like(y, float(y.mean()))


@dataclass(frozen=True)
class _Goal:
    """What is maximised. Counts have the shape [..., 3]: hits, positive decisions, positives."""

    beta: float
    min_precision: float | None
    min_recall: float | None

    def check(self, metric: object) -> None:
        limits = {"min_precision": self.min_precision, "min_recall": self.min_recall}
        floors = {name: floor for name, floor in limits.items() if floor is not None}
        if metric != "f1" and not callable(metric):
            raise ValueError(
                f"metric: expected 'f1' or a function of the decisions, got {metric!r}; for others "
                "give beta, min_precision or min_recall"
            )
        if not 0 < self.beta < math.inf:
            raise ValueError(f"beta: expected a number above 0, got {self.beta}")
        if len(floors) + (self.beta != 1) + callable(metric) > 1:
            raise ValueError(
                "expected one of beta, min_precision, min_recall and a function as metric, got "
                "several; give one"
            )
        for name, floor in floors.items():
            if not 0 < floor <= 1:
                raise ValueError(f"{name}: expected a share above 0 and up to 1, got {floor}")

    def value(self, counts: Tensor) -> Tensor:
        hits, predicted, positives = counts.unbind(-1)
        if self.min_precision is not None:
            return hits / positives.clamp_min(1e-9)
        if self.min_recall is not None:
            return hits / predicted.clamp_min(1e-9)
        square = self.beta**2
        return (1 + square) * hits / (predicted + square * positives).clamp_min(1e-9)

    def values(self, tried: Candidates, actual: Tensor, name: str) -> Tensor:
        """The value of each threshold; below 0 where it does not keep the floor."""
        counts = [tried.hits, tried.predicted, actual.expand_as(tried.hits)]
        values = self.value(torch.stack([count.double() for count in counts], -1))
        floors = {"precision": self.min_precision, "recall": self.min_recall}
        for (what, floor), of in zip(floors.items(), counts[1:], strict=True):
            if floor is None:
                continue
            reached = (tried.hits / of).nan_to_num(0.0)
            if reached.max() < floor:
                raise ValueError(
                    f"{name}expected a threshold with a {what} of at least {floor:g}, got at most "
                    f"{float(reached.max()):.3g}; lower min_{what}"
                )
            values = values.masked_fill(reached < floor, -1)
        return values


class _Decisions(NamedTuple):
    """Decisions by one threshold a column, each part of the shape [rows, places, columns]."""

    valid: Tensor  # whether there is a label
    scores: Tensor  # positive above the threshold
    hits: Tensor  # whether positive is the correct decision
    positives: Tensor  # whether there is something to find

    def counts(self, threshold: Tensor) -> Tensor:
        """Hits, positive decisions and positives of each row. Shape [rows, columns, 3]."""
        predicted = (self.scores > threshold) & self.valid
        return torch.stack([self.hits * predicted, predicted, self.positives], -1).double().sum(1)


def _matched(logits: Any, labels: Any, background: int, ignore_index: int) -> tuple[Tensor, Tensor]:
    """Logits and labels, checked, as [..., C] and [...], or as [..., L] both; NaN: no label."""
    x, y = torch.as_tensor(logits).detach().cpu(), torch.as_tensor(labels).detach().cpu()
    x, y = (x if x.dtype == torch.float64 else x.float()), y.double()
    shapes = f"got logits {list(x.shape)} and labels {list(y.shape)}"
    if x.shape == (*y.shape, 1) or (x.ndim == 1 and x.shape == y.shape):
        x, y = x.reshape(*y.shape, 1), y.unsqueeze(-1)
    softmax = x.shape != y.shape
    if not y.numel() or not y.ndim or (softmax and x.shape[:-1] != y.shape):
        raise ValueError(
            f"expected logits [N] and labels [N], [N, C] and [N], [B, L, C] and [B, L], or [N, L] "
            f"and [N, L], {shapes}; reshape one of them"
        )
    classes = x.shape[-1] if softmax else 2
    if not 0 <= background < classes:
        raise ValueError(f"background: expected a class from 0 to {classes - 1}, got {background}")
    valid = y != ignore_index
    wrong = y[valid & ~((y >= 0) & (y < classes) & (y == y.round()))]
    if len(wrong):
        raise ValueError(
            f"labels: expected whole numbers from 0 to {classes - 1}, or {ignore_index} to leave "
            f"one out, got {float(wrong[0]):g}; check what the classes are"
        )
    y = y.masked_fill(~valid, math.nan)
    x = x.masked_fill(~(valid.unsqueeze(-1) if softmax else valid), 0)
    if not bool(x.isfinite().all()):
        raise ValueError("logits: expected finite numbers, got NaN or infinity; check the training")
    if not bool((y != background if softmax else y == 1)[valid].any()):
        raise ValueError(
            f"labels: expected at least one positive, got none among {int(valid.sum())}; take "
            "validation data that holds some"
        )
    return x, y


def _of_logits(x: Tensor, y: Tensor) -> _Decisions:
    parts = (~y.isnan(), x.double(), y == 1, y == 1)
    return _Decisions(*(part.reshape(len(y), -1, y.shape[-1]) for part in parts))


def _of_softmax(x: Tensor, y: Tensor, background: int) -> _Decisions:
    x = x.double()
    rest = x.index_fill(-1, torch.tensor(background), -math.inf)
    best = rest.argmax(-1, keepdim=True)
    margin = x.gather(-1, best)[..., 0] - x[..., background]
    # Of equal logits, argmax takes the first.
    first = (margin == 0) & (best[..., 0] < background)
    margin = margin.masked_fill(first, torch.finfo(margin.dtype).tiny)
    valid = ~y.isnan()
    parts = (valid, margin, y == best[..., 0], valid & (y != background))
    return _Decisions(*(part.reshape(len(y), -1, 1) for part in parts))


def _spread(tried: Candidates) -> Tensor:
    """Some 64 of all thresholds, and 0: the numbers of positive decisions grow by equal factors."""
    above = tried.predicted
    targets = torch.logspace(0, math.log10(max(int(above.max()), 1)), 64, dtype=torch.float64)
    nearest = (above - torch.cat([targets.new_zeros(1), targets])[:, None]).abs().argmin(-1)
    return tried.thresholds[torch.cat([nearest, torch.tensor([len(above) - 1])]).unique()]


def _interval(
    counts: Tensor, value: Callable[[Tensor], Tensor], resamples: int, seed: int
) -> tuple[float, float]:
    """The 95% interval of a value over rows: a bootstrap, or exact where all is right."""
    found = counts.sum(0)[..., 0]
    if float(value(counts.sum(0))) == 1:
        return float((0.025 ** (1 / found.clamp_min(1))).mean()), 1.0
    generator, rows = torch.Generator().manual_seed(seed), len(counts)
    values = []
    for _ in range(resamples):
        drawn = torch.randint(rows, (rows,), generator=generator).bincount(minlength=rows)
        values.append(value(torch.tensordot(drawn.double(), counts, 1)))
    low, high = torch.stack(values).quantile(counts.new_tensor([0.025, 0.975])).tolist()
    return low, high

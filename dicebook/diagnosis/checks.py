"""The checks: each takes a loss under test, tries one thing, and says what it found."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import one_hot
from torch.overrides import TorchFunctionMode

from dicebook.diagnosis.probe import MANY, SURE, LossRaised, Probe, every_third, repeat
from dicebook.diagnosis.report import NOTE, OK, PROBLEM, Finding, finding

COPIES = 8  # how many times a batch is repeated to see the effect of its size


def check_call(probe: Probe) -> Finding:
    try:
        value, _ = probe.value_and_gradient(probe.logits, probe.targets)
    except LossRaised as error:
        return Finding(
            "call",
            PROBLEM,
            math.nan,
            f"loss(logits {list(probe.logits.shape)}, targets {list(probe.targets.shape)}) "
            f"raised {error}",
            "wrap the loss so that it takes rows and returns a scalar",
        )
    if not math.isfinite(value):
        return Finding("call", PROBLEM, value, "the loss of this batch is not finite")
    return Finding("call", OK, value, "the loss of this batch")


def check_random(probe: Probe) -> Finding | None:
    """Whether two calls with the same batch give two values."""
    once, again = (probe.value(probe.logits, probe.targets) for _ in range(2))
    if once == again or math.isnan(once):
        return None
    text = f"two calls with the same batch gave {once:.4g} and {again:.4g}"
    mend = "take dropout and noise out of the loss first: they can look like the faults noted below"
    return Finding("random", PROBLEM, abs(once - again), text, mend)


def check_gradient(probe: Probe) -> Finding:
    _, gradient = probe.value_and_gradient(probe.logits, probe.targets)
    largest = float(gradient.abs().max())
    if not math.isfinite(largest):
        return Finding("gradient", PROBLEM, largest, "the gradient holds NaN or infinity")
    if largest == 0:
        mend = "look for detach(), argmax, round or a comparison; or for mining that keeps nothing"
        return Finding("gradient", PROBLEM, 0.0, "the gradient is zero everywhere", mend)
    return Finding("gradient", OK, largest, "largest element of the gradient")


def check_detached(probe: Probe) -> Finding | None:
    """Whether the gradient is the slope of the loss as one class gets likelier everywhere."""
    x, y = probe.logits, probe.targets
    _, gradient = probe.value_and_gradient(x, y)
    size = float(gradient.norm())
    if not math.isfinite(size) or size == 0:
        return None
    slopes: list[tuple[float, float, float]] = []
    for label in y.unique().tolist()[:8]:
        up = torch.zeros_like(x) if not probe.binary else torch.full_like(x, 2.0 * label - 1.0)
        if not probe.binary:
            up[:, int(label)] = 1.0
        by_gradient = float((gradient * up).sum())
        slope, wider = (
            (probe.value(x + length * up, y) - probe.value(x - length * up, y)) / (2 * length)
            for length in (0.03, 0.06)
        )
        # A loss that selects examples, or rounds, has no one slope.
        steady = abs(slope - wider) < 0.3 * abs(slope - by_gradient)
        slopes.append((abs(slope - by_gradient) if steady else 0.0, slope, by_gradient))
    off, slope, by_gradient = max(slopes)
    if off < 0.1 * max(abs(slope), abs(by_gradient)) + 0.03 * size:
        return None
    text = f"the loss has a slope of {slope:.3g}, its gradient says {by_gradient:.3g}"
    mend = "a part is detached: the denominator, or a factor. Keep it only if that is meant"
    return Finding("detached", NOTE, off, text, mend)


def check_range(probe: Probe) -> Finding:
    right, wrong = probe.right_and_wrong(SURE)
    low, high = probe.value(right, probe.targets), probe.value(wrong, probe.targets)
    size = max(abs(low), abs(high))
    share = (high - low) / size if size > 0 else 0.0
    text = f"all right costs {low:.4g}, all wrong {high:.4g}"
    if low < -1e-4 * high:
        mend = "smoothing above the fraction line belongs below it, too"
        return Finding("range", NOTE, share, f"{text}: a loss below 0", mend)
    if share > 0.05:
        return Finding("range", OK, share, text)
    mend = "sum numerator and denominator over the same examples; see also: sign, batch size"
    return Finding("range", PROBLEM, share, f"{text}: (nearly) constant", mend)


def check_batch_size(probe: Probe) -> Finding:
    x, y = probe.logits, probe.targets
    _, once = probe.value_and_gradient(x, y)
    _, often = probe.value_and_gradient(repeat(x, COPIES), repeat(y, COPIES))
    total = often.reshape(COPIES, *x.shape).sum(0)
    ratio = float(total.norm() / once.norm()) if float(once.norm()) > 0 else 1.0
    text = f"the same batch {COPIES} times: the gradient is multiplied by {ratio:.2g}"
    mend = "do not mix a numerator per example with a denominator over the batch"
    if ratio > 2:
        mend = "a sum, not a mean: scale the learning rate with the batch, or reduce by the mean"
    verdict = PROBLEM if ratio < 0.5 else NOTE if ratio > 2 else OK
    return finding("batch size", verdict, ratio, text, mend)


def check_sign(probe: Probe) -> Finding:
    grid = [p / 100 for p in range(2, 100, 3)]
    wrong: list[float] = []
    for gold, rival in ((probe.rare, probe.common), (probe.common, probe.rare)):
        pushes = torch.tensor([_push(probe, gold, rival, p) for p in grid])
        floor = 1e-3 * float(pushes.abs().max())
        wrong += [p for p, push in zip(grid, pushes.tolist(), strict=True) if push < -floor]
    if not wrong:
        return Finding("sign", OK, 0.0, "every example is pushed towards its class, or left alone")
    share = len(wrong) / (2 * len(grid))
    if inside := [p for p in wrong if 0.15 <= p <= 0.85]:
        away = (
            f"examples are pushed AWAY from their class, already where it has p = {inside[0]:.2f}"
        )
        mend = "a decay (1 - p)^alpha turns at p = 1/(1 + alpha): take alpha of 0.1 or less"
        return Finding("sign", PROBLEM, share, away, mend)
    ends = f"pushed away from their class only at the ends, where it has p = {_spans(wrong)}"
    mend = (
        "(1 - p)^alpha turns at p = 1/(1 + alpha); a small alpha turns late. Start near the prior"
    )
    return Finding("sign", NOTE, share, ends, mend)


def _push(probe: Probe, gold: int, rival: int, p: float) -> float:
    """How far descent raises the gold class's margin over one rival, from probability ``p``."""
    row = int((probe.targets == gold).nonzero()[0])
    x = probe.logits.clone()
    margin = math.log(p / (1 - p))
    if probe.binary:
        x[row] = margin if gold == 1 else -margin
    else:
        x[row] = -30.0
        x[row, gold], x[row, rival] = margin, 0.0
    _, gradient = probe.value_and_gradient(x, probe.targets)
    if probe.binary:
        return float(-gradient[row] if gold == 1 else gradient[row])
    return float(gradient[row, rival] - gradient[row, gold])


def check_reach(probe: Probe) -> Finding:
    y = probe.targets
    # Mining may leave out a class that is easy in this batch. It must not leave out a wrong one.
    all_wrong = probe.predicting(probe.others(y), 2.0) + 0.1 * probe.logits
    missed, share = set(y.unique().tolist()), 0.0
    for x in (probe.logits, all_wrong):
        _, gradient = probe.value_and_gradient(x, y)
        each = gradient.abs() if probe.binary else gradient.abs().amax(-1)
        missed &= {
            label for label in missed if float(each[y == label].max()) <= 1e-7 * float(each.max())
        }
        share = share or float((each > 0).float().mean())
    if not missed:
        return Finding("reach", OK, share, "share of the examples that get a gradient")
    names = ", ".join(str(int(label)) for label in sorted(missed))
    text = f"no example of class {names} gets a gradient, though wrong"
    mend = "mining kept none of them, or the numerator is 0 for y = 0 and nothing is smoothed"
    return Finding("reach", PROBLEM, share, text, mend)


def check_mining(probe: Probe) -> Finding | None:
    """Whether a binary loss that mines hard negatives keeps more of them with more positives."""
    if not probe.binary:
        return None
    rows, counts = 1000, {}
    x = torch.linspace(-3, -1, rows).to(probe.logits)
    for positives in (1, 3, 5, 7, 10, 30, 100):
        y = torch.zeros(rows).to(probe.targets)
        y[:positives] = 1
        _, gradient = probe.value_and_gradient(x, y)
        counts[positives] = int((gradient[positives:] != 0).sum())
    shares = [count / (rows - positives) for positives, count in counts.items()]
    if min(shares) == 1:
        return None
    text = "negatives kept of 1,000 rows, by positives: "
    text += ", ".join(f"{count} ({positives})" for positives, count in counts.items())
    drop = max(early - late for i, early in enumerate(shares) for late in shares[i:])
    mend = (
        "more positives keep far fewer: an index -k with k = 0, or a > for a >=. Take the k "
        "largest by topk, and let k be 1 at least"
    )
    return finding("mining", PROBLEM if drop > 0.5 * max(shares) else OK, drop, text, mend)


def check_clamp(probe: Probe) -> Finding | None:
    """Whether a loss that grows with the margin, as cross entropy does, stops growing."""

    def cost_and_push(margin: float) -> tuple[float, float]:
        _, wrong = probe.right_and_wrong(margin)
        cost, gradient = probe.value_and_gradient(wrong, probe.targets)
        return cost, float(gradient.norm())

    (low, near), (high, middle) = map(cost_and_push, (3.0, 5.0))
    if not (high > 1.1 * low and middle > 0.6 * near > 0):
        return None  # a bounded loss, such as dice: its gradient fades by design
    shares = {margin: cost_and_push(margin)[1] / middle for margin in (12.0, 25.0)}
    margin = 12.0 if shares[12.0] < 0.5 else 25.0
    text = f"from a margin of 5 to one of {margin:.0f}, both wrong, the gradient is multiplied "
    text += f"by {shares[margin]:.2g}"
    mend = "log(p + ε) or a clamp hides what is surely wrong: use log_softmax or logsigmoid"
    verdict = PROBLEM if shares[margin] < 0.5 else OK
    return finding("clamp", verdict, shares[margin], text, mend)


def check_shift(probe: Probe) -> Finding | None:
    if probe.binary:
        return None
    x, y = probe.logits, probe.targets
    step = torch.linspace(-3, 3, len(y), device=x.device).unsqueeze(-1)
    moved = round(abs(probe.value(x + step, y) - probe.value(x, y)), 6)
    if moved <= 1e-4 * max(1.0, abs(probe.span())):
        return Finding("shift", OK, moved, "a constant added to a row's logits changes nothing")
    text = "a constant added to a row's logits changes the loss: no softmax over the classes"
    mend = "sigmoid is for several labels; for one class a row use softmax over the last dim"
    return Finding("shift", PROBLEM, moved, text, mend)


def check_softmax_twice(probe: Probe) -> Finding:
    """Whether what goes into a softmax or a sigmoid is probabilities already."""
    wrong = probe.predicting(probe.others(probe.targets), SURE)
    with _Normalised() as mode:
        probe.value_and_gradient(wrong + 0.1 * probe.logits, probe.targets)
    if not mode.operation:
        return Finding("softmax twice", OK, 0.0, "no softmax or sigmoid of probabilities")
    text = f"{mode.operation} is taken of probabilities: no example can be surely right or wrong"
    mend = "give the loss logits, without softmax or sigmoid"
    return Finding("softmax twice", PROBLEM, 1.0, text, mend)


class _Normalised(TorchFunctionMode):
    """Notes a softmax or a sigmoid whose input is probabilities."""

    operation = ""
    OF_ROWS = ("cross_entropy", "log_softmax", "logsumexp", "softmax")
    OF_ONE = ("binary_cross_entropy_with_logits", "logsigmoid", "sigmoid")

    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        kwargs, name = kwargs or {}, getattr(func, "__name__", "")
        if name in self.OF_ROWS + self.OF_ONE:
            x = (args[0] if args else kwargs["input"]).detach()
            x = x.masked_fill(x <= torch.finfo(x.dtype).min, 0.0)  # what the operation leaves out
            low, high = x.aminmax() if x.numel() > 1 else x.new_zeros(2)
            inside = low >= 0 and high <= 1 and high - low > 0.5
            if inside and name in self.OF_ROWS:
                dim = kwargs.get("dim", (*args, -1)[1])
                dim = min(1, x.ndim - 1) if name == "cross_entropy" else dim
                inside = bool(((x.sum(dim) - 1).abs() < 1e-3).all())
            if inside:
                self.operation = "a sigmoid" if name in self.OF_ONE else "a softmax"
        return func(*args, **kwargs)


def check_focus(probe: Probe) -> Finding | None:
    """Whether the gradient is that of cross entropy times a factor that depends on the batch."""
    factors = []
    right = probe.predicting(probe.targets, 1.0)
    for x in (probe.logits, probe.logits + right):
        _, gradient = probe.value_and_gradient(x, probe.targets)
        p = x.sigmoid() if probe.binary else x.softmax(-1)
        gold = probe.targets.to(p) if probe.binary else one_hot(probe.targets, probe.classes).to(p)
        usual = (p - gold).reshape(len(p), -1)
        gradient = gradient.reshape(len(p), -1)
        factor = (gradient * usual).sum(-1) / (usual * usual).sum(-1)
        left = gradient - factor.unsqueeze(-1) * usual
        of_class = factor[probe.targets == probe.common]
        even = float(of_class.std()) <= 1e-3 * abs(float(of_class.mean()))
        straight = float(left.norm()) <= 1e-3 * float(gradient.norm())
        if not (even and straight and float(of_class.mean()) > 0):
            return None
        factors.append(float(of_class.mean()))
    ratio = factors[1] / factors[0]
    text = f"every example weighs alike, and in an easier batch all weigh {ratio:.2g} times as much"
    if abs(ratio - 1) <= 0.02:
        return None
    mend = "focal loss: take the factor of each example, reduction='none', and the mean last"
    return Finding("focus", PROBLEM, ratio, text, mend)


def check_saturation(probe: Probe) -> Finding:
    y, before = probe.targets, math.nan
    jump = 0.15 * max(abs(probe.span()), 0.1 * abs(probe.value(probe.logits, y)))
    mend = "write (1 - p)^alpha * p as exp(logsigmoid(x) + alpha * logsigmoid(-x)); clamps move it"
    for margin in (*range(8, 51), 100, 1000):
        for name, x in zip(("right", "wrong"), probe.right_and_wrong(float(margin)), strict=True):
            value, gradient = probe.value_and_gradient(x, y)
            if not math.isfinite(value) or not bool(gradient.isfinite().all()):
                what = "gradient" if math.isfinite(value) else "loss"
                text = f"the {what} is not finite where all are {name} with a margin of {margin}"
                return Finding("saturation", PROBLEM, margin, text, mend)
            if name == "right" and margin <= 30:
                if abs(value - before) > jump:
                    text = (
                        f"the loss jumps from {before:.3g} to {value:.3g} at a margin of {margin}"
                    )
                    return Finding("saturation", PROBLEM, margin, text, mend)
                before = value
    return Finding("saturation", OK, 1000, "finite up to this margin, and without a jump")


def check_memory(probe: Probe) -> Finding:
    rows = len(probe.targets)
    sizes = []
    for copies in (1, 2):
        with _Sizes() as mode:
            probe.value_and_gradient(repeat(probe.logits, copies), repeat(probe.targets, copies))
        sizes.append(mode.elements)
    once, twice = sizes
    # The same operations on twice the rows: two by two. A loop over rows has more of them.
    pairs = list(zip(once, twice, strict=True)) if len(once) == len(twice) else []
    pairs = pairs or [(max(once), max(twice))]
    share = max(once) / probe.logits.numel()
    grown = [late for early, late in pairs if late > 3 * early and late >= rows * rows]
    if not grown:
        return Finding("memory", OK, share, "largest tensor inside, in units of the logits")
    text = f"a tensor of {max(grown):,} elements is built from {2 * rows} rows: N by N"
    mend = "two tensors broadcast, [N, 1] against [N]: give both the same shape"
    return Finding("memory", PROBLEM, max(grown) / probe.logits.numel() / 2, text, mend)


class _Sizes(TorchFunctionMode):
    """Notes the elements of every tensor that a function returns."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = [0]

    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        result = func(*args, **(kwargs or {}))
        several = result if isinstance(result, tuple | list) else [result]
        self.elements += [item.numel() for item in several if isinstance(item, Tensor)]
        return result


class _InFloat32(TorchFunctionMode):
    """Runs the functions of these names in float32, whatever they are called with."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__()
        self.names = names

    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") in self.names:
            args = tuple(map(_whole, args))
            kwargs = {name: _whole(value) for name, value in kwargs.items()}
        return func(*args, **kwargs)


def _whole(value: object) -> object:
    return value.float() if isinstance(value, Tensor) and value.is_floating_point() else value


# Torch's own losses sum in float32 inside, on a GPU.
_FUSED = frozenset({"cross_entropy", "nll_loss", "binary_cross_entropy_with_logits"})
# What autocast runs in float32 on CUDA ("Automatic Mixed Precision" in torch's documentation).
_NAMES = """
__pow__ __rdiv__ __rpow__ __rtruediv__ acos asin cdist cosh cosine_embedding_loss cosine_similarity
cumprod cumsum dist erfinv exp expm1 group_norm hinge_embedding_loss kl_div l1_loss layer_norm log
log10 log1p log2 log_softmax margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss
norm normalize pdist poisson_nll_loss pow prod reciprocal renorm rsqrt sinh smooth_l1_loss
soft_margin_loss softmax softmin softplus sum tan triplet_margin_loss
"""
_AUTOCAST = _FUSED | frozenset(_NAMES.split())
_ROWS, _ELEMENTS = 400_000, 2**24


def check_half_precision(probe: Probe) -> Finding:
    # So many that a class sums to more than float16's 65,504, squares of p = 0.88 too.
    rows = min(_ROWS, max(MANY, _ELEMENTS // probe.classes) // 2 * 2)
    pair = torch.tensor([probe.common, probe.rare]).to(probe.targets)
    y = pair.repeat(rows // 2)
    x = probe.predicting(y, 2.0).half()
    full, _ = probe.value_and_gradient(x.float(), y)
    for names, where in ((_AUTOCAST, "under autocast"), (_FUSED, "in half precision throughout")):
        try:
            with _InFloat32(names):
                value, gradient = probe.value_and_gradient(x, y)
        except LossRaised as error:
            if names is _FUSED:
                break  # the CPU lacks some operations in float16
            return Finding("half precision", NOTE, math.nan, f"{where}: {error}", "cast the logits")
        off = abs(value - full)
        text = f"float16 logits, {rows:,} rows, {where}: {value:.4g}, float32 {full:.4g}"
        if math.isfinite(value) and off <= 0.05 * max(abs(full), 1e-3):
            continue
        dead = not bool(gradient.isfinite().all()) or not bool(gradient.any())
        text += ", and no gradient" if dead else ""
        mend = "cast the logits to float32 inside the loss"
        if names is _AUTOCAST:
            return Finding("half precision", PROBLEM, off, text, mend)
        mend += "; right under autocast, which sums in float32"
        return Finding("half precision", NOTE, off, text, mend)
    text = f"float16 logits, {rows:,} rows: as float32, {full:.4g}"
    return Finding("half precision", OK, 0.0, text)


def check_ignored_labels(probe: Probe) -> Finding | None:
    if probe.ignore_index is None or probe.targets.dtype == torch.bool:
        return None
    y, ignored = probe.targets.clone(), every_third(probe.targets)
    y[ignored] = probe.ignore_index
    x = probe.logits.clone()
    x[ignored] = x[ignored].flip(-1) * 3 if not probe.binary else -3 * x[ignored]
    name, label = "ignored labels", probe.ignore_index
    expected = probe.value(probe.logits[~ignored], probe.targets[~ignored])
    try:
        value, gradient = probe.value_and_gradient(x, y)
    except LossRaised as error:
        text, mend = f"a label of {label} raised {error}", "drop such rows before the loss"
        return Finding(name, NOTE, math.nan, text, mend)
    finding = _dropped(name, f"rows with label {label}", value, gradient, ignored, expected)
    if finding.verdict == PROBLEM and probe.binary and not probe.ignores:
        # Binary losses seldom know such a label, and this batch has none.
        return dataclasses.replace(finding, verdict=NOTE, mend="drop such rows before the loss")
    return finding


def check_mask(probe: Probe) -> Finding | None:
    call = probe.loss.forward if isinstance(probe.loss, torch.nn.Module) else probe.loss
    try:
        if "mask" not in inspect.signature(call).parameters:
            return None
    except (TypeError, ValueError):
        return None
    masked = every_third(probe.targets)
    expected = probe.value(probe.logits[~masked], probe.targets[~masked])
    mask = (~masked).to(probe.logits)
    value, gradient = probe.value_and_gradient(probe.logits, probe.targets, mask)
    return _dropped("mask", "masked rows", value, gradient, masked, expected)


def _dropped(
    name: str, rows: str, value: float, gradient: Tensor, out: Tensor, expected: float
) -> Finding:
    off = abs(value - expected)
    leak = float(gradient[out].abs().max())
    if math.isfinite(off) and off <= 1e-3 * max(1e-3, abs(expected)) and leak == 0:
        return Finding(name, OK, off, f"{rows} do not count")
    text = f"{rows} count: the loss is {value:.4g}, without them {expected:.4g}"
    text += f"; their largest gradient is {leak:.2g}" if leak != 0 else ""
    mend = "multiply by a mask of the same shape before every sum, and divide by the rows kept"
    return Finding(name, PROBLEM, off, text, mend)


def check_shape(probe: Probe) -> Finding:
    x, y = probe.logits, probe.targets
    copies = 1 + len(y) % 2
    # As many rows in each half as classes, and torch's own losses take them for the classes.
    while not probe.binary and copies * len(y) // 2 == probe.classes:
        copies += 2
    x, y = repeat(x, copies), repeat(y, copies)
    flat = probe.value(x, y)
    mend = "flatten the leading dimensions first: logits.reshape(-1, C), targets.reshape(-1)"
    try:
        value = probe.value(x.reshape(2, len(y) // 2, *x.shape[1:]), y.reshape(2, -1))
    except LossRaised as error:
        text = f"[2, N/2, ...] in place of [N, ...] raised {error}"
        return Finding("shape", NOTE, math.nan, text, mend)
    off = abs(value - flat)
    if off <= 1e-3 * max(1e-3, abs(flat)):
        return Finding("shape", OK, off, "[2, N/2, ...] gives the same loss as [N, ...]")
    text = f"[2, N/2, ...] gives {value:.4g}, the same rows as [N, ...] {flat:.4g}"
    return Finding("shape", PROBLEM, off, text, mend)


def check_measure(probe: Probe) -> Finding:
    rare, slips = MANY // 8, MANY // 16
    y = torch.full((MANY,), probe.common).to(probe.targets)
    y[:rare] = probe.rare
    missed, invented = y.clone(), y.clone()
    missed[:slips] = probe.common
    invented[rare : rare + slips] = probe.rare
    right = probe.value(probe.predicting(y, SURE), y)
    miss = probe.value(probe.predicting(missed, SURE), y) - right
    alarm = probe.value(probe.predicting(invented, SURE), y) - right
    easy = torch.full(((COPIES - 1) * MANY,), probe.common).to(y)
    more, more_missed = torch.cat([y, easy]), torch.cat([missed, easy])
    diluted = probe.value(probe.predicting(more_missed, SURE), more)
    diluted -= probe.value(probe.predicting(more, SURE), more)
    ratio = diluted / miss if miss != 0 else math.nan
    text = f"{COPIES} times the easy negatives multiply the cost of the misses by {ratio:.2g}"
    if not ratio < 0.5:
        return Finding("measure", OK, ratio, f"{text}: like F1")
    even = alarm != 0 and abs(miss / alarm - 1) < 0.02
    text += ": like accuracy" + (", and a false alarm costs what a miss does" if even else "")
    mend = "right for cross entropy; a dice loss should sum over the set, with the smoothing once"
    return Finding("measure", NOTE, ratio, text, mend)


def _spans(values: list[float]) -> str:
    low = [f"at most {max(p for p in values if p < 0.5):.2f}"] if min(values) < 0.5 else []
    high = [f"at least {min(p for p in values if p >= 0.5):.2f}"] if max(values) >= 0.5 else []
    return " or ".join(low + high)


ALL: tuple[Callable[[Probe], Finding | None], ...] = (
    check_gradient,
    check_detached,
    check_range,
    check_batch_size,
    check_sign,
    check_reach,
    check_mining,
    check_clamp,
    check_shift,
    check_softmax_twice,
    check_focus,
    check_saturation,
    check_memory,
    check_half_precision,
    check_ignored_labels,
    check_mask,
    check_shape,
    check_measure,
)

"""Does this loss train? A check-up of any loss callable, by what it does and not by its code.

Most losses that do not train fail in one of a dozen ways, and each of them shows in the value or
the gradient of a small batch. `diagnose` tries them all. Chapter 16 of the book writes each failure
out in a few lines and cures it.
"""

from __future__ import annotations

import inspect
import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

OK, NOTE, PROBLEM = "ok", "note", "problem"
_MANY = 256  # rows of the batches that the checks build
_COPIES = 8  # how many times a batch is repeated to see the effect of its size
_SURE = 8.0  # a margin that is sure, p = .9997, but not saturated


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Attributes:
        name: The check: ``call``, ``gradient``, ``range``, ``batch size``, ``sign``, ``reach``,
            ``shift``, ``saturation``, ``half precision``, ``memory``, ``ignored labels``, ``mask``,
            ``shape`` or ``measure``.
        verdict: ``"ok"``, ``"note"`` (worth knowing, and right for some losses) or ``"problem"``.
        number: What was measured; NaN where the loss raised.
        meaning: What the number says, in words.
        mend: What to do about it; empty if all is well.
    """

    name: str
    verdict: str
    number: float
    meaning: str
    mend: str = ""

    def __str__(self) -> str:
        number = "" if math.isnan(self.number) else f" ({self.number:.5g})"
        lines = [f"{self.verdict:8}{self.name}{number}: {self.meaning}"]
        lines += [f"{'':8}→ {self.mend}"] if self.mend else []
        return "\n".join(textwrap.fill(line, 88, subsequent_indent=" " * 10) for line in lines)


@dataclass(frozen=True)
class Report:
    """All findings about a loss; ``print`` shows them.

    Attributes:
        findings: In the order of the checks.
    """

    findings: tuple[Finding, ...]

    @property
    def problems(self) -> tuple[Finding, ...]:
        """The findings whose verdict is ``"problem"``."""
        return tuple(finding for finding in self.findings if finding.verdict == PROBLEM)

    @property
    def ok(self) -> bool:
        """Whether there is no problem. Notes do not count."""
        return not self.problems

    def __getitem__(self, name: str) -> Finding:
        """The finding of one check.

        Raises:
            KeyError: There was no such check.
        """
        for finding in self.findings:
            if finding.name == name:
                return finding
        raise KeyError(f"{name!r}; checked: {', '.join(f.name for f in self.findings)}")

    def __str__(self) -> str:
        count = len(self.problems)
        head = "no problem found" if count == 0 else f"{count} problem{'s' * (count > 1)} found"
        return "\n".join([head, *map(str, self.findings)])


def diagnose(
    loss: Callable[..., Tensor],
    logits: Tensor,
    targets: Tensor,
    *,
    ignore_index: int | None = -100,
) -> Report:
    """Check what a loss does with a batch, and with batches made from it.

    The loss is called some hundred times on rows ``[N, C]`` and ``[N]`` (binary: ``[N]`` and
    ``[N]``), with N up to 160,000 for the test of half precision.

    Args:
        loss: Called as ``loss(logits, targets)``; returns a scalar. If it has a parameter named
            ``mask``, that is checked too. It may be a function, a module or a lambda around one
            that wants another layout.
        logits: A batch as the loss will see it, ``[..., C]``, or ``[...]`` for a binary loss. A
            real one from the start of training is best. Computed in float32 on its own device.
        targets: Class indices ``[...]``, or 0/1 of any dtype for a binary loss. At least two
            different ones.
        ignore_index: The label that does not count; None if the loss need not know any.

    Returns:
        The report. An error that the loss raises is a finding, not an error of this function.

    Raises:
        TypeError: ``logits`` is no floating tensor.
        ValueError: The shapes do not belong together, or the targets hold one class only.
    """
    probe = _Probe.of(loss, logits, targets, ignore_index)
    first = _call(probe)
    if first.verdict == PROBLEM:
        return Report((first,))
    findings = [first]
    checks: list[Callable[[_Probe], Finding | None]] = [
        _gradient,
        _range,
        _batch_size,
        _sign,
        _reach,
        _shift,
        _saturation,
        _memory,
        _half_precision,
        _ignored_labels,
        _mask,
        _shape,
        _measure,
    ]
    for check in checks:
        if check is _half_precision and any(
            f.name == "memory" and f.verdict == PROBLEM for f in findings
        ):
            continue
        try:
            finding = check(probe)
        except _LossRaised as error:
            name = check.__name__.strip("_").replace("_", " ")
            finding = Finding(name, PROBLEM, math.nan, f"the loss raised {error}")
        if finding is not None:
            findings.append(finding)
    return Report(tuple(findings))


class _LossRaised(Exception):
    """The loss under test raised, or returned something that is no scalar tensor."""


@dataclass(frozen=True)
class _Probe:
    """A loss with a batch of rows: at least ``_MANY``, none ignored."""

    loss: Callable[..., Tensor]
    logits: Tensor
    targets: Tensor
    common: int  # the most frequent class
    rare: int  # the least frequent one that is there
    ignore_index: int | None

    @classmethod
    def of(
        cls, loss: Callable[..., Tensor], logits: Tensor, targets: Tensor, ignore_index: int | None
    ) -> _Probe:
        if not isinstance(logits, Tensor) or not logits.is_floating_point():
            raise TypeError(f"logits must be a floating tensor; got {_kind(logits)}")
        if not isinstance(targets, Tensor):
            raise TypeError(f"targets must be a tensor; got {_kind(targets)}")
        binary = logits.shape == targets.shape
        if not binary and logits.shape[:-1] != targets.shape:
            raise ValueError(
                f"expected targets {list(logits.shape[:-1])} (class indices) or "
                f"{list(logits.shape)} (0/1) for logits {list(logits.shape)}; "
                f"got {list(targets.shape)}"
            )
        x = logits.detach().float().reshape(-1, *([] if binary else [logits.shape[-1]]))
        y = targets.detach().reshape(-1)
        if ignore_index is not None:
            x, y = x[y != ignore_index], y[y != ignore_index]
        labels, counts = y.unique(return_counts=True)
        if len(labels) < 2:
            raise ValueError(f"expected targets of two classes or more; got {labels.tolist()}")
        if binary and not set(labels.tolist()) <= {0, 1}:
            raise ValueError(f"expected 0/1 targets for a binary loss; got {labels.tolist()}")
        copies = math.ceil(_MANY / len(y))
        common, rare = (int(labels[i]) for i in (counts.argmax(), counts.argmin()))
        if common == rare:
            common, rare = int(labels[0]), int(labels[-1])
        return cls(loss, _repeat(x, copies), _repeat(y, copies), common, rare, ignore_index)

    @property
    def binary(self) -> bool:
        return self.logits.ndim == 1

    def value(self, x: Tensor, y: Tensor, *mask: Tensor) -> float:
        """The loss of a batch."""
        with torch.no_grad():
            return float(self._scalar(x, y, *mask))

    def value_and_gradient(self, x: Tensor, y: Tensor, *mask: Tensor) -> tuple[float, Tensor]:
        """The loss of a batch and its gradient; zeros where none flows."""
        leaf = x.detach().clone().requires_grad_()
        value = self._scalar(leaf, y, *mask)
        if not value.requires_grad:
            return float(value), torch.zeros_like(leaf)
        try:
            (gradient,) = torch.autograd.grad(value, leaf, allow_unused=True)
        except Exception as error:
            raise _LossRaised(f"{type(error).__name__} in backward: {error}") from error
        return float(value.detach()), torch.zeros_like(leaf) if gradient is None else gradient

    def _scalar(self, x: Tensor, y: Tensor, *mask: Tensor) -> Tensor:
        try:
            value = self.loss(x, y, mask=mask[0]) if mask else self.loss(x, y)
        except Exception as error:
            raise _LossRaised(f"{type(error).__name__}: {_first_line(error)}") from error
        if not isinstance(value, Tensor) or value.numel() != 1:
            got = list(value.shape) if isinstance(value, Tensor) else _kind(value)
            raise _LossRaised(f"nothing, but returned {got} instead of a scalar tensor")
        return value

    def predicting(self, classes: Tensor, margin: float) -> Tensor:
        """Logits that predict these classes by a margin over all others together."""
        if self.binary:
            return margin * (2 * classes.to(self.logits) - 1)
        rest = self.logits.shape[-1] - 1
        chosen = torch.nn.functional.one_hot(classes.long(), rest + 1)
        return chosen.to(self.logits) * (margin + math.log(rest))

    def others(self, classes: Tensor) -> Tensor:
        """A wrong class for each, among those that are there."""
        wrong = torch.full_like(classes, self.common)
        return torch.where(classes == self.common, torch.full_like(classes, self.rare), wrong)

    def right_and_wrong(self, margin: float) -> tuple[Tensor, Tensor]:
        """Logits that get every row right, and every row wrong."""
        y = self.targets
        return self.predicting(y, margin), self.predicting(self.others(y), margin)

    def span(self) -> float:
        """What all wrong costs more than all right, both sure."""
        right, wrong = self.right_and_wrong(_SURE)
        return self.value(wrong, self.targets) - self.value(right, self.targets)


def _call(probe: _Probe) -> Finding:
    try:
        value, _ = probe.value_and_gradient(probe.logits, probe.targets)
    except _LossRaised as error:
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


def _gradient(probe: _Probe) -> Finding:
    _, gradient = probe.value_and_gradient(probe.logits, probe.targets)
    largest = float(gradient.abs().max())
    if not math.isfinite(largest):
        return Finding("gradient", PROBLEM, largest, "the gradient holds NaN or infinity")
    if largest == 0:
        mend = "look for detach(), argmax, round or a comparison; or for mining that keeps nothing"
        return Finding("gradient", PROBLEM, 0.0, "the gradient is zero everywhere", mend)
    return Finding("gradient", OK, largest, "largest element of the gradient")


def _range(probe: _Probe) -> Finding:
    right, wrong = probe.right_and_wrong(_SURE)
    low, high = probe.value(right, probe.targets), probe.value(wrong, probe.targets)
    size = max(abs(low), abs(high))
    share = (high - low) / size if size > 0 else 0.0
    text = f"all right costs {low:.4g}, all wrong {high:.4g}"
    if share > 0.05:
        return Finding("range", OK, share, text)
    mend = "sum numerator and denominator over the same examples; see also: sign, batch size"
    return Finding("range", PROBLEM, share, f"{text}: (nearly) constant", mend)


def _batch_size(probe: _Probe) -> Finding:
    x, y = probe.logits, probe.targets
    _, once = probe.value_and_gradient(x, y)
    _, often = probe.value_and_gradient(_repeat(x, _COPIES), _repeat(y, _COPIES))
    total = often.reshape(_COPIES, *x.shape).sum(0)
    ratio = float(total.norm() / once.norm()) if float(once.norm()) > 0 else 1.0
    text = f"the same batch {_COPIES} times: the gradient is multiplied by {ratio:.2g}"
    if ratio < 0.5:
        mend = "do not mix a numerator per example with a denominator over the batch"
        return Finding("batch size", PROBLEM, ratio, text, mend)
    if ratio > 2:
        mend = "a sum, not a mean: scale the learning rate with the batch, or reduce by the mean"
        return Finding("batch size", NOTE, ratio, text, mend)
    return Finding("batch size", OK, ratio, text)


def _sign(probe: _Probe) -> Finding:
    grid = [p / 100 for p in range(2, 100, 3)]
    wrong: list[float] = []
    for gold, rival in ((probe.rare, probe.common), (probe.common, probe.rare)):
        pushes = torch.tensor([_push(probe, gold, rival, p) for p in grid])
        floor = 1e-3 * float(pushes.abs().max())
        wrong += [p for p, push in zip(grid, pushes.tolist(), strict=True) if push < -floor]
    if not wrong:
        return Finding("sign", OK, 0.0, "every example is pushed towards its class, or left alone")
    inside = [p for p in wrong if 0.15 <= p <= 0.85]
    share = len(wrong) / (2 * len(grid))
    if inside:
        text = (
            f"examples are pushed AWAY from their class, already where it has p = {inside[0]:.2f}"
        )
        mend = "a decay (1 - p)^alpha turns at p = 1/(1 + alpha): take alpha of 0.1 or less"
        return Finding("sign", PROBLEM, share, text, mend)
    text = f"pushed away from their class only at the ends, where it has p = {_spans(wrong)}"
    mend = (
        "(1 - p)^alpha turns at p = 1/(1 + alpha); a small alpha turns late. Start near the prior"
    )
    return Finding("sign", NOTE, share, text, mend)


def _push(probe: _Probe, gold: int, rival: int, p: float) -> float:
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


def _reach(probe: _Probe) -> Finding:
    _, gradient = probe.value_and_gradient(probe.logits, probe.targets)
    each = gradient.abs() if probe.binary else gradient.abs().amax(-1)
    missed = [
        int(label)
        for label in probe.targets.unique()
        if float(each[probe.targets == label].max()) <= 1e-7 * float(each.max())
    ]
    share = float((each > 0).float().mean())
    if not missed:
        return Finding("reach", OK, share, "share of the examples that get a gradient")
    text = f"no example of class {', '.join(map(str, missed))} gets a gradient"
    mend = "mining kept none of them, or the numerator is 0 for y = 0 and nothing is smoothed"
    return Finding("reach", PROBLEM, share, text, mend)


def _shift(probe: _Probe) -> Finding | None:
    if probe.binary:
        return None
    x, y = probe.logits, probe.targets
    step = torch.linspace(-3, 3, len(y), device=x.device).unsqueeze(-1)
    moved = abs(probe.value(x + step, y) - probe.value(x, y))
    if moved <= 1e-4 * max(1.0, abs(probe.span())):
        return Finding("shift", OK, moved, "a constant added to a row's logits changes nothing")
    text = "a constant added to a row's logits changes the loss: no softmax over the classes"
    mend = (
        "sigmoid is for several labels at once; for one class a row use softmax over the last dim"
    )
    return Finding("shift", PROBLEM, moved, text, mend)


def _saturation(probe: _Probe) -> Finding:
    y, before = probe.targets, math.nan
    jump = 0.15 * max(abs(probe.span()), 0.1 * abs(probe.value(probe.logits, y)))
    mend = "write (1 - p)^alpha * p as exp(logsigmoid(x) + alpha * logsigmoid(-x)); clamps move it"
    for margin in (*range(8, 31), 50, 100, 1000):
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


def _memory(probe: _Probe) -> Finding:
    with _LargestTensor() as seen:
        probe.value_and_gradient(probe.logits, probe.targets)
    rows = len(probe.targets)
    share = seen.elements / probe.logits.numel()
    if seen.elements < rows * rows / 2:
        return Finding("memory", OK, share, "largest tensor inside, in units of the logits")
    text = f"a tensor of {seen.elements:,} elements is built from {rows} rows: N by N"
    mend = "two tensors broadcast, [N, 1] against [N]: give both the same shape"
    return Finding("memory", PROBLEM, share, text, mend)


class _LargestTensor(TorchDispatchMode):
    """Notes the largest tensor that any operation returns."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        result = func(*args, **(kwargs or {}))
        for item in result if isinstance(result, tuple | list) else [result]:
            if isinstance(item, Tensor):
                self.elements = max(self.elements, item.numel())
        return result


def _half_precision(probe: _Probe) -> Finding:
    rows = 160_000  # so that a class sums to more than float16's 65,504
    pair = torch.tensor([probe.common, probe.rare]).to(probe.targets)
    y = pair.repeat(rows // 2)
    x = probe.predicting(y, 2.0).half()
    full, _ = probe.value_and_gradient(x.float(), y)
    try:
        value, gradient = probe.value_and_gradient(x, y)
    except _LossRaised as error:
        return Finding("half precision", NOTE, math.nan, f"float16 logits: {error}", "cast them")
    off = abs(value - full)
    dead = not bool(gradient.isfinite().all()) or not bool(gradient.any())
    if math.isfinite(value) and off <= 0.05 * max(abs(full), 1e-3):
        text = f"float16 logits, {rows:,} rows: {value:.4g}, float32 {full:.4g}"
        return Finding("half precision", OK, off, text)
    text = f"float16 logits, {rows:,} rows: {value:.4g} instead of {full:.4g}"
    text += ", and no gradient" if dead else ""
    return Finding(
        "half precision", PROBLEM, off, text, "cast the logits to float32 inside the loss"
    )


def _ignored_labels(probe: _Probe) -> Finding | None:
    if probe.ignore_index is None or probe.targets.dtype == torch.bool:
        return None
    y, ignored = probe.targets.clone(), _every_third(probe.targets)
    y[ignored] = probe.ignore_index
    x = probe.logits.clone()
    x[ignored] = x[ignored].flip(-1) * 3 if not probe.binary else -3 * x[ignored]
    name, label = "ignored labels", probe.ignore_index
    expected = probe.value(probe.logits[~ignored], probe.targets[~ignored])
    try:
        value, gradient = probe.value_and_gradient(x, y)
    except _LossRaised as error:
        text, mend = f"a label of {label} raised {error}", "drop such rows before the loss"
        return Finding(name, NOTE, math.nan, text, mend)
    return _dropped(name, f"rows with label {label}", value, gradient, ignored, expected)


def _mask(probe: _Probe) -> Finding | None:
    call = probe.loss.forward if isinstance(probe.loss, torch.nn.Module) else probe.loss
    try:
        if "mask" not in inspect.signature(call).parameters:
            return None
    except (TypeError, ValueError):
        return None
    masked = _every_third(probe.targets)
    expected = probe.value(probe.logits[~masked], probe.targets[~masked])
    kept = (~masked).to(probe.logits)
    value, gradient = probe.value_and_gradient(probe.logits, probe.targets, kept)
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


def _shape(probe: _Probe) -> Finding:
    x, y = probe.logits, probe.targets
    if len(y) % 2:
        x, y = _repeat(x, 2), _repeat(y, 2)
    flat = probe.value(x, y)
    mend = "flatten the leading dimensions first: logits.reshape(-1, C), targets.reshape(-1)"
    try:
        value = probe.value(x.reshape(2, len(y) // 2, *x.shape[1:]), y.reshape(2, -1))
    except _LossRaised as error:
        text = f"[2, N/2, ...] in place of [N, ...] raised {error}"
        return Finding("shape", NOTE, math.nan, text, mend)
    off = abs(value - flat)
    if off <= 1e-3 * max(1e-3, abs(flat)):
        return Finding("shape", OK, off, "[2, N/2, ...] gives the same loss as [N, ...]")
    text = f"[2, N/2, ...] gives {value:.4g}, the same rows as [N, ...] {flat:.4g}"
    return Finding("shape", PROBLEM, off, text, mend)


def _measure(probe: _Probe) -> Finding:
    rare, slips = _MANY // 8, _MANY // 16
    y = torch.full((_MANY,), probe.common).to(probe.targets)
    y[:rare] = probe.rare
    missed, invented = y.clone(), y.clone()
    missed[:slips] = probe.common
    invented[rare : rare + slips] = probe.rare
    right = probe.value(probe.predicting(y, _SURE), y)
    miss = probe.value(probe.predicting(missed, _SURE), y) - right
    alarm = probe.value(probe.predicting(invented, _SURE), y) - right
    easy = torch.full(((_COPIES - 1) * _MANY,), probe.common).to(y)
    more, more_missed = torch.cat([y, easy]), torch.cat([missed, easy])
    diluted = probe.value(probe.predicting(more_missed, _SURE), more)
    diluted -= probe.value(probe.predicting(more, _SURE), more)
    ratio = diluted / miss if miss != 0 else math.nan
    text = f"{_COPIES} times the easy negatives multiply the cost of the misses by {ratio:.2g}"
    if not ratio < 0.5:
        return Finding("measure", OK, ratio, f"{text}: like F1")
    even = alarm != 0 and abs(miss / alarm - 1) < 0.02
    text += ": like accuracy" + (", and a false alarm costs what a miss does" if even else "")
    mend = "right for cross entropy; a dice loss should sum over the set, with the smoothing once"
    return Finding("measure", NOTE, ratio, text, mend)


def _every_third(targets: Tensor) -> Tensor:
    """A bool mask that takes rows of every class and leaves rows of every class."""
    order = targets.argsort(stable=True)
    chosen = torch.zeros_like(targets, dtype=torch.bool)
    chosen[order[::3]] = True
    return chosen


def _repeat(tensor: Tensor, copies: int) -> Tensor:
    return tensor.repeat(copies, *[1] * (tensor.ndim - 1))


def _spans(values: list[float]) -> str:
    low = [f"at most {max(p for p in values if p < 0.5):.2f}"] if min(values) < 0.5 else []
    high = [f"at least {min(p for p in values if p >= 0.5):.2f}"] if max(values) >= 0.5 else []
    return " or ".join(low + high)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:120]


def _kind(value: object) -> str:
    return str(value.dtype) if isinstance(value, Tensor) else type(value).__name__

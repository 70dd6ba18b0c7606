"""What the losses accept, and the one shape that they compute in.

Logits and targets of any leading shape become class-major ``[C, N]`` tensors of float32 (float64
stays). What does not count is set to 0 here, *before* any softmax, so that even NaN logits in
padding reach neither a loss nor its gradient. Whatever does not fit ends in one clear error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

Weight = Tensor | Sequence[float] | None
Classes = Tensor | Sequence[int] | None

Reduction = Literal["none", "mean", "sum"]
Level = Literal["set", "example"]
Average = Literal["macro", "micro"]
Absent = Literal["keep", "skip"]

CHOICES = {
    "reduction": get_args(Reduction),
    "level": get_args(Level),
    "average": get_args(Average),
    "absent": (None, *get_args(Absent)),
    "squared": (True, False),
}
AT_LEAST_0 = {"smooth", "tau", "alpha", "gamma", "power", "first_weight", "second_weight"}
PRICES = {"fp_weight", "fn_weight"}


class Batch(NamedTuple):
    """A checked batch, one row a class.

    Attributes:
        logits: ``[C, N]``, float32 or float64; binary ``[1, N]``, multi-label ``[L, N]``.
        target: Of the same shape and dtype, one-hot, 0/1 or soft; 0 where an example is dropped.
        dropped: ``[N]`` bool, the examples that do not count (multi-label: ``[L, N]``); None
            where all are known to count.
        weight: The weights of the examples, of the shape of ``dropped``, or None.
        shape: The leading shape that ``N`` came from.
        exclusive: Whether an example has one class, hence a softmax, and not sigmoids.
    """

    logits: Tensor
    target: Tensor
    dropped: Tensor | None
    weight: Tensor | None
    shape: torch.Size
    exclusive: bool

    def reduce(self, loss: Tensor, reduction: str) -> Tensor:
        """Reduce one loss an example, ``[N]``; the mean is over the examples that count, or 0."""
        if self.dropped is not None:
            loss = loss.masked_fill(self.dropped.reshape(loss.shape), 0.0)
        weight = None if self.weight is None else self.weight.reshape(loss.shape)
        if weight is not None:
            loss = loss * weight
        if reduction == "none":
            return loss.reshape(self.shape)
        total = loss.sum()
        if reduction == "sum":
            return total
        if weight is not None:
            shares = weight.sum()
            return total / shares.masked_fill(shares == 0, 1.0)
        if self.dropped is None:
            return total / max(1, loss.numel())
        return total / (loss.numel() - self.dropped.sum()).clamp(min=1)


def is_soft(target: Any) -> bool:
    """Whether a multi-class target holds class probabilities."""
    return isinstance(target, Tensor) and target.is_floating_point()


def multi_class(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None,
    sample_weight: Tensor | None,
    ignore_index: int,
    *,
    soft: bool,
    finite: bool = True,
) -> Batch:
    """Check a multi-class batch; arguments and errors as in `dicebook.losses.functional`.

    Args:
        input, target, mask, sample_weight, ignore_index: What the loss was called with.
        soft: Whether it takes class probabilities ``[..., C]`` as targets.
        finite: Whether a logit of −inf must become a finite one that rules the class out, too.
    """
    check_options(ignore_index=ignore_index)
    check_logits(input)
    if input.ndim == 0 or input.shape[-1] < 2:
        raise ValueError(
            "input must have shape [..., C] with at least two classes last; "
            f"got {list(input.shape)} (for one logit an example use the binary form)"
        )
    _check_labels(input, target, soft)
    classes, shape = input.shape[-1], input.shape[:-1]
    labels = None if is_soft(target) else target.reshape(-1).long()
    ignored = None if labels is None else labels == ignore_index
    weight, dropped = _counted(input, mask, sample_weight, shape, ignored)
    if labels is None:
        y = target.reshape(-1, classes).t()
        y = y if dropped is None else y.masked_fill(dropped, 0.0)
        y = _checked(y, 0, 1, "lie between 0 and 1")
    else:
        expected = f"hold class indices in 0..{classes - 1} or ignore_index"
        labels = labels if dropped is None else labels.masked_fill(dropped, 0)
        labels = _checked(labels, 0, classes - 1, expected)
        y = labels == torch.arange(classes, device=labels.device).unsqueeze(-1)
        y = y if dropped is None else y & ~dropped
    x = _clean(input.reshape(-1, classes), dropped, finite).t()
    return Batch(x, y.to(x.dtype), dropped, weight, shape, exclusive=True)


def decisions(
    input: Tensor,
    target: Tensor,
    mask: Tensor | None,
    sample_weight: Tensor | None,
    ignore_index: int,
    *,
    soft: bool,
    labels: bool = False,
) -> Batch:
    """Check a batch of yes or no, as `multi_class`; ``soft`` takes targets between 0 and 1.

    Binary: one decision an example. With ``labels``: ``[..., L]``, one a label, each an example of
    its own. A mask and weights then have the input's shape, or that without the last dimension.
    """
    check_options(ignore_index=ignore_index)
    check_logits(input)
    if labels and input.ndim == 0:
        raise ValueError("input must have shape [..., L], the labels last; got []")
    _check_hard(target, input.shape, input.shape)
    shape = input.shape[:-1] if labels else input.shape
    ignored = target.reshape(-1) == ignore_index
    weight, dropped = _counted(input, mask, sample_weight, input.shape, ignored, labels=labels)
    x = _clean(input.reshape(-1), dropped, finite=True)
    y = target.reshape(-1).to(x.dtype)
    y = y if dropped is None else y.masked_fill(dropped, 0)
    y = _checked(y, 0, 1, "lie between 0 and 1, or be ignore_index", whole=not soft)
    columns = input.shape[-1] if labels else 1

    def by_label(numbers: Tensor | None) -> Any:
        return None if numbers is None else numbers.reshape(-1, columns).t()

    each = by_label(x), by_label(y), by_label(dropped), by_label(weight)
    return Batch(*each, shape, exclusive=False)


def check_logits(input: Tensor) -> None:
    """Check that the input is a floating tensor; a TypeError if not."""
    if not isinstance(input, Tensor) or not input.is_floating_point():
        got = input.dtype if isinstance(input, Tensor) else type(input).__name__
        raise TypeError(f"input must be a floating tensor of logits; got {got}")


def check_options(**options: Any) -> None:
    """Check the options whose range does not depend on the batch, whatever the loss.

    Raises:
        ValueError: An option lies outside its range, or speaks of a set of examples beside
            ``level="example"``.
    """
    for name, value in options.items():
        if name in CHOICES and value not in CHOICES[name]:
            expected = ", ".join(repr(choice) for choice in CHOICES[name])
            raise ValueError(f"{name} must be one of {expected}; got {value!r}")
        ranged = name in AT_LEAST_0 or (name in PRICES and value is not None)
        if ranged and not (_is_number(value) and value >= 0):
            raise ValueError(f"{name} must be a finite number of at least 0; got {value!r}")
        if name == "label_smoothing" and not (_is_number(value) and 0 <= value <= 1):
            raise ValueError(f"label_smoothing must be a number from 0 to 1; got {value!r}")
        if name == "ohem_ratio" and value is not None and not (_is_number(value) and value > 0):
            raise ValueError(f"ohem_ratio must be None or a number above 0; got {value!r}")
        if name == "ignore_index" and not (_is_number(value) and value == int(value)):
            raise ValueError(f"ignore_index must be an integer; got {value!r}")
        if name == "process_group" and isinstance(value, (str, int)) and value != "world":
            raise ValueError(f"process_group must be None, 'world' or a group; got {value!r}")
    if options.get("fp_weight") == 0 and options.get("fn_weight") == 0:
        raise ValueError("fp_weight and fn_weight must not both be 0: no error would cost anything")
    if options.get("average") == "micro":
        for name in ("weight", "absent", "reduction"):
            value = options.get(name)
            if value is not None and (name, value) != ("reduction", "mean"):
                raise ValueError(f"{name} is about single labels; got average='micro'")
    if options.get("level") == "example":
        for name in ("absent", "ohem_ratio", "process_group"):
            if options.get(name) not in (None, "keep"):
                raise ValueError(f"{name}={options[name]!r} needs level='set'; got level='example'")


def class_weights(weight: Any, classes: int | None = None, name: str = "weight") -> Tensor | None:
    """Class weights as a floating tensor, one finite number for each of the classes, if known.

    Raises:
        ValueError: ``weight`` is no tensor, list or array of that length, nor None.
    """
    if weight is None:
        return None
    numbers = weight
    if not isinstance(weight, Tensor):
        values = weight.tolist() if hasattr(weight, "tolist") else weight
        if isinstance(values, (list, tuple)) and all(_is_number(value) for value in values):
            numbers = torch.tensor(values, dtype=torch.float32)
    real = isinstance(numbers, Tensor) and not numbers.is_complex()
    if not real or numbers.ndim != 1 or classes not in (None, len(numbers)):
        expected = f"one number a class, a list or tensor of shape [{classes or 'C'}]"
        got = f"shape {list(numbers.shape)}" if real else repr(weight)
        raise ValueError(f"{name} must be None or {expected}; got {got}")
    if _readable(numbers) and not (bool(numbers.isfinite().all()) and float(numbers.sum()) >= 0):
        expected = "finite numbers of a sum of at least 0"
        raise ValueError(f"{name} must be {expected}; got {numbers.tolist()}")
    return numbers if numbers.is_floating_point() else numbers.float()


def positive_weights(pos_weight: Any, labels: int | None = None) -> Tensor | float | None:
    """One weight for all positives, or one for each label, ``[L]``.

    Raises:
        ValueError: It is neither a finite number of at least 0 nor such a list or tensor.
    """
    if _is_number(pos_weight) and pos_weight >= 0:
        return float(pos_weight)
    return class_weights(pos_weight, labels, "pos_weight")


def class_counts(counts: Any, classes: int | None = None) -> Tensor:
    """As `class_weights`, all positive and never None."""
    numbers = class_weights(counts, classes)
    if numbers is None or (_readable(numbers) and not bool((numbers > 0).all())):
        raise ValueError(f"counts must be a positive number for each class; got {counts!r}")
    return numbers


def check_classes(classes: Any, count: int | None = None) -> None:
    """Check that ``classes`` are distinct class indices, below ``count`` if that is known.

    Raises:
        ValueError: ``classes`` is no such list, tuple or range, or is empty.
    """
    if classes is None or (isinstance(classes, Tensor) and not _readable(classes)):
        return
    classes = classes.tolist() if hasattr(classes, "tolist") else classes
    whole = isinstance(classes, (list, tuple, range)) and all(type(c) is int for c in classes)
    if not whole or not classes or len(set(classes)) != len(classes):
        raise ValueError(f"classes must be a list of one or more distinct indices; got {classes!r}")
    if count is not None and not 0 <= min(classes) <= max(classes) < count:
        raise ValueError(f"classes must lie in 0..{count - 1}; got {classes!r}")


def _clean(logits: Tensor, dropped: Tensor | None, finite: bool) -> Tensor:
    """Logits in float32 or float64; what does not count is set to one number, NaN or not.

    That is a quarter of the lowest number there is: a class with it is ruled out as by −inf, and
    sums with it stay finite.
    """
    logits = logits.to(_precision(logits))
    bad = dropped.unsqueeze(-1) if dropped is not None and logits.ndim == 2 else dropped
    if finite and not (_readable(logits) and bool((logits > -math.inf).all())):
        bad = _either(bad, logits == -math.inf)
    return logits if bad is None else logits.masked_fill(bad, torch.finfo(logits.dtype).min / 4)


def _precision(logits: Tensor) -> torch.dtype:
    return torch.float64 if logits.dtype == torch.float64 else torch.float32


def _counted(
    input: Tensor,
    mask: Tensor | None,
    sample_weight: Tensor | None,
    shape: torch.Size,
    dropped: Tensor | None,
    *,
    labels: bool = False,
) -> tuple[Tensor | None, Tensor | None]:
    """Weights, and what mask, weights and labels drop (``dropped``: these alone); flat, or None."""
    weight: Tensor | None = None
    if mask is not None:
        mask = _flat("mask", mask, shape, labels)
        if mask.dtype != torch.bool and _readable(mask):
            wrong = mask[(mask != 0) & (mask != 1)]
            if wrong.numel():
                raise ValueError(
                    f"mask must hold 0 and 1, or False and True; got {wrong[0].item():g}. "
                    "Weights of examples are sample_weight=..."
                )
        dropped = _either(dropped, mask == 0)
    if sample_weight is not None:
        weight = _flat("sample_weight", sample_weight, shape, labels)
        if _readable(weight) and not bool(((weight >= 0) & weight.isfinite()).all()):
            raise ValueError(f"sample_weight must hold finite numbers of at least 0; got {weight}")
        dropped = _either(dropped, weight == 0)
        weight = weight.to(_precision(input))
    if dropped is None or (_readable(dropped) and not bool(dropped.any())):
        return weight, None
    return None if weight is None else weight.masked_fill(dropped, 0.0), dropped


def _flat(name: str, values: Tensor, shape: torch.Size, labels: bool) -> Tensor:
    """A mask or weights of the examples' shape, flat; with ``labels`` one value a row is enough."""
    if labels and isinstance(values, Tensor) and values.shape == shape[:-1]:
        values = values.unsqueeze(-1).expand(shape)
    if not isinstance(values, Tensor) or values.shape != shape:  # never broadcast
        got = list(values.shape) if isinstance(values, Tensor) else type(values).__name__
        raise ValueError(f"{name} must be a tensor of the examples' shape {list(shape)}; got {got}")
    return values.reshape(-1)


def _either(one: Tensor | None, other: Tensor) -> Tensor:
    return other if one is None else one | other


def _check_labels(input: Tensor, target: Tensor, soft: bool) -> None:
    if is_soft(target):
        if not soft:
            raise TypeError(
                f"target must hold class indices (an integer dtype); got {target.dtype}: "
                "this loss is not defined for soft targets"
            )
        if target.shape != input.shape:
            raise ValueError(
                "floating targets are class probabilities of the input's shape "
                f"{list(input.shape)}; got {list(target.shape)} (class indices need an integer "
                "dtype)"
            )
        return
    _check_hard(target, input.shape, input.shape[:-1])
    if target.dtype == torch.bool:
        raise TypeError(f"target must hold class indices (an integer dtype); got {target.dtype}")


def _check_hard(target: Tensor, input_shape: torch.Size, expected: torch.Size) -> None:
    if not isinstance(target, Tensor):
        raise TypeError(f"target must be a tensor; got {type(target).__name__}")
    if target.is_complex():
        raise TypeError(f"target must hold class indices (an integer dtype); got {target.dtype}")
    if target.shape != expected:
        hint = ""
        if expected == input_shape[:-1] and target.shape == input_shape[:1] + input_shape[2:]:
            hint = ". The classes stand last: input.movedim(1, -1)"
        elif expected == input_shape and target.shape == input_shape[:-1]:
            hint = ". One logit an example: input.squeeze(-1)" if input_shape[-1] == 1 else ""
        raise ValueError(
            f"target must have shape {list(expected)} for input {list(input_shape)}; "
            f"got {list(target.shape)}{hint}"
        )


def _checked(
    target: Tensor, lowest: int, highest: int, expected: str, *, whole: bool = False
) -> Tensor:
    """The target, which must lie in a range.

    Where Python may not read it, a lookup fails where something is wrong. It is part of the value
    that comes back, for a compiler drops what nobody uses.
    """
    if not _readable(target):
        right = (target >= lowest) & (target <= highest)
        if whole:
            right = right & (target == target.round())
        zero = torch.arange(1, device=target.device)
        return target + zero.index_select(0, (~right).reshape(-1).long()).reshape(target.shape)
    if target.numel() == 0:
        return target
    low, high = torch.stack(torch.aminmax(target)).tolist()  # one wait for the device, not two
    if not (lowest <= low and high <= highest):
        raise ValueError(f"target must {expected}; got {low if not lowest <= low else high:g}")
    if whole and bool((target != target.round()).any()):
        raise ValueError("target must be 0 or 1: this loss is not defined for soft targets")
    return target


def _readable(tensor: Tensor) -> bool:
    # Python may not look at values while it is traced, nor under torch.func; a look at those of a
    # GPU would wait for it. There a label out of range fails in a lookup, asynchronously.
    hidden = torch.compiler.is_compiling() or type(tensor) not in (Tensor, nn.Parameter)
    if hidden or tensor.device.type != "cpu":
        return False
    try:
        tensor.data_ptr()  # what torch.func wraps has no memory of its own
    except RuntimeError:
        return False
    return True


def _is_number(value: Any) -> bool:
    # A tuple, not int | float: torch 2.9 cannot compile the union.
    value = value.item() if type(value).__module__ == "numpy" and value.ndim == 0 else value
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and -math.inf < value < math.inf

"""What the losses accept, and the two shapes that they compute in.

Logits and targets of any leading shape become class-major ``[C, N]`` tensors of float32 (float64
stays); where each example has one label and its numbers are wanted alone, rows ``[N, C]`` and
labels ``[N]``, which needs no one-hot targets. What does not count is set to 0 here, *before* any
softmax, so that even NaN logits in padding reach neither a loss nor its gradient. Whatever does not
fit ends in one clear error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

Weight = Tensor | Sequence[float] | None

CHOICES = {
    "reduction": ("none", "mean", "sum"),
    "level": ("set", "example"),
    "average": ("macro", "micro"),
    "absent": (None, "keep", "skip"),
    "gradients": ("mean", "sum"),
    "squared": (True, False),
}
AT_LEAST_0: tuple[str, ...] = ("smooth", "tau", "alpha", "gamma", "fp_weight", "fn_weight")
AT_LEAST_0 += ("first_weight", "second_weight")

#: Whether the range of targets is checked on a GPU, too, for which every call waits for it.
CHECK_VALUES_ON_DEVICES = False


class Batch(NamedTuple):
    """A checked batch.

    Attributes:
        logits: ``[C, N]``, float32 or float64, finite where the input is; binary ``[1, N]``.
        target: Of the same shape and dtype: one-hot, 0/1 or soft; 0 where an example is dropped.
        kept: ``[N]`` bool, the examples that count.
        shape: The leading shape that ``N`` came from.

    With several labels an example, it is binary, and ``N`` is ``L, N``.
    """

    logits: Tensor
    target: Tensor
    kept: Tensor
    shape: torch.Size

    def reduce(self, loss: Tensor, reduction: str) -> Tensor:
        """Reduce one loss an example, ``[N]``; the mean is over the examples that count, or 0."""
        return _reduced(torch.where(self.kept, loss, 0.0), self.kept, self.shape, reduction)


class Rows(NamedTuple):
    """A checked batch of examples with one label each.

    Attributes:
        logits: ``[N, C]``, as in `Batch`.
        labels: ``[N]`` int64; 0 where an example is dropped.
        kept: ``[N]`` bool, the examples that count; None where all are known to.
        shape: The leading shape that ``N`` came from.
    """

    logits: Tensor
    labels: Tensor
    kept: Tensor | None
    shape: torch.Size

    def where_kept(self, numbers: Tensor) -> Tensor:
        """Numbers ``[N]`` or ``[N, C]`` with 0 for the examples that do not count."""
        if self.kept is None:
            return numbers
        return torch.where(self.kept if numbers.ndim == 1 else self.kept[:, None], numbers, 0.0)

    def of_gold(self, numbers: Tensor) -> Tensor:
        """Of ``[N, C]`` the number of each example's class, ``[N]``."""
        return numbers.gather(-1, self.labels.unsqueeze(-1)).squeeze(-1)

    def reduce(self, loss: Tensor, reduction: str) -> Tensor:
        """As `Batch.reduce`."""
        return _reduced(self.where_kept(loss), self.kept, self.shape, reduction)


def _reduced(loss: Tensor, kept: Tensor | None, shape: torch.Size, reduction: str) -> Tensor:
    if reduction == "none":
        return loss.reshape(shape)
    total = loss.sum()
    if reduction == "sum":
        return total
    return total / (max(1, len(loss)) if kept is None else kept.sum().clamp(min=1))


def is_soft(target: Any) -> bool:
    """Whether a multi-class target holds class probabilities."""
    return isinstance(target, Tensor) and target.is_floating_point()


def rows(input: Tensor, target: Tensor, mask: Tensor | None, ignore_index: int) -> Rows:
    """Check a multi-class batch of hard targets, as `multi_class`."""
    _check_multi_class(input, target, ignore_index, soft=False)
    classes, shape = input.shape[-1], input.shape[:-1]
    labels = target.reshape(-1).long()
    kept = labels != ignore_index
    if mask is not None:
        kept = kept & _kept(mask, shape, target)
    if _readable(kept) and bool(kept.all()):
        logits, counted = input.reshape(-1, classes), None
    else:
        logits, counted = torch.where(kept[:, None], input.reshape(-1, classes), 0.0), kept
        labels = torch.where(kept, labels, 0)
    _check_labels_range(labels, classes)
    logits = logits.to(_precision(input))
    if not _readable(logits) or logits.numel() == 0 or float(logits.detach().amin()) == -math.inf:
        logits = logits.clamp(min=_lowest(logits))
    return Rows(logits, labels, counted, shape)


def multi_class(
    input: Tensor, target: Tensor, mask: Tensor | None, ignore_index: int, *, soft: bool
) -> Batch:
    """Check a multi-class batch; arguments and errors as in `dicebook.losses.functional`.

    Args:
        input, target, mask, ignore_index: What the loss was called with.
        soft: Whether it takes class probabilities ``[..., C]`` as targets.
    """
    _check_multi_class(input, target, ignore_index, soft)
    classes, shape = input.shape[-1], input.shape[:-1]
    kept = _kept(mask, shape, target)
    logits = input.reshape(-1, classes).t()
    if target.is_floating_point():
        y = torch.where(kept, target.reshape(-1, classes).t(), 0.0)
        _check_range(y, 0, 1, "lie between 0 and 1")
    else:
        labels = target.reshape(-1).long()
        kept = kept & (labels != ignore_index)
        labels = torch.where(kept, labels, 0)
        _check_labels_range(labels, classes)
        of_class = torch.arange(classes, device=labels.device).unsqueeze(-1)
        y = (labels == of_class) & kept
    return _batch(logits, y, kept, shape)


def binary(
    input: Tensor, target: Tensor, mask: Tensor | None, ignore_index: int, *, soft: bool
) -> Batch:
    """Check a binary batch, as `multi_class`; ``soft`` takes targets between 0 and 1."""
    check_options(ignore_index=ignore_index)
    check_logits(input)
    _check_hard(target, input.shape, input.shape)
    kept = _kept(mask, input.shape, target)
    labels = target.reshape(-1)
    kept = kept & (labels != ignore_index)
    y = torch.where(kept, labels.to(_precision(input)), 0)
    _check_range(y, 0, 1, "lie between 0 and 1, or be ignore_index")
    if not soft and _readable(y) and bool((y.frac() != 0).any()):
        raise ValueError("target must be 0 or 1: this loss is not defined for soft targets")
    return _batch(input.reshape(1, -1), y.unsqueeze(0), kept, input.shape)


def multi_label(
    input: Tensor, target: Tensor, mask: Tensor | None, ignore_index: int, *, soft: bool
) -> Batch:
    """Check ``[..., L]`` decisions of yes or no, one a label; each is an example of its own.

    A mask has the input's shape, or that without the last dimension.
    """
    if isinstance(input, Tensor) and input.ndim == 0:
        raise ValueError("input must have shape [..., L], the labels last; got []")
    if isinstance(mask, Tensor) and isinstance(input, Tensor) and mask.shape == input.shape[:-1]:
        mask = mask.unsqueeze(-1).expand(input.shape)
    x, y, kept, shape = binary(input, target, mask, ignore_index, soft=soft)
    labels = shape[-1]
    x, y = (numbers.reshape(1, -1, labels).transpose(1, 2) for numbers in (x, y))
    return Batch(x, y, kept.reshape(-1, labels).t(), shape[:-1])


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
        if name in AT_LEAST_0 and not (_is_number(value) and value >= 0):
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
        for name, neutral in (("weight", None), ("absent", None), ("reduction", "mean")):
            value = options.get(name, neutral)
            if value is not neutral and value != neutral:
                raise ValueError(f"{name} is about single labels; got average='micro'")
    if options.get("level") == "example":
        for name in ("absent", "ohem_ratio", "process_group"):
            if options.get(name) not in (None, "keep"):
                raise ValueError(f"{name}={options[name]!r} needs level='set'; got level='example'")


def class_weights(weight: Any, classes: int | None = None) -> Tensor | None:
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
        raise ValueError(f"weight must be None or {expected}; got {got}")
    if _readable(numbers) and not (bool(numbers.isfinite().all()) and float(numbers.sum()) >= 0):
        expected = "finite numbers of a sum of at least 0"
        raise ValueError(f"weight must be {expected}; got {numbers.tolist()}")
    return numbers if numbers.is_floating_point() else numbers.float()


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
    if classes is None:
        return
    classes = classes.tolist() if hasattr(classes, "tolist") else classes
    whole = isinstance(classes, (list, tuple, range)) and all(type(c) is int for c in classes)
    if not whole or not classes or len(set(classes)) != len(classes):
        raise ValueError(f"classes must be a list of one or more distinct indices; got {classes!r}")
    if count is not None and not 0 <= min(classes) <= max(classes) < count:
        raise ValueError(f"classes must lie in 0..{count - 1}; got {classes!r}")


def _check_multi_class(input: Tensor, target: Tensor, ignore_index: int, soft: bool) -> None:
    check_options(ignore_index=ignore_index)
    check_logits(input)
    if input.ndim == 0 or input.shape[-1] < 2:
        raise ValueError(
            "input must have shape [..., C] with at least two classes last; "
            f"got {list(input.shape)} (for one logit an example use the binary form)"
        )
    _check_labels(input, target, soft)


def _check_labels_range(labels: Tensor, classes: int) -> None:
    _check_range(labels, 0, classes - 1, f"hold class indices in 0..{classes - 1} or ignore_index")


def _lowest(logits: Tensor) -> float:
    # A logit of −inf rules a class out; a quarter of the lowest number does too, and stays finite.
    return torch.finfo(logits.dtype).min / 4


def _batch(logits: Tensor, y: Tensor, kept: Tensor, shape: torch.Size) -> Batch:
    dtype = _precision(logits)
    logits = torch.where(kept, logits.to(dtype), 0.0)
    logits = logits.clamp(min=_lowest(logits))
    return Batch(logits.contiguous(), y.to(dtype).contiguous(), kept, shape)


def _precision(logits: Tensor) -> torch.dtype:
    return torch.float64 if logits.dtype == torch.float64 else torch.float32


def _kept(mask: Tensor | None, shape: torch.Size, like: Tensor) -> Tensor:
    if mask is None:
        return torch.ones(shape.numel(), dtype=torch.bool, device=like.device)
    if not isinstance(mask, Tensor) or mask.shape != shape:  # a mask is never broadcast
        got = list(mask.shape) if isinstance(mask, Tensor) else type(mask).__name__
        raise ValueError(f"mask must be a tensor of the examples' shape {list(shape)}; got {got}")
    return mask.reshape(-1).bool()


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
        raise ValueError(
            f"target must have shape {list(expected)} for input {list(input_shape)}; "
            f"got {list(target.shape)}"
        )


def _check_range(target: Tensor, lowest: int, highest: int, expected: str) -> None:
    if target.numel() == 0 or not _readable(target):
        return
    low, high = torch.stack(torch.aminmax(target)).tolist()  # one wait for the device, not two
    if not (lowest <= low and high <= highest):
        raise ValueError(f"target must {expected}; got {low if not lowest <= low else high:g}")


def _readable(tensor: Tensor) -> bool:
    # Python may not look at values while it is traced, nor under torch.func; a look at those of a
    # GPU would wait for it. There a label out of range fails in `gather`, asynchronously.
    hidden = torch.compiler.is_compiling() or type(tensor) not in (Tensor, nn.Parameter)
    if hidden or (tensor.device.type != "cpu" and not CHECK_VALUES_ON_DEVICES):
        return False
    return not torch._C._functorch.is_functorch_wrapped_tensor(tensor)


def _is_number(value: Any) -> bool:
    # A tuple, not int | float: torch 2.9 cannot compile the union.
    value = value.item() if type(value).__module__ == "numpy" and value.ndim == 0 else value
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and -math.inf < value < math.inf

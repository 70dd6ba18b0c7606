"""The losses as ``torch.nn`` modules: a function with its options bound.

A module takes the keyword options of its function under the same names and defaults, checks them
when it is made, and calls the function with ``(input, target, mask=None)``. What an option means
stands in `dicebook.losses.functional`.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from dicebook.losses import functional
from dicebook.losses.batch import (
    check_classes,
    check_options,
    class_counts,
    class_weights,
    positive_weights,
)
from dicebook.losses.statistics import DiceStatistics

_BUFFERS: dict[str, Callable[[Any], Any]] = {
    "weight": class_weights,
    "pos_weight": positive_weights,
    "counts": class_counts,
}


class Loss(nn.Module):
    """What all modules share: options checked and kept as attributes, the weight as a buffer."""

    function: Callable[..., Tensor]
    option_names: tuple[str, ...]

    def __init_subclass__(cls, function: Callable[..., Tensor] | None = None) -> None:
        """Take options, their defaults and their descriptions from the function."""
        if function is None:
            return
        cls.function = staticmethod(function)
        parameters = inspect.signature(function).parameters.values()
        keywords = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
        cls.option_names = tuple(p.name for p in keywords)
        cls.__doc__ = f"{cls.__doc__}\n\n{function.__doc__}" if cls.__doc__ else None
        base = cls.__init__

        def __init__(self: Loss, *args: Any, **options: Any) -> None:
            base(self, *args, **options)

        # A class of its own below this one has a signature of its own.
        itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        __init__.__signature__ = inspect.Signature([itself, *keywords])  # type: ignore[attr-defined]
        __init__.__qualname__ = f"{cls.__qualname__}.__init__"
        cls.__init__ = __init__  # type: ignore[method-assign]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()
        name, known = type(self).__name__, ", ".join(self.option_names)
        if args:
            raise TypeError(f"{name} takes options by name alone; its options are {known}")
        if unknown := sorted(set(options) - set(self.option_names)):
            said = ", ".join(map(repr, unknown))
            raise TypeError(f"{name} has no option {said}; its options are {known}")
        parameters = inspect.signature(self.function).parameters
        for option in self.option_names:
            value = options.get(option, parameters[option].default)
            if value is inspect.Parameter.empty:
                raise TypeError(f"{name} needs the option {option!r}; its options are {known}")
            options[option] = value
        check_options(**options)
        if "alpha" in options:
            functional.check_alpha(options["alpha"])
        check_classes(options.get("classes"))
        for option in self.option_names:
            value = options[option]
            if option in _BUFFERS:
                value = _BUFFERS[option](value)
            if option in _BUFFERS and not isinstance(value, float):
                self.register_buffer(option, value)
            else:  # a number or an array of numpy as Python has it
                setattr(self, option, value.tolist() if hasattr(value, "tolist") else value)
        if options.get("classes") is not None:
            self.register_buffer("_index", torch.tensor(self.classes), persistent=False)

    def options(self) -> dict[str, Any]:
        """The options by name, as the function takes them."""
        return {name: getattr(self, name) for name in self.option_names}

    def forward(
        self,
        input: Tensor,
        target: Tensor,
        mask: Tensor | None = None,
        sample_weight: Tensor | None = None,
    ) -> Tensor:
        """The loss of a batch; shapes as in the function."""
        return type(self).function(input, target, mask, sample_weight, **self._on(input))

    def _on(self, input: Any) -> dict[str, Any]:
        """The options for a batch; tensors lie on its device, and are copied there once."""
        options = self.options()
        moves = isinstance(input, Tensor) and not torch.compiler.is_compiling()
        for name, numbers in self.named_buffers():
            if moves and numbers.device != input.device and input.device.type != "meta":
                numbers = self._buffers[name] = numbers.to(input.device)
            options["classes" if name == "_index" else name] = numbers
        return options

    def extra_repr(self) -> str:
        """The options that are not None."""
        return ", ".join(
            f"{name}={value.tolist() if isinstance(value, Tensor) else value!r}"
            for name, value in self.options().items()
            if value is not None
        )


class SetLoss(Loss):
    """A loss of the dice family: at set level it goes through statistics that can be added."""

    collect: Callable[..., DiceStatistics] = staticmethod(functional.dice_statistics)
    level: str = "set"
    process_group: Any

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        chosen = self.options()
        every_class = "classes" in chosen and chosen["classes"] is None
        if every_class and not chosen["squared"] and chosen["smooth"] > 0:
            _warn_standing_start()

    def statistics(
        self,
        input: Tensor,
        target: Tensor,
        mask: Tensor | None = None,
        sample_weight: Tensor | None = None,
    ) -> DiceStatistics:
        """The statistics of a batch, this process's alone; arguments as in ``forward``.

        Raises:
            ValueError: The module's level is not ``"set"``.
        """
        if self.level != "set":
            raise ValueError(f"statistics need level='set'; got level={self.level!r}")
        options = self._some(self._on(input), "alpha squared ignore_index ohem_ratio")
        return type(self).collect(input, target, mask, sample_weight, **options)

    def loss_of(self, statistics: DiceStatistics) -> Tensor:
        """The loss of statistics that were collected, and perhaps added or all-reduced, before.

        Args:
            statistics: Of whatever makes up the set. They are taken as they are: ``process_group``
                has no effect here.

        Returns:
            The loss, reduced over classes by ``reduction``.
        """
        options = "smooth fp_weight fn_weight weight classes absent average reduction"
        return statistics.loss(**self._some(self._on(statistics.overlap), options))

    def _some(self, options: dict[str, Any], names: str) -> dict[str, Any]:
        return {name: options[name] for name in names.split() if name in options}


@functools.cache
def _warn_standing_start() -> None:
    warnings.warn(
        "squared=False: with smooth > 0, linear denominators push down a class that has few gold "
        "examples in the batch (A of n, as long as n * smooth > 2 * A * (A + smooth)), so a model "
        "may never leave its majority class. squared=True, the default, does not; smooth=1e-4, or "
        "leaving that class out of the mean (classes=[the others]), has cured it, too",
        stacklevel=4,
    )


class CrossEntropyLoss(Loss, function=functional.cross_entropy):
    """Cross entropy (Equations 1, 2): `functional.cross_entropy`. Input ``[..., C]``."""


class LogitAdjustedCrossEntropyLoss(Loss, function=functional.logit_adjusted_cross_entropy):
    """Logit adjustment: `functional.logit_adjusted_cross_entropy`. Input ``[..., C]``."""


class BinaryCrossEntropyLoss(Loss, function=functional.binary_cross_entropy):
    """Binary cross entropy: `functional.binary_cross_entropy`. Input ``[...]``."""


class FocalLoss(Loss, function=functional.focal):
    """Focal loss (Table 2): `functional.focal`. Input ``[..., C]``."""


class BinaryFocalLoss(Loss, function=functional.binary_focal):
    """Focal loss on binary logits: `functional.binary_focal`. Input ``[...]``."""


class DiceLoss(SetLoss, function=functional.dice):
    """Dice loss (Equations 5 to 8): `functional.dice`. Input ``[..., C]``."""


class BinarySetLoss(SetLoss):
    """A loss of the dice family with one logit an example."""

    collect = staticmethod(functional.binary_dice_statistics)


class BinaryDiceLoss(BinarySetLoss, function=functional.binary_dice):
    """Dice loss of the positive class: `functional.binary_dice`. Input ``[...]``."""


class MultiLabelDiceLoss(SetLoss, function=functional.multi_label_dice):
    """Dice loss of each label: `functional.multi_label_dice`. Input and target ``[..., L]``."""

    collect = staticmethod(functional.multi_label_dice_statistics)


class TverskyLoss(SetLoss, function=functional.tversky):
    """Tversky loss (Equations 9, 10): `functional.tversky`. Input ``[..., C]``."""


class BinaryTverskyLoss(BinarySetLoss, function=functional.binary_tversky):
    """Tversky loss of the positive class: `functional.binary_tversky`. Input ``[...]``."""


class SelfAdjustingDiceLoss(SetLoss, function=functional.self_adjusting_dice):
    """The paper's DSC (Equation 12): `functional.self_adjusting_dice`. Input ``[..., C]``."""


class BinarySelfAdjustingDiceLoss(BinarySetLoss, function=functional.binary_self_adjusting_dice):
    """DSC of the positive class: `functional.binary_self_adjusting_dice`. Input ``[...]``."""


_FORMS: dict[str, tuple[type[Loss], type[Loss]]] = {
    "ce": (CrossEntropyLoss, BinaryCrossEntropyLoss),
    "wce": (CrossEntropyLoss, BinaryCrossEntropyLoss),
    "fl": (FocalLoss, BinaryFocalLoss),
    "dl": (DiceLoss, BinaryDiceLoss),
    "tl": (TverskyLoss, BinaryTverskyLoss),
    "dsc": (SelfAdjustingDiceLoss, BinarySelfAdjustingDiceLoss),
}
#: The names that `make_loss` takes, besides those of the printed equations.
LOSS_NAMES = (*_FORMS, *(f"binary_{name}" for name in _FORMS))

# What others call them.
_SYNONYMS = {"cross_entropy": "ce", "bce": "binary_ce", "focal": "fl", "dice": "dl"}
_SYNONYMS |= {"tversky": "tl", "self_adjusting_dice": "dsc"}

# The paper's losses as printed, whatever the defaults are.
EQUATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "eq1": ("ce", {"weight": None}),
    "eq6": ("dl", {"squared": False, "level": "example"}),
    "eq7": ("dl", {"squared": True, "level": "example"}),
    "eq8": ("dl", {"squared": True, "level": "set", "absent": "keep"}),
    "eq9": ("tl", {"smooth": 0.0, "squared": False, "level": "set", "absent": "keep"}),
    "eq10": ("tl", {"squared": False, "level": "example"}),
    "eq12": ("dsc", {"alpha": 1.0, "squared": False, "level": "example"}),
}


def make_loss(name: str, **options: Any) -> Loss:
    """Make a loss from its abbreviation in the paper, or from an equation's number.

    Args:
        name: ``"ce"``, ``"wce"`` (needs ``weight``), ``"fl"``, ``"dl"``, ``"tl"`` or ``"dsc"``: the
            loss with defaults that train. ``"eq1"``, ``"eq6"`` to ``"eq10"`` or ``"eq12"``: exactly
            what is printed there (of 6 and 9 one minus it). With the prefix ``"binary_"`` the
            binary form. ``"cross_entropy"``, ``"focal"``, ``"dice"``, ``"tversky"``,
            ``"self_adjusting_dice"`` and ``"bce"`` are other names of the same.
        **options: Keyword options of the loss; those that an equation fixes cannot be given.

    Returns:
        The module.

    Raises:
        ValueError: An unknown name or option (the message lists the valid ones), a value out of
            range, or ``"wce"`` without ``weight``.
    """
    prefix = "binary_" if name == "bce" or name.startswith("binary_") else ""
    known_as = name.removeprefix("binary_")
    known_as = _SYNONYMS.get(known_as, known_as).removeprefix("binary_")
    loss, fixed = EQUATIONS.get(known_as, (known_as, {}))
    if prefix + loss not in LOSS_NAMES:
        known = ", ".join((*LOSS_NAMES, *EQUATIONS, *_SYNONYMS))
        raise ValueError(f"unknown loss {name!r}; expected one of {known}")
    kind = _FORMS[loss][bool(prefix)]
    free = [option for option in kind.option_names if option not in fixed]
    if unknown := sorted(set(options) - set(free)):
        raise ValueError(
            f"loss {name!r} has no option {', '.join(map(repr, unknown))}; "
            f"its options are {', '.join(free)}"
        )
    if name.endswith("wce") and options.get("weight") is None:
        raise ValueError(f"loss {name!r} needs the option 'weight', one number for each class")
    return kind(**{k: v for k, v in fixed.items() if k in kind.option_names}, **options)

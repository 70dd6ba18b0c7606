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
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from dicebook.losses import functional
from dicebook.losses.batch import check_classes, check_options, class_weights
from dicebook.losses.statistics import DiceStatistics, Group


class Loss(nn.Module):
    """What all modules share: options checked and kept as attributes, the weight as a buffer."""

    function: Callable[..., Tensor]
    option_names: tuple[str, ...]
    if TYPE_CHECKING:
        __call__: Callable[..., Tensor]

    def __init_subclass__(cls, function: Callable[..., Tensor] | None = None) -> None:
        """Read the options and their defaults off the function's signature."""
        if function is not None:
            cls.function = staticmethod(function)
            parameters = inspect.signature(function).parameters.values()
            keywords = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
            cls.option_names = tuple(p.name for p in keywords)
            cls.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]

    def __init__(self, **options: Any) -> None:
        super().__init__()
        signature: inspect.Signature = self.__signature__  # type: ignore[assignment]
        bound = signature.bind(**options)
        bound.apply_defaults()
        check_options(**bound.arguments)
        if "alpha" in bound.arguments:
            functional.check_alpha(bound.arguments["alpha"])
        check_classes(bound.arguments.get("classes"))
        for name, value in bound.arguments.items():
            if name == "weight":
                self.register_buffer(name, class_weights(value))
            else:
                setattr(self, name, value)

    def options(self) -> dict[str, Any]:
        """The options by name, as the function takes them."""
        return {name: getattr(self, name) for name in self.option_names}

    def forward(self, input: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
        """The loss of a batch; shapes as in the function."""
        return type(self).function(input, target, mask, **self.options())

    def extra_repr(self) -> str:
        """The options that are not None."""
        return ", ".join(
            f"{name}={value.tolist() if isinstance(value, Tensor) else value!r}"
            for name, value in self.options().items()
            if value is not None
        )


class SetLoss(Loss):
    """A loss of the dice family: at set level it goes through statistics that can be added."""

    level: str
    process_group: Group

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        chosen = self.options()
        every_class = "classes" in chosen and chosen["classes"] is None
        if every_class and not chosen["squared"] and chosen["smooth"] > 0:
            _warn_standing_start()

    def statistics(
        self, input: Tensor, target: Tensor, mask: Tensor | None = None
    ) -> DiceStatistics:
        """The statistics of a batch, this process's alone; arguments as in ``forward``.

        Raises:
            ValueError: The module's level is not ``"set"``.
        """
        if self.level != "set":
            raise ValueError(f"statistics need level='set'; got level={self.level!r}")
        binary = "classes" not in self.option_names
        collect = functional.binary_dice_statistics if binary else functional.dice_statistics
        return collect(input, target, mask, **self._some("alpha squared ignore_index ohem_ratio"))

    def loss_of(self, statistics: DiceStatistics) -> Tensor:
        """The loss of statistics that were collected, and perhaps added or all-reduced, before.

        Args:
            statistics: Of whatever makes up the set. They are taken as they are: ``process_group``
                has no effect here.

        Returns:
            The loss, reduced over classes by ``reduction``.
        """
        options = "smooth fp_weight fn_weight weight classes absent reduction"
        return statistics.loss(**self._some(options))

    def _some(self, names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names.split() if name in self.option_names}


@functools.cache
def _warn_standing_start() -> None:
    warnings.warn(
        "squared=False: with smooth > 0, linear denominators push down a class that has few gold "
        "examples in the batch (A of n, as long as n * smooth > 2 * A * (A + smooth)), so a model "
        "may never leave its majority class. squared=True, the default, does not; smooth=1e-4, or "
        "leaving that class out of the mean (classes=[the others]), has cured it, too",
        stacklevel=3,
    )


class CrossEntropyLoss(Loss, function=functional.cross_entropy):
    """Cross entropy (Equations 1, 2): `functional.cross_entropy`. Input ``[..., C]``."""


class BinaryCrossEntropyLoss(Loss, function=functional.binary_cross_entropy):
    """Binary cross entropy: `functional.binary_cross_entropy`. Input ``[...]``."""


class FocalLoss(Loss, function=functional.focal):
    """Focal loss (Table 2): `functional.focal`. Input ``[..., C]``."""


class BinaryFocalLoss(Loss, function=functional.binary_focal):
    """Focal loss on binary logits: `functional.binary_focal`. Input ``[...]``."""


class DiceLoss(SetLoss, function=functional.dice):
    """Dice loss (Equations 5 to 8): `functional.dice`. Input ``[..., C]``."""


class BinaryDiceLoss(SetLoss, function=functional.binary_dice):
    """Dice loss of the positive class: `functional.binary_dice`. Input ``[...]``."""


class TverskyLoss(SetLoss, function=functional.tversky):
    """Tversky loss (Equations 9, 10): `functional.tversky`. Input ``[..., C]``."""


class BinaryTverskyLoss(SetLoss, function=functional.binary_tversky):
    """Tversky loss of the positive class: `functional.binary_tversky`. Input ``[...]``."""


class SelfAdjustingDiceLoss(SetLoss, function=functional.self_adjusting_dice):
    """The paper's DSC (Equation 12): `functional.self_adjusting_dice`. Input ``[..., C]``."""


class BinarySelfAdjustingDiceLoss(SetLoss, function=functional.binary_self_adjusting_dice):
    """DSC of the positive class: `functional.binary_self_adjusting_dice`. Input ``[...]``."""


_LOSSES: dict[str, type[Loss]] = {
    "ce": CrossEntropyLoss,
    "wce": CrossEntropyLoss,
    "fl": FocalLoss,
    "dl": DiceLoss,
    "tl": TverskyLoss,
    "dsc": SelfAdjustingDiceLoss,
    "binary_ce": BinaryCrossEntropyLoss,
    "binary_wce": BinaryCrossEntropyLoss,
    "binary_fl": BinaryFocalLoss,
    "binary_dl": BinaryDiceLoss,
    "binary_tl": BinaryTverskyLoss,
    "binary_dsc": BinarySelfAdjustingDiceLoss,
}
#: The names that `make_loss` takes, besides those of the printed equations.
LOSS_NAMES = tuple(_LOSSES)

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
            binary form.
        **options: Keyword options of the loss; those that an equation fixes cannot be given.

    Returns:
        The module.

    Raises:
        ValueError: An unknown name or option (the message lists the valid ones), a value out of
            range, or ``"wce"`` without ``weight``.
    """
    prefix = "binary_" if name.startswith("binary_") else ""
    loss, fixed = EQUATIONS.get(name.removeprefix("binary_"), (name.removeprefix("binary_"), {}))
    if prefix + loss not in _LOSSES:
        known = ", ".join((*LOSS_NAMES, *EQUATIONS))
        raise ValueError(f"unknown loss {name!r}; expected one of {known}")
    kind = _LOSSES[prefix + loss]
    free = [option for option in kind.option_names if option not in fixed]
    unknown = sorted(set(options) - set(free))
    if unknown:
        raise ValueError(
            f"loss {name!r} has no option {', '.join(map(repr, unknown))}; "
            f"its options are {', '.join(free)}"
        )
    if name.endswith("wce") and options.get("weight") is None:
        raise ValueError(f"loss {name!r} needs the option 'weight', one number for each class")
    return kind(**{k: v for k, v in fixed.items() if k in kind.option_names}, **options)

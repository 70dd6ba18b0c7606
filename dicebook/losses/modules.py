"""The losses as ``torch.nn`` modules: a function with its options bound.

A module is a dataclass of options, the keyword options of its function. It checks them when it is
made, and calls the function with ``(input, target, mask=None, sample_weight=None)``. What an option
means, and the errors, stand with that function in `dicebook.losses.functional`.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform

import torch
from torch import Tensor, nn

from dicebook.losses import functional
from dicebook.losses.batch import (
    Absent,
    Average,
    Batch,
    Classes,
    Level,
    Reduction,
    Weight,
    check_classes,
    check_options,
    class_counts,
    class_weights,
    decisions,
    multi_class,
    positive_weights,
)
from dicebook.losses.statistics import DiceStatistics, Group, set_statistics

Module = TypeVar("Module", bound=type)

_BUFFERS: dict[str, Callable[[Any], Any]] = {
    "weight": class_weights,
    "pos_weight": positive_weights,
    "counts": class_counts,
}


@dataclass_transform(kw_only_default=True, eq_default=False)
def _options_of(function: Callable[..., Tensor] | None) -> Callable[[Module], Module]:
    """Make a class a dataclass of options, those of the function that it calls."""

    def made(kind: Module) -> Module:
        cls: Any = dataclasses.dataclass(kw_only=True, eq=False, repr=False)(kind)
        for name in _BUFFERS.keys() & vars(cls).keys():
            delattr(cls, name)  # an attribute of the class would hide the buffer of that name
        if function is None:
            return kind
        fields = {field.name for field in dataclasses.fields(cls)}
        cls.function = staticmethod(function)
        parameters = inspect.signature(function).parameters
        cls.option_names = tuple(name for name in parameters if name in fields)
        set_options = cls.__init__

        @functools.wraps(set_options)
        def __init__(self: Loss, *args: Any, **options: Any) -> None:
            self._check_names(args, options)
            nn.Module.__init__(self)
            set_options(self, **options)
            self._check_values()

        cls.__init__ = __init__
        return kind

    return made


@_options_of(None)  # jedi does not follow a decorator called without arguments
class Loss(nn.Module):
    """What all modules share: options checked and kept as attributes, the weight as a buffer."""

    if TYPE_CHECKING:  # torch's own returns anything

        def __call__(self, *args: Any, **options: Any) -> Tensor: ...

    function: ClassVar[Callable[..., Tensor]]
    option_names: ClassVar[tuple[str, ...]]
    ignore_index: int = -100
    reduction: Reduction = "mean"

    @classmethod
    def _check_names(cls, args: Sequence[Any], options: dict[str, Any]) -> None:
        name, known = cls.__name__, ", ".join(cls.option_names)
        if args:
            raise TypeError(f"{name} takes options by name alone; its options are {known}")
        if unknown := sorted(set(options) - set(cls.option_names)):
            names = ", ".join(map(repr, unknown))
            raise TypeError(f"{name} has no option {names}; its options are {known}")
        for field in dataclasses.fields(cls):
            if field.default is dataclasses.MISSING and field.name not in options:
                raise TypeError(f"{name} needs the option {field.name!r}; its options are {known}")

    def _check_values(self) -> None:
        options = self.options()
        check_options(**options)
        if "alpha" in options:
            functional.check_alpha(options["alpha"])
        check_classes(options.get("classes"))
        for name, value in options.items():
            if name in _BUFFERS:
                value = _BUFFERS[name](value)
                delattr(self, name)
            if name in _BUFFERS and not isinstance(value, float):
                self.register_buffer(name, value)
            else:  # a number or an array of numpy as Python has it
                setattr(self, name, value.tolist() if hasattr(value, "tolist") else value)
        if options.get("classes") is not None:
            classes = torch.tensor(self.options()["classes"])
            self.register_buffer("_index", classes, persistent=False)

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
                numbers = numbers.to(input.device)
                setattr(self, name, numbers)
            options["classes" if name == "_index" else name] = numbers
        return options

    def extra_repr(self) -> str:
        """The options that are not None."""
        return ", ".join(
            f"{name}={value.tolist() if isinstance(value, Tensor) else value!r}"
            for name, value in self.options().items()
            if value is not None
        )


@_options_of(None)
class SetLoss(Loss):
    """A loss of the dice family: at set level it goes through statistics that can be added."""

    batch_of: ClassVar[Callable[..., Batch]] = staticmethod(multi_class)
    smooth: float = 1.0
    squared: bool = True
    level = "set"
    ohem_ratio: float | None = None
    process_group: Group = None

    def _check_values(self) -> None:
        super()._check_values()
        chosen = self.options()
        every_class = "classes" in chosen and chosen["classes"] is None
        if every_class and not self.squared and self.smooth > 0:
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
        arguments = (input, target, mask, sample_weight, self.ignore_index)
        batch = type(self).batch_of(*arguments, soft=self.ohem_ratio is None)
        alpha = self.options().get("alpha", 0.0)
        return set_statistics(batch, alpha, self.squared, self.ohem_ratio)

    def loss_of(self, statistics: DiceStatistics) -> Tensor:
        """The loss of statistics that were collected, and perhaps added or all-reduced, before.

        Args:
            statistics: Of whatever makes up the set. They are taken as they are: ``process_group``
                has no effect here.

        Returns:
            The loss, reduced over classes by ``reduction``.
        """
        options, taken = self._on(statistics.overlap), inspect.signature(statistics.loss).parameters
        return statistics.loss(**{name: options[name] for name in options if name in taken})


@functools.cache
def _warn_standing_start() -> None:
    warnings.warn(
        "squared=False: with linear denominators and smooth > 0, training can push a class with "
        "few gold examples down to zero, so that the model never leaves its majority class. This "
        "happens to a class with A examples in a batch of n, if n * smooth > 2 * A * (A + smooth). "
        "Use squared=True, the default. If you need linear denominators, set smooth=1e-4, or leave "
        "the majority class out of the mean (classes=[the others])",
        stacklevel=functional.users_line(),
    )


@_options_of(functional.cross_entropy)
class CrossEntropyLoss(Loss):
    """Cross entropy, ``−Σ_c weight[c] · y_c · log p_c`` (Equations 1 and 2).

    Input ``[..., C]``; options as in `functional.cross_entropy`.

    Example:
        >>> loss = CrossEntropyLoss(weight=[1.0, 9.0])
        >>> loss(torch.zeros(2, 2), torch.tensor([0, 1]))
        tensor(3.4657)
    """

    weight: Weight = None
    label_smoothing: float = 0.0


@_options_of(functional.logit_adjusted_cross_entropy)
class LogitAdjustedCrossEntropyLoss(Loss):
    """Cross entropy with the log prior added to the logits in training (Menon et al., 2021).

    Input ``[..., C]``; options as in `functional.logit_adjusted_cross_entropy`.

    Example:
        >>> loss = LogitAdjustedCrossEntropyLoss(counts=[9, 1])
        >>> loss(torch.zeros(2, 2), torch.tensor([0, 1]))
        tensor(1.2040)
    """

    counts: Tensor | Sequence[float]
    tau: float = 1.0


@_options_of(functional.binary_cross_entropy)
class BinaryCrossEntropyLoss(Loss):
    """Cross entropy of one logit an example (Equations 1 and 2).

    Input ``[...]``; options as in `functional.binary_cross_entropy`.

    Example:
        >>> loss = BinaryCrossEntropyLoss(pos_weight=9.0)
        >>> loss(torch.zeros(2), torch.tensor([0, 1]))
        tensor(3.4657)
    """

    weight: Weight = None
    pos_weight: Weight | float = None


@_options_of(functional.focal)
class FocalLoss(Loss):
    """Focal loss, ``−weight[t] · (1 − p_t)^gamma · log p_t`` (Table 2; Lin et al., 2017).

    Input ``[..., C]``; options as in `functional.focal`.

    Example:
        >>> loss = FocalLoss(gamma=2.0)
        >>> loss(torch.zeros(2, 3), torch.tensor([0, 2]))
        tensor(0.4883)
    """

    gamma: float = 2.0
    weight: Weight = None


@_options_of(functional.binary_focal)
class BinaryFocalLoss(Loss):
    """Focal loss of one logit an example (Table 2; Lin et al., 2017).

    Input ``[...]``; options as in `functional.binary_focal`.

    Example:
        >>> loss = BinaryFocalLoss(gamma=2.0)
        >>> loss(torch.zeros(2), torch.tensor([0, 1]))
        tensor(0.1733)
    """

    gamma: float = 2.0
    weight: Weight = None
    pos_weight: Weight | float = None


@_options_of(functional.dice)
class DiceLoss(SetLoss):
    """Dice loss, ``1 − (2 Σ p·y + γ) / (Σ p² + Σ y² + γ)`` of each class (Equations 5 to 8).

    Input ``[..., C]``; options as in `functional.dice`.

    Example:
        >>> loss = DiceLoss(classes=[1])
        >>> loss(torch.tensor([[2.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 1]))
        tensor(0.0340)
    """

    level: Level = "set"
    weight: Weight = None
    classes: Classes = None
    absent: Absent | None = None


@_options_of(functional.dice)
class TverskyLoss(DiceLoss):
    """Tversky loss, ``1 − (TP + γ) / (TP + α·FP + β·FN + γ)`` of each class (Equations 9, 10).

    Input ``[..., C]``; ``fp_weight`` is α, ``fn_weight`` β, other options as in `functional.dice`.

    Example:
        >>> loss = TverskyLoss(fp_weight=0.3, fn_weight=0.7)
        >>> loss(torch.tensor([[2.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 1]))
        tensor(0.0236)
    """

    fp_weight: float = 0.5
    fn_weight: float = 0.5


@_options_of(functional.dice)
class SelfAdjustingDiceLoss(DiceLoss):
    """Self-adjusting dice, the paper's DSC: dice of ``(1 − p)^alpha · p`` (Equation 12).

    Input ``[..., C]``; options as in `functional.dice`, which says what ``alpha`` does to training.

    Example:
        >>> loss = SelfAdjustingDiceLoss(classes=[1])
        >>> loss(torch.tensor([[2.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 1]))
        tensor(0.0588)
    """

    alpha: float = 0.1


@_options_of(functional.binary_dice)
class BinaryDiceLoss(SetLoss):
    """Dice loss of the positive class, of one logit an example (Equations 5 to 8).

    Input ``[...]``; options as in `functional.binary_dice`.

    Example:
        >>> loss = BinaryDiceLoss()
        >>> loss(torch.tensor([-2.0, -1.0, 1.0]), torch.tensor([0, 0, 1]))
        tensor(0.0606)
    """

    batch_of = staticmethod(decisions)
    level: Level = "set"


@_options_of(functional.binary_dice)
class BinaryTverskyLoss(BinaryDiceLoss):
    """Tversky loss of the positive class, of one logit an example (Equations 9 and 10).

    Input ``[...]``; options as in `functional.binary_dice`.

    Example:
        >>> loss = BinaryTverskyLoss(fp_weight=0.3)
        >>> loss(torch.tensor([-2.0, -1.0, 1.0]), torch.tensor([0, 0, 1]))
        tensor(0.0346)
    """

    fp_weight: float = 0.5
    fn_weight: float = 0.5


@_options_of(functional.binary_dice)
class BinarySelfAdjustingDiceLoss(BinaryDiceLoss):
    """Self-adjusting dice of the positive class, of one logit an example (Equation 12).

    Input ``[...]``; options as in `functional.binary_dice`.

    Example:
        >>> loss = BinarySelfAdjustingDiceLoss()
        >>> loss(torch.tensor([-2.0, -1.0, 1.0]), torch.tensor([0, 0, 1]))
        tensor(0.0845)
    """

    alpha: float = 0.1


@_options_of(functional.multi_label_dice)
class MultiLabelDiceLoss(SetLoss):
    """Dice loss of each label, where an example may have any number of them (Equation 8).

    Input and target ``[..., L]``; options as in `functional.multi_label_dice`.

    Example:
        >>> target = torch.tensor([[1, 0, 0], [1, 1, 0]])
        >>> MultiLabelDiceLoss()(torch.zeros(2, 3), target)
        tensor(0.1714)
    """

    batch_of = staticmethod(functools.partial(decisions, labels=True))
    average: Average = "macro"
    alpha: float = 0.0
    fp_weight: float | None = None
    fn_weight: float | None = None
    weight: Weight = None
    absent: Absent | None = None


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

# The paper's losses as printed, whatever the defaults are.
EQUATIONS: dict[str, tuple[str, dict[str, Any]]] = {
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
            loss with defaults that train. ``"eq6"`` to ``"eq10"`` or ``"eq12"``: exactly what is
            printed there (of 6 and 9 one minus it). With the prefix ``"binary_"`` the binary form.
        **options: Keyword options of the loss; those that an equation fixes cannot be given.

    Returns:
        The module.

    Raises:
        ValueError: An unknown name or option (the message lists the valid ones), a value out of
            range, or ``"wce"`` without ``weight``.

    Example:
        >>> loss = make_loss("binary_fl", gamma=1.0)
        >>> loss(torch.zeros(2), torch.tensor([0, 1]))
        tensor(0.3466)
    """
    binary, short = name.startswith("binary_"), name.removeprefix("binary_")
    loss, fixed = EQUATIONS.get(short, (short, {}))
    if loss not in _FORMS:
        known = ", ".join((*LOSS_NAMES, *EQUATIONS))
        raise ValueError(f"unknown loss {name!r}; expected one of {known}")
    kind = _FORMS[loss][binary]
    fixed = {option: value for option, value in fixed.items() if option in kind.option_names}
    free = [option for option in kind.option_names if option not in fixed]
    if unknown := sorted(set(options) - set(free)):
        raise ValueError(
            f"loss {name!r} has no option {', '.join(map(repr, unknown))}; "
            f"its options are {', '.join(free)}"
        )
    if loss == "wce" and options.get("weight") is None:
        raise ValueError(f"loss {name!r} needs the option 'weight', one number for each class")
    return kind(**fixed, **options)

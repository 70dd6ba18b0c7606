# Written by tools/stub.py.
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypedDict, Unpack

from torch import Tensor, nn

from dicebook.losses.batch import Absent, Average, Classes, Level, Reduction, Weight
from dicebook.losses.statistics import DiceStatistics, Group

class Loss(nn.Module):
    function: Callable[..., Tensor]
    option_names: tuple[str, ...]
    def options(self) -> dict[str, Any]: ...
    def forward(
        self,
        input: Tensor,
        target: Tensor,
        mask: Tensor | None = None,
        sample_weight: Tensor | None = None,
    ) -> Tensor: ...
    def __call__(
        self,
        input: Tensor,
        target: Tensor,
        mask: Tensor | None = None,
        sample_weight: Tensor | None = None,
    ) -> Tensor: ...
    def _on(self, input: Any) -> dict[str, Any]: ...

class SetLoss(Loss):
    collect: Callable[..., DiceStatistics]
    level: Level
    reduction: Reduction
    process_group: Group
    def statistics(
        self,
        input: Tensor,
        target: Tensor,
        mask: Tensor | None = None,
        sample_weight: Tensor | None = None,
    ) -> DiceStatistics: ...
    def loss_of(self, statistics: DiceStatistics) -> Tensor: ...

class CrossEntropyLoss(Loss):
    weight: Any
    label_smoothing: Any
    ignore_index: Any
    def __init__(
        self,
        *,
        weight: Weight = None,
        label_smoothing: float = 0.0,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
    ) -> None: ...

class LogitAdjustedCrossEntropyLoss(Loss):
    counts: Any
    tau: Any
    ignore_index: Any
    def __init__(
        self,
        *,
        counts: Tensor | Sequence[float],
        tau: float = 1.0,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
    ) -> None: ...

class BinaryCrossEntropyLoss(Loss):
    weight: Any
    pos_weight: Any
    ignore_index: Any
    def __init__(
        self,
        *,
        weight: Weight = None,
        pos_weight: Weight | float = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
    ) -> None: ...

class FocalLoss(Loss):
    gamma: Any
    weight: Any
    ignore_index: Any
    def __init__(
        self,
        *,
        gamma: float = 2.0,
        weight: Weight = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
    ) -> None: ...

class BinaryFocalLoss(Loss):
    gamma: Any
    weight: Any
    pos_weight: Any
    ignore_index: Any
    def __init__(
        self,
        *,
        gamma: float = 2.0,
        weight: Weight = None,
        pos_weight: Weight | float = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
    ) -> None: ...

class DiceLoss(SetLoss):
    smooth: Any
    squared: Any
    weight: Any
    classes: Any
    absent: Any
    ohem_ratio: Any
    ignore_index: Any
    def __init__(
        self,
        *,
        smooth: float = 1.0,
        squared: bool = True,
        level: Level = "set",
        weight: Weight = None,
        classes: Classes = None,
        absent: Absent | None = None,
        ohem_ratio: float | None = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
        process_group: Group = None,
    ) -> None: ...

class BinaryDiceLoss(SetLoss):
    smooth: Any
    squared: Any
    ohem_ratio: Any
    ignore_index: Any
    def __init__(
        self,
        *,
        smooth: float = 1.0,
        squared: bool = True,
        level: Level = "set",
        ohem_ratio: float | None = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
        process_group: Group = None,
    ) -> None: ...

class MultiLabelDiceLoss(SetLoss):
    average: Any
    alpha: Any
    fp_weight: Any
    fn_weight: Any
    smooth: Any
    squared: Any
    weight: Any
    absent: Any
    ohem_ratio: Any
    ignore_index: Any
    def __init__(
        self,
        *,
        average: Average = "macro",
        alpha: float = 0.0,
        fp_weight: float | None = None,
        fn_weight: float | None = None,
        smooth: float = 1.0,
        squared: bool = True,
        weight: Weight = None,
        absent: Absent | None = None,
        ohem_ratio: float | None = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
        process_group: Group = None,
    ) -> None: ...

class TverskyLoss(SetLoss):
    fp_weight: Any
    fn_weight: Any
    smooth: Any
    squared: Any
    weight: Any
    classes: Any
    absent: Any
    ohem_ratio: Any
    ignore_index: Any
    def __init__(
        self,
        *,
        fp_weight: float = 0.5,
        fn_weight: float = 0.5,
        smooth: float = 1.0,
        squared: bool = True,
        level: Level = "set",
        weight: Weight = None,
        classes: Classes = None,
        absent: Absent | None = None,
        ohem_ratio: float | None = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
        process_group: Group = None,
    ) -> None: ...

class BinaryTverskyLoss(SetLoss):
    fp_weight: Any
    fn_weight: Any
    smooth: Any
    squared: Any
    ohem_ratio: Any
    ignore_index: Any
    def __init__(
        self,
        *,
        fp_weight: float = 0.5,
        fn_weight: float = 0.5,
        smooth: float = 1.0,
        squared: bool = True,
        level: Level = "set",
        ohem_ratio: float | None = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
        process_group: Group = None,
    ) -> None: ...

class SelfAdjustingDiceLoss(SetLoss):
    alpha: Any
    smooth: Any
    squared: Any
    weight: Any
    classes: Any
    absent: Any
    ohem_ratio: Any
    ignore_index: Any
    def __init__(
        self,
        *,
        alpha: float = 0.1,
        smooth: float = 1.0,
        squared: bool = True,
        level: Level = "set",
        weight: Weight = None,
        classes: Classes = None,
        absent: Absent | None = None,
        ohem_ratio: float | None = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
        process_group: Group = None,
    ) -> None: ...

class BinarySelfAdjustingDiceLoss(SetLoss):
    alpha: Any
    smooth: Any
    squared: Any
    ohem_ratio: Any
    ignore_index: Any
    def __init__(
        self,
        *,
        alpha: float = 0.1,
        smooth: float = 1.0,
        squared: bool = True,
        level: Level = "set",
        ohem_ratio: float | None = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
        process_group: Group = None,
    ) -> None: ...

LossName = Literal[
    "ce",
    "wce",
    "fl",
    "dl",
    "tl",
    "dsc",
    "binary_ce",
    "binary_wce",
    "binary_fl",
    "binary_dl",
    "binary_tl",
    "binary_dsc",
    "cross_entropy",
    "bce",
    "focal",
    "dice",
    "tversky",
    "self_adjusting_dice",
    "eq1",
    "eq6",
    "eq7",
    "eq8",
    "eq9",
    "eq10",
    "eq12",
    "binary_eq1",
    "binary_eq6",
    "binary_eq7",
    "binary_eq8",
    "binary_eq9",
    "binary_eq10",
    "binary_eq12",
    "binary_cross_entropy",
    "binary_focal",
    "binary_dice",
    "binary_tversky",
    "binary_self_adjusting_dice",
]

class LossOptions(TypedDict, total=False):
    absent: Absent | None
    alpha: float
    average: Average
    classes: Classes
    counts: Tensor | Sequence[float]
    fn_weight: float
    fp_weight: float
    gamma: float
    ignore_index: int
    label_smoothing: float
    level: Level
    ohem_ratio: float | None
    pos_weight: Weight | float
    process_group: Group
    reduction: Reduction
    smooth: float
    squared: bool
    tau: float
    weight: Weight

LOSS_NAMES: tuple[str, ...]
EQUATIONS: dict[str, tuple[str, dict[str, Any]]]
_SYNONYMS: dict[str, str]

def make_loss(name: LossName, **options: Unpack[LossOptions]) -> Loss: ...
def _warn_standing_start() -> None: ...

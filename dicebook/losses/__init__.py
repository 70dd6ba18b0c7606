"""The losses of Section 3 of the paper: functions, ``torch.nn`` modules, statistics."""

from __future__ import annotations

from dicebook.losses import equations, functional
from dicebook.losses.accumulation import backward_in_two_passes
from dicebook.losses.combinations import WarmStart, WeightedSum
from dicebook.losses.functional import balanced_weights, log_ratio_weights
from dicebook.losses.modules import (
    LOSS_NAMES,
    BinaryCrossEntropyLoss,
    BinaryDiceLoss,
    BinaryFocalLoss,
    BinarySelfAdjustingDiceLoss,
    BinaryTverskyLoss,
    CrossEntropyLoss,
    DiceLoss,
    FocalLoss,
    LogitAdjustedCrossEntropyLoss,
    MultiLabelDiceLoss,
    SelfAdjustingDiceLoss,
    TverskyLoss,
    make_loss,
)
from dicebook.losses.statistics import (
    DiceStatistics,
    binary_dice_statistics,
    dice_statistics,
)
from dicebook.losses.trainer import TrainerLoss

__all__ = [
    "LOSS_NAMES",
    "BinaryCrossEntropyLoss",
    "BinaryDiceLoss",
    "BinaryFocalLoss",
    "BinarySelfAdjustingDiceLoss",
    "BinaryTverskyLoss",
    "CrossEntropyLoss",
    "DiceLoss",
    "DiceStatistics",
    "FocalLoss",
    "LogitAdjustedCrossEntropyLoss",
    "MultiLabelDiceLoss",
    "SelfAdjustingDiceLoss",
    "TrainerLoss",
    "TverskyLoss",
    "WarmStart",
    "WeightedSum",
    "backward_in_two_passes",
    "balanced_weights",
    "binary_dice_statistics",
    "dice_statistics",
    "equations",
    "functional",
    "log_ratio_weights",
    "make_loss",
]

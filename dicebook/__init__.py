"""Losses for data-imbalanced NLP, after "Dice Loss for Data-imbalanced NLP Tasks" (ACL 2020)."""

from dicebook.diagnosis import diagnose
from dicebook.losses import *  # noqa: F403
from dicebook.losses import __all__ as _losses

__version__ = "0.1.0"
__all__ = [*_losses, "__version__", "diagnose"]

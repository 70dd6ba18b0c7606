"""Losses for data-imbalanced NLP, after "Dice Loss for Data-imbalanced NLP Tasks" (ACL 2020).

The losses, `diagnose` and the three functions about the bias are imported when one is first used:
whoever reads a corpus or draws a table need not wait for torch.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dicebook.decision import fold_bias as fold_bias
    from dicebook.decision import start_at_prior as start_at_prior
    from dicebook.decision import tune_bias as tune_bias
    from dicebook.diagnosis import diagnose as diagnose
    from dicebook.losses import *  # noqa: F403

__version__ = "0.2.0"
_DECISION = ("start_at_prior", "tune_bias", "fold_bias")


def __getattr__(name: str) -> Any:
    if find_spec(f"{__name__}.{name}"):
        return import_module(f"{__name__}.{name}")
    if not name.startswith("__") or name == "__all__":
        losses = import_module("dicebook.losses")
        public = {loss: getattr(losses, loss) for loss in losses.__all__}
        public["diagnose"] = import_module("dicebook.diagnosis").diagnose
        decision = import_module("dicebook.decision")
        public |= {name: getattr(decision, name) for name in _DECISION}
        globals().update(public, __all__=[*public, "__version__"])
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__getattr__("__all__"))

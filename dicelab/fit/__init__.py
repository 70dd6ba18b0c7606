"""Your data: from a file to a decision, a report and a model.

Names are imported when they are first used: a kept model answers without what training needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dicelab import load_model as load
from dicelab.extras import need

if TYPE_CHECKING:
    from dicelab.fit.errors import FitError
    from dicelab.fit.fitting import Fit
    from dicelab.fit.options import Options
    from dicelab.fit.pipeline import fit
    from dicelab.fit.predicting import Model, predict
    from dicelab.fit.result import FitResult

need("fit", "scipy")  # which every kept model needs

_LIGHT = {"FitError": "errors", "Model": "predicting", "predict": "predicting"}
_HOME = {"Fit": "fitting", "FitResult": "result", "Options": "options", "fit": "pipeline"} | _LIGHT

__all__ = ["Fit", "FitError", "FitResult", "Model", "Options", "fit", "load", "predict"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in _LIGHT:
        need("fit")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value

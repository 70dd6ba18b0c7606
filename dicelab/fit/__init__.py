"""Your data: from a file to a decision, a report and a model that plain transformers runs."""

from dicelab.extras import need

need("fit")

from dicelab.fit.fitting import Fit, fit
from dicelab.fit.options import FitError, Options
from dicelab.fit.predicting import Model, predict

__all__ = ["Fit", "FitError", "Model", "Options", "fit", "predict"]

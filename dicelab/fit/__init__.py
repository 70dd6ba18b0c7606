"""Your data: from a file to a decision, a report and a model."""

from dicelab import load_model as load
from dicelab.extras import need

need("fit")

from dicelab.fit.fitting import Fit
from dicelab.fit.options import FitError, Options
from dicelab.fit.pipeline import fit
from dicelab.fit.predicting import Model, predict
from dicelab.fit.result import FitResult

__all__ = ["Fit", "FitError", "FitResult", "Model", "Options", "fit", "load", "predict"]

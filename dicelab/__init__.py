"""What the chapters work with: corpora, training, tasks, records and figures, on `dicebook`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dicelab.fit.predicting import Model


def load_model(folder: str | Path, device: str = "auto") -> Model:
    """The model that ``dicebook fit`` kept, ready to predict.

    Args:
        folder: the folder of the fit, or ``model/`` in it.
        device: ``"cpu"``, ``"cuda"``, or ``"auto"``.

    Raises:
        FitError: the folder holds no such model.
    """
    from dicelab.fit.predicting import Model

    return Model(folder, device)

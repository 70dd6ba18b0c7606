"""A chapter's run on a real corpus: what is kept of it, and how the chapter's page shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dicelab import figures
from dicelab.atomic import write_json
from dicelab.metrics.intervals import bounds
from dicelab.records.runs import LOSS_WORDS
from dicelab.training.experiment import Experiment

DRAWS = 2000


def resampled(
    counts: np.ndarray, score: Callable[[np.ndarray], np.ndarray], *, seed: int = 0
) -> list[float]:
    """A 95% bootstrap interval of a score over the test rows.

    Args:
        counts: What each row contributes to the score, shape ``[rows, k]``.
        score: From counts summed over the rows of each draw, shape ``[draws, k]``, to scores of
            shape ``[draws]``.
        seed: Seed of the draws.

    Returns:
        The 2.5% and the 97.5% quantile.
    """
    draw = np.random.default_rng(seed).integers(len(counts), size=(DRAWS, len(counts)))
    summed = np.stack([np.asarray(counts)[rows].sum(0) for rows in draw])
    return list(bounds(score(summed)))


def f1_interval(true_positive: Sequence[int], positive: Sequence[int]) -> list[float]:
    """The 95% bootstrap interval of F1 in percent, see :func:`resampled`.

    Args:
        true_positive: True positives of each row. Shape ``[rows]``.
        positive: Predicted plus actual positives of each row. Shape ``[rows]``.
    """
    counts = np.stack([true_positive, positive], axis=-1)
    return resampled(counts, lambda sums: 200 * sums[:, 0] / np.maximum(1, sums[:, 1]))


def keep(
    experiment: Experiment,
    *,
    data: Mapping[str, Any],
    results: Mapping[str, Any],
    scores: Sequence[Mapping[str, Any]],
    **extra: Any,
) -> dict[str, Any]:
    """What a run leaves for its page; written to ``page.json`` if there is an ``output_dir``.

    Args:
        experiment: The run's parameters.
        data: Counts of the corpus. None of its text is kept.
        results: By loss what :func:`dicelab.training.trainer.train` returned.
        scores: One row for each model and way to decide.
        **extra: Whatever else the page shows.

    Returns:
        The page.
    """
    page = {
        "parameters": {**asdict(experiment), "output_dir": ""},
        "data": dict(data),
        "history": {name: result.history for name, result in results.items()},
        "measured": {name: result.measured for name, result in results.items()},
        "scores": [dict(row) for row in scores],
        **extra,
    }
    if experiment.output_dir:
        write_json(Path(experiment.output_dir) / "page.json", page)
    return page


def describe(page: Mapping[str, Any], run: str) -> None:
    """Print a run's settings, and where it ran and how long.

    Args:
        page: A kept page.
        run: The run, a key of its ``"measured"``.
    """
    settings, measured = page["parameters"], page["measured"][run]
    print(
        f"{settings['epochs']} passes, batches of {settings['batch_size']}, learning rate",
        f"{settings['learning_rate']:g}; {measured['seconds']:.0f} s on {measured['device']}",
    )


def learning_curves(
    page: Mapping[str, Any],
    metric: str = "f1",
    *,
    label: str = "F1, %",
    names: Mapping[str, str] = LOSS_WORDS,
) -> None:
    """Draw a score on the validation rows after each pass. A run that starts near 0 is dotted.

    Args:
        page: A kept page.
        metric: The score, as the history has it after ``validation_``.
        label: The label of the vertical axis.
        names: What the legend calls each run.
    """
    _, ax = plt.subplots(figsize=(5.0, 2.6))
    for name, history in page["history"].items():
        values = [entry[f"validation_{metric}"] for entry in history]
        look = {**figures.style(name), "marker": "o", "label": names[name]}
        if "near 0" in names[name]:
            look["linestyle"] = ":"
        ax.plot(range(1, len(values) + 1), values, **look)
    passes = range(1, 1 + max(map(len, page["history"].values())))
    ax.set(xlabel="pass over the training rows", ylabel=label, xticks=passes)
    ax.legend()
    plt.show()


def score_table(
    page: Mapping[str, Any],
    metrics: Mapping[str, str],
    names: Mapping[str, str],
    *,
    model: str = "model",
    decision: str = "decision",
    interval_of: str = "F1",
) -> pd.DataFrame:
    """The scores on the test rows, with their intervals.

    Args:
        page: A kept page.
        metrics: What each column is called, by the score's key.
        names: What a model is called, by its key; losses need no entry.
        model: The key of a row's model.
        decision: The key of a row's way to decide.
        interval_of: The score that ``"interval"`` is of.
    """
    called = {**LOSS_WORDS, **names}
    rows = {
        (called[row[model]], row[decision]): {
            **{title: f"{row[key]:.1f}" for key, title in metrics.items()},
            f"95% of {interval_of}": "[{:.1f}, {:.1f}]".format(*row["interval"]),
        }
        for row in page["scores"]
    }
    return pd.DataFrame(rows).T.rename_axis([None, decision])

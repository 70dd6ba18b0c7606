"""A whole fit in one call."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from dicelab.fit.data import check_source
from dicelab.fit.fitting import Fit
from dicelab.fit.options import Options
from dicelab.fit.plan import minutes
from dicelab.fit.report import about, costs
from dicelab.fit.result import FitResult
from dicelab.fit.state import check_folder
from dicelab.training.checkpoints import alone_in
from dicelab.training.devices import device_of
from dicelab.training.encoders import quiet


def fit(
    source: str | Path | Options, say: Callable[[str], None] = print, **options: Any
) -> FitResult:
    """From a file to a decision, a report and a model.

    A fit that was killed goes on where it stopped when it is asked for again.

    Args:
        source: a file, a folder with a file a split, a corpus by name, or ``hub:NAME``; or all
            options.
        say: takes each line for the reader.
        **options: further fields of :class:`Options`, such as ``minutes=3``. ``out`` is
            ``runs/`` and the name of the source unless it is given.

    Returns:
        What was found; its folder holds ``model/``, ``report.html``, ``predictions.tsv`` and
        ``record.json``.

    Raises:
        CorpusError: a file is not what it should be.
        FitError: an option, the data or the folder are not.
    """
    if isinstance(source, Options):
        asked = replace(source, **options)
    else:
        out = str(options.pop("out", usual_folder(str(source))))
        asked = Options(source=str(source), out=out, **options)
    check_source(asked.source)
    folder = Path(asked.out)
    new = not folder.exists()
    check_folder(folder)
    device_of(asked.device)
    with alone_in(folder), quiet():
        run = Fit(asked, say)
        try:
            run.read()
        except ValueError:
            if new:  # nothing was begun
                shutil.rmtree(folder, ignore_errors=True)
            raise
        result = run.result
        for line in about(result):
            say(line)
        for name, counts in run.baselines().items():
            say(f"Floor, {name}: test {result.metric} {result.score_of(counts):.1f}.")
        run.linear()
        planned = run.plan()
        if planned.runs:
            end = datetime.now() + timedelta(seconds=planned.seconds)
            rates = f"rate{'s' * (len(planned.rates) > 1)} "
            rates += ", ".join(f"{rate:g}" for rate in planned.rates)
            again = "Then the best one again on train and validation together. " * planned.refit
            runs = f"{planned.runs} run{'s' * (planned.runs > 1)}"
            say(
                f"Plan: {runs} of {planned.steps} steps ({planned.length}); arms "
                f"{', '.join(planned.arms)}; learning {rates}; "
                f"{len(planned.seeds)} seed{'s' * (len(planned.seeds) > 1)} in the finals. "
                f"{again}{minutes(planned.seconds)}, done about {end:%H:%M}."
            )
        run.search()
        run.finals()
        run.choose()
        run.refit()
        model = run.keep()
        run.report()
        say("")
        for line in result.verdict:
            say(line)
        say(costs(result))
        say(f"Model: {model}. Report: {result.report}.")
        return result


def usual_folder(source: str) -> str:
    """Where a fit of a source is written unless one says otherwise."""
    return f"runs/{Path(source.removeprefix('hub:')).stem or 'fit'}"

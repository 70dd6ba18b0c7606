"""A whole fit in one call, and what it hands back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from dicelab.fit.data import check_source
from dicelab.fit.fitting import Fit
from dicelab.fit.options import Options
from dicelab.fit.page import write
from dicelab.fit.plan import minutes
from dicelab.fit.predicting import Model
from dicelab.fit.report import about
from dicelab.metrics.intervals import Interval
from dicelab.training.checkpoints import alone_in
from dicelab.training.encoders import quiet


@dataclass(frozen=True)
class FitResult:
    """What a fit found.

    Attributes:
        kept: the name of what is kept: a loss, or a linear model.
        metric: in words.
        score: the kept model's, on the test split, in percent, with its 95% interval over rows.
        verdict: the result in sentences.
        folder: of all that was written.
        report: the page ``report.html``.
        record: all numbers, as in ``record.json``.
    """

    kept: str
    metric: str
    score: Interval
    verdict: list[str]
    folder: Path
    report: Path
    record: dict[str, Any]

    @cached_property
    def model(self) -> Model:
        """The kept model, ready to predict."""
        return Model(self.folder)

    def __str__(self) -> str:
        return "\n".join(self.verdict)


def fit(
    source: str | Path | Options,
    say: Callable[[str], None] = print,
    **options: Any,
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
    with alone_in(folder), quiet():
        one = Fit(asked, say)
        try:
            one.read()
        except ValueError:
            if new:  # nothing was begun
                shutil.rmtree(folder, ignore_errors=True)
            raise
        for line in about(one):
            say(line)
        one.floors()
        for name, counts in one.of_floors.items():
            say(f"Floor, {name}: test {one.problem.goal.name} {one._score(counts):.1f}.")
        one.linear()
        planned = one.plan()
        if planned.runs:
            end = datetime.now() + timedelta(seconds=planned.seconds)
            rates = ", ".join(f"{rate:g}" for rate in planned.rates)
            say(
                f"Plan: {planned.runs} runs of {planned.steps} steps ({planned.length}); arms "
                f"{', '.join(planned.arms)}; {_many(planned.rates, 'learning rate')} {rates}; "
                f"{len(planned.seeds)} {_many(planned.seeds, 'seed')} in the finals. "
                f"{minutes(planned.seconds)}, done about {end:%H:%M}."
            )
        one.search()
        one.finals()
        one.choose()
        one.curve()
        one.keep()
        found = write(one)
        lines = found["verdict"]
        say("")
        for line in lines:
            say(line)
        page = folder / "report.html"
        say(f"Model: {folder / 'model'}. Report: {page}.")
        return FitResult(
            one.kept_name, one.problem.goal.name, one.kept_interval(), lines, folder, page, found
        )


def usual_folder(source: str) -> str:
    """Where a fit of a source is written unless one says otherwise."""
    return f"runs/{Path(source.removeprefix('hub:')).stem or 'fit'}"


def _many(these: Any, word: str) -> str:
    return word if len(these) == 1 else f"{word}s"

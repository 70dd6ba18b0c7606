"""A run as one page: what was run, how it went, what came out, with which versions."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from dicelab.atomic import atomic, write_json

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin-bottom: 1rem } th { text-align: left }
td, th { border-bottom: 1px solid #ccc; padding: .15rem .8rem .15rem 0; vertical-align: top }
td { font-variant-numeric: tabular-nums } img { max-width: 100% }
"""


def write_record(folder: Path | str, record: Mapping[str, Any]) -> None:
    """Write a run's ``record.json``, and beside it ``report.html``, the same for a reader.

    Args:
        folder: where to; made if it is not there.
        record: see :func:`dicelab.records.runs.make_record`.
    """
    with atomic(Path(folder) / "report.html") as path:
        path.write_text(page(record), encoding="utf-8")
    write_json(Path(folder) / "record.json", record)


def page(record: Mapping[str, Any]) -> str:
    """A record as a page of HTML that loads nothing from elsewhere.

    Args:
        record: see :func:`dicelab.records.runs.make_record`.

    Returns:
        The page: scores by split, curves and the table of epochs, parameters, measurements and
        versions.
    """
    parameters = record["parameters"]
    what = [str(parameters[name]) for name in ("loss", "corpus") if name in parameters]
    title = html.escape(f"{record['chapter']}: {' on '.join(what)}")
    scores = {split: row for split, row in record["metrics"].items() if isinstance(row, dict)}
    parts = ["<h2>Scores</h2>", _table(pd.DataFrame(scores).T)]
    if history := record["history"]:
        parts += ["<h2>Epochs</h2>", _curves(history), _table(pd.DataFrame(history), index=False)]
    for name in ("parameters", "measured", "versions"):
        rows = {key: str(value) for key, value in record[name].items()}
        parts += [f"<h2>{name.title()}</h2>", _table(pd.Series(rows).to_frame(), header=False)]
    head = f'<meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body><h1>{title}</h1>' + "\n".join(
        [*parts, "</body></html>\n"]
    )


def _table(frame: pd.DataFrame, **options: Any) -> str:
    return str(frame.to_html(border=0, na_rep="", float_format="{:.4g}".format, **options))


def _curves(history: list[Mapping[str, float]]) -> str:
    """The training loss, the validation loss and the validation scores, epoch by epoch."""
    from matplotlib.figure import Figure  # of the extra "book", as is the papermill that calls this

    frame = pd.DataFrame(history).set_index("epoch")
    losses = [name for name in ("loss", "validation_loss") if name in frame]
    scores = [n for n in frame if n.startswith("validation_") and n not in losses]
    figure = Figure(figsize=(9, 3), layout="constrained")
    for axis, names in zip(figure.subplots(1, 2), (losses, scores), strict=True):
        for name, line in zip(names, ("-", "--", "-.", ":", "-", "--", "-."), strict=False):
            label = name.removeprefix("validation_") if names is scores else name.replace("_", " ")
            axis.plot(frame.index, frame[name], line, marker=".", label=label)
        axis.set(xlabel="epoch", ylabel="loss" if names is losses else "validation")
        if names:
            axis.legend()
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120)
    data = base64.b64encode(picture.getvalue()).decode()
    last = ", ".join(f"{name} {frame[name].iloc[-1]:.4g}" for name in [*losses, *scores])
    return f'<p><img alt="At the end: {last}." src="data:image/png;base64,{data}"></p>'

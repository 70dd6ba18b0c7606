"""What came of a fit on one page that loads nothing from elsewhere, and all files of its result."""

from __future__ import annotations

import html
import io
import math
import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from jinja2 import Environment, Template
from scipy.special import expit
from sklearn.metrics import precision_recall_curve

from dicelab import figures
from dicelab.atomic import atomic, write_json
from dicelab.fit.data import class_counts
from dicelab.fit.linear import Candidate
from dicelab.fit.plan import minutes
from dicelab.fit.predicting import probability_columns
from dicelab.fit.problems import Labels, Tagging
from dicelab.fit.report import about, by_class, costs, errors, record, source_name, verdict
from dicelab.fit.result import NAMES, FitResult
from dicelab.fit.training import RunResult
from dicelab.records.runs import versions
from dicelab.training.saving import card_of


def write(result: FitResult) -> None:
    """Take the verdict and the record; write the report, the record and the model's card."""
    result.verdict = verdict(result)
    result.record = record(result)
    write_json(result.folder / "record.json", result.record)
    with atomic(result.report) as path:
        path.write_text(page(result), encoding="utf-8")
    percent = result.scores_percent(result.counts()[0])
    text = _template("card.jinja").render(result=result, percent=percent, names=NAMES)
    task = "token-classification" if result.data.task == "tagging" else "text-classification"
    library = "transformers" if result.winner is None else "dicebook"
    card_of(text, task, library).save(result.folder / "model" / "README.md")


def _template(name: str, *, escaped: bool = False) -> Template:
    environment = Environment(autoescape=escaped)
    environment.filters["told"] = _told
    environment.tests["shown"] = lambda name, rows: any(row[name] != "" for row in rows)
    environment.tests["numeric"] = lambda name, rows: any(
        isinstance(row[name], int | float) for row in rows
    )
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return environment.from_string(text)


def write_predictions(result: FitResult) -> None:
    """Write what the kept model says of the test split, ``predictions.tsv``."""
    problem, test = result.problem, result.problem.splits["test"]
    decisions = problem.decide(result.kept.test, result.bias)
    columns = {
        "gold": problem.gold_texts(test),
        "predicted": problem.decision_texts(decisions, test),
    }
    if not isinstance(problem, Tagging):
        p = result.probabilities()
        columns |= probability_columns(problem.labels, p, result.data.task)
    columns["text" if result.options.texts else "row"] = result.row_texts()
    with atomic(result.folder / "predictions.tsv") as path:
        pd.DataFrame(columns).to_csv(path, sep="\t", index=False, lineterminator="\n")


def page(result: FitResult) -> str:
    """The report as one page of HTML; its words and looks are in ``report.html.jinja``."""
    rows, kept = _models(result)
    return _template("report.html.jinja", escaped=True).render(
        result=result,
        source=source_name(result),
        below="Do not use" in " ".join(result.verdict),
        models=rows,
        kept=kept,
        figures=_figures(result),
        classes=_classes(result),
        errors=errors(result),
        about=[*about(result), costs(result), *result.notes],
        sizes=_sizes(result),
        rate=_rate,
        took=minutes(result.seconds),
        versions=versions(),
    )


def _told(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _models(result: FitResult) -> tuple[list[dict[str, Any]], int]:
    """A row a model, a loss and a floor, and the number of the row that is kept."""
    name, untuned_rule = result.problem.goal.metric_name, result.problem.untuned_rule
    rows: list[dict[str, Any]] = []
    chosen, score = 0, f"test {name}"
    columns = ("", "validation", score, untuned_rule, "seeds", "rate")

    def add(model: str, tuned: Any = "", plain: Any = "", **cells: Any) -> None:
        rows.append(
            dict.fromkeys(columns, "") | {"": model, score: tuned, untuned_rule: plain} | cells
        )

    def scores_of(made: Candidate) -> list[float]:
        return [result.score_of(result.counts_of(made, argmax=plain)) for plain in (False, True)]

    for key, made in result.without_arms().items():
        if made is result.winner:
            chosen = len(rows)
        add(NAMES[key], *scores_of(made), validation=result.compared.get(key, ""))
    for arm, finals in result.arms.items():
        if result.winner is None and arm == result.chosen:
            chosen = len(rows)
        scores = result.scores(arm)
        add(
            NAMES.get(arm, arm),
            float(np.mean(scores)),
            float(np.mean(result.scores(arm, argmax=True))),
            validation=result.compared.get(arm, "" if result.compared else finals.validation),
            seeds=" ".join(f"{s:.1f}" for s in scores) if len(scores) > 1 else "",
            rate=_rate(finals.runs[0]),
        )
    if result.refitted and result.run is not None and result.fine_tuned is not None:
        if result.winner is None:
            chosen = len(rows)
        arm = NAMES.get(result.fine_tuned.name, result.fine_tuned.name)
        again = f"{arm}, again on train and validation"
        add(again, *scores_of(result.fine_tuned), rate=_rate(result.run))
    for floor, counts in result.baselines.items():
        add(f"floor: {floor}", result.score_of(counts))
    return rows, chosen


def _rate(outcome: RunResult) -> str:
    """Its learning rate without an exponent, which a narrow column would break over two lines."""
    return str(np.format_float_positional(outcome.run.rate, trim="-"))


def _classes(result: FitResult) -> list[dict[str, Any]]:
    rows = by_class(result)
    if len(rows) > 40:
        rows = sorted(rows, key=lambda row: -row["train"])[:40]
    names = {"train": "in train", "test": "in test", "f1": "F1"}
    return [{names.get(k, k): v for k, v in row.items()} for row in rows]


def _sizes(result: FitResult) -> list[dict[str, Any]]:
    counts = class_counts(result.data)
    rows: list[dict[str, Any]] = [
        {"": "rows", **{name: len(split) for name, split in result.data.splits.items()}}
    ]
    shown = list(counts["train"])[:30]
    return rows + [{"": label} | {name: counts[name][label] for name in counts} for label in shown]


Figure = tuple[str, str, str]  # title, picture, caption


def _figures(result: FitResult) -> list[Figure]:
    with plt.rc_context():
        figures.use_style()
        drawn = [draw(result) for draw in (_precision_recall, _reliability)]
    return [figure for figure in drawn if figure is not None]


def _figure(fig: Any, title: str, alt: str, caption: str) -> Figure:
    out = io.StringIO()
    fig.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(fig)
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'\s(width|height)="[\d.]+pt"', "", svg, count=2)
    # The ids of two pictures must not meet on one page.
    prefix = re.sub(r"\W", "", title.lower())
    svg = re.sub(r'((?<=\s)id="|href="#|url\(#)', rf"\1{prefix}-", svg)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{html.escape(alt, quote=True)}"', 1)
    return title, svg, caption


def _precision_recall(result: FitResult) -> Figure | None:
    problem, test = result.problem, result.problem.splits["test"]
    scores = result.kept.test
    point = problem.goal.focused(result.counts()[0].sum(0))
    margins = problem.margins(scores, result.bias if isinstance(problem, Labels) else 0.0)
    if isinstance(problem, Tagging) or margins is None:
        return None
    precision, recall, _ = precision_recall_curve(problem.is_positive(test), margins)
    fig, ax = plt.subplots(figsize=(5.6, 3.8))
    figures.precision_recall(
        {NAMES.get(result.model_name, result.model_name): (precision, recall)}, ax=ax
    )
    p, r = float(point.precision), float(point.recall)
    ax.plot(r, p, "D", color="#D55E00", markersize=9, label="the chosen threshold", zorder=5)
    ax.legend(loc="lower left")
    return _figure(
        fig,
        "Precision against recall",
        f"Precision falls as recall rises. The chosen threshold has precision {p:.2f} and recall "
        f"{r:.2f}.",
        f"The kept model on the test split under all thresholds. The diamond is the threshold that "
        f"was chosen on rows that are not test: precision {p:.2f}, recall {r:.2f}. Grey: equal F1.",
    )


def _reliability(result: FitResult) -> Figure | None:
    problem, test = result.problem, result.problem.splits["test"]
    fitted = problem.calibration(result.kept.scores, result.kept.pool.rows)
    margins = problem.margins(fitted["scale"] * result.kept.test, np.array(fitted["shift"]))
    if margins is None:
        return None
    p = expit(margins)
    positive = problem.is_positive(test)
    fig, ax = plt.subplots(figsize=(5.6, 3.4))
    ax.plot([0, 1], [0, 1], color="#C4C4C4", linewidth=1)
    groups = [g for g in np.array_split(np.argsort(p, kind="stable"), 10) if len(g)]
    x, y = ([float(v[g].mean()) for g in groups] for v in (p, positive))
    largest = max(*x, *y)
    error = 100 * sum(len(g) * abs(a - b) for g, a, b in zip(groups, x, y, strict=True)) / len(p)
    ax.plot(x, y, markersize=4, linewidth=1.2, color="#0072B2", marker="o")
    ax.set(xlabel="predicted probability", ylabel="share of positives")
    end = math.ceil(10 * largest) / 10  # of a rare class all ten groups lie near 0
    ax.set(xlim=(-0.02 * end, end), ylim=(-0.02 * end, end))
    what = ""
    if isinstance(problem, Tagging):
        entity = "part of an entity" if problem.entities else f"not {result.data.background}"
        what = f" (a word is {entity})"
    return _figure(
        fig,
        "Are the probabilities right?",
        f"Predicted probability against the share of positives, in ten groups. Calibration error "
        f"in points: {error:.1f}.",
        f"Ten equal groups of test decisions{what}, by the calibrated probabilities that `dicebook "
        "predict` gives. On the grey line a prediction of 0.7 is right seven times in ten. Mean "
        f"distance from it, in points: {error:.1f}.",
    )

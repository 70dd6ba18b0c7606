"""What came of a fit on one page that loads nothing from elsewhere, and all files of its result."""

from __future__ import annotations

import csv
import html
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.metrics import precision_recall_curve

from dicelab import figures
from dicelab.atomic import atomic, write_json
from dicelab.fit.data import class_counts
from dicelab.fit.plan import minutes
from dicelab.fit.problems import BIASES, Labels, Tagging
from dicelab.fit.report import (
    about,
    by_class,
    card,
    costs,
    errors,
    record,
    source_name,
    verdict,
)
from dicelab.fit.result import NAMES, FitResult
from dicelab.fit.training import RunResult
from dicelab.metrics.counts import Counts
from dicelab.records.runs import versions
from dicelab.training.saving import card_of

STYLE = """
:root { color-scheme: light }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 46rem; margin: 0 auto; padding: 1.2rem;
  color: #1b1b1b; background: #fff }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .4rem 0; overflow-wrap: anywhere }
h2 { font-size: 1.2rem; margin-top: 2rem }
.verdict { background: #f0f5f9; border-left: 4px solid #0072B2; padding: .6rem 1rem }
.verdict p { margin: .4rem 0 } .verdict p:first-child { font-size: 1.15rem; font-weight: 600 }
.bad { border-color: #D55E00; background: #fdf3ec }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-size: .93rem }
th { text-align: left; border-bottom: 2px solid #888; padding: .25rem .7rem .25rem 0 }
td { border-bottom: 1px solid #ddd; padding: .25rem .7rem .25rem 0; vertical-align: top }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
tr.chosen td { font-weight: 600 } td.long { overflow-wrap: anywhere; min-width: 14rem }
figure { margin: 1rem 0 } svg { max-width: 100%; height: auto }
figcaption, .note { font-size: .9rem; color: #444 }
code { background: #f3f3f3; padding: 0 .2rem; overflow-wrap: anywhere }
@media (max-width: 32rem) { body { padding: .8rem } table { font-size: .8rem }
  th, td { padding-right: .4rem } td.long { min-width: 9rem } }
@media print { body { max-width: none; font-size: 10.5pt; padding: 0 } h2 { break-after: avoid }
  figure, tr, .verdict { break-inside: avoid } svg { max-height: 6.6cm; width: auto }
  .wide { overflow: visible } }
"""


def write(result: FitResult) -> None:
    """Take the verdict and the record; write the report, the record and the model's card."""
    result.verdict = verdict(result)
    result.record = record(result)
    write_json(result.folder / "record.json", result.record)
    with atomic(result.report) as path:
        path.write_text(page(result), encoding="utf-8")
    pipeline = "token-classification" if result.data.task == "tagging" else "text-classification"
    library = "transformers" if result.winner is None else "dicebook"
    card_of(card(result), pipeline, library).save(result.folder / "model" / "README.md")


def write_predictions(result: FitResult) -> None:
    """Write what the kept model says of the test split, ``predictions.tsv``."""
    problem, test = result.problem, result.problem.splits["test"]
    scores = result.test_scores()
    columns = (
        problem.gold_texts(test),
        problem.decision_texts(problem.decide(scores, result.bias), test),
        [f"{p:.4f}" for p in problem.sureness(scores, result.bias, test)],
        problem.row_texts(test),
    )
    with (
        atomic(result.folder / "predictions.tsv") as path,
        path.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["gold", "predicted", "probability", "text"])
        writer.writerows(zip(*columns, strict=True))


def page(result: FitResult) -> str:
    """The report as one page of HTML."""
    source, lines = html.escape(source_name(result)), result.verdict
    below = " bad" if "Do not use" in " ".join(lines) else ""
    parts = [
        f"<h1>{source}</h1>",
        f'<div class="verdict{below}">'
        + "".join(f"<p>{html.escape(x)}</p>" for x in lines)
        + "</div>",
        "<h2>Models, losses and floors</h2>",
        _arms(result),
        *_figures(result),
        "<h2>Score by class</h2>",
        _classes(result),
        "<h2>The errors it is surest of</h2>",
        _errors(result),
        "<h2>The data</h2>",
        _list(map(html.escape, [*about(result), costs(result), *result.notes])),
        _sizes(result),
        "<h2>How it was done</h2>",
        _how(result),
    ]
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{source}: {html.escape(lines[0])}</title><style>{STYLE}</style>"
    )
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head><body><main>\n'
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )


def _table(rows: Sequence[Mapping[str, Any]], chosen: int | None = None) -> str:
    if not rows:
        return "<p>None.</p>"
    used = [name for name in rows[0] if any(row[name] != "" for row in rows)]
    numbers = {name for name in used if any(isinstance(r[name], int | float) for r in rows)}

    def cell(name: str, value: Any) -> str:
        text = (
            f"{value:.1f}"
            if isinstance(value, float)
            else f"{value:,}"
            if isinstance(value, int)
            else str(value)
        )
        kind = "n" if name in numbers else "long" if len(text) > 60 else ""
        return f'<td class="{kind}">{html.escape(text)}</td>'

    head = "".join(
        f'<th scope="col"{" class=n" if name in numbers else ""}>{html.escape(name)}</th>'
        for name in used
    )
    body = "".join(
        f"<tr{' class=chosen' if i == chosen else ''}>"
        + "".join(cell(name, row[name]) for name in used)
        + "</tr>"
        for i, row in enumerate(rows)
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def _arms(result: FitResult) -> str:
    name, untuned_rule = result.problem.goal.metric_name, result.problem.untuned_rule
    rows: list[dict[str, Any]] = []
    chosen = 0

    def add(model: str, **cells: Any) -> None:
        empty = {
            "": model,
            "validation": "",
            f"test {name}": "",
            untuned_rule: "",
            "seeds": "",
            "rate": "",
        }
        rows.append({**empty, **cells})

    for key, candidate in result.without_arms().items():
        if candidate is result.winner:
            chosen = len(rows)
        argmax = result.score_of(result.counts_of(candidate, argmax=True))
        tested = result.score_of(result.counts_of(candidate))
        add(
            NAMES[key], validation=candidate.value, **{f"test {name}": tested, untuned_rule: argmax}
        )
    for arm, finals in result.arms.items():
        if result.winner is None and arm == result.chosen:
            chosen = len(rows)
        scores = result.scores(arm)
        add(
            NAMES.get(arm, arm),
            validation=finals.validation,
            seeds=" ".join(f"{s:.1f}" for s in scores) if len(scores) > 1 else "",
            rate=_rate(finals.runs[0]),
            **{
                f"test {name}": float(np.mean(scores)),
                untuned_rule: float(np.mean(result.scores(arm, argmax=True))),
            },
        )
    if result.refitted and result.run is not None:
        if result.winner is None:
            chosen = len(rows)
        arm = result.run.run.arm
        add(
            f"{NAMES.get(arm, arm)}, again on train and validation",
            rate=_rate(result.run),
            **{
                f"test {name}": result.score_of(result.counts_of_run()),
                untuned_rule: result.score_of(result.counts_of_run(argmax=True)),
            },
        )
    for arm, run in result.best.items():
        if arm not in result.arms:
            add(
                f"{NAMES.get(arm, arm)} (search alone)",
                validation=run.value,
                rate=_rate(run),
            )
    for floor, counts in result.floors.items():
        add(f"floor: {floor}", **{f"test {name}": result.score_of(counts)})
    note = (
        f"{name} in percent, means over seeds; the kept model is in bold. "
        f"“{untuned_rule.capitalize()}” is without the threshold."
    )
    if result.candidates:
        note += " Of a linear model, “validation” is out of fold, on train and validation together."
    if result.refitted and result.winner is not None:
        note += " On test, the mean has the model that was trained again on train and validation."
    if len(result.compared) > 1:
        compared = ", ".join(f"{NAMES.get(k, k)} {v:.1f}" for k, v in result.compared.items())
        note += f" On the rows of validation, with thresholds from other rows: {compared}."
    return _table(rows, chosen=chosen) + f"<p class=note>{html.escape(note)}</p>"


def _rate(outcome: RunResult) -> str:
    """Its learning rate without an exponent, which a narrow column would break over two lines."""
    return str(np.format_float_positional(outcome.run.rate, trim="-"))


def _classes(result: FitResult) -> str:
    rows = by_class(result)
    if len(rows) > 40:
        rows = sorted(rows, key=lambda row: -row["train"])[:40]
    names = {"train": "in train", "test": "in test", "f1": "F1"}
    return _table([{names.get(k, k): v for k, v in row.items()} for row in rows])


def _errors(result: FitResult) -> str:
    rows = []
    for text, gold, predicted, sure in errors(result):
        text = text if len(text) <= 300 else f"{text[:297]}..."
        if isinstance(result.problem, Tagging):
            rows.append({"words [right tag, said tag]": text, "surest": f"{sure:.2f}"})
        else:
            rows.append(
                {
                    "text": text,
                    "right": gold or "none",
                    "said": predicted or "none",
                    "probability": f"{sure:.2f}",
                }
            )
    return _table(rows)


def _sizes(result: FitResult) -> str:
    counts = class_counts(result.data)
    rows: list[dict[str, Any]] = [
        {"": "rows", **{name: len(split) for name, split in result.data.splits.items()}}
    ]
    for label in list(counts["train"])[:30]:
        rows.append({"": label, **{name: counts[name][label] for name in counts}})
    return _table(rows)


def _how(result: FitResult) -> str:
    planned = result.plan
    again = ", then the best one again on train and validation together" if planned.refit else ""
    facts = [
        f"{planned.runs} runs planned, each of {planned.steps} steps ({planned.length}), batches "
        f"of {result.options.batch_size}{again}; {minutes(result.seconds)} in all.",
        "Searched: "
        + "; ".join(f"{d.run.arm} at {_rate(d)}: {d.value:.1f}" for d in result.searched)
        + f" (validation {result.problem.goal.name}).",
    ]
    if not planned.runs:
        facts = [f"Nothing was fine-tuned; {minutes(result.seconds)} in all."]
    facts += [
        "Beside this page: the model, <code>model/</code>; what it says of the test split, "
        "<code>predictions.tsv</code>; all numbers, <code>record.json</code>.",
        "Versions: " + ", ".join(f"{name} {v}" for name, v in versions().items()) + ".",
    ]
    return _list(facts)


def _list(items: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def _figures(result: FitResult) -> list[str]:
    parts = []
    with plt.rc_context():
        figures.use_style()
        for draw in (_precision_recall, _passes, _data_curve, _reliability):
            drawn = draw(result)
            if drawn is not None:
                parts.append(drawn)
    return parts


def _figure(fig: Any, title: str, alt: str, caption: str) -> str:
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
    return (
        f"<h2>{html.escape(title)}</h2><figure>{svg}<figcaption>{html.escape(caption)}"
        "</figcaption></figure>"
    )


def _precision_recall(result: FitResult) -> str | None:
    problem, test = result.problem, result.problem.splits["test"]
    scores = result.test_scores()
    counts = result.counts()[0].sum(0)
    point = problem.goal.focused(counts)
    if isinstance(problem, Tagging):
        if not problem.has_threshold:
            return None
        curve = []
        for bias in BIASES:
            vector = np.zeros(len(problem.labels))
            vector[0] = bias
            swept = problem.counts(test, problem.decide(scores, vector)).sum(0)
            curve.append(problem.goal.focused(swept))
        swept = Counts.stack(curve)
        precision, recall = np.where(swept.predicted > 0, swept.precision, 1.0), swept.recall
    else:
        margins = problem.margins(scores, result.bias if isinstance(problem, Labels) else 0.0)
        if margins is None:
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


def _passes(result: FitResult) -> str | None:
    name = f"validation_{result.problem.goal.metric}"
    if all(len(run.history) < 2 for run in result.best.values()):
        return None  # runs of one pass have points and no curves
    fig, ax = plt.subplots(figsize=(5.6, 3.4))
    ends = []
    for arm, run in result.best.items():
        epochs = [entry["epoch"] for entry in run.history]
        values = [entry[name] for entry in run.history]
        look = figures.style(arm)
        ax.plot(epochs, values, marker=".", label=NAMES.get(arm, arm), **look)
        ends.append(f"{NAMES.get(arm, arm)} {max(values, default=0):.1f}")
    ax.set(xlabel="pass", ylabel=f"validation {result.problem.goal.metric_name}, %")
    ax.legend()
    return _figure(
        fig,
        "Learning, pass by pass",
        f"Validation score over passes of each loss at its best rate. Best: {', '.join(ends)}.",
        "Each loss at its best learning rate, first seed, thresholds tuned.",
    )


def _data_curve(result: FitResult) -> str | None:
    if not result.curve:
        return None
    shares, values = zip(*sorted(result.curve.items()), strict=True)
    fig, ax = plt.subplots(figsize=(5.6, 3.0))
    rows = [share * len(result.data.splits["train"]) for share in shares]
    ax.plot(rows, values, marker="o", **figures.style(result.model_name))
    ax.set(
        xlabel="training rows",
        ylabel=f"test {result.problem.goal.metric_name}, %",
        xlim=(0, None),
    )
    points = ", ".join(f"{s:.0%}: {v:.1f}" for s, v in zip(shares, values, strict=True))
    return _figure(
        fig,
        "Would more data help?",
        f"Test score by share of the data. {points}.",
        f"The chosen loss on 25, 50 and 100% of the training rows, one seed. {points}.",
    )


def _reliability(result: FitResult) -> str | None:
    problem, test = result.problem, result.problem.splits["test"]
    scores = result.test_scores()
    margins, shifted = problem.margins(scores), problem.margins(scores, result.bias)
    if margins is None or shifted is None:
        return None
    positive = problem.is_positive(test)
    fig, ax = plt.subplots(figsize=(5.6, 3.4))
    ax.plot([0, 1], [0, 1], color="#C4C4C4", linewidth=1)
    error, largest = {}, 0.0
    for name, values, color, marker in (
        ("as trained", margins, "#0072B2", "o"),
        ("with the threshold in the bias", shifted, "#D55E00", "s"),
    ):
        p = expit(values)
        groups = [g for g in np.array_split(np.argsort(p, kind="stable"), 10) if len(g)]
        x, y = ([float(v[g].mean()) for g in groups] for v in (p, positive))
        largest = max(largest, *x, *y)
        error[name] = (
            100 * sum(len(g) * abs(a - b) for g, a, b in zip(groups, x, y, strict=True)) / len(p)
        )
        ax.plot(x, y, markersize=4, linewidth=1.2, label=name, color=color, marker=marker)
    ax.set(xlabel="predicted probability", ylabel="share of positives")
    end = math.ceil(10 * largest) / 10  # of a rare class all ten groups lie near 0
    ax.set(xlim=(-0.02 * end, end), ylim=(-0.02 * end, end))
    ax.legend()
    errors_in_points = "; ".join(f"{name}: {value:.1f}" for name, value in error.items())
    what = ""
    if isinstance(problem, Tagging):
        entity = "part of an entity" if problem.entities else f"not {result.data.background}"
        what = f" (a word is {entity})"
    return _figure(
        fig,
        "Are the probabilities right?",
        f"Predicted probability against the share of positives, in ten groups. Calibration error "
        f"in points: {errors_in_points}.",
        f"Ten equal groups of test decisions{what}. On the grey line a prediction of 0.7 is right "
        f"seven times in ten. Mean distance from it, in points: {errors_in_points}.",
    )

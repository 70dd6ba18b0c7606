"""What came of a fit: in words, as a record, and as one page that loads nothing from elsewhere."""

from __future__ import annotations

import html
import io
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.metrics import precision_recall_curve

from dicelab import figures
from dicelab.atomic import atomic, write_json
from dicelab.fit.candidates import NAMES as LINEAR
from dicelab.fit.data import class_counts
from dicelab.fit.fitting import NAMES, Fit
from dicelab.fit.keeping import write_card
from dicelab.fit.plan import minutes
from dicelab.fit.problems import BIASES, Labels, Tagging
from dicelab.fit.scores import FEW, THERE, Difference, fbeta, interval, precision_recall
from dicelab.records.runs import versions

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


def about(one: Fit) -> list[str]:
    """The data in sentences: sizes, classes, lengths and what is odd about them."""
    data, problem = one.data, one.problem
    sizes = ", ".join(f"{len(split):,} {name}" for name, split in data.splits.items())
    what = {"tagging": "tagging", "labels": "sentences with several labels"}
    counts = class_counts(data)["train"]
    shown = ", ".join(f"{label} {n:,}" for label, n in list(counts.items())[:8])
    more = f" and {len(counts) - 8} more" if len(counts) > 8 else ""
    lines = [
        *data.seen,
        f"{_name(one)}: {what.get(data.task, data.task)}, {sizes}.",
        f"Classes in train: {shown}{more}.",
        f"Encoder {one.encoder}, at most {one.max_length} sub-words a row; cut: "
        + ", ".join(f"{n} in {name}" for name, n in one.cut.items())
        + (" (words)." if isinstance(problem, Tagging) else " (rows)."),
        *data.notes,
    ]
    if data.binary:
        negative, positive = counts[data.labels[0]], counts[data.labels[1]]
        share = positive / (positive + negative)
        lines.append(
            f"{negative / max(1, positive):.1f} negatives for each positive; a batch of "
            f"{one.options.batch_size} holds {share * one.options.batch_size:.1f} positives."
        )
        few = class_counts(data)["validation"][data.labels[1]]
        if few < FEW and one.options.decide == "tuned":
            lines.append(
                f"Validation has {few} positives, which is few: the threshold of a fine-tuned "
                "model is the one with the largest expected F1 by the model's own probabilities."
            )
    return lines


def verdict(one: Fit) -> list[str]:
    """Which model is kept, how sure that is, and what would help, in sentences."""
    goal = one.problem.goal
    counts, argmax = one.kept_counts()
    told = one.told(counts)
    mine = _the(one.kept_name)
    there = int(counts[:, list(one.problem.focus), THERE].sum())
    what = "entities" if one.data.entities else "positives"
    if not one.problem.has_threshold:
        what = "words"
    elif one.data.task in ("sentences", "pairs") and not one.data.binary:
        what = "rows"
    lines = [
        f"Kept: {mine}, with a test {_metric(one)} of {one.kept_interval()} (precision "
        f"{told['precision']:.1f}, recall {told['recall']:.1f}); test holds {there:,} {what}."
    ]
    if one.winner is not None and one.data.task != "tagging":
        scores, rows = one.kept_scored()
        held = one.problem.counts(rows, one.kept_problem.decide(scores, one.kept_bias))
        known = int(held[:, list(one.problem.focus), THERE].sum())
        lines.append(
            f"Out of fold, on {len(held):,} rows of train and validation with {known:,} {what}, "
            f"its {_metric(one)} is {interval(held, goal.plain)}. That is a little too high, because "
            "the threshold was chosen there."
        )
    name, floor = best_floor(one)
    gap = told[goal.metric] - floor
    if gap <= 0:
        how = f"{-gap:.1f} points below its floor" if gap < 0 else "level with its floor"
        lines.append(f"On test it is {how}: {name} has {floor:.1f}. Do not use this model.")
    else:
        lines.append(_compared(one.against(one.of_floors[name]), mine, f"the floor, {name}"))
    simple = one.best_linear()
    if simple is not None and one.winner is None:
        ahead = one.against(one.counts_of(simple))
        lines.append(_compared(ahead, mine, _the(simple.name)))
    if one.winner is not None and one.chosen is not None:
        tuned = f"fine-tuning with {_the(one.chosen)}"
        lines.append(_compared(one.against(one.arms[one.chosen].counts[0]), mine, tuned))
    if np.any(one.kept_bias):
        gain = told[goal.metric] - one._score(argmax)
        where = "on validation" if one.winner is None else "by cross-validation"
        lines.append(
            f"The threshold, chosen {where}, is worth {gain:+.1f} points on test; it is in the "
            "model's bias now."
        )
    rival = one.rival() if one.winner is None else None
    if rival is not None:
        other, ahead = rival
        seeds = len(one.arms[one.kept_name].done)
        over = f"over {seeds} seeds" if seeds > 1 else "with one seed"
        lines.append(
            _compared(ahead, f"{mine} {over}", NAMES.get(other, other))
            + f" A difference of {ahead.visible:.1f} would probably have been seen."
        )
    lines.append(advice(one))
    return lines


def _the(name: str) -> str:
    """A loss or a linear model, as it stands in a sentence."""
    return f"the {LINEAR[name]}" if name in LINEAR else NAMES.get(name, name)


def _compared(gap: Difference, mine: str, other: str) -> str:
    """A difference in a sentence, which claims an order only where the interval excludes zero."""
    told = f"{gap.mean:+.1f} points [{gap.low:.1f}, {gap.high:.1f}]"
    if gap.low <= 0 <= gap.high:
        return (
            f"The difference between {mine} and {other} is {told}. The interval includes zero, so "
            "we cannot say which is better."
        )
    return (
        f"{mine[0].upper()}{mine[1:]} is {'ahead of' if gap.low > 0 else 'behind'} {other}: {told}."
    )


def advice(one: Fit) -> str:
    """What to try next, from the learning curve over the data."""
    if one.winner is not None:
        return (
            "Fine-tuning was not tried; give more --minutes."
            if one.chosen is None
            else "On validation, fine-tuning was not better than a linear model. More labelled "
            "rows may help both."
        )
    if one.planned.partial:
        share = one.planned.steps * one.options.batch_size / len(one.data.splits["train"])
        return (
            f"Each run saw {min(share, 0.99):.0%} of the training rows, once; give more --minutes."
        )
    if not one.of_curve:
        return "There was no time for a learning curve; give more --minutes to see what would help."
    half, whole = one.of_curve[0.5], one.of_curve[1.0]
    if whole - half >= 2:
        return (
            f"From half of the data to all of them the score rose by {whole - half:.1f} points: "
            "more labelled rows will probably help more than another loss."
        )
    return (
        f"From half of the data to all of them the score moved by {whole - half:+.1f} points: more "
        "rows of this kind may add little; look at the errors, or take a larger encoder."
    )


def _name(one: Fit) -> str:
    """The last part of the source: a page that is passed on needs no folders of a machine."""
    return re.split(r"[\\/]", one.options.source.rstrip("/\\"))[-1]


def best_floor(one: Fit) -> tuple[str, float]:
    """The best of the answers that learn next to nothing."""
    scores = {name: one._score(counts) for name, counts in one.of_floors.items()}
    best = max(scores, key=lambda name: scores[name])
    return best, scores[best]


def _metric(one: Fit) -> str:
    goal = one.problem.goal
    names = {"f1": "F1", "macro-f1": "macro F1", "fbeta": f"F{goal.beta:g}"}
    return names.get(goal.metric, goal.metric)


def by_class(one: Fit) -> list[dict[str, Any]]:
    """Precision, recall and F1 of each class on the test split, with how often it occurs."""
    counts = one.kept_counts()[0].sum(0)
    train = class_counts(one.data)["train"]
    precision, recall = precision_recall(counts)
    precision = np.where(counts[:, 1] > 0, precision, 0.0)  # as scikit-learn and seqeval have it
    f1 = fbeta(counts)
    return [
        {
            "class": kind,
            "train": train.get(kind, 0),
            "test": int(counts[i, 2]),
            "precision": 100 * float(precision[i]),
            "recall": 100 * float(recall[i]),
            "f1": 100 * float(f1[i]),
        }
        for i, kind in enumerate(one.problem.kinds)
    ]


def errors(one: Fit, many: int = 10) -> list[tuple[str, str, str, float]]:
    """The errors on the test split of which the model was surest: text, right, said, how sure."""
    problem, test = one.kept_problem, one.problem.splits["test"]
    scores = one.kept_test()
    said = problem.decide(scores, one.kept_bias)
    sure = problem.sureness(scores, one.kept_bias, test)
    rows = list(
        zip(
            problem.shown(test),
            problem.told(test),
            problem.said(said, test),
            sure.tolist(),
            strict=True,
        )
    )
    wrong = [row for row in rows if row[1] != row[2]]
    wrong.sort(key=lambda row: -row[3])
    if isinstance(problem, Tagging):
        return [(_differences(*row[:3]), "", "", row[3]) for row in wrong[:many]]
    return wrong[:many]


def _differences(text: str, told: str, said: str) -> str:
    """The words whose tags differ, with some before and after them."""
    words, right, got = text.split(" "), told.split(" "), said.split(" ")
    if len(words) != len(right):  # a word with a space in it
        return text
    shown, last = [], -1
    wrong = [i for i, (a, b) in enumerate(zip(right, got, strict=True)) if a != b]
    near = {j for i in wrong for j in range(i - 4, i + 5)}
    for i, word in enumerate(words):
        if i not in near:
            continue
        if i > last + 1:
            shown.append("…")
        last = i
        shown.append(f"{word} [{right[i]}, said {got[i]}]" if i in wrong else word)
    return " ".join(shown)


def write(one: Fit) -> dict[str, Any]:
    """Write ``report.html``, ``record.json`` and the model's card; returns the record."""
    found = record(one)
    write_json(one.folder / "record.json", found)
    with atomic(one.folder / "report.html") as path:
        path.write_text(page(one), encoding="utf-8")
    library = "transformers" if one.winner is None else "dicebook"
    write_card(one.folder / "model", card(one), one.data.task, library)
    one._save(finished=True)
    return found


def record(one: Fit) -> dict[str, Any]:
    """All that a fit found, for JSON."""
    counts, argmax = one.kept_counts()
    rival = one.rival() if one.winner is None else None
    scores, rows = one.kept_scored()
    kept_validation = one.problem.counts(rows, one.kept_problem.decide(scores, one.kept_bias))
    kept = one.kept.run if one.winner is None else None
    return {
        "chapter": one.chapter,
        "parameters": {
            **one.options.fixed(),
            "loss": one.kept_name,
            "corpus": one.options.source,
            "encoder": one.encoder,
            "learning_rate": kept and kept.rate,
            "seed": kept.seed if kept else one.options.seed,
            "max_length": one.max_length,
        },
        "metrics": {
            "validation": one.told(kept_validation),
            "test": one.told(argmax),
            "test_tuned": one.told(counts),
            "floors": {name: one._score(c) for name, c in one.of_floors.items()},
        },
        "bias": [float(b) for b in one.kept_bias],
        "labels": one.problem.labels,
        "plan": one.planned.told(),
        "linear": {
            name: {
                **of.setting,
                "rows": len(of.pool.gold),
                "out_of_fold": of.value,
                "test": one._score(one.counts_of(of)),
                "seconds": round(of.seconds, 1),
            }
            for name, of in one.candidates.items()
        },
        "compared": one.honest,
        "search": [
            {"arm": d.run.arm, "rate": d.run.rate, "validation": d.value, "argmax": d.argmax}
            for d in one.searched
        ],
        "finals": {
            arm: {
                "seeds": [d.run.seed for d in of.done],
                "validation": of.validation,
                "test": one.score(arm),
                "test_argmax": one.score(arm, argmax=True),
            }
            for arm, of in one.arms.items()
        },
        "difference": rival and {"from": rival[0], **vars(rival[1])},
        "learning_curve": {f"{share:g}": score for share, score in one.of_curve.items()},
        "classes": by_class(one),
        "data": {
            "sizes": {n: len(s) for n, s in one.data.splits.items()},
            "notes": one.data.notes,
            "cut": one.cut,
            "counts": class_counts(one.data),
        },
        "notes": one.notes,
        "history": one.kept.history if kept else [],
        "verdict": verdict(one),
        "versions": versions(),
        "measured": {"seconds": round(one.spent(), 1)},
    }


def card(one: Fit) -> str:
    """The card of the kept model, in Markdown."""
    told = one.told(one.kept_counts()[0])
    rows = "\n".join(f"| {name} | {value:.1f} |" for name, value in told.items())
    if one.winner is not None:
        how = (
            "A logistic regression on fixed vectors of the texts, with its decision's threshold in "
            "its intercept. `dicebook predict` and `dicelab.fit.load` read this folder, and "
            "transformers alone does not."
        )
    else:
        way = "Token" if one.data.task == "tagging" else "Sequence"
        long = (
            "Longer sentences were read in windows; pass `stride` to the pipeline."
            if one.data.task == "tagging"
            else f"Texts are cut at {one.max_length} sub-words; pass `truncation=True`."
        )
        how = (
            "The decision's threshold is in the bias of the last layer: argmax, or one half for "
            "each of several labels, decides as it was tuned, in any runtime. The probabilities "
            "are shifted by it, too; `dicebook predict` gives calibrated ones.\n\n"
            f"`transformers.pipeline` and `AutoModelFor{way}Classification.from_pretrained` read "
            f"this folder. {long}"
        )
    return f"""# {one.data.task}, trained with dicebook

{" ".join(verdict(one))}

| test | % |
| --- | --- |
{rows}

{how} Classes: {", ".join(one.problem.labels)}.
"""


# -- the page ---------------------------------------------------------------------------------


def page(one: Fit) -> str:
    """The report as one page of HTML."""
    source = html.escape(_name(one))
    lines = verdict(one)
    below = " bad" if "Do not use" in " ".join(lines) else ""
    parts = [
        f"<h1>{source}</h1>",
        f'<div class="verdict{below}">'
        + "".join(f"<p>{html.escape(x)}</p>" for x in lines)
        + "</div>",
        "<h2>Models, losses and floors</h2>",
        _arms(one),
        *_figures(one),
        "<h2>Score by class</h2>",
        _classes(one),
        "<h2>The errors it is surest of</h2>",
        _errors(one),
        "<h2>The data</h2>",
        "<ul>" + "".join(f"<li>{html.escape(x)}</li>" for x in [*about(one), *one.notes]) + "</ul>",
        _sizes(one),
        "<h2>How it was done</h2>",
        _how(one),
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
    numbers = {name for name in rows[0] if any(isinstance(r[name], int | float) for r in rows)}

    def cell(name: str, value: Any) -> str:
        shown = (
            f"{value:.1f}"
            if isinstance(value, float)
            else f"{value:,}"
            if isinstance(value, int)
            else str(value)
        )
        kind = "n" if name in numbers else "long" if len(shown) > 60 else ""
        return f'<td class="{kind}">{html.escape(shown)}</td>'

    head = "".join(
        f'<th scope="col"{" class=n" if name in numbers else ""}>{html.escape(name)}</th>'
        for name in rows[0]
    )
    body = "".join(
        f"<tr{' class=chosen' if i == chosen else ''}>"
        + "".join(cell(name, value) for name, value in row.items())
        + "</tr>"
        for i, row in enumerate(rows)
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def _arms(one: Fit) -> str:
    name, plainly = _metric(one), one.problem.plainly
    rows: list[dict[str, Any]] = []
    chosen = 0

    def add(model: str, **told: Any) -> None:
        empty = {
            "": model,
            "validation": "",
            f"test {name}": "",
            plainly: "",
            "seeds": "",
            "rate": "",
        }
        rows.append({**empty, **told})

    for key, of in one.candidates.items():
        if of is one.winner:
            chosen = len(rows)
        argmax = one._score(one.counts_of(of, argmax=True))
        tested = one._score(one.counts_of(of))
        add(NAMES[key], validation=of.value, **{f"test {name}": tested, plainly: argmax})
    for arm, finals in one.arms.items():
        if one.winner is None and arm == one.chosen:
            chosen = len(rows)
        scores = one.score(arm)
        add(
            NAMES.get(arm, arm),
            validation=finals.validation,
            seeds=" ".join(f"{s:.1f}" for s in scores),
            rate=f"{finals.done[0].run.rate:g}",
            **{
                f"test {name}": float(np.mean(scores)),
                plainly: float(np.mean(one.score(arm, argmax=True))),
            },
        )
    for arm, done in one.best.items():
        if arm not in one.arms:
            add(
                f"{NAMES.get(arm, arm)} (search alone)",
                validation=done.value,
                rate=f"{done.run.rate:g}",
            )
    for floor, counts in one.of_floors.items():
        add(f"floor: {floor}", **{f"test {name}": one._score(counts)})
    note = (
        f"{name} in percent, means over seeds; the kept model is in bold. “{plainly.capitalize()}”"
    )
    note += " is without the threshold."
    if one.candidates:
        note += " Of a linear model, “validation” is out of fold, on train and validation together."
    if len(one.honest) > 1:
        compared = ", ".join(f"{NAMES.get(k, k)} {v:.1f}" for k, v in one.honest.items())
        note += f" On the rows of validation, with thresholds from other rows: {compared}."
    return _table(rows, chosen=chosen) + f"<p class=note>{html.escape(note)}</p>"


def _classes(one: Fit) -> str:
    rows = by_class(one)
    if len(rows) > 40:
        rows = sorted(rows, key=lambda row: -row["train"])[:40]
    names = {"train": "in train", "test": "in test", "f1": "F1"}
    return _table([{names.get(k, k): v for k, v in row.items()} for row in rows])


def _errors(one: Fit) -> str:
    rows = []
    for text, told, said, sure in errors(one):
        text = text if len(text) <= 300 else f"{text[:297]}..."
        if isinstance(one.problem, Tagging):
            rows.append({"words [right tag, said tag]": text, "surest": f"{sure:.2f}"})
        else:
            rows.append(
                {
                    "text": text,
                    "right": told or "none",
                    "said": said or "none",
                    "probability": f"{sure:.2f}",
                }
            )
    return _table(rows)


def _sizes(one: Fit) -> str:
    counts = class_counts(one.data)
    rows: list[dict[str, Any]] = [
        {"": "rows", **{name: len(split) for name, split in one.data.splits.items()}}
    ]
    for label in list(counts["train"])[:30]:
        rows.append({"": label, **{name: counts[name][label] for name in counts}})
    return _table(rows)


def _how(one: Fit) -> str:
    planned = one.planned
    facts = [
        f"{planned.runs} runs planned, each of {planned.steps} steps ({planned.length}), batches "
        f"of {one.options.batch_size}; {minutes(one.spent())} in all.",
        "Searched: "
        + "; ".join(f"{d.run.arm} at {d.run.rate:g}: {d.value:.1f}" for d in one.searched)
        + f" (validation {one.problem.goal.name}).",
    ]
    if not planned.runs:
        facts = [f"Nothing was fine-tuned; {minutes(one.spent())} in all."]
    facts += [
        "Beside this page: the model, <code>model/</code>; what it says of the test split, "
        "<code>predictions.tsv</code>; all numbers, <code>record.json</code>.",
        "Versions: " + ", ".join(f"{name} {v}" for name, v in versions().items()) + ".",
    ]
    return "<ul>" + "".join(f"<li>{fact}</li>" for fact in facts) + "</ul>"


def _figures(one: Fit) -> list[str]:
    parts = []
    with plt.rc_context():
        figures.use_style()
        for draw in (_precision_recall, _passes, _data_curve, _reliability):
            drawn = draw(one)
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


def _precision_recall(one: Fit) -> str | None:
    problem, test = one.kept_problem, one.problem.splits["test"]
    scores = one.kept_test()
    counts = one.kept_counts()[0].sum(0)
    point = precision_recall(counts[list(problem.focus)].sum(0))
    if isinstance(problem, Tagging):
        if not problem.has_threshold:
            return None
        curve = []
        for bias in BIASES:
            vector = np.zeros(len(problem.labels))
            vector[0] = bias
            swept = problem.counts(test, problem.decide(scores, vector)).sum(0)
            curve.append(swept[list(problem.focus)].sum(0))
        precision, recall = precision_recall(np.array(curve))
    else:
        margins = problem.margins(scores + one.kept_bias if isinstance(problem, Labels) else scores)
        if margins is None:
            return None
        precision, recall, _ = precision_recall_curve(problem.yes(test), margins)
    fig, ax = plt.subplots(figsize=(5.6, 3.8))
    figures.precision_recall({NAMES.get(one.kept_name, one.kept_name): (precision, recall)}, ax=ax)
    p, r = float(point[0]), float(point[1])
    ax.plot(r, p, "D", color="#D55E00", markersize=9, label="the chosen threshold", zorder=5)
    ax.legend(loc="lower left")
    return _figure(
        fig,
        "Precision against recall",
        f"Precision falls as recall rises. The chosen threshold has precision {p:.2f} and recall "
        f"{r:.2f}.",
        f"The kept model on the test split under all thresholds. The diamond is the threshold that "
        f"was chosen on validation: precision {p:.2f}, recall {r:.2f}. Grey: equal F1.",
    )


def _passes(one: Fit) -> str | None:
    name = f"validation_{one.problem.goal.metric}"
    if all(len(done.history) < 2 for done in one.best.values()):
        return None  # runs of one pass have points and no curves
    fig, ax = plt.subplots(figsize=(5.6, 3.4))
    ends = []
    for arm, done in one.best.items():
        epochs = [entry["epoch"] for entry in done.history]
        values = [entry[name] for entry in done.history]
        look = figures.style(arm)
        ax.plot(epochs, values, marker=".", label=NAMES.get(arm, arm), **look)
        ends.append(f"{NAMES.get(arm, arm)} {max(values, default=0):.1f}")
    ax.set(xlabel="pass", ylabel=f"validation {_metric(one)}, %")
    ax.legend()
    return _figure(
        fig,
        "Learning, pass by pass",
        f"Validation score over passes of each loss at its best rate. Best: {', '.join(ends)}.",
        "Each loss at its best learning rate, first seed, thresholds tuned.",
    )


def _data_curve(one: Fit) -> str | None:
    if not one.of_curve:
        return None
    shares, values = zip(*sorted(one.of_curve.items()), strict=True)
    fig, ax = plt.subplots(figsize=(5.6, 3.0))
    rows = [share * len(one.data.splits["train"]) for share in shares]
    ax.plot(rows, values, marker="o", **figures.style(one.kept_name))
    ax.set(xlabel="training rows", ylabel=f"test {_metric(one)}, %", xlim=(0, None))
    told = ", ".join(f"{s:.0%}: {v:.1f}" for s, v in zip(shares, values, strict=True))
    return _figure(
        fig,
        "Would more data help?",
        f"Test score by share of the data. {told}.",
        f"The chosen loss on 25, 50 and 100% of the training rows, one seed. {told}.",
    )


def _reliability(one: Fit) -> str | None:
    problem, test = one.kept_problem, one.problem.splits["test"]
    scores = one.kept_test()
    margins, shifted = problem.margins(scores), problem.margins(scores + one.kept_bias)
    if margins is None or shifted is None:
        return None
    yes = problem.yes(test)
    fig, ax = plt.subplots(figsize=(5.6, 3.4))
    ax.plot([0, 1], [0, 1], color="#C4C4C4", linewidth=1)
    error, largest = {}, 0.0
    for name, values, color, marker in (
        ("as trained", margins, "#0072B2", "o"),
        ("with the threshold in the bias", shifted, "#D55E00", "s"),
    ):
        p = expit(values)
        groups = [g for g in np.array_split(np.argsort(p, kind="stable"), 10) if len(g)]
        x, y = ([float(v[g].mean()) for g in groups] for v in (p, yes))
        largest = max(largest, *x, *y)
        error[name] = (
            100 * sum(len(g) * abs(a - b) for g, a, b in zip(groups, x, y, strict=True)) / len(p)
        )
        ax.plot(x, y, markersize=4, linewidth=1.2, label=name, color=color, marker=marker)
    ax.set(xlabel="probability of yes by the model", ylabel="share that is yes")
    end = math.ceil(10 * largest) / 10  # of a rare class all ten groups lie near 0
    ax.set(xlim=(-0.02 * end, end), ylim=(-0.02 * end, end))
    ax.legend()
    told = "; ".join(f"{name}: {value:.1f}" for name, value in error.items())
    what = ""
    if isinstance(problem, Tagging):
        entity = "part of an entity" if problem.entities else f"not {one.data.background}"
        what = f" (a word is {entity})"
    return _figure(
        fig,
        "Are the probabilities right?",
        f"Predicted probability against the share that is yes, in ten groups. Calibration error in "
        f"points: {told}.",
        f"Ten equal groups of test decisions{what}. On the grey line a prediction of .7 is right "
        f"seven times in ten. Mean distance from it, in points: {told}.",
    )

"""What came of a fit: in words, as a record, and as the card of its model."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from dicebook.decision import FEW_POSITIVES
from dicelab.fit.candidates import NAMES as LINEAR
from dicelab.fit.choosing import MEAN
from dicelab.fit.data import class_counts
from dicelab.fit.keeping import FINE_TUNED
from dicelab.fit.problems import Tagging
from dicelab.fit.result import NAMES, FitResult
from dicelab.metrics.intervals import Difference, interval
from dicelab.records.runs import versions
from dicelab.tables import minus

TOO_FEW = 10  # positives of test


def about(result: FitResult) -> list[str]:
    """The data in sentences: sizes, classes, lengths and what is odd about them."""
    data, problem = result.data, result.problem
    sizes = ", ".join(f"{len(split):,} {name}" for name, split in data.splits.items())
    what = {"tagging": "tagging", "labels": "sentences with several labels"}
    counts = class_counts(data)["train"]
    listing = ", ".join(f"{label} {n:,}" for label, n in list(counts.items())[:8])
    more = f" and {len(counts) - 8} more" if len(counts) > 8 else ""
    lines = [
        *data.preview,
        f"{source_name(result)}: {what.get(data.task, data.task)}, {sizes}.",
        f"Classes in train: {listing}{more}.",
        f"The encoder {result.encoder} reads at most {result.max_length} sub-words of a row. "
        + ("Words cut off" if isinstance(problem, Tagging) else "Rows cut short")
        + " because of this limit: "
        + ", ".join(f"{n} in {name}" for name, n in result.cut.items())
        + ".",
        *data.notes,
    ]
    if data.binary:
        negative, positive = counts[data.labels[0]], counts[data.labels[1]]
        share = positive / (positive + negative)
        lines.append(
            f"{negative / max(1, positive):.1f} negatives for each positive; a batch of "
            f"{result.options.batch_size} holds {share * result.options.batch_size:.1f} positives."
        )
        few = class_counts(data)["validation"][data.labels[1]]
        if few < FEW_POSITIVES and result.options.decide == "tuned":
            lines.append(
                f"Validation has {few} positives, too few to tune a threshold on. So the "
                "threshold of a fine-tuned model is computed from its calibrated probabilities: "
                "it has the largest F1 that they let us expect."
            )
    return lines


def verdict(result: FitResult) -> list[str]:
    """Which model is kept, how sure that is, and what would help, in sentences."""
    goal = result.problem.goal
    counts, argmax = result.counts()
    percent = result.scores_percent(counts)
    mine = _the(result.model_name)
    there = int(goal.focused(counts.sum(0)).actual)
    what = "entities" if result.data.entities else "positives"
    if not result.problem.has_threshold:
        what = "words"
    elif result.data.task in ("sentences", "pairs") and not result.data.binary:
        what = "rows"
    lines = []
    if there < TOO_FEW:
        lines.append(
            f"Test has {there} {what}: too few to say how good this model is, whatever the numbers "
            "below. Label more of them."
        )
    lines.append(
        f"Kept: {mine}, with a test {goal.metric_name} of {result.score} (precision "
        f"{percent['precision']:.1f}, recall {percent['recall']:.1f}). Test has {there:,} {what}."
    )
    if result.refitted:
        rows = sum(len(result.data.splits[name]) for name in ("train", "validation"))
        lines.append(
            f"Fine-tuning was repeated at the end on the {rows:,} rows of train and validation "
            "together; the threshold is the one from before."
        )
    mine = "the mean" if result.model_name == MEAN else mine
    simple = result.best_linear()
    if result.winner is not None and result.winner is simple and result.data.task != "tagging":
        scores, rows = result.decided_on()
        held = result.problem.counts(rows, result.problem.decide(scores, result.bias))
        known = int(goal.focused(held.sum(0)).actual)
        lines.append(
            f"By cross-validation over the {len(held):,} rows of train and validation, with "
            f"{known:,} {what}, its {goal.metric_name} is {interval(held, goal)}. This is a "
            "little too high, because the threshold was chosen on these rows."
        )
    name, floor = best_floor(result)
    gap = percent[goal.metric] - floor
    if gap <= 0:
        how = f"{-gap:.1f} points below its floor" if gap < 0 else "level with its floor"
        lines.append(f"On test it is {how}: {name} has {floor:.1f}. Do not use this model.")
    else:
        lines.append(_compared(result.against(result.floors[name]), mine, f"the floor, {name}"))
    if simple is not None and result.winner is not simple:
        ahead = result.against(result.counts_of(simple))
        lines.append(_compared(ahead, mine, _the(simple.name)))
    if result.winner is not None and result.chosen is not None:
        tuned = f"fine-tuning with {_the(result.chosen)}"
        lines.append(_compared(result.against(result.counts_of_run()), mine, tuned))
    if np.any(result.bias):
        gain = minus(f"{percent[goal.metric] - result.score_of(argmax):+.1f}")
        folds = result.model_name in result.candidates and result.data.task != "tagging"
        where = "by cross-validation" if folds else "on validation"
        lines.append(
            f"The threshold was chosen {where}. On test it changes the score by {gain} "
            "points. You need not set it, because it is in the model now."
        )
    rival = result.rival() if result.winner is None else None
    if rival is not None:
        name, ahead = rival
        seeds = len(result.arms[result.model_name].runs)
        over = f"over {seeds} seeds" if seeds > 1 else "with one seed"
        lines.append(
            _compared(ahead, f"{mine} {over}", NAMES.get(name, name))
            + f" A difference of {ahead.visible:.1f} points would probably have been seen."
        )
    if result.ahead:
        gaps = ", ".join(
            minus(f"{_the(name)} {gap.mean:+.1f} [{gap.low:.1f}, {gap.high:.1f}]")
            if gap.low < gap.high
            else f"{_the(name)} 0.0 (right on the same rows)"
            for name, gap in result.ahead.items()
        )
        lines.append(
            f"On validation, its {goal.metric_name} minus that of the others, in points: {gaps}. "
            "Of the models within a standard error of the best, the simplest is kept."
        )
    lines.append(use(result))
    lines.append(advice(result))
    return lines


def use(result: FitResult) -> str:
    """What loads the kept model."""
    plain = "Use it with `dicebook predict` or `dicelab.load_model`"
    if result.winner is None:
        return f"{plain}, or with plain transformers.{_of_single_words(result)}"
    if result.linear_alone:
        return f"{plain}: plain transformers does not load a linear model."
    part = result.score_of(result.counts_of_run())
    return (
        f"{plain}: plain transformers does not load a mean. It loads the fine-tuned part, in "
        f"model/{FINE_TUNED}, which has its own threshold in it and a test "
        f"{result.problem.goal.metric_name} of {part:.1f}."
    )


def costs(result: FitResult) -> str:
    """How large and how slow what is kept is, beside the best linear model."""
    told = [
        f"{_the(name)} takes {size / 1e6:.1f} MB and {seconds:.2g} seconds for 1,000 rows"
        for name, (size, seconds) in result.cost.items()
    ]
    return f"{told[0][0].upper()}{'; '.join(told)[1:]}." if told else ""


def _the(name: str) -> str:
    """A loss, a linear model or the mean, as it stands in a sentence."""
    return f"the {NAMES[name]}" if name in (*LINEAR, MEAN) else NAMES.get(name, name)


def _compared(gap: Difference, mine: str, other: str) -> str:
    """A difference in a sentence, which claims an order only where the interval excludes zero."""
    if gap.low == gap.high == 0:
        return f"On test, {mine} and {other} are right and wrong on the same rows."
    points = minus(f"{gap.mean:+.1f} points [{gap.low:.1f}, {gap.high:.1f}]")
    if gap.low <= 0 <= gap.high:
        return (
            f"Against {other}, {mine} has {points}. The interval includes zero, so we cannot say "
            "which is better."
        )
    order = "ahead of" if gap.low > 0 else "behind"
    return f"{mine[0].upper()}{mine[1:]} is {order} {other}: {points}."


def advice(result: FitResult) -> str:
    """What to try next, from the learning curve over the data."""
    if result.winner is not None:
        if result.chosen is None:
            return "Fine-tuning was not tried; give more --minutes to try it."
        return "More labelled rows may help both kinds of model."
    if result.plan.partial:
        share = result.plan.steps * result.options.batch_size / len(result.data.splits["train"])
        return (
            f"There was time for {min(share, 0.99):.0%} of the training rows in each run; give "
            "more --minutes."
        )
    if not result.curve:
        return "There was no time for a learning curve; give more --minutes to see what would help."
    half, whole = result.curve[0.5], result.curve[1.0]
    if whole - half >= 2:
        return (
            f"From half of the data to all of them the score rose by {whole - half:.1f} points: "
            "more labelled rows will probably help more than another loss."
        )
    moved = minus(f"{whole - half:+.1f}")
    return (
        f"From half of the data to all of them the score changed by {moved} points: "
        "more rows of this kind may add little. Look at the errors, or try a larger encoder."
    )


def source_name(result: FitResult) -> str:
    """The last part of the source: a page that is passed on needs no folders of a machine."""
    return re.split(r"[\\/]", result.options.source.rstrip("/\\"))[-1]


def best_floor(result: FitResult) -> tuple[str, float]:
    """The best of the answers that learn next to nothing."""
    scores = {name: result.score_of(counts) for name, counts in result.floors.items()}
    best = max(scores, key=lambda name: scores[name])
    return best, scores[best]


def by_class(result: FitResult) -> list[dict[str, Any]]:
    """Precision, recall and F1 of each class on the test split, with how often it occurs."""
    counts = result.counts()[0].sum(0)
    train = class_counts(result.data)["train"]
    return [
        {
            "class": kind,
            "train": train.get(kind, 0),
            "test": int(counts.actual[i]),
            **counts[i].percent(),
        }
        for i, kind in enumerate(result.problem.scored_classes)
    ]


def errors(result: FitResult, many: int = 10) -> list[tuple[str, str, str, float]]:
    """The surest errors on the test split: text, gold, predicted, and how sure the model was."""
    problem, test = result.problem, result.problem.splits["test"]
    scores = result.test_scores()
    decisions = problem.decide(scores, result.bias)
    sure = problem.sureness(scores, result.bias, test)
    rows = list(
        zip(
            problem.row_texts(test),
            problem.gold_texts(test),
            problem.decision_texts(decisions, test),
            sure.tolist(),
            strict=True,
        )
    )
    wrong = [row for row in rows if row[1] != row[2]]
    wrong.sort(key=lambda row: -row[3])
    if isinstance(problem, Tagging):
        return [(_differences(*row[:3]), "", "", row[3]) for row in wrong[:many]]
    return wrong[:many]


def _differences(text: str, gold: str, predicted: str) -> str:
    """The words whose tags differ, with some before and after them."""
    words, right, got = (tags.split(" ") for tags in (text, gold, predicted))
    if len(words) != len(right):  # a word with a space in it
        return text
    pieces, last = [], -1
    wrong = [i for i, (a, b) in enumerate(zip(right, got, strict=True)) if a != b]
    shown = {j for i in wrong for j in range(i - 4, i + 5)}
    for i, word in enumerate(words):
        if i not in shown:
            continue
        if i > last + 1:
            pieces.append("…")
        last = i
        pieces.append(f"{word} [{right[i]}, said {got[i]}]" if i in wrong else word)
    return " ".join(pieces)


def record(result: FitResult) -> dict[str, Any]:
    """All that a fit found, for JSON."""
    counts, argmax = result.counts()
    rival = result.rival() if result.winner is None else None
    scores, rows = result.decided_on()
    kept_validation = result.problem.counts(rows, result.problem.decide(scores, result.bias))
    run = result.run if result.winner is None else None
    return {
        "chapter": result.chapter,
        "parameters": {
            **result.options.fixed(),
            "loss": result.model_name,
            "corpus": result.options.source,
            "encoder": result.encoder,
            "learning_rate": run and run.run.rate,
            "seed": run.run.seed if run else result.options.seed,
            "max_length": result.max_length,
        },
        "metrics": {
            "validation": result.scores_percent(kept_validation),
            "test": result.scores_percent(argmax),
            "test_tuned": result.scores_percent(counts),
            "floors": {name: result.score_of(c) for name, c in result.floors.items()},
        },
        "bias": [float(b) for b in result.bias],
        "labels": result.problem.labels,
        "plan": result.plan.to_json(),
        "linear": {
            name: {
                **of.setting,
                "rows": len(of.pool.gold),
                "out_of_fold": of.value,
                "test": result.score_of(result.counts_of(of)),
                "seconds": round(of.seconds, 1),
            }
            for name, of in result.candidates.items()
        },
        "compared": result.compared,
        "ahead": {name: vars(gap) for name, gap in result.ahead.items()},
        "refitted": result.refitted,
        "mean": result.mean
        and {
            "validation": result.mean.value,
            "test": result.score_of(result.counts_of(result.mean)),
        },
        "search": [
            {"arm": d.run.arm, "rate": d.run.rate, "validation": d.value, "argmax": d.argmax}
            for d in result.searched
        ],
        "finals": {
            arm: {
                "seeds": [d.run.seed for d in of.runs],
                "validation": of.validation,
                "test": result.scores(arm),
                "test_argmax": result.scores(arm, argmax=True),
            }
            for arm, of in result.arms.items()
        },
        "difference": rival and {"from": rival[0], **vars(rival[1])},
        "learning_curve": {f"{share:g}": score for share, score in result.curve.items()},
        "classes": by_class(result),
        "data": {
            "sizes": {n: len(s) for n, s in result.data.splits.items()},
            "notes": result.data.notes,
            "cut": result.cut,
            "counts": class_counts(result.data),
        },
        "notes": result.notes,
        "history": run.history if run else [],
        "verdict": result.verdict,
        "versions": versions(),
        "measured": {"seconds": round(result.seconds, 1), "cost": result.cost},
    }


def _of_single_words(result: FitResult) -> str:
    """What a fine-tuned tagger of entities scores where each word has its most likely tag."""
    problem = result.problem
    if not isinstance(problem, Tagging) or not problem.entities:
        return ""
    tags = (result.test_scores()[:, : len(problem.labels)] + result.bias).argmax(-1)
    score = result.score_of(problem.counts(problem.splits["test"], tags))
    return (
        " `dicebook predict` takes the most likely valid tags of a sentence, as the scores above. "
        "A pipeline takes the most likely tag of each word, with which "
        f"{result.metric} on test is {score:.1f}."
    )


def card(result: FitResult) -> str:
    """The card of the kept model, in Markdown."""
    percent = result.scores_percent(result.counts()[0])
    rows = "\n".join(f"| {name} | {value:.1f} |" for name, value in percent.items())
    if result.model_name == MEAN:
        how = (
            f"The mean of the logits of a fine-tuned model, which is in `{FINE_TUNED}/`, and of a "
            "logistic regression, which is in `linear/`, with a threshold."
        )
    elif result.winner is not None:
        how = (
            "A logistic regression on fixed vectors of the texts, with its decision's threshold in "
            "its intercept."
        )
    else:
        way = "Token" if result.data.task == "tagging" else "Sequence"
        long = (
            "Longer sentences were read in windows; pass `stride` to the pipeline."
            if result.data.task == "tagging"
            else f"Texts are cut at {result.max_length} sub-words; pass `truncation=True`."
        )
        how = (
            "The decision's threshold is in the bias of the last layer: argmax, or one half for "
            "each of several labels, decides as it was tuned, in any runtime. The probabilities "
            "are shifted by it, too; `dicebook predict` gives calibrated ones.\n\n"
            f"`transformers.pipeline` and `AutoModelFor{way}Classification.from_pretrained` read "
            f"this folder. {long}"
        )
    return f"""# {result.data.task}, trained with dicebook

{" ".join(result.verdict)}

| test | % |
| --- | --- |
{rows}

{how} Classes: {", ".join(result.problem.labels)}.
"""

"""What came of a fit: in words, as a record, and as the card of its model."""

from __future__ import annotations

import math
import re
from dataclasses import asdict
from typing import Any

import numpy as np

from dicebook.decision import FEW_POSITIVES
from dicelab.fit.candidates import NAMES as LINEAR
from dicelab.fit.choosing import MEAN
from dicelab.fit.data import class_counts
from dicelab.fit.predicting import FINE_TUNED
from dicelab.fit.problems import Tagging
from dicelab.fit.result import NAMES, FitResult
from dicelab.fit.training import best_pass
from dicelab.metrics.intervals import Difference, interval
from dicelab.records.runs import versions
from dicelab.tables import minus
from dicelab.training.encoders import TINY

FEW = 30  # positives of test, below which its score says little
FEW_TO_LEARN = 200  # positives to learn from, below which more of them usually help most
FAR = 5.0  # points that embeddings are behind words where the encoder may not know the language
PIECES = 1.6  # sub-words of a word; an encoder takes fewer of a language that it knows
MULTILINGUAL = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"


def about(result: FitResult) -> list[str]:
    """The data in sentences: sizes, classes, lengths and what is odd about them."""
    data, problem = result.data, result.problem
    sizes = ", ".join(f"{len(split):,} {name}" for name, split in data.splits.items())
    what = {"tagging": "tagging", "labels": "sentences with several labels"}
    counts = class_counts(data)["train"]
    listing = ", ".join(f"{label} {n:,}" for label, n in list(counts.items())[:8])
    more = f" and {len(counts) - 8} more" if len(counts) > 8 else ""
    lines = [
        *(data.preview if result.options.texts else ()),
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
        few = class_counts(data)["validation"][data.labels[1]]
        if few < FEW_POSITIVES:
            lines.append(
                f"Validation has {few} positives, too few to tune a threshold on. So the "
                "threshold of a fine-tuned model is computed from its calibrated probabilities: "
                "it has the largest F1 that they let us expect."
            )
    return lines


def verdict(result: FitResult) -> list[str]:
    """How sure the score is, which model is kept, and what to do next, in sentences."""
    goal, name = result.problem.goal, result.problem.goal.metric_name
    counts, argmax = result.counts()
    percent = result.scores_percent(counts)
    the_kept, what = _the(result.model_name), counted(result)
    there = int(goal.focused(counts.sum(0)).actual)
    lines = []
    if there < FEW:
        share = max(there, 1) / len(result.data.splits["test"])
        rows = math.ceil((FEW - there) / share)
        lines.append(
            f"Label about {rows:,} more rows for test first, with some {FEW - there} {what}: it "
            f"has {there}, and a score on fewer than {FEW} says little."
        )
    held, where = result.held_out()
    known = int(goal.focused(held.sum(0)).actual)
    lines.append(
        f"{where} with {known:,} {what}, the {name} of {the_kept} is {interval(held, goal)}."
    )
    lines.append(
        f"Kept: {the_kept}, with a test {name} of {result.score} (precision "
        f"{percent['precision']:.1f}, recall {percent['recall']:.1f}). Test has {there:,} {what}."
    )
    for asked, of in ((goal.at_recall, "recall"), (goal.at_precision, "precision")):
        if asked is not None:
            on_held = getattr(goal.focused(held.sum(0)), of)
            lines.append(
                f"You asked for a {of} of {100 * asked:g}: it is {100 * on_held:.1f} there, "
                f"and {percent[of]:.1f} on test."
            )
    if result.refitted:
        rows = sum(len(result.data.splits[name]) for name in ("train", "validation"))
        lines.append(
            f"Fine-tuning was repeated at the end on the {rows:,} rows of train and validation "
            "together; the threshold is the one from before."
        )
    mine = "the mean" if result.model_name == MEAN else the_kept
    floors = {of: result.score_of(its_counts) for of, its_counts in result.baselines.items()}
    floor_name, floor = max(floors.items(), key=lambda item: item[1])
    gap = percent[goal.metric] - floor
    if gap <= 0:
        how = f"{-gap:.1f} points below its floor" if gap < 0 else "level with its floor"
        lines.append(f"On test it is {how}: {floor_name} has {floor:.1f}. Do not use this model.")
    else:
        against = result.against(result.baselines[floor_name])
        lines.append(_compared(against, mine, f"the floor, {floor_name}"))
    rival = result.rival() if result.winner is None else None
    if rival is not None:
        other, ahead = rival
        seeds = len(result.arms[result.model_name].runs)
        over = f"over {seeds} seeds" if seeds > 1 else "with one seed"
        lines.append(
            _compared(ahead, f"{mine} {over}", NAMES.get(other, other))
            + f" A difference of {ahead.visible:.1f} points would probably have been seen."
        )
    if result.ahead:
        compared = "average precision over all thresholds" if result.problem.ranks else name
        gaps = ", ".join(
            minus(f"{_the(other)} {gap.mean:+.1f} [{gap.low:.1f}, {gap.high:.1f}]")
            if gap.low < gap.high
            else f"{_the(other)} 0.0 (right on the same rows)"
            for other, gap in result.ahead.items()
        )
        lines.append(
            f"On validation, its {compared} minus that of the others, in points: {gaps}. "
            "Of the models within a standard error of the best, the simplest is kept; but a mean "
            "comes before its fine-tuned part, because it usually errs less."
        )
    if np.any(result.bias):
        gain = minus(f"{percent[goal.metric] - result.score_of(argmax):+.1f}")
        lines.append(
            f"The threshold was chosen on rows that are not test, where it changes the score by "
            f"{gain} points. It is in the model, so you need not set it."
        )
    return [*lines, f"Next: {next_step(result)}", use(result)]


def counted(result: FitResult) -> str:
    """What the positives of the score are."""
    if result.data.entities:
        return "entities"
    if not result.problem.has_threshold:
        return "words"
    several = result.data.task in ("sentences", "pairs") and not result.data.binary
    return "rows" if several else "positives"


def next_step(result: FitResult) -> str:
    """The one thing to do next, by what holds the model back."""
    twice = math.ceil(2 * (result.plan.minutes or result.options.minutes or 5))
    minutes = max(twice, result.plan.least)
    more = f"`--minutes {minutes}` for the same folder goes on from here."
    compared = result.compared
    behind = compared.get("words", 0.0) - compared.get("embeddings", np.inf)
    if behind > FAR and result.encoder == TINY:
        return "the encoder was not pretrained. Try `--encoder minilm`, or another that was."
    if behind > FAR and result.pieces > PIECES:
        return (
            "the encoder may not know the language of the texts: it cuts words into "
            f"{result.pieces:.1f} pieces, and embeddings are {behind:.1f} points behind words. "
            f"Try `--encoder {MULTILINGUAL}`."
        )
    if result.chosen is None and result.options.linear:
        return f"fine-tuning was not tried, for there was no time. {more}"
    run = result.run
    if result.plan.partial:
        return f"no run saw all rows of train. {more}"
    rising = run is not None and best_pass(run, result.problem) == len(run.history)
    if rising and result.options.steps is None:
        return f"validation still rose at the last pass of fine-tuning. {more}"
    counts = class_counts(result.data)["train"]
    rarest = min(counts, key=lambda label: counts[label])
    if 0 < counts[rarest] < FEW_TO_LEARN and not result.data.entities:
        return (
            f"label more rows: train has {counts[rarest]:,} of {rarest!r}, and twice as many "
            "usually help more than another model."
        )
    return (
        "look at the errors that it is surest of, in the report: some are errors of the labels. "
        "Then label more rows like them."
    )


def use(result: FitResult) -> str:
    """The lines that predict, load and serve."""
    plain = (
        "To use it: `dicebook predict model new.tsv`, and `dicelab.load_model('model')` in Python, "
        "with the folder for `model`; docs/serving.md puts it behind an address."
    )
    if result.winner is None:
        return f"{plain} Plain transformers loads it, too.{_of_single_words(result)}"
    if result.linear_alone:
        return f"{plain} Plain transformers does not load it."
    assert result.fine_tuned is not None
    part = result.score_of(result.counts_of(result.fine_tuned))
    return (
        f"{plain} Plain transformers does not load a mean. It loads the fine-tuned part, in "
        f"model/{FINE_TUNED}, which has its own threshold in it and a test "
        f"{result.problem.goal.metric_name} of {part:.1f}."
    )


def costs(result: FitResult) -> str:
    """How large and how slow what is kept is, beside the model of the first minute."""
    told = [
        f"{_the(name)} takes {size / 1e6:,.2f} MB and {seconds:.2g} seconds for 1,000 rows"
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


def source_name(result: FitResult) -> str:
    """The last part of the source: a page that is passed on needs no folders of a machine."""
    return re.split(r"[\\/]", result.options.source.rstrip("/\\"))[-1]


def by_class(result: FitResult) -> list[dict[str, Any]]:
    """Precision, recall and F1 of each class on the test split, with how often it occurs."""
    counts, train = result.counts()[0].sum(0), class_counts(result.data)["train"]
    of_classes = {name: counts[i] for i, name in enumerate(result.problem.scored_classes)}
    return [
        {"class": name, "train": train.get(name, 0), "test": int(of.actual), **of.percent()}
        for name, of in of_classes.items()
    ]


def errors(result: FitResult, many: int = 10) -> list[dict[str, Any]]:
    """The surest errors on the test split, a row of a table each."""
    problem, test = result.problem, result.problem.splits["test"]
    decisions = problem.decide(result.kept.test, result.bias)
    sure = problem.sureness(result.probabilities(), decisions, test)
    said, right = problem.decision_texts(decisions, test), problem.gold_texts(test)
    texts, shown = result.row_texts(), result.options.texts
    in_words, rows = isinstance(problem, Tagging) and shown, []
    wrong = [place for place in np.argsort(-sure, kind="stable") if said[place] != right[place]]
    for place in wrong[:many]:
        words = _differences(texts[place], right[place], said[place]) if in_words else texts[place]
        text = words if len(words) <= 300 else f"{words[:297]}..."
        if in_words:
            row = {"words [right tag, said tag]": text, "surest": f"{sure[place]:.2f}"}
        else:
            row = {"text" if shown else "row of test": text, "right": right[place] or "none"}
            row |= {"said": said[place] or "none", "probability": f"{sure[place]:.2f}"}
        rows.append(row)
    return rows


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
            "validation": result.scores_percent(result.decided_on()),
            "test": result.scores_percent(argmax),
            "test_tuned": result.scores_percent(counts),
            "floors": {name: result.score_of(c) for name, c in result.baselines.items()},
        },
        "bias": [float(b) for b in result.bias],
        "labels": result.problem.labels,
        "plan": asdict(result.plan),
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
    tags = (result.kept.test[:, : len(problem.labels)] + result.bias).argmax(-1)
    score = result.score_of(problem.counts(problem.splits["test"], tags))
    return (
        " `dicebook predict` takes the most likely valid tags of a sentence, as the scores above. "
        "A pipeline takes the most likely tag of each word, with which "
        f"{result.metric} on test is {score:.1f}."
    )

"""How good a kept model is on labelled rows that it has not seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, DatasetDict

from dicelab.corpora.cells import Asked
from dicelab.corpora.containers.folders import read_splits
from dicelab.corpora.files import read_source
from dicelab.corpora.registry import SPLITS
from dicelab.fit.data import Data
from dicelab.fit.options import Options
from dicelab.fit.predicting import Model
from dicelab.fit.problems import problem_of
from dicelab.metrics.intervals import Interval, interval


def evaluate(
    folder: str | Path,
    path: str | Path,
    *,
    asked: Asked | None = None,
    device: str = "auto",
    say: Callable[[str], None] = print,
    errors: int = 10,
) -> Interval:
    """Score a kept model on a labelled file: with intervals, by class, and the surest errors.

    Args:
        folder: the folder of the model, or of the fit.
        path: whatever ``dicebook fit`` reads; of a folder with splits the test split, or all rows.
        asked: the columns of text and label, by default those that the model was trained on; and
            how the file is to be read.
        device: see :class:`Model`.
        say: takes each line for the reader.
        errors: how many errors are shown.

    Returns:
        The score, in percent, with its 95% interval over rows.

    Raises:
        FitError: the folder holds no model, or the file has another task.
        CorpusError: the file is not what it should be.
    """
    model, path = Model(folder, device), Path(path)
    info = model.info
    asked = replace(asked or Asked(), task=info["task"])
    names = [name for table in read_splits(path, asked, []).values() for name in table.names]
    known = {key: name for key, name in info["columns"].items() if set(name.split(",")) <= {*names}}
    given: dict[str, Any] = {
        key: getattr(asked, key) or known.get(key) for key in ("text", "text2", "label")
    }
    contents = read_source(path, replace(asked, **given))
    for line in (*contents.preview, *contents.notes):
        say(line)
    rows = contents.rows.get("test") or [row for part in contents.rows.values() for row in part]
    labels = list(model.labels)
    unknown = sorted({x for row in rows for x in _labels_of(row)} - set(labels))
    if unknown:
        say(f"The model does not know {', '.join(map(repr, unknown))}: these are errors.")
    if info["task"] == "labels":
        rows = [
            {"sentence": row["sentence"], "labels": [int(x in row["label"]) for x in labels]}
            for row in rows
        ]
    elif info["task"] != "tagging":
        number = {label: place for place, label in enumerate([*labels, *unknown])}
        rows = [{**row, "label": number[row["label"]]} for row in rows]
    split = Dataset.from_list(rows)
    splits = DatasetDict(dict.fromkeys(SPLITS, split))
    more: dict[str, Any] = {"unseen": unknown, "background": info.get("background", "O")}
    data = Data(info["task"], splits, labels, contents.columns, **more)
    goal_asked = {key: info.get("goal", {}).get(key) for key in ("metric", "positive")}
    problem = problem_of(data, Options(source=str(path), **goal_asked))
    decisions, p = model.decided(problem.rows(split))
    counts = problem.counts(split, decisions)
    total, goal = counts.sum(0), problem.goal
    focus = goal.focused(total)
    score, told = interval(counts, goal), focus.percent()
    say(
        f"{goal.metric_name} {score} on {len(split):,} rows with {int(focus.actual):,} positives; "
        f"precision {told['precision']:.1f}, recall {told['recall']:.1f}."
    )
    for place, name in enumerate(problem.scored_classes if len(total.actual) > 2 else ()):
        of = total[place].percent()
        say(
            f"  {name}: F1 {of['f1']:.1f}, precision {of['precision']:.1f}, recall "
            f"{of['recall']:.1f}; {int(total.actual[place]):,} rows"
        )
    said, right = problem.decision_texts(decisions, split), problem.gold_texts(split)
    sure = problem.sureness(p, decisions, split)
    wrong = [place for place in np.argsort(-sure) if said[place] != right[place]]
    texts = problem.row_texts(split)
    for place in wrong[:errors]:
        say(f"  {sure[place]:.2f} said {said[place]!r}, right {right[place]!r}: {texts[place]}")
    if len(wrong) > errors:
        say(f"  and {len(wrong) - errors:,} more errors; these are the surest.")
    return score


def _labels_of(row: dict[str, Any]) -> list[str]:
    if "tags" in row:
        return list(row["tags"])
    return row["label"] if isinstance(row["label"], list) else [row["label"]]

"""A table of the paper, and beside it our runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from dicelab.atomic import atomic
from dicelab.records import paper, runs
from dicelab.records.runs import LOSS_WORDS, markdown
from reproduce import grid

Record = Mapping[str, Any]

# How a reader is told what the records name by a word.
OPTIONS = {"fp_weight": "α", "fn_weight": "β", "alpha": "α"}  # as in the paper
FLOORS = {"majority": "*the majority's answer*", "dictionary": "*words alone*"}
CEILING = "*a perfect model*"
# A row counts where each of its seeds stands so many points above what needs no model.
MARGIN = 5.0
ABOVE = "above the floors"
TITLES = {"precision": "P", "recall": "R", "f1": "F1", "em": "EM", "accuracy": "Accuracy"}
# The columns in print; the last is what a table is scored by.
COLUMNS = {
    **dict.fromkeys((3, 4, 5), ("precision", "recall", "f1")),
    6: ("em", "f1"),
    **dict.fromkeys((7, 8, 10), ("f1",)),
    9: ("accuracy",),
}


def table_of(records: Sequence[Record], number: int) -> pd.DataFrame:
    """Our runs beside the paper's table, in its columns.

    Args:
        records: those of the table's jobs.
        number: the table.

    Returns:
        A row for each corpus, model and loss. Of each score that the paper prints the mean over
        seeds, of the one that counts (the last) with its 95% interval; for a tagger of entities
        also by conlleval's rule. The difference from cross entropy on the same seeds with the
        p-value of a paired test, and the score with a tuned threshold. What the paper prints, and
        its difference from cross entropy. Whether the row stands above the floors, see
        `above_floors`. Below a corpus what its test split gives away without a model and, where the
        encoding loses something, what a perfect model would reach.
    """
    metric, title = metric_of(number), TITLES[metric_of(number)]
    record_of = {(*system_of(record), runs.loss_label(record)): record for record in records}
    works = above_floors(records, number)
    every = {name: scores(records, number, metric=name) for name in COLUMNS[number]}
    tuned = scores(records, number, "test_tuned")
    conlleval = scores(records, number, metric="f1_conlleval")
    rows: list[dict[str, Any]] = []
    for corpus, systems in groupby(every[metric].items(), key=lambda item: item[0][0]):
        for system, label, summary in (
            (s, *item) for s, losses in systems for item in losses.items()
        ):
            row = grid.printed(record_of[*system, label]["parameters"])
            one_seed = len(summary.scores) == 1
            cells = {
                "corpus": corpus,
                "model": _model(*system[1:]),
                "loss": loss_in_words(record_of[*system, label]),
                "seeds": str(len(summary.scores)),
            }
            for name in COLUMNS[number][:-1]:
                if over := every[name][system].get(label):
                    cells[TITLES[name]] = f"{over.mean.mean:.2f}"
            cells[title] = summary.mean.text(2)
            if system[2] == "tagger" and (over := conlleval[system].get(label)):
                cells["conlleval F1"] = f"{over.mean.mean:.2f}"
            cells["minus ce"] = summary.gain.text(2) if summary.gain else ""
            base = every[metric][system].get("ce")
            if one_seed and label != "ce" and base and set(base.scores) == set(summary.scores):
                cells["minus ce"] = f"{summary.mean.mean - base.mean.mean:z.2f} (one seed)"
            cells["p"] = "" if summary.p_value is None else f"{summary.p_value:.3f}"
            if best := tuned[system]:
                cells[f"tuned {title}"] = f"{best[label].mean.mean:.2f}"
            cells["the paper's"] = _in_print(row) if row else ""
            for name in COLUMNS[number]:
                cells[f"paper {TITLES[name]}"] = row.printed.get(name, "") if row else ""
            cells["paper minus ce"] = row.printed.get("delta", "") if row else ""
            cells[ABOVE] = "yes" if (*system, label) in works else "no"
            rows.append(cells)
        rows += _floors(records, corpus, metric)
    frame = pd.DataFrame(rows).fillna("")
    last = [f"paper {TITLES[name]}" for name in COLUMNS[number]] + ["paper minus ce", ABOVE]
    rest = [name for name in frame.columns if name not in last]
    return frame[[*rest, *last]]


System = tuple[str, str, str]  # corpus, backbone, way of training


def above_floors(records: Sequence[Record], number: int) -> set[tuple[str, str, str, str]]:
    """The systems that have learnt something: corpus, backbone, way of training, label of the loss.

    Every seed is to stand `MARGIN` points above what the majority's answer and words alone reach on
    its test split, at argmax or with its threshold tuned on the validation split.

    Args:
        records: those of the table's jobs.
        number: the table.
    """
    metric = metric_of(number)
    names, below = set(), set()
    for record in records:
        metrics = record["metrics"]
        floor = max((metrics[name][metric] for name in FLOORS if name in metrics), default=-MARGIN)
        reached = [
            metrics[split].get(metric, 0) for split in ("test", "test_tuned") if split in metrics
        ]
        name = (*system_of(record), runs.loss_label(record))
        names.add(name)
        if max(reached) < floor + MARGIN:
            below.add(name)
    return names - below


def rows_above_floors(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of `table_of` above the floors; without the other corpora, floors and differences.

    A difference from a cross entropy that has not learnt the task is none that a loss has made.
    """
    parts = []
    for _, rows in frame.groupby("corpus", sort=False):
        above = rows[rows[ABOVE] != "no"].copy()
        working = rows[(rows[ABOVE] == "yes") & (rows["loss"] == LOSS_WORDS["ce"])]
        above.loc[~above["model"].isin(working["model"]), ["minus ce", "p"]] = ""
        if (above[ABOVE] == "yes").any():
            parts.append(above)
    return (pd.concat(parts) if parts else frame.iloc[:0]).drop(columns=ABOVE)


def left_out(frame: pd.DataFrame, number: int) -> str:
    """A sentence that names the rows that `rows_above_floors` leaves out, or nothing."""
    title = TITLES[metric_of(number)]
    gone = frame[frame[ABOVE] == "no"]
    if gone.empty:
        return ""
    named = [
        f"{corpus}, {model}: "
        + ", ".join(f"{row['loss']} {row[title].split()[0]}" for _, row in rows.iterrows())
        for (corpus, model), rows in gone.groupby(["corpus", "model"], sort=False)
    ]
    return (
        f"Left out are {len(gone)} of {(frame[ABOVE] != '').sum()} rows, in which some seed does "
        f"not stand {MARGIN:.0f} points above the majority's answer and words alone: "
        f"{'; '.join(named)}."
    )


def scores(
    records: Sequence[Record], number: int, split: str = "test", metric: str = ""
) -> dict[System, dict[str, runs.OverSeeds]]:
    """Each loss over its seeds, by system; the systems of a corpus stand together.

    Args:
        records: those of the table's jobs.
        number: the table.
        split: `"test"` or `"test_tuned"`. Of a system that has no such score there are no losses.
        metric: the score; empty for the one that counts.
    """
    groups: dict[System, list[Record]] = {}
    for record in records:
        groups.setdefault(system_of(record), []).append(record)
    corpora = list(dict.fromkeys(corpus for corpus, _, _ in groups))
    return {
        system: where_scored(groups[system], split, metric or metric_of(number))
        for system in sorted(groups, key=lambda system: corpora.index(system[0]))
    }


def where_scored(group: Sequence[Record], split: str, metric: str) -> dict[str, runs.OverSeeds]:
    """`dicelab.records.runs.over_seeds` of records that all have a score, else empty."""
    if not all(metric in record["metrics"].get(split, {}) for record in group):
        return {}
    return runs.over_seeds(group, split=split, metric=metric)


def metric_of(number: int) -> str:
    """What a table is scored by."""
    return COLUMNS[number][-1]


def system_of(record: Record) -> System:
    parameters = record["parameters"]
    return parameters["corpus"], parameters["backbone"], parameters["system"]


def _floors(records: Sequence[Record], corpus: str, metric: str) -> Iterator[dict[str, str]]:
    of_corpus = [r["metrics"] for r in records if r["parameters"]["corpus"] == corpus]
    for name, words in {**FLOORS, "ceiling": CEILING}.items():
        # Records of one seed share a draw of the corpus, and so what it gives away.
        values = {m[name][metric] for m in of_corpus if metric in m.get(name, {})}
        if values and (name != "ceiling" or min(values) < 100):
            mean = f"{sum(values) / len(values):.2f}"
            yield {"corpus": corpus, "model": words, TITLES[metric]: mean}


def _model(backbone: str, system: str) -> str:
    how = {"choice": "by choice", "decisions": "by decisions", "mrc": "", "tagger": ""}
    names = [backbone or {"mrc": "BERT-MRC", "decisions": "BERT"}.get(system, "")]
    return ", ".join(filter(None, [*names, how.get(system, "")]))


def _in_print(row: paper.Row) -> str:
    corpus = f"{row.corpus_title} {row.variant}".strip()
    return f"{row.model}, {corpus}" if row.model else corpus


def loss_in_words(record: Record) -> str:
    """A loss in words, such as ``"dice, squared"``."""
    parts = [
        LOSS_WORDS[record["parameters"]["loss"]],
        *options_in_words(runs.loss_options(record)),
    ]
    if reader := record["parameters"].get("reader"):
        parts.append(f"read by {reader}")
    return ", ".join(parts)


def options_in_words(options: Mapping[str, Any]) -> Iterator[str]:
    """Such as ``"squared"``, ``"not squared"`` and ``"α 0.1"``."""
    for name, value in options.items():
        name = OPTIONS.get(name, name.replace("_", " "))
        switch = {"True": name, "False": f"not {name}"}
        yield switch.get(str(value), f"{name} {value}")


def write_table(records: Sequence[Record], number: int, out: Path) -> list[Path]:
    """Write records as JSON lines, all rows as CSV and the rows above the floors as Markdown.

    Args:
        records: those of the table's jobs.
        number: the table.
        out: the folder.

    Returns:
        The files.
    """
    frame = table_of(records, number)
    title = f"Table {number}: {paper.table(number).title}"
    body = markdown(rows_above_floors(frame).to_dict("records"))
    lines = (json.dumps(record, ensure_ascii=False, allow_nan=False) for record in records)
    texts = {
        "jsonl": "\n".join(lines) + "\n",
        "md": "\n\n".join(filter(None, [f"# {title}", body, left_out(frame, number)])) + "\n",
        "csv": frame.to_csv(index=False),
    }
    files = [out / f"table{number}.{suffix}" for suffix in texts]
    for path, text in zip(files, texts.values(), strict=True):
        with atomic(path) as partial:
            partial.write_text(text, encoding="utf-8")
    return files

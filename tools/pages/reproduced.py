"""The tables that the workflow has made, as a page of the book."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dicelab.corpora.registry import CORPORA
from dicelab.records import paper, runs
from dicelab.records.runs import markdown
from reproduce import grid
from reproduce.comparisons import TABLES
from reproduce.profiles import LEFT_OUT
from reproduce.tables import (
    Record,
    above_floors,
    left_out,
    rows_above_floors,
    scores,
    system_of,
    table_of,
)
from tools.pages import words

PAGE = f"""\
# The paper's tables, run again

**For** readers who want to see the paper's comparisons on a laptop's scale before paying for more.

Each table below was made by `make reproduce`, see [](reproduce.md);
`python -m tools.pages` writes this page from the records below
`results/reproduced/`.

Scores are in percent, on the test split: the mean over seeds, of the score that counts with its 95%
interval. *Minus ce* is the difference from cross entropy on the same seeds, in points. *Tuned* has
its threshold, or the bias of the tag `O`, chosen on the validation split. *Conlleval F1* counts a
tagger's entities as the CoNLL script does, by which most papers report; F1 is of strict IOB2. The
columns *paper* are what the paper prints for the corpus of its own and a far larger encoder, and
its difference from cross entropy. Where the encoding loses something, the row *a perfect model*
has the most that can be reached. *Words alone* is a dictionary of the training
split for tags, a count of words for sentences, and the share of common words for pairs. A table
shows a row if each of its seeds is five points above *the majority's answer* and *words alone*, at
argmax or tuned, because a system that has not learnt its task says nothing about losses. The other
rows are named below their table, and `tableN.csv` has them whole.

Every run here starts with its output bias at 0, as in the paper's scripts. In runs of 38
steps this start costs cross entropy several points on entities, with a tuned threshold as well, and
dice none that we could see ([chapter 17](../notebooks/17_when_does_dice_help.ipynb)). So a gain of
dice below may be a gain of its start.

{words.LETTERS}
"""
HOW = {
    "laptop": "Parts of real corpora, small encoders, on a CPU in bfloat16: a run takes minutes, "
    "and differences of a point or two cannot be seen. All losses have one learning rate and few "
    "steps, in which a loss that learns faster is ahead; chapter 17 gives each its own. Three "
    "seeds make wide intervals, so look whether the corpora of a table agree. What the frozen "
    "layers say of an input is computed once for all losses.",
    "default": "The same budget for each loss, its learning rate found on the validation split.",
    "paper": "Hyperparameters and habits of the paper's scripts.",
}
# What the corpora of the kept records do not say of themselves.
BESIDES = {
    "squad11": "The file is a rebuilt copy, in which the places of a tenth of the answers are "
    "guesses.",
}


def page(results: Path) -> str:
    """The tables that the workflow has made, as a page of the book.

    Args:
        results: the folder ``results``; those of the profile ``smoke`` are left out.
    """
    parts = [PAGE]
    for profile, about in HOW.items():
        paths = [results / "reproduced" / profile / f"table{n}.jsonl" for n in TABLES]
        files = [path for path in paths if path.is_file()]
        by_table = {int(f.stem.removeprefix("table")): runs.read_records(f) for f in files}
        if by_table:
            parts += [f"## Profile `{profile}`\n", f"{about}\n", f"{_at_a_glance(by_table)}\n"]
        for number in TABLES if by_table else ():
            absent = _left_out_corpora(number) if profile == "laptop" else ""
            if number in by_table or absent:
                parts.append(f"### Table {number}: {paper.table(number).title}\n")
            parts += _of_table(by_table.get(number, []), number)
            parts += [f"Not trained in this profile: {absent}.\n"] if absent else []
    if len(parts) == 1:
        parts.append("No table is kept here yet.\n")
    return "\n".join(parts)


def _of_table(records: Sequence[Record], number: int) -> list[str]:
    """What stands below a table's title; nothing of one that has no records."""
    if not records:
        return []
    parts, frame = [], table_of(records, number)
    for corpus, rows in rows_above_floors(frame).groupby("corpus", sort=False):
        of_corpus = (r["parameters"] for r in records)
        parameters = next(p for p in of_corpus if p["corpus"] == corpus)
        parts.append(_of_corpus(parameters, rows))
    ran = f"{len(records)} runs, {words.time(records)} of training on {words.device(records)}."
    return [*parts, f"{ran} {left_out(frame, number)}".rstrip() + "\n"]


def _of_corpus(parameters: Mapping[str, Any], rows: pd.DataFrame) -> str:
    """The rows of a corpus below its settings, without the columns that say nothing."""
    name, note = parameters["corpus"], parameters.get("corpus_note", "")
    rebuilt = BESIDES.get(name, "") if "training part" in note else ""
    how = " ".join(filter(None, [f"{words.settings(parameters)}, {_seeds(rows)}.", note, rebuilt]))
    cells = rows.drop(columns=["corpus", "seeds", "p", "the paper's"])  # the files have them
    models = cells.loc[cells["loss"] != "", "model"].unique()
    named = cells["loss"]
    if len(models) == 1:
        how = f"{models[0]}; {how}"
    else:  # a column for the model, and all of the paper's, would not fit a laptop
        named = cells["model"] + ", " + cells["loss"]
        cells = cells.drop(columns=["paper P", "paper R"], errors="ignore")
    # A floor has no loss, and its name where a row has its model.
    cells["loss"] = named.where(cells["loss"] != "", cells["model"])
    cells = cells.drop(columns="model")
    if len(models) > 1:
        cells = cells.rename(columns={"loss": "model, loss"})
    if printed := grid.printed(parameters):
        variant = "" if parameters["table"] == 10 else printed.variant
        how = f"{how} Paper: {printed.corpus_title} {variant}".strip() + "."
    cells = cells.loc[:, (cells != "").any()]
    return f"**{CORPORA[name].title}** (`{name}`): {how}\n\n{markdown(cells.to_dict('records'))}\n"


def _left_out_corpora(number: int) -> str:
    because: dict[str, dict[str, None]] = {}  # in order, and no name twice
    for corpus, why in LEFT_OUT.get(number, {}).items():
        because.setdefault(why, {})[CORPORA[corpus].paper] = None
    return "; ".join(f"{' and '.join(names)}, for {why}" for why, names in because.items())


def _seeds(rows: pd.DataFrame) -> str:
    seeds = rows["seeds"].iloc[0]
    return "one seed, which gives no interval" if seeds == "1" else f"{seeds} seeds"


def _at_a_glance(by_table: Mapping[int, Sequence[Record]]) -> str:
    """Dice minus cross entropy by table, and how many differences have an interval without zero."""
    every_gain, rows, fell = [], [], []
    for number, every in by_table.items():
        works = above_floors(every, number)
        records = [r for r in every if (*system_of(r), runs.loss_label(r)) in works]
        trained = dict.fromkeys((*system_of(r), runs.loss_label(r)) for r in every)
        fell += [
            f"{words.corpus(system[0])} (Table {number}, {runs.LOSS_WORDS[loss]})"
            for *system, loss in trained
            if loss in ("ce", "dl") and (*system, loss) not in works
            if works & {(*system, "ce"), (*system, "dl")}
        ]
        row = {"table": f"{number}, {paper.table(number).title}"}
        for way, split in (("at argmax", "test"), ("tuned", "test_tuned")):
            groups = [*scores(records, number, split).values()]
            if split == "test":
                every_gain += [
                    result.gain for group in groups for result in group.values() if result.gain
                ]
            gains = [
                group["dl"].gain.mean for group in groups if "dl" in group and group["dl"].gain
            ]
            if gains:
                row.setdefault("corpora × systems", str(len(gains)))
                ends = f" ({min(gains):z.1f} to {max(gains):z.1f})".replace(" ", "\u00a0")
                row[way] = f"{np.mean(gains):z.1f}{ends if len(gains) > 1 else ''}"
        rows += [row] if len(row) > 1 else []
    apart = f" Not in them, for one row of the two is left out: {', '.join(fell)}." if fell else ""
    above = sum(gain.low > 0 for gain in every_gain)
    below = sum(gain.high < 0 for gain in every_gain)
    return (
        "Dice minus cross entropy, in points: the mean over a table's corpora and systems, in "
        f"brackets the least and the most.{apart}\n\n{markdown(rows)}\n\n"
        f"Of {len(every_gain)} differences from cross entropy at argmax, {above} have an interval "
        f"above zero and {below} one below. Were no loss better than another, one interval in "
        f"twenty would still leave zero out: here about {len(every_gain) / 20:.0f}."
    )

"""Write docs/tables.md, what the paper's rows need and what small models gave.

    python -m tools.tables

The first part is computed from the grid, the second from ``results/reproduced/laptop``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from dicelab.corpora.registry import CORPORA
from dicelab.records import paper, runs
from dicelab.records.runs import markdown
from reproduce import estimate, grid, memory
from reproduce.comparisons import TABLES
from reproduce.profiles import LEFT_OUT
from reproduce.tables import (
    ABOVE,
    FLOORS,
    TITLES,
    Record,
    above_floors,
    metric_of,
    rows_above_floors,
    scores,
    system_of,
    table_of,
)

ROOT = Path(__file__).resolve().parents[1]

#: What differs from the paper's runs as far as these are known, by table.
DIFFERS = {
    3: "Words are predicted, character by character; the paper does not say whether they were "
    "given. CTB5's and CTB6's splits are those of the literature. No script of this table "
    "was released.",
    4: "Each word has one tag, so that F1 is accuracy; in print the two differ. The encoder's size "
    "is not printed, nor was a script released: BERT-base. Ritter's tweets are split by us.",
    5: "The released scripts, MSRA's focal one aside, leave the match head out (`start_and_end`) "
    "and train an answerability head, which the text does not mention; `paper` trains both, "
    "`default` the match head alone. Their batches count questions. The README of the released "
    "code gives 93.08 (focal) and 93.21 (dice) on CoNLL 2003, 91.12 and 92.01 on OntoNotes 5.0, "
    "95.62 and 96.52 on MSRA, 83.19 and 84.40 on OntoNotes 4.0. Their dice is that of a "
    "micro-batch, ours that of the whole step. It counts the question and the padding as "
    "negatives, and their heads have two layers; `paper` does the same. Sentences longer than "
    "their limit are cut there and read in windows here. The questions are ours: those of BERT-MRC "
    "are annotation guidelines.",
    6: "The released scripts choose a position with cross entropy and decide with any other loss, "
    "which changes two things at once; here each loss is trained both ways. Their "
    "evaluation takes the best F1 of all predictions on the development set, which is the reported "
    "set: of 16 for cross entropy and focal loss, of 40 for dice. Chapter 15 shows what that adds. "
    "Their heads have two layers, as in `paper`. Their SQuAD is "
    "BERT-large or BERT-base, uncased (the README has a dice F1 of 88.73 for the base one). No "
    "script for XLNet, SQuAD 2.0 with focal or dice, or Quoref was released.",
    7: "The printed baselines are those of GLUE's development sets. The scripts for MRPC, "
    "BERT-large, note a test F1 of 87.98 with cross entropy, 88.35 with focal loss and 88.98 with "
    "dice. Here MRPC is "
    "scored on its test set, QQP on GLUE's development set. QQP's script of cross entropy is of "
    "the uncased encoder; those of focal loss and dice are of the cased one. No script for XLNet "
    "was released.",
    8: "The sets cannot all have the sizes and shares that are printed, see chapter 15; "
    "`data_scripts.augment_pairs` says which it keeps. New names come from Faker unless you have a "
    "list of DBpedia's.",
    9: "The text says BERT-large. Sentences, not GLUE's phrases. No script was released.",
    10: "The losses are Tversky's at nine weights, beside cross entropy, which the paper does not "
    "print. The models are not named: for OntoNotes 4.0 BERT-MRC, for Quoref BERT, whose numbers "
    "at 0.5 are those of Tables 5 and 6.",
}
NEEDS = """\
# The paper's tables

**For** people who want to know what a table of the paper costs, and what small models gave.

[Reproducing a table](reproduce.md) says how to run one. `make tables` writes this page.

## What the rows need

Put `make reproduce PROFILE=paper` before a command. It trains every loss that the paper prints for
the corpus, and its baseline, with the settings of the released scripts as far as there are any.
With `LOSS=ce,dsc` it trains two of them. The table that comes out has what the paper prints beside
each row, and each record names its script. Rows of other systems are cited in print and not run.

- *Hours* are those of the whole command on one H100. They are computed, not measured: we measured
  how long a training step of an encoder takes there (the records' `gpu/speed.json`, random weights,
  the mean of the squared outputs in place of a loss of this library, because a loss takes less
  than a hundredth of the step). A step of BERT-base takes at least {base:.0f} milliseconds, and
  one of BERT-large at least {large:.0f}, however few sub-words it holds. With enough to do,
  BERT-large trains on {bf16:,.0f} sub-words a second in bf16 and on {fp32:,.0f} in fp32. We add
  {scoring:.0%} for scoring, and a third where activations are recomputed. `make estimate TABLE=5
  PROFILE=paper` measures your machine instead.
- *GB* is an estimate: the least memory of the card that the runs of the command need; what they
  take if nothing is divided and all inputs are as long as they may be; and after the plus the disk
  of two checkpoints, which are removed when a run is done.

The scripts accumulate small batches: OntoNotes 5.0's script for focal loss takes 12 batches of 4
sentences a step. On an H100 each of them would take as long as a batch of 48. So a step here has
the script's whole batch at once.
"""
LAPTOP = """\
## What small models gave

These are the tables of `make reproduce PROFILE=laptop`, from parts of real corpora, with small
encoders, on a CPU in bfloat16. A run takes minutes, and differences of a point or two cannot be
seen. All losses have one learning rate and few steps, in which a loss that learns faster is ahead;
[chapter 17](../notebooks/17_when_does_dice_help.ipynb) gives each its own. Three seeds make wide
intervals, so look whether the corpora of a table agree.

Every run here starts with its output bias at 0, as in the paper's scripts. In short runs this
start costs cross entropy several points on entities, with a tuned threshold as well, and dice
hardly any. So a gain of dice below may be a gain of its start.

Scores are in percent, on the test split: the mean over three seeds with its 95% interval. *Minus
ce* is the difference from cross entropy on the same seeds, in points. *Tuned* has its threshold, or
the bias of the tag `O`, chosen on the validation split. *Paper minus ce* is what the paper prints
for the corpus of its own and a far larger encoder. *Rows* are the training examples. *Words alone*
is a dictionary of the training split for tags, a count of words for sentences, and the share of
common words for pairs; *the majority's answer* stands in its place where that scores higher.
Tversky's α prices false positives, its β false negatives; the α of self-adjusting dice is its
exponent.

A row is shown if each of its seeds is five points above both of these, at argmax or tuned, because
a system that has not learnt its task says nothing about losses. The other rows are named below
their table. `results/reproduced/laptop` has all of them, with precision, recall and the settings of
each run. SQuAD 1.1 is a rebuilt copy, in which the places of a tenth of the answers are guesses.
"""
#: Tables of small models that a chapter shows.
SHOWN = {10: ["[Chapter 14](../notebooks/14_tversky_weights.ipynb) shows it.\n"]}


def memory_of(job: grid.Job) -> tuple[float, float]:
    """Gigabytes that a job needs at least, and those that it takes undivided."""
    parameters = job.parameters
    size, length = memory.SIZES[parameters["encoder"]], parameters["max_length"]
    half = parameters.get("precision") != "fp32"
    whole = memory.gigabytes(size, parameters["batch_size"], length, half=half)
    if not memory.is_whole(parameters["system"], parameters["loss"]):
        return memory.gigabytes(size, 1, length, half=half), whole
    if size.kind == "xlnet":
        return whole, whole
    again = memory.gigabytes(size, parameters["batch_size"], length, recompute=True, half=half)
    return min(again, whole), whole


def needs(number: int) -> Iterator[dict[str, str]]:
    """A line for each corpus of a table: the command, and what it costs."""
    every = grid.jobs(number, "paper")
    for name in dict.fromkeys(job.comparison.corpus for job in every):
        jobs = grid.only(every, [name])
        cost = estimate.cost(jobs, estimate.assumed)
        least, most = zip(*map(memory_of, jobs), strict=True)
        yield {
            "command": f"`TABLE={number} CORPORA={name}`",
            "corpus": CORPORA[name].paper,
            "encoder": ", ".join(dict.fromkeys(job.parameters["encoder"] for job in jobs)),
            "hours": f"{cost.hours:.2g}",
            "GB": f"{max(least):.0f}–{max(most):.0f} + {cost.gigabytes:.0f}",
        }


def page() -> str:
    """The page, as Markdown."""
    steps = {size: 1e3 * seconds for size, seconds in estimate.LAUNCHES.items()}
    parts = [
        NEEDS.format(**steps, **estimate.FULL, scoring=estimate.SCORING - 1),
        markdown([line for number in TABLES for line in needs(number)]) + "\n",
        "## What is known to differ from the paper's runs\n",
        *(f"**Table {number}.** {DIFFERS[number]}\n" for number in TABLES),
        LAPTOP,
    ]
    by_table: dict[int, list[Record]] = {number: [] for number in TABLES}
    for record in runs.kept_records("reproduced/laptop"):
        by_table[record["parameters"]["table"]].append(record)
    by_table = {number: records for number, records in by_table.items() if records}
    parts.append(f"{at_a_glance(by_table)}\n")
    for number in TABLES:
        absent = _not_trained(number)
        if number in by_table or absent:
            parts.append(f"### Table {number}: {paper.table(number).title}\n")
        if number in by_table:
            parts += SHOWN.get(number) or laptop(by_table[number], number)
        parts += [f"Not trained: {absent}.\n"] if absent else []
    return "\n".join(parts)


def laptop(records: Sequence[Record], number: int) -> Iterator[str]:
    """The rows of a table above the floors, of all its corpora, and a sentence on the others."""
    frame, title = table_of(records, number), TITLES[metric_of(number)]
    sizes = {r["parameters"]["corpus"]: r["parameters"]["train_size"] for r in records}
    rows = []
    for corpus, of_corpus in rows_above_floors(frame).groupby("corpus", sort=False):
        of_corpus = _one_floor(of_corpus, title)
        models = of_corpus.loc[of_corpus["loss"] != "", "model"].nunique()
        for place, (_, row) in enumerate(of_corpus.iterrows()):
            parts = [row["model"] if models > 1 or not row["loss"] else "", row["loss"]]
            rows.append(
                {
                    "corpus": "" if place else f"`{corpus}`",
                    "rows": "" if place else f"{sizes[corpus]:,}",
                    "loss": ", ".join(filter(None, parts)),
                    title: row[title],
                    "minus ce": row["minus ce"],
                    "tuned": row.get(f"tuned {title}", ""),
                    "paper minus ce": row["paper minus ce"],
                }
            )
    if rows:
        filled = [name for name in rows[0] if any(row[name] for row in rows)]
        yield markdown([{name: row[name] for name in filled} for row in rows]) + "\n"
    gone = frame[frame[ABOVE] == "no"]
    named = (
        f"`{row['corpus']}`, {row['model']}, {row['loss']} {row[title].split()[0]}"
        for _, row in gone.iterrows()
    )
    if len(gone):
        yield f"Left out, of {(frame[ABOVE] != '').sum()} rows: {'; '.join(named)}.\n"


def _one_floor(rows: pd.DataFrame, title: str) -> pd.DataFrame:
    """The rows of a corpus with the higher floor alone."""
    floors = rows[rows["model"].isin(FLOORS.values())]
    best = floors[title].astype(float).sort_values(kind="stable").index[-1:]
    return rows.drop(index=floors.index.difference(best))


def at_a_glance(by_table: Mapping[int, Sequence[Record]]) -> str:
    """Dice minus cross entropy by table, and how many differences have an interval without zero."""
    every_gain, rows, fell = [], [], []
    for number, every in by_table.items():
        works = above_floors(every, number)
        records = [r for r in every if (*system_of(r), runs.loss_label(r)) in works]
        trained = dict.fromkeys((*system_of(r), runs.loss_label(r)) for r in every)
        fell += [
            f"`{system[0]}` (Table {number}, {runs.LOSS_WORDS[loss]})"
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


def _not_trained(number: int) -> str:
    because: dict[str, dict[str, None]] = {}  # in order, and no name twice
    for corpus, why in LEFT_OUT.get(number, {}).items():
        because.setdefault(why, {})[CORPORA[corpus].paper] = None
    return "; ".join(f"{' and '.join(names)}, for {why}" for why, names in because.items())


if __name__ == "__main__":
    target = ROOT / "docs" / "tables.md"
    target.write_text(page(), encoding="utf-8")
    print(target)

"""From here to the paper: for each printed row the command, what it costs, what to expect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dicelab.corpora.registry import CORPORA
from dicelab.records import paper
from dicelab.records.runs import markdown
from reproduce import estimate, grid, memory
from reproduce.comparisons import TABLES
from reproduce.scripts import scripts

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
INTRO = """\
# From here to the paper

This page has one line for each row that the paper prints for one of its losses or for its
baseline. The line gives the command that trains it with the settings of the paper's released
scripts, as far as there are any: put `make reproduce PROFILE=paper` before it. For a difference
from cross entropy name both losses, as in `LOSS=ce,dsc`. In `paper` each loss has settings of its
own. The profile `default` compares cross entropy and self-adjusting dice with the same budget
over three seeds. Rows of other systems are cited in print and are not run here. `python -m
tools.pages` writes this page.

- *Script* is the released script whose settings the row has, below `scripts/`, with its commit
  and what differs. `reproduce/scripts.toml` has the values of all scripts.
- *Expected* is what the paper prints.
- *Hours* are those of the whole command on one H100. They are computed, not measured: we measured
  how long a training step of an encoder takes there (`results/gpu/speed.json`, random weights,
  the mean of the squared outputs in place of a loss of this library, because a loss takes less
  than a hundredth of the step). A step of BERT-base takes at least {base:.0f} milliseconds, and
  one of BERT-large at least {large:.0f}, however few sub-words it holds. With enough to do,
  BERT-large trains on {bf16:,.0f} sub-words a second in bf16 and on {fp32:,.0f} in fp32. We add
  {scoring:.0%} for scoring, and a third where activations are recomputed. `make estimate TABLE=5
  PROFILE=paper` measures your machine instead.
- *Memory* is an estimate. The first number is the least that the runs of the command need, the
  second what they take if nothing is divided and all inputs are as long as they may be: 16 bytes
  a parameter for weights, gradients and AdamW, and the activations of all layers. Each run looks
  at its card and at its longest input first. If the batch of a step does not fit, it goes through
  the card in parts. A loss of the whole step, such as dice, holds the activations of all parts.
  Then they are recomputed instead, which XLNet cannot do. The losses are exact either way, up to
  rounding.
- *Disk* is two checkpoints, which are removed when a run is done.

The scripts accumulate small batches: OntoNotes 5.0's script for focal loss takes 12 batches of 4
sentences a step. On an H100 each of them would take as long as a batch of 48. So a step here has
the script's whole batch at once (*batch × accumulated* in the tables at the end of this page).
"""

# The columns of what the scripts say, in two tables.
TRAINED = (
    "encoder",
    "rate",
    "schedule",
    "warmup",
    "decay",
    "batch × accumulated",
    "passes",
)
WEIGHED = ("length", "dropout", "bits", "weights", "answerable", "loss")

SCRIPTS = """\
The values of `reproduce/scripts.toml`; a test holds every job of `paper` against those of the
script that its row names. Of cross entropy on entities, and of taggers, Quoref, XLNet and Tables 3,
4 and 9, no script was released.
"""


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


def jobs_of(row: paper.Row, profile: str = "paper") -> list[grid.Job]:
    """The jobs that a printed row stands beside, of all seeds; none for a cited system.

    In reading both ways of training are among them.
    """
    return [job for job in grid.jobs(row.table, profile) if grid.printed(job.parameters) == row]


def rows(number: int) -> Iterator[dict[str, str]]:
    """A line of the page for each printed row of a table that is run."""
    for row in paper.table(number).rows:
        jobs = jobs_of(row)
        if not jobs:
            continue
        # As the released reader: cross entropy chooses, the other losses decide.
        reader = "choice" if row.loss == "ce" else "decisions"
        job = next((j for j in jobs if j.comparison.system == reader), jobs[0])
        corpus = CORPORA[job.comparison.corpus]
        command = grid.only(grid.jobs(number, "paper"), [job.comparison.corpus], [row.loss])
        cost = estimate.cost(command, estimate.assumed)
        least, most = zip(*map(memory_of, command), strict=True)
        cells = {"f1": "F1", "em": "EM", "accuracy": "accuracy"}
        expected = (f"{name} {row.printed[c]}" for c, name in cells.items() if c in row.printed)
        yield {
            "row": " ".join(filter(None, [row.model, row.variant])),
            "corpus": row.corpus_title,
            "expected": ", ".join(expected),
            "command": f"`TABLE={number} CORPORA={job.comparison.corpus} LOSS={row.loss}`",
            "script": job.parameters["script"].removeprefix("scripts/"),
            "encoder": job.parameters["encoder"],
            "hours": f"{cost.hours:.2g}",
            "memory + disk, GB": f"{max(least):.0f}–{max(most):.0f} + {cost.gigabytes:.0f}",
            "licence": corpus.licence,
        }


def script_values() -> Iterator[dict[str, str]]:
    """A line for each released script with what it says, which the jobs that name it have."""
    for script in scripts().values():
        answerable = f"{script.answerable:g}" if script.weights else ""
        gpus = f" × {script.gpus} GPUs" if script.gpus > 1 else ""
        options = [f"γ {script.gamma:g}"] if script.gamma is not None else []
        if script.loss == "dice":
            squared = "squared" if script.square else "not squared"
            options = [f"α {script.alpha:g}", f"smooth {script.smooth:g}", squared]
            options += [f"{script.ohem:g} negatives per positive"] if script.ohem else []
        yield {
            "script": script.name.removeprefix("scripts/"),
            "encoder": script.encoder,
            "rate": f"{script.lr:g}",
            "schedule": script.schedule,
            "warmup": f"{script.warmup:g}",
            "decay": f"{script.decay:g}",
            "batch × accumulated": f"{script.batch} × {script.accumulate}{gpus}",
            "passes": str(script.epochs),
            "length": str(script.length),
            "dropout": f"{script.dropout:g}",
            "bits": str(script.precision),
            "weights": ", ".join(f"{weight:g}" for weight in script.weights),
            "answerable": answerable,
            "loss": ", ".join(options),
        }


def page() -> str:
    """The page, as Markdown."""
    steps = {size: 1e3 * seconds for size, seconds in estimate.LAUNCHES.items()}
    parts = [INTRO.format(**steps, **estimate.FULL, scoring=estimate.SCORING - 1)]
    for number in TABLES:
        title = paper.table(number).title
        parts.append(f"## Table {number}: {title}\n\n{_of_table(list(rows(number)))}\n")
        parts.append(f"**What is known to differ.** {DIFFERS[number]}\n")
    parts.append(f"## What the scripts say\n\n{SCRIPTS}")
    values = list(script_values())
    for names in (TRAINED, WEIGHED):
        parts.append(markdown([{"script": v["script"], **_some(v, names)} for v in values]) + "\n")
    return "\n".join(parts)


def _of_table(lines: list[dict[str, str]]) -> str:
    """The lines as a table; below it what is the same in many of them."""
    licences = {line["corpus"]: line["licence"] for line in lines}
    notes = [
        "**Licences.** " + "; ".join(f"{c}: {licence}" for c, licence in licences.items()) + "."
    ]
    names = [name for name in lines[0] if name != "licence"]
    if len(encoders := {line["encoder"] for line in lines}) == 1:
        names.remove("encoder")
        notes.append(f"**Encoder.** {encoders.pop()}.")
    else:  # there is room for one of the two
        names.remove("corpus")
        lines = [{**line, "row": f"{line['row']}, {line['corpus']}"} for line in lines]
    return "\n\n".join([markdown([_some(line, names) for line in lines]), *notes])


def _some(line: dict[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: line[name] for name in names}

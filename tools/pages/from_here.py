"""From here to the paper: for each printed row the command, what it costs, what to expect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dicelab.corpora.registry import CORPORA
from dicelab.records import paper
from dicelab.records.runs import markdown
from reproduce import estimate, grid
from reproduce.comparisons import TABLES
from reproduce.scripts import scripts

#: What differs from the paper's runs as far as these are known, by table.
DIFFERS = {
    3: "Words are predicted, character by character; the paper does not say whether they were "
    "given. CTB5's and CTB6's splits are those of the literature. No script of this table was "
    "released.",
    4: "Each word has one tag, so that F1 is accuracy; in print the two differ. The encoder's size "
    "is not printed, nor was a script released: BERT-base. Ritter's tweets are split by us.",
    5: "The released scripts, MSRA's focal one aside, leave the match head out (`start_and_end`) "
    "and train an answerability head, which the text does not mention; `paper` trains both, "
    "`default` the match head alone. Their batches count questions. The README of the released "
    "code gives 93.08 (focal) and 93.21 (dice) on CoNLL 2003, 91.12 and 92.01 on OntoNotes 5.0, "
    "95.62 and 96.52 on MSRA, 83.19 and 84.40 on OntoNotes 4.0. Their dice is that of a "
    "micro-batch, ours that of the whole step. Sentences longer than their limit are cut there and "
    "read in windows here. The questions are ours: those of BERT-MRC are annotation guidelines.",
    6: "The released scripts choose a position with cross entropy and decide with any other loss, "
    "which changes two things at once; here each loss is trained both ways. Their SQuAD is "
    "BERT-large or BERT-base, uncased (the README has a dice F1 of 88.73 for the base one). No "
    "script for XLNet, SQuAD 2.0 with focal or dice, or Quoref was released.",
    7: "The printed baselines are those of GLUE's development sets. The scripts for MRPC, "
    "BERT-large, note a test F1 of 87.98 with cross entropy, 88.35 with focal loss and 88.98 with "
    "dice. Here MRPC is "
    "scored on its test set, QQP on GLUE's development set. No script for XLNet was released.",
    8: "The sets cannot all have the sizes and shares that are printed, see chapter 15; "
    "`data_scripts.augment_pairs` says which it keeps. New names come from Faker unless you have a "
    "list of DBpedia's.",
    9: "The text says BERT-large. Sentences, not GLUE's phrases. No script was released.",
    10: "The losses are Tversky's at nine weights, beside cross entropy, which the paper does not "
    "print. The models are not named: for OntoNotes 4.0 BERT-MRC, for Quoref BERT, whose numbers "
    "at .5 are those of Tables 5 and 6.",
}
INTRO = """\
# From here to the paper

One line for each row that the paper prints for a loss of its own or its baseline, with the command
that runs it with the settings of the paper's released scripts, as far as there are any: put
`make reproduce PROFILE=paper` before it. Without `PROFILE` every loss gets the same budget and a
learning rate found on validation, over six seeds: that is the comparison to believe. For a
difference from cross entropy ask for both, as `LOSS=ce,dsc`. Rows of other systems are cited in
print and are not run here. `python -m tools.pages` writes this page.

*Script* is the released one, below `scripts/`, whose settings the row has, its commit and what
differs; `reproduce/scripts.toml` has all their values. *Expected* is what is printed. *Hours* are
those of the whole command on one GPU, at {base:,.0f} sub-words a second for a base encoder and
{large:,.0f} for a large one, an assumption about a recent GPU in half precision, not a
measurement: `make estimate TABLE=5 PROFILE=paper` measures your machine's. *Memory* is an
estimate for full batches, the most of the command's runs: 16 bytes a parameter for weights,
gradients and AdamW, and the activations of all layers in half precision. A loss of a whole step
holds its micro-batches; such runs recompute activations (`gradient_checkpointing`), which is
counted. *Disk* is two checkpoints, removed when a run is done.

An H100 in bf16 trained random weights in batches of 32 (`results/gpu/speed.json`): BERT-base on
64,000 sub-words a second with inputs of 96, BERT-large on 31,000 with inputs of 96 and 113,000 with
inputs of 320. With such batches the hours there are that much fewer. With small ones they need not
be: a step of BERT-large took about a tenth of a second with either length. At {large:,.0f} a second
that is time for 500 sub-words, and some of the scripts' batches hold fewer, such as the four
sentences of OntoNotes 5.0's.
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


def memory(
    encoder: str, batch: int, length: int, *, held: int = 1, checkpointing: bool = False
) -> float:
    """Gigabytes on a GPU.

    Args:
        encoder: one of `estimate.SHAPES`.
        batch: rows.
        length: sub-words of a row.
        held: micro-batches whose activations are held at a time.
        checkpointing: whether of a layer only its input is held, and the rest computed again.

    Source:
        Activations: Korthikanti et al. (2022), Equation 1, with 64 to a head.
    """
    layers, width, millions = estimate.SHAPES[encoder]
    layer = length * batch * (34 * width + 5 * (width // 64) * length)
    activations = held * layers * layer
    if checkpointing:
        activations = held * layers * length * batch * 2 * width + layer
    return (16e6 * millions + activations) / 1e9


def memory_of(job: grid.Job) -> float:
    """Gigabytes of a job with full batches."""
    given = job.parameters
    whole = given["system"] == "mrc" or given["loss"] in ("dl", "dsc", "tl")
    held = given.get("gradient_accumulation", 1) if whole else 1
    return memory(
        given["encoder"],
        given["batch_size"],
        given["max_length"],
        held=held,
        checkpointing=given.get("gradient_checkpointing", False),
    )


def jobs_of(row: paper.Row, profile: str = "default") -> list[grid.Job]:
    """The jobs that a printed row stands beside, of all seeds; none for a cited system.

    In reading both ways of training are among them.
    """
    return [job for job in grid.jobs(row.table, profile) if grid.printed(job.parameters) == row]


def rows(number: int) -> Iterator[dict[str, str]]:
    """A line of the page for each printed row of a table that is run."""
    for row in paper.table(number).rows:
        found = jobs_of(row, "paper")
        if not found:
            continue
        # As the released reader: cross entropy chooses, the other losses decide.
        reader = "choice" if row.loss == "ce" else "decisions"
        job = next((j for j in found if j.comparison.system == reader), found[0])
        corpus = CORPORA[job.comparison.corpus]
        command = grid.only(grid.jobs(number, "paper"), [job.comparison.corpus], [row.loss])
        cost = estimate.cost(command, estimate.assumed)
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
            "memory + disk, GB": f"{max(map(memory_of, command)):.0f} + {cost.gigabytes:.0f}",
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
            options += [f"{script.ohem:g} negatives a positive"] if script.ohem else []
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
    parts = [INTRO.format(**estimate.SPEED)]
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
    said = [
        "**Licences.** " + "; ".join(f"{c}: {licence}" for c, licence in licences.items()) + "."
    ]
    names = [name for name in lines[0] if name != "licence"]
    if len(encoders := {line["encoder"] for line in lines}) == 1:
        names.remove("encoder")
        said.append(f"**Encoder.** {encoders.pop()}.")
    else:  # there is room for one of the two
        names.remove("corpus")
        lines = [{**line, "row": f"{line['row']}, {line['corpus']}"} for line in lines]
    return "\n\n".join([markdown([_some(line, names) for line in lines]), *said])


def _some(line: dict[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: line[name] for name in names}

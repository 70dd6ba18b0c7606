"""From here to the paper: for each printed row the command, what it costs, what to expect."""

from __future__ import annotations

from collections.abc import Iterator

from dicebook.corpora.registry import CORPORA
from dicebook.reproduce import estimate, grid, paper
from dicebook.reproduce.lines import TABLES
from dicebook.reproduce.runs import markdown

#: Sub-words a second that training is taken to get through on one GPU, in half precision.
SPEED = {"base": 15_000.0, "large": 5_000.0}
#: What differs from the paper's runs as far as these are known, by table.
DIFFERS = {
    3: "Words are predicted, character by character; the paper does not say whether they were "
    "given. CTB5's and CTB6's splits are those of the literature. No script of this table was "
    "released.",
    4: "Each word has one tag, so that F1 is accuracy; in print the two differ. The encoder's size "
    "is not printed, nor was a script released: BERT-base. Ritter's tweets are split by us.",
    5: "The released scripts leave the match head out (`start_and_end`) and train an answerability "
    "head, which the text does not mention; `paper` trains both, `default` the match head alone. "
    "Their batches count questions. The official log of OntoNotes 4.0 has 84.40 for dice. The "
    "questions are ours: those of BERT-MRC are annotation guidelines.",
    6: "The released scripts choose a position with cross entropy and decide with any other loss, "
    "which changes two things at once; here each loss is trained both ways. Their SQuAD is "
    "BERT-base, uncased (official log: dice F1 88.73); the printed rows are those of BERT-large. "
    "No script for XLNet, SQuAD 2.0 with dice, or Quoref was released.",
    7: "The printed baselines are those of GLUE's development sets. The official logs for MRPC, "
    "BERT-large, have a test F1 of 87.98 with cross entropy and 88.98 with dice. Here MRPC is "
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
that runs it as the paper's released scripts do, as far as there are any: put `make reproduce
PROFILE=paper` before it. Without `PROFILE` every loss gets the same budget and a learning rate
found on validation, over five seeds: that is the comparison to believe. Rows of other systems are
cited in print and are not run here. `python -m docs.pages` writes this page.

*Expected* is what is printed. *Hours* are of one run at {base:,.0f} sub-words a second for a base
encoder and {large:,.0f} for a large one, an assumption about a recent GPU in half precision, not a
measurement: `make estimate TABLE=5 PROFILE=paper` measures your machine's. *Memory* is an estimate
for full batches: 16 bytes a parameter for weights, gradients and AdamW, and the activations of all
layers in half precision; `gradient_checkpointing` takes most of the latter away. *Disk* is two
checkpoints, removed when a run is done.
"""


def memory(encoder: str, batch: int, length: int) -> float:
    """Gigabytes on a GPU.

    Args:
        encoder: one of `estimate.SHAPES`.
        batch: rows.
        length: sub-words of a row.

    Source:
        Activations: Korthikanti et al. (2022), Equation 1, with 64 to a head.
    """
    layers, width, millions = estimate.SHAPES[encoder]
    activations = layers * length * batch * (34 * width + 5 * (width // 64) * length)
    return (16e6 * millions + activations) / 1e9


def jobs_of(row: paper.Row, profile: str = "default") -> list[grid.Job]:
    """The jobs that a printed row stands beside, of all seeds; none for a cited system.

    In reading both ways of training are among them.
    """
    jobs = grid.jobs(row.table, profile)
    return [job for job in jobs if grid.printed({"parameters": job.parameters}, profile) == row]


def rows(number: int) -> Iterator[dict[str, str]]:
    """A line of the page for each printed row of a table that is run."""
    for row in paper.table(number).rows:
        found = jobs_of(row, "paper")
        if not found:
            continue
        # As the released reader: cross entropy chooses, the other losses decide.
        reader = "choice" if row.loss == "ce" else "decisions"
        job = next((j for j in found if j.line.system == reader), found[0])
        given, corpus = job.parameters, CORPORA[job.line.corpus]
        encoder = job.line.encoder
        speed = SPEED["large" if "large" in encoder else "base"]
        cost = estimate.cost([job], lambda *_: speed)  # noqa: B023 - called at once
        cells = {"f1": "F1", "em": "EM", "accuracy": "accuracy"}
        expected = (f"{name} {row.printed[c]}" for c, name in cells.items() if c in row.printed)
        yield {
            "row": " ".join(filter(None, [row.model, row.variant])),
            "corpus": row.corpus_title,
            "expected": ", ".join(expected),
            "command": f"`TABLE={number} CORPORA={job.line.corpus}`",
            "encoder": encoder,
            "memory, GB": f"{memory(encoder, given['batch_size'], given['max_length']):.0f}",
            "hours": f"{cost.hours:.2g}",
            "disk, GB": f"{cost.gigabytes:.0f}",
            "licence": corpus.licence,
        }


def page() -> str:
    """The page, as Markdown."""
    parts = [INTRO.format(**SPEED)]
    for number in TABLES:
        title = paper.table(number).title
        parts.append(f"## Table {number}: {title}\n\n{markdown(list(rows(number)))}\n")
        parts.append(f"**What is known to differ.** {DIFFERS[number]}\n")
    return "\n".join(parts)

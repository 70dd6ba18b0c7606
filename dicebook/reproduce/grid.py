"""The runs behind the paper's tables: which there are, and what they cost.

The Snakefile asks here for the jobs; each is one papermill run of a chapter. From the command line:

    python -m dicebook.reproduce.grid estimate --table 5  # runs, hours and disk, before starting
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dicebook.corpora.registry import CORPORA

# First what matters most. The denominators of DL are squared in the paper, those of DSC in its
# scripts.
CONFIGURATIONS: list[tuple[str, dict[str, Any]]] = [
    ("ce", {}),
    ("dsc", {"alpha": 0.1, "squared": True}),
    ("dl", {}),
    ("fl", {}),
    ("wce", {}),
    ("dsc", {"alpha": 0.01, "squared": True}),
    ("tl", {"fp_weight": 0.3, "fn_weight": 0.7, "squared": False}),
]
# Table 10: the price of a false positive from .1 to .9, and cross entropy to compare with.
TVERSKY_WEIGHTS: list[tuple[str, dict[str, Any]]] = [
    ("ce", {}),
    *(
        ("tl", {"fp_weight": n / 10, "fn_weight": (10 - n) / 10, "squared": False})
        for n in range(1, 10)
    ),
]
PROFILES = ("default", "paper", "smoke")


@dataclass(frozen=True)
class Corpus:
    """A corpus of a table.

    Attributes:
        name: its name in `dicebook.corpora`.
        chapter: the chapter that trains on it.
        encoder: the encoder of the paper's rows, by its name on the hub.
        stand_in: the embedded corpus of the profile ``smoke``.
        million_tokens: sub-words of one pass over its training split, roughly, for the estimate.
        scripts: the hyperparameters of the paper's own scripts where it has some.
        printed_as: corpus and variant of the paper's rows; by default its name, and no variant.
    """

    name: str
    chapter: str
    encoder: str
    stand_in: str
    million_tokens: float
    scripts: Mapping[str, Any] = field(default_factory=dict)
    printed_as: tuple[str, str] | None = None


_BERT, _LARGE, _CHINESE = "bert-base-cased", "bert-large-cased", "bert-base-chinese"
_POS, _ENTITIES, _READING = "08_part_of_speech", "09_named_entities", "10_reading"
_PAIRS, _SENTIMENT = "11_paraphrases", "13_accuracy_tasks"


def _scripts(
    learning_rate: float, batch_size: int, accumulation: int, epochs: int
) -> dict[str, Any]:
    return {
        "learning_rate": learning_rate,
        "batch_size": batch_size,
        "gradient_accumulation": accumulation,
        "epochs": epochs,
    }


_ONTONOTES4 = Corpus(
    "ontonotes4_zh", _ENTITIES, _CHINESE, "embedded-entities-zh", 0.5, _scripts(2e-5, 8, 2, 5)
)
_QUOREF = Corpus("quoref", _READING, _BERT, "embedded-reading-en", 9)


def _qqp(variant: str, printed: str, million_tokens: float) -> Corpus:
    return Corpus(
        f"qqp_{variant}",
        _PAIRS,
        _BERT,
        "embedded-paraphrases-en",
        million_tokens,
        printed_as=("qqp", printed),
    )


TABLES: dict[int, tuple[Corpus, ...]] = {
    3: (
        Corpus("ctb5", _POS, _CHINESE, "embedded-pos-zh", 0.8),
        Corpus("ctb6", _POS, _CHINESE, "embedded-pos-zh", 1.1),
        Corpus("ud_zh", _POS, _CHINESE, "embedded-pos-zh", 0.16),
    ),
    4: (
        Corpus("wsj", _POS, _BERT, "embedded-pos-en", 1.1),
        Corpus("ritter", _POS, _BERT, "embedded-pos-en", 0.02),
    ),
    5: (
        Corpus(
            "conll03", _ENTITIES, _LARGE, "embedded-entities-en", 0.27, _scripts(3e-5, 36, 8, 10)
        ),
        Corpus(
            "ontonotes5", _ENTITIES, _LARGE, "embedded-entities-en", 1.4, _scripts(2e-5, 12, 6, 5)
        ),
        Corpus("msra", _ENTITIES, _CHINESE, "embedded-entities-zh", 2.0, _scripts(2e-5, 10, 3, 5)),
        _ONTONOTES4,
    ),
    6: (
        Corpus("squad11", _READING, _BERT, "embedded-reading-en", 15, _scripts(3e-5, 4, 5, 10)),
        Corpus("squad20", _READING, _BERT, "embedded-reading-en", 22),
        _QUOREF,
    ),
    7: (
        Corpus("mrpc", _PAIRS, _LARGE, "embedded-paraphrases-en", 0.2, _scripts(2e-5, 12, 1, 5)),
        Corpus("qqp", _PAIRS, _BERT, "embedded-paraphrases-en", 11),
    ),
    8: (
        _qqp("original", "original", 11),
        _qqp("plus_positive", "+ positive", 14),
        _qqp("plus_negative", "+ negative", 14),
        _qqp("minus_negative", "- negative", 8),
        _qqp("plus_both", "+ positive & negative", 14),
    ),
    9: (
        Corpus("sst2", _SENTIMENT, _BERT, "embedded-sentiment-en", 0.8),
        Corpus("sst5", _SENTIMENT, _BERT, "embedded-sentiment-en", 0.2),
    ),
    10: (_ONTONOTES4, _QUOREF),
}
# The model of each table to which the paper adds its losses.
BACKBONES = {
    3: "BERT-Tagger",
    4: "BERT-Tagger",
    5: "BERT-MRC",
    **dict.fromkeys((6, 7, 8, 9), "BERT"),
    10: "",
}
_LENGTH = {_POS: 256, _ENTITIES: 256, _READING: 384}
# What a chapter would do besides its one run.
_ALONE: dict[str, dict[str, Any]] = {_ENTITIES: {"reader_epochs": 0}, _SENTIMENT: {"seeds": 1}}
_EQUAL = {"learning_rate": 3e-5, "batch_size": 32, "epochs": 4}
_SMOKE = {"learning_rate": 2e-3, "batch_size": 16, "epochs": 1, "train_size": 64, "max_length": 96}


class GridError(ValueError):
    """A table or a profile that is not there, or a corpus that is missing."""


@dataclass(frozen=True)
class Job:
    """One papermill run of a chapter: one loss, one corpus, one seed.

    Attributes:
        table: the paper's table.
        chapter: the chapter's name.
        name: what tells the job from the others of its table; its folder.
        parameters: the chapter's parameters, without ``output_dir``.
    """

    table: int
    chapter: str
    name: str
    parameters: Mapping[str, Any]

    @property
    def record(self) -> str:
        """The job's record below its folder."""
        # The paper's baseline in reading is BERT's own reader, which chooses.
        chooses = "choice/" if self.parameters.get("by_choice") else ""
        return f"{chooses}{self.parameters['loss']}/record.json"

    def arguments(self, output_dir: str) -> list[str]:
        """The parameters as papermill takes them on its command line, in YAML."""
        values = {**self.parameters, "output_dir": output_dir}
        texts = (yaml.safe_dump({k: v}, default_flow_style=True) for k, v in values.items())
        return [argument for text in texts for argument in ("-y", text.strip())]


def jobs(table: int, profile: str = "default") -> list[Job]:
    """All runs of a table.

    Args:
        table: 3 to 10.
        profile: ``"default"``: the same hyperparameters for every loss, five seeds. ``"paper"``:
            those of the paper's scripts where they exist, one seed, as it seems to have had.
            ``"smoke"``: two losses for a moment on the embedded corpora, to see that all runs.

    Raises:
        GridError: naming the tables or profiles there are.
    """
    if table not in TABLES:
        raise GridError(f"expected a table of {', '.join(map(str, TABLES))}; got {table}")
    if profile not in PROFILES:
        raise GridError(f"expected a profile of {', '.join(PROFILES)}; got {profile!r}")
    losses = TVERSKY_WEIGHTS if table == 10 else CONFIGURATIONS
    seeds = range(5) if profile == "default" else range(1)
    found: dict[str, Job] = {}
    for corpus in TABLES[table]:
        settings: dict[str, Any] = {**_EQUAL, "max_length": _LENGTH.get(corpus.chapter, 128)}
        name, encoder = corpus.name, corpus.encoder
        if profile == "paper":
            settings |= corpus.scripts
        if profile == "smoke":
            settings, name, encoder = dict(_SMOKE), corpus.stand_in, "tiny"
        settings |= _ALONE.get(corpus.chapter, {})
        for loss, options in losses[: 2 if profile == "smoke" else None]:
            label = "-".join([loss, *(f"{key}={value}" for key, value in options.items())])
            for seed in seeds:
                parameters = {
                    "corpus": name,
                    "encoder": encoder,
                    "loss": loss,
                    "loss_options": options,
                    "seed": seed,
                    **settings,
                }
                if corpus.chapter == _READING:
                    parameters["by_choice"] = loss == "ce"
                job = Job(table, corpus.chapter, f"{name}/{label}/{seed}", parameters)
                found[job.name] = job  # two corpora of a table may share a stand-in
    return list(found.values())


def check(wanted: Iterable[Job], data: Path) -> None:
    """Check before anything starts that every corpus and every chapter is there.

    Args:
        wanted: the jobs.
        data: the folder of the corpora.

    Raises:
        GridError: naming all corpora that are missing and the commands that get them.
    """
    wanted = list(wanted)
    chapters = {job.chapter for job in wanted}
    missing = [name for name in sorted(chapters) if not Path(f"notebooks/{name}.ipynb").is_file()]
    if missing:
        raise GridError(f"no such chapter in notebooks: {', '.join(missing)}")
    names = dict.fromkeys(job.parameters["corpus"] for job in wanted)
    real = [name for name in names if not name.startswith("embedded-")]
    absent = [name for name in real if not (data / name / "card.json").is_file()]
    if absent:
        each = dict.fromkeys(CORPORA[name].command(data) for name in absent)
        commands = "\n".join(f"  {command}" for command in each)
        raise GridError(
            f"corpora that are not in {data}: {', '.join(absent)}. These commands get them, or say "
            f"which licensed files they need:\n{commands}"
        )


def estimate(
    wanted: Sequence[Job], *, tokens_per_second: float = 15_000, gigabytes_a_run: float = 2.6
) -> dict[str, float]:
    """What some jobs cost, roughly.

    Args:
        wanted: the jobs.
        tokens_per_second: sub-words that training gets through: 15,000 is what a BERT-base reaches
            in bf16 on a recent GPU; a large one has a third of it.
        gigabytes_a_run: disk for the checkpoints of a run, 2.6 for a BERT-base with two of them.

    Returns:
        ``runs``, ``hours`` on one device, ``gigabytes``.
    """
    size = {corpus.name: corpus.million_tokens for corpora in TABLES.values() for corpus in corpora}
    seconds = 0.0
    for job in wanted:
        million = size.get(job.parameters["corpus"], 0.01)
        slower = 3 if "large" in job.parameters["encoder"] else 1
        seconds += slower * job.parameters["epochs"] * million * 1e6 / tokens_per_second
    return {
        "runs": len(wanted),
        "hours": seconds / 3600,
        "gigabytes": gigabytes_a_run * len(wanted),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    cost = commands.add_parser("estimate", help="runs, hours and disk of a table")
    cost.add_argument("--table", type=int, required=True)
    cost.add_argument("--profile", default="default")
    cost.add_argument("--tokens-per-second", type=float, default=15_000)
    given = parser.parse_args(arguments)
    try:
        found = estimate(
            jobs(given.table, given.profile), tokens_per_second=given.tokens_per_second
        )
    except GridError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(
        f"Table {given.table}, profile {given.profile}: {found['runs']} runs, about "
        f"{found['hours']:.1f} hours on one device at {given.tokens_per_second:,.0f} "
        f"sub-words a second, {found['gigabytes']:.0f} GB of checkpoints"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""The runs behind the paper's tables: which there are, and what they need.

The Snakefile asks here for the jobs; each is one run of `reproduce.systems`. There is a
job for each loss and seed of a comparison of the paper, as a profile trains it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dicelab.corpora.registry import CORPORA
from dicelab.records import paper
from reproduce.comparisons import READERS, TABLES, Comparison, of_table
from reproduce.profiles import PROFILES


class GridError(ValueError):
    """A table or a profile that is not there, or no corpus for it."""


@dataclass(frozen=True)
class Job:
    """One run: a system, a corpus, a loss, a seed.

    Attributes:
        comparison: the rows of the paper that it belongs to.
        name: what tells the job from the others of its table; its folder.
        parameters: what `reproduce.systems.run` takes.
    """

    comparison: Comparison
    name: str
    parameters: Mapping[str, Any]

    @property
    def searched(self) -> str:
        """The folder of the search for its learning rate; empty where none is wanted."""
        return self.name.rpartition("/")[0] if self.parameters.get("rates") else ""

    @property
    def text(self) -> str:
        """The parameters as JSON."""
        return json.dumps(dict(self.parameters))


@cache
def comparisons(
    table: int, profile: str = "default", corpora: tuple[str, ...] = ()
) -> tuple[Comparison, ...]:
    """The comparisons of a table as a profile trains them.

    Args:
        table: 3 to 10.
        profile, corpora: see `jobs`.

    Raises:
        GridError: naming the tables or profiles there are.
    """
    if table not in TABLES:
        raise GridError(f"expected a table of {', '.join(map(str, TABLES))}; got {table}")
    if profile not in PROFILES:
        raise GridError(f"expected a profile of {', '.join(PROFILES)}; got {profile!r}")
    return tuple(
        trained
        for comparison in of_table(table)
        for trained in PROFILES[profile].select(comparison, corpora)
    )


def jobs(table: int, profile: str = "default", corpora: Sequence[str] = ()) -> list[Job]:
    """All runs of a table.

    Args:
        table: 3 to 10.
        profile: ``"paper"``: the hyperparameters and habits of the paper's scripts where they
            exist, one seed, as it seems to have had. ``"laptop"``: real corpora that everybody can
            get, in part, small encoders, three seeds. ``"default"``: cross entropy and
            self-adjusting dice with the same budget, each with the learning rate that a short
            search on validation finds for it, three seeds. ``"smoke"``: two losses for a moment on
            the embedded corpora, for tests.
        corpora: corpora of the paper that are trained on themselves, where the profile would take
            others in their place.

    Raises:
        GridError: naming the tables or profiles there are.
    """
    by_name: dict[str, Job] = {}
    trained = comparisons(table, profile, tuple(corpora))
    for seed in range(PROFILES[profile].seeds):
        for comparison in trained:
            for loss, options in comparison.losses:
                label = "-".join([loss, *(f"{key}={value}" for key, value in options.items())])
                read = comparison.system if comparison.system in READERS else ""
                model = (
                    "-".join(filter(None, [comparison.backbone.lower(), read])) or comparison.system
                )
                corpus, variant = comparison.prints
                if table == 10:
                    variant = f"alpha = {options.get('fp_weight')}"
                parameters = {
                    "table": table,
                    "system": comparison.system,
                    "backbone": comparison.backbone,
                    "corpus": comparison.corpus,
                    "encoder": comparison.encoder,
                    "loss": loss,
                    "loss_options": options,
                    "seed": seed,
                    **comparison.settings,
                    "habits": dict(comparison.habits),
                    "prints": [corpus, variant],
                    "script": comparison.script,
                }
                job = Job(comparison, f"{comparison.corpus}/{model}/{label}/{seed}", parameters)
                by_name.setdefault(job.name, job)  # comparisons of a table may share a stand-in
    return list(by_name.values())


def printed(parameters: Mapping[str, Any]) -> paper.Row | None:
    """The paper's row that a run stands beside: of the same or the replaced corpus.

    Args:
        parameters: those of a job, or of its record.

    Returns:
        The row, or None where the paper prints none, as for a loss of our own.
    """
    corpus, variant = parameters["prints"]
    table = paper.table(parameters["table"])
    return table.row(corpus, parameters["backbone"], parameters["loss"], variant)


def missing(table_jobs: Iterable[Job], data: Path) -> list[str]:
    """The corpora that are not prepared in a folder.

    Args:
        table_jobs: the jobs.
        data: the folder of the corpora.
    """
    names = dict.fromkeys(job.parameters["corpus"] for job in table_jobs)
    real = [name for name in names if not name.startswith("embedded-")]
    return [name for name in real if not (data / name / "card.json").is_file()]


def how_to_get(names: Sequence[str], data: Path) -> str:
    """For each corpus its licence and the command that gets it, or says which files it needs."""
    return "\n".join(dict.fromkeys(_how(name, data) for name in names))


def _how(name: str, data: Path) -> str:
    if name in CORPORA:
        corpus = CORPORA[name]
        return f"  {name}: {corpus.licence}\n    {corpus.command(data)}"
    source = name.partition("_")[0]
    return (
        f"  {name}: {CORPORA[source].licence}\n"
        f"    dicebook data augment_pairs --corpus {source} --out {data}"
    )


def only(
    table_jobs: Sequence[Job], corpora: Sequence[str] = (), losses: Sequence[str] = ()
) -> list[Job]:
    """The jobs of some corpora and losses; none is all.

    Raises:
        GridError: there are no jobs, or one of ``corpora`` or ``losses`` is none of theirs.
    """
    if not table_jobs:
        raise GridError(
            "the profile trains nothing of this table, see docs/tables.md for the reason; "
            "expected PROFILE=paper, or corpora of the paper by name, as CORPORA=qqp_original"
        )
    selected = list(table_jobs)
    for what, names in (("corpus", corpora), ("loss", losses)):
        known = list(dict.fromkeys(job.parameters[what] for job in table_jobs))
        if unknown := [name for name in names if name not in known]:
            many = {"corpus": "corpora", "loss": "losses"}[what]
            raise GridError(f"expected {many} of {', '.join(known)}; got {', '.join(unknown)}")
        selected = [job for job in selected if not names or job.parameters[what] in names]
    return selected


def runnable(
    table_jobs: Sequence[Job], data: Path, corpora: Sequence[str] = (), losses: Sequence[str] = ()
) -> list[Job]:
    """The jobs whose corpora are there.

    Args:
        table_jobs: the jobs of a table.
        data: the folder of the corpora.
        corpora: only these; none is all.
        losses: only these; none is all.

    Raises:
        GridError: no corpus is there, or as in `only`.
    """
    table_jobs = only(table_jobs, corpora, losses)
    absent = missing(table_jobs, data)
    available = [job for job in table_jobs if job.parameters["corpus"] not in absent]
    if not available:
        raise GridError(
            f"none of the table's corpora is in {data}. Under which licence they are, and the "
            f"commands that get them or say which files they need:\n{how_to_get(absent, data)}"
        )
    return available

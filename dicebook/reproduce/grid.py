"""The runs behind the paper's tables: which there are, and what they need.

The Snakefile asks here for the jobs; each is one run of `dicebook.reproduce.systems`. There is a
job for each loss and seed of a line of the paper, as a profile trains it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dicebook.corpora.registry import CORPORA
from dicebook.reproduce import paper
from dicebook.reproduce.lines import READERS, TABLES, Line, of_table
from dicebook.reproduce.profiles import PROFILES


class GridError(ValueError):
    """A table or a profile that is not there, or no corpus for it."""


@dataclass(frozen=True)
class Job:
    """One run: a system, a corpus, a loss, a seed.

    Attributes:
        line: the rows of the paper that it belongs to.
        name: what tells the job from the others of its table; its folder.
        parameters: what `dicebook.reproduce.systems.run` takes.
    """

    line: Line
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
def lines(table: int, profile: str = "default") -> tuple[Line, ...]:
    """The lines of a table as a profile trains them.

    Args:
        table: 3 to 10.
        profile: see `jobs`.

    Raises:
        GridError: naming the tables or profiles there are.
    """
    if table not in TABLES:
        raise GridError(f"expected a table of {', '.join(map(str, TABLES))}; got {table}")
    if profile not in PROFILES:
        raise GridError(f"expected a profile of {', '.join(PROFILES)}; got {profile!r}")
    return tuple(found for line in of_table(table) for found in PROFILES[profile].of(line))


def jobs(table: int, profile: str = "default") -> list[Job]:
    """All runs of a table.

    Args:
        table: 3 to 10.
        profile: ``"default"``: the same budget for every loss, each with the learning rate that a
            short search on validation finds for it, five seeds. ``"paper"``: the hyperparameters
            and habits of the paper's scripts where they exist, one seed, as it seems to have had.
            ``"laptop"``: real corpora that everybody can get, in part, small encoders, two seeds.
            ``"smoke"``: two losses for a moment on the embedded corpora, to see that all runs.

    Raises:
        GridError: naming the tables or profiles there are.
    """
    found: dict[str, Job] = {}
    trained = lines(table, profile)
    for seed in range(PROFILES[profile].seeds):
        for line in trained:
            for loss, options in line.losses:
                label = "-".join([loss, *(f"{key}={value}" for key, value in options.items())])
                read = line.system if line.system in READERS else ""
                model = "-".join(filter(None, [line.backbone.lower(), read])) or line.system
                parameters = {
                    "table": table,
                    "system": line.system,
                    "backbone": line.backbone,
                    "corpus": line.corpus,
                    "encoder": line.encoder,
                    "loss": loss,
                    "loss_options": options,
                    "seed": seed,
                    **line.settings,
                    "habits": dict(line.habits),
                }
                job = Job(line, f"{line.corpus}/{model}/{label}/{seed}", parameters)
                found.setdefault(job.name, job)  # lines of a table may share a stand-in
    return list(found.values())


def printed(record: Mapping[str, Any], profile: str = "default") -> paper.Row | None:
    """The paper's row for a run: the same or the replaced corpus, model, variant and loss.

    Args:
        record: a record of `dicebook.reproduce.systems`.
        profile: what it was run in.

    Returns:
        The row, or None where the paper prints none, as for a loss of our own.
    """
    given = record["parameters"]
    for line in lines(given["table"], profile):
        if (line.corpus, line.backbone) == (given["corpus"], given["backbone"]):
            corpus, variant = line.prints
            if line.table == 10:
                variant = f"alpha = {given['loss_options'].get('fp_weight')}"
            return paper.table(line.table).row(corpus, line.backbone, given["loss"], variant)
    return None


def missing(wanted: Iterable[Job], data: Path) -> list[str]:
    """The corpora that are not prepared in a folder.

    Args:
        wanted: the jobs.
        data: the folder of the corpora.
    """
    names = dict.fromkeys(job.parameters["corpus"] for job in wanted)
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
        f"    python -m data_scripts.augment_pairs --corpus {source} --out {data}"
    )


def of_corpora(wanted: Sequence[Job], corpora: Sequence[str] = ()) -> list[Job]:
    """The jobs of some corpora; none is all.

    Raises:
        GridError: one of ``corpora`` is none of the jobs'.
    """
    names = list(dict.fromkeys(job.parameters["corpus"] for job in wanted))
    unknown = [name for name in corpora if name not in names]
    if unknown:
        raise GridError(f"expected corpora of {', '.join(names)}; got {', '.join(unknown)}")
    return [job for job in wanted if not corpora or job.parameters["corpus"] in corpora]


def runnable(wanted: Sequence[Job], data: Path, corpora: Sequence[str] = ()) -> list[Job]:
    """The jobs whose corpora are there.

    Args:
        wanted: the jobs of a table.
        data: the folder of the corpora.
        corpora: only these; none is all.

    Raises:
        GridError: no corpus is there, or one of ``corpora`` is none of the table's.
    """
    wanted = of_corpora(wanted, corpora)
    absent = missing(wanted, data)
    there = [job for job in wanted if job.parameters["corpus"] not in absent]
    if not there:
        raise GridError(
            f"none of the table's corpora is in {data}. Under which licence they are, and the "
            f"commands that get them or say which files they need:\n{how_to_get(absent, data)}"
        )
    return there

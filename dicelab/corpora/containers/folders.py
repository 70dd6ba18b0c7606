"""Files and folders as tables by split: a file a split, shards, a text a file."""

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
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.registry import BESIDE, split_of
from dicelab.corpora.text import plain_name, read_bytes, text_of_bytes
from dicelab.corpora.trees import is_tree_file, read_trees

#: What ``save_to_disk`` of datasets leaves in a folder.
_SAVED = ("dataset_dict.json", "state.json")
_SHARD = re.compile(r"(.+)-(\d{5})-of-(\d{5})(\..+)?")
#: What some folders hold, and how it is written as a file that is read.
_WAYS = {
    ".ann": "write each .ann file as a JSON object a line in train.jsonl: "
    '{"text": "...", "spans": [[start, end, label]]}',
    "tags.txt": "write both files of a split as one, train.csv: pandas.DataFrame({'text': "
    "open('sentences.txt').read().split('\\n'), 'tags': open('tags.txt').read().split('\\n')})"
    ".to_csv('train.csv', index=False)",
}


def read_splits(path: Path, asked: Asked, notes: list[str]) -> dict[str, Table]:
    """The table of each split that a file or a folder has; a file alone is train.

    Args:
        path: a file, or a folder with a file a split, a text a file, or a data set of datasets.
        asked: what was said about it.
        notes: takes sentences about files that are left out.

    Raises:
        CorpusError: with file and line where one cannot be read; a folder has no file for train.
    """
    if not path.is_dir():
        return {"train": table_of(path, asked)}
    if any((path / name).is_file() for name in _SAVED):
        return _saved(path)
    if parts := _text_folders(path, asked):
        return parts
    files = split_files(path, notes, whole=asked.labelled)
    return {split: _joined(of_split, asked) for split, of_split in files.items()}


def split_files(
    folder: Path, notes: list[str] | None = None, *, whole: bool = True
) -> dict[str, list[Path]]:
    """The files of each split that a folder has, by the words in the names.

    Args:
        folder: with files; those named NAME-00000-of-00002 and so on are one split. Where all lies
            in one folder, as in a copy of a data set of the hub, that folder is read.
        notes: takes a sentence about files whose names say no split.
        whole: whether train must be among them.

    Raises:
        CorpusError: two files for one split, a shard is missing, or none for train.
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
        kinds = {(m := _SHARD.fullmatch(file.name)) and m.group(1, 3, 4) for file in files[split]}
        if len(files[split]) > 1 and (len(kinds) > 1 or None in kinds):
            raise CorpusError(
                f"{folder}: expected one file for {split}, got {files[split][0].name} and "
                f"{path.name}; put each text and its label into one row of one file"
            )
    for of_split in files.values():
        shard = _SHARD.fullmatch(of_split[0].name)
        if shard and len(of_split) != int(shard[3]):
            raise CorpusError(
                f"{folder}: expected {int(shard[3])} files as {of_split[0].name} says, got "
                f"{len(of_split)}"
            )
    inner = [path for path in folder.iterdir() if path.is_dir() and path.name[0] != "."]
    if not files and len(inner) == 1:
        return split_files(inner[0], notes, whole=whole)
    if "train" not in files and (whole or not files):
        names = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
        held = {path.name for path in folder.glob("**/*")}
        ways = (way for mark, way in _WAYS.items() if any(name.endswith(mark) for name in held))
        raise CorpusError(
            f"{folder}: expected a file whose name says train, such as train.tsv, or a folder of "
            f"texts for each class, got {names}" + "".join(f"; {way}" for way in ways)
        )
    if unknown and notes is not None:
        listing = short(", ".join(unknown), 200)
        notes.append(f"Left out, for the names say neither train, dev nor test: {listing}.")
    return files


def table_of(path: Path, asked: Asked) -> Table:
    """The table of one file, of tokens in lines, trees, or columns."""
    maybe_trees = asked.labelled and asked.task in (None, "sentences")
    if maybe_trees and plain_name(path).endswith(".txt") and is_tree_file(path):
        return of_dataset(str(path), read_trees(path), "sentiment trees")
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


def _text_folders(folder: Path, asked: Asked) -> dict[str, Table]:
    """Texts of a file each, in a folder a class, as they are or in folders train, dev and test."""
    inner = sorted(path for path in folder.iterdir() if path.is_dir())
    parts = {split: path for path in inner if (split := split_of(f"{path.name}.x"))}
    places = parts if "train" in parts else {"train": folder}
    tables = {split: _text_folder(path, asked) for split, path in places.items()}
    return {split: table for split, table in tables.items() if table}


def _text_folder(folder: Path, asked: Asked) -> Table | None:
    files = sorted(path for path in folder.glob("*/*") if path.is_file())
    files = [path for path in files if path.suffix in ("", ".txt") or path.stem.isdecimal()]
    classes = sorted({path.parent.name for path in files})
    unlabelled = [name for name in classes if name.lower() in ("unsup", "unlabeled", "unlabelled")]
    if len(classes) - len(unlabelled) < 2:
        return None
    rows: list[tuple[int, list[Any]]] = []
    for number, path in enumerate(files, 1):
        if path.parent.name not in unlabelled:
            data = read_bytes(path)
            text, _ = text_of_bytes(data, path, encoding=asked.encoding, errors="replace")
            rows.append((number, [" ".join(text.split()), path.parent.name]))
    form = "a text a file, a folder a class"
    form += "".join(f", without the folder {name}" for name in unlabelled)
    return Table(str(folder), ["text", "label"], rows, form=form)


def _saved(folder: Path) -> dict[str, Table]:
    from datasets import Dataset, load_from_disk

    try:
        dataset = load_from_disk(str(folder))
    except Exception as error:  # whatever arrow raises
        reason = short(str(error).strip().split("\n")[0])
        raise CorpusError(f"{folder}: expected a data set of datasets; {reason}") from None
    return of_splits(str(folder), {"train": dataset} if isinstance(dataset, Dataset) else dataset)


def of_splits(name: str, splits: Mapping[str, Any]) -> dict[str, Table]:
    """The splits of a ``datasets.DatasetDict`` as tables.

    Raises:
        CorpusError: it has no split for train.
    """
    parts: dict[str, Table] = {}
    for split, rows in splits.items():
        kind = split_of(f"{split}.x")
        if kind is not None:
            parts.setdefault(kind, of_dataset(f"{name}, {split}", rows, "a data set"))
    if "train" not in parts:
        raise CorpusError(f"{name}: expected a split train, got {', '.join(splits)}")
    return parts

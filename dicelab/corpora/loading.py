"""One door to every corpus: embedded, registered by name, or the reader's own files."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

import numpy as np
from datasets import Dataset, DatasetDict

from dicelab.corpora import embedded, shapes
from dicelab.corpora.columns import Asked
from dicelab.corpora.conll import read_parallel
from dicelab.corpora.delimited import read_labels, read_pairs, read_sentences
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.forms import check_task, to_dataset
from dicelab.corpora.registry import (
    BESIDE,
    CORPORA,
    EMBEDDED,
    REGISTERED,
    SPLITS,
    corpus_named,
    split_of,
)
from dicelab.corpora.squad import read_squad
from dicelab.corpora.trees import is_tree_file, read_trees

#: task -> the suffixes of its files; some corpora have their split as suffix (``eng.testa``).
_TABLES = (".tsv", ".csv", ".json", ".jsonl", ".ndjson", ".txt", ".parquet", ".xlsx", ".gz")
_SUFFIXES = {
    "tagging": (
        *(".conll", ".conllu", ".iob2", ".iob", ".bio", ".bmes", ".bioes", ".annotated"),
        *(".train", ".dev", ".test", ".testa", ".testb", *_TABLES),
    ),
    "reading": (".json", ".jsonl", ".ndjson", ".gz"),
    "pairs": _TABLES,
    "sentences": _TABLES,
    "labels": _TABLES,
}

#: A split as a folder of two files, a sentence a line.
_PARALLEL = ("sentences.txt", "tags.txt")


def load(
    name_or_path: str | PathLike[str],
    *,
    task: str,
    root: str | PathLike[str] | None = None,
    seed: int = 0,
) -> DatasetDict:
    """Load a corpus in the form of its task, with the splits train, validation and test.

    Args:
        name_or_path: An embedded corpus (``"embedded-entities-en"``), a registered one
            (``"wnut17"``; prepared before by ``dicebook data wnut17 --out data``), or a
            path of the reader's own. A path is one file, or a folder with a file a split whose
            names say which (``train.conll``, ``en_ewt-ud-dev.conllu``, ``eng.testa``), or for
            tagging a folder a split with ``sentences.txt`` and ``tags.txt``, and nothing else but
            notes and licences. A split that is not there gets one tenth of train, drawn
            by the seed; questions on the same paragraph stay together.
        task: ``"tagging"``, ``"reading"``, ``"pairs"``, ``"sentences"`` or ``"labels"``.
        root: Folder of the registered corpora; by default ``$DICEBOOK_DATA``, else ``./data``,
            else, for a notebook in a folder of the project, ``../data``.
        seed: Seed of the splits drawn here. An embedded corpus has all its splits.

    Returns:
        A ``datasets.DatasetDict`` whose rows have the task's form (``dicelab.corpora.FORMS``).

    Raises:
        CorpusError: The name is unknown, the corpus is not prepared yet, its task is another one,
            a folder has a file of which the split cannot be told, or a file of the corpus is not
            what it should be.
    """
    check_task(task)
    name = os.fspath(name_or_path)
    data = Path(root) if root is not None else data_folder()
    if name in CORPORA:
        corpus = corpus_named(name, task=task)
        if name in EMBEDDED:
            return embedded.load(name)
        if not _is_prepared(data / name, task):
            raise CorpusError(f"the corpus {name!r} is not in {data}; run: {corpus.command(data)}")
        return _load_folder(data / name, task, seed)
    path = Path(name)
    if path.is_dir():
        return _load_folder(path, task, seed)
    if path.is_file():
        return with_missing_splits({"train": read_file(path, task=task)}, task, seed)
    if os.sep not in name and (data / name).is_dir():
        return _load_folder(data / name, task, seed)
    valid = [n for n, t in {**EMBEDDED, **REGISTERED}.items() if t == task]
    raise CorpusError(
        f"unknown corpus {name!r}: expected a file, a folder, or for {task} one of "
        f"{', '.join(valid)}"
    )


def data_folder() -> Path:
    """Where the registered corpora are looked for; see ``root`` of :func:`load`."""
    if "DICEBOOK_DATA" in os.environ:
        return Path(os.environ["DICEBOOK_DATA"])
    here, above = Path("data"), Path("../data")
    return above if above.is_dir() and not here.is_dir() else here


def read_file(path: str | PathLike[str], *, task: str) -> Dataset:
    """Read one file by the reader that its suffix names.

    Args:
        path: For tagging ``.conllu``, ``.iob2`` (Universal NER), one of ``.conll``, ``.txt``,
            ``.bmes``, ``.testa`` and the like (token and tag in columns), or a table of tokens and
            tags or of texts and spans; for reading ``.json`` (SQuAD); for pairs, sentences and
            labels a table, or for sentences sentiment trees.
        task: One of ``FORMS``.

    Raises:
        CorpusError: The suffix does not belong to the task, or the reader refuses the file.
    """
    check_task(task)
    path = Path(path)
    if task == "tagging" and path.is_dir():
        return read_parallel(*(path / name for name in _PARALLEL))
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES[task]:
        raise CorpusError(
            f"{path}: expected for {task} a file ending in {', '.join(_SUFFIXES[task])}"
        )
    if task == "tagging":
        asked = Asked(task="tagging")
        table = shapes.read(path, asked)
        form = shapes.tagging_form(table, asked)
        if form is None:
            raise CorpusError(
                f"{path}: expected tagged sentences: a token a line, rows of tokens and tags, or "
                f"texts with spans; got the columns {', '.join(table.names[:20])}"
            )
        table = shapes.as_tagged(table, form)
        if table.bad:
            raise CorpusError(table.bad[0])
        return to_dataset({n: table.column(n) for n in ("tokens", "tags")}, task="tagging")
    if task == "reading":
        return read_squad(path)
    if task == "pairs":
        return read_pairs(path)
    if task == "labels":
        return read_labels(path)
    return read_trees(path) if suffix == ".txt" and is_tree_file(path) else read_sentences(path)


def _split_files(folder: Path, task: str) -> dict[str, Path]:
    """The file of each split that a folder has, told by the words in the files' names."""
    found: dict[str, Path] = {}
    unknown: list[str] = []
    for path in sorted(folder.iterdir()):
        parallel = task == "tagging" and all((path / name).is_file() for name in _PARALLEL)
        if not parallel and (not path.is_file() or BESIDE.fullmatch(path.name)):
            continue
        split = split_of(path.name)
        readable = parallel or path.suffix.lower() in _SUFFIXES[task]
        if not readable or split is None:
            unknown.append(path.name)
            continue
        if split in found:
            raise CorpusError(
                f"{folder}: expected one file for the split {split}, "
                f"got {found[split].name} and {path.name}"
            )
        found[split] = path
    if unknown:
        raise CorpusError(
            f"{folder}: expected for {task} files whose names say train, dev or test and end in "
            f"{', '.join(_SUFFIXES[task])}; got {', '.join(unknown[:8])}. Rename or remove it"
        )
    return found


def _is_prepared(folder: Path, task: str) -> bool:
    """Whether a script has finished here: its card is what it writes last."""
    if not folder.is_dir():
        return False
    splits = _split_files(folder, task)
    return set(splits) == set(SPLITS) or ("train" in splits and (folder / "card.json").is_file())


def _load_folder(folder: Path, task: str, seed: int) -> DatasetDict:
    files = _split_files(folder, task)
    if "train" not in files:
        names = ", ".join(sorted(p.name for p in folder.iterdir())[:8]) or "nothing"
        raise CorpusError(f"{folder}: expected a file whose name says train, got {names}")
    return with_missing_splits(
        {split: read_file(path, task=task) for split, path in files.items()}, task, seed
    )


def with_missing_splits(splits: dict[str, Dataset], task: str, seed: int) -> DatasetDict:
    """Draw each missing split from train: a tenth of its rows, or of its paragraphs.

    Args:
        splits: ``"train"``, and maybe ``"validation"`` and ``"test"``.
        task: One of ``FORMS``; questions on the same paragraph stay together.
        seed: Which rows are drawn depends on it, and on nothing else.

    Raises:
        CorpusError: Train has fewer than ten rows, or paragraphs, to draw from.
    """
    missing = [split for split in SPLITS if split not in splits]
    if missing:
        train = splits["train"]
        keys = train["context"][:] if task == "reading" else range(len(train))
        groups = list(dict.fromkeys(keys))
        tenth = len(groups) // 10
        if tenth == 0:
            raise CorpusError(
                f"expected 10 or more examples in train to draw {' and '.join(missing)} from, "
                f"got {len(groups)}"
            )
        order = np.random.default_rng(seed).permutation(len(groups))
        owner = {groups[i]: "train" for i in order}
        for number, split in enumerate(missing):
            owner.update({groups[i]: split for i in order[number * tenth : (number + 1) * tenth]})
        rows: dict[str, list[int]] = {split: [] for split in ["train", *missing]}
        for row, key in enumerate(keys):
            rows[owner[key]].append(row)
        for split in ["train", *missing]:
            splits[split] = train.select(rows[split])
    return DatasetDict({split: splits[split] for split in SPLITS})

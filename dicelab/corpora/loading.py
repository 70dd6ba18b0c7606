"""One door to every corpus: embedded, registered by name, or the reader's own files."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from os import PathLike
from pathlib import Path

import numpy as np
from datasets import Dataset, DatasetDict, concatenate_datasets

from dicelab.corpora import embedded
from dicelab.corpora.cells import Asked
from dicelab.corpora.containers.folders import split_files
from dicelab.corpora.drawing import draw
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.features import FORMS, check_task, to_dataset
from dicelab.corpora.files import Rows, read_source
from dicelab.corpora.labels import numbered
from dicelab.corpora.registry import CORPORA, EMBEDDED, REGISTERED, SPLITS, corpus_named
from dicelab.corpora.squad import read_squad


def load(
    name_or_path: str | PathLike[str],
    *,
    task: str,
    root: str | PathLike[str] | None = None,
    seed: int = 0,
    say: Callable[[str], None] = print,
) -> DatasetDict:
    """Load a corpus in the form of its task, with the splits train, validation and test.

    Args:
        name_or_path: An embedded corpus (``"embedded-entities-en"``), a registered one
            (``"wnut17"``; prepared before by ``dicebook data wnut17 --out data``), or a
            path of the reader's own: a file or a folder that ``dicebook fit`` reads, and for
            reading SQuAD's JSON. A folder has a file a split whose names say which
            (``train.conll``, ``en_ewt-ud-dev.conllu``, ``eng.testa``). Of a split that is not there
            15% of the rows, or fewer of very many, are drawn from train, of each class alike and by
            the seed, and equal texts stay together; of questions a tenth of the paragraphs.
        task: ``"tagging"``, ``"reading"``, ``"pairs"``, ``"sentences"`` or ``"labels"``.
        root: Folder of the registered corpora; by default ``$DICEBOOK_DATA``, else ``./data``,
            else, for a notebook in a folder of the project, ``../data``.
        seed: Seed of the splits drawn here. An embedded corpus has all its splits.
        say: Takes lines about how a path of the reader's own was read.

    Returns:
        A ``datasets.DatasetDict`` whose rows have the task's form (``dicelab.corpora.FORMS``).
        Labels that are words, or numbers with gaps, have become numbers from 0; of two classes 1 is
        the positive one, by its name or because it is rarer.

    Raises:
        CorpusError: The name is unknown, the corpus is not prepared yet, its task is another one,
            or a file of the corpus is not what it should be.
    """
    check_task(task)
    name = os.fspath(name_or_path)
    data = Path(root) if root is not None else data_folder()
    if name in CORPORA:
        corpus = corpus_named(name, task=task)
        if name in EMBEDDED:
            return embedded.load(name)
        if not is_prepared(data / name):
            raise CorpusError(f"the corpus {name!r} is not in {data}; run: {corpus.command(data)}")
        return with_missing_splits(_parts(data / name, task), task, seed)
    path = Path(name)
    if not path.exists() and os.sep not in name and (data / name).is_dir():
        path = data / name
    if path.exists():
        try:
            return _own(path, task, seed, say)
        except CorpusError as error:
            raise CorpusError(_without_options(str(error))) from None
    valid = [n for n, t in {**EMBEDDED, **REGISTERED}.items() if t == task]
    raise CorpusError(
        f"unknown corpus {name!r}: expected a file, a folder, or for {task} one of "
        f"{', '.join(valid)}"
    )


def data_folder() -> Path:
    """Where the registered corpora are looked for; see ``root`` of :func:`load`."""
    if "DICEBOOK_DATA" in os.environ:
        return Path(os.environ["DICEBOOK_DATA"])
    local, parent = Path("data"), Path("../data")
    return parent if parent.is_dir() and not local.is_dir() else local


def read_file(path: str | PathLike[str], *, task: str) -> Dataset:
    """Read one file, whole.

    Args:
        path: A file that ``dicebook fit`` reads; for reading SQuAD's JSON.
        task: One of ``FORMS``.

    Raises:
        CorpusError: The file is not what it should be, with its line, or is for another task.
    """
    check_task(task)
    parts = _parts(Path(path), task)
    if list(parts) != ["train"]:
        raise CorpusError(f"{path}: expected rows of one split, got {', '.join(parts)}")
    return parts["train"]


def _parts(path: Path, task: str) -> dict[str, Dataset]:
    """The splits that a path has, in the form of a task."""
    if task == "reading":
        files = split_files(path) if path.is_dir() else {"train": [path]}
        return {
            split: concatenate_datasets([read_squad(file) for file in of_split])
            for split, of_split in files.items()
        }
    contents = read_source(path, Asked(task=task))
    if task in ("pairs", "sentences"):
        numbered(contents.rows, None, contents.notes)
    return _datasets(contents.rows, task)


def _datasets(rows: Rows, task: str) -> dict[str, Dataset]:
    names = {name: "label" if name == "labels" else name for name in FORMS[task]}
    return {
        split: to_dataset({new: [row[n] for row in part] for new, n in names.items()}, task=task)
        for split, part in rows.items()
    }


def _own(path: Path, task: str, seed: int, say: Callable[[str], None]) -> DatasetDict:
    """A file or folder of the reader's own, and what is to be said of it."""
    if task == "reading":
        return with_missing_splits(_parts(path, task), task, seed)
    contents = read_source(path, Asked(task=task))
    notes, known = contents.notes, contents.rows["train"]
    if task in ("pairs", "sentences"):
        if len({row["label"] for row in known}) < 2:
            only = known[0]["label"]
            raise CorpusError(f"{path}: expected two classes in train, got {only!r} alone")
        labels, unseen = numbered(contents.rows, contents.positive, notes)
        classes = [*labels, *unseen]
        if task == "pairs" and len(classes) != 2:
            raise CorpusError(
                f"{path}: expected pairs of two classes, got {len(classes)}: "
                f"{', '.join(classes[:8])}; dicebook fit takes any number"
            )
        counts = Counter(row["label"] for rows in contents.rows.values() for row in rows)
        listing = ", ".join(f"{n} is {name!r} ({counts[n]})" for n, name in enumerate(classes[:20]))
        notes.append(f"The classes: {listing}" + (" and others." if classes[20:] else "."))
    parts = _datasets(draw(contents.rows, seed, notes), task)
    for line in (*contents.preview, *notes):
        say(_without_options(line))
    return DatasetDict({split: parts[split] for split in SPLITS})


def _without_options(sentence: str) -> str:
    """A sentence for a chapter, which has none of the options of ``dicebook fit``."""
    sentence = re.sub(r" \(--[^()]*\)", "", sentence)
    if " --" in sentence:
        sentence += ". In a chapter, name the columns text and label, or sentence1 and sentence2"
    return sentence


def is_prepared(folder: Path) -> bool:
    """Whether a script has finished here: its card is what it writes last."""
    try:
        splits = split_files(folder) if folder.is_dir() else {}
    except CorpusError:
        splits = {}
    return bool(splits) and (set(splits) == set(SPLITS) or (folder / "card.json").is_file())


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
        keys = train["context"][:] if task == "reading" else list(range(len(train)))
        groups = list(dict.fromkeys(keys))
        tenth = len(groups) // 10
        if tenth == 0:
            raise CorpusError(
                f"expected 10 or more examples in train to draw {' and '.join(missing)} from, "
                f"got {len(groups)}"
            )
        order = np.random.default_rng(seed).permutation(len(groups)).tolist()
        places = {groups[i]: place // tenth for place, i in enumerate(order)}
        for place, split in enumerate([*missing, "train"]):
            held = [n for n, key in enumerate(keys) if min(places[key], len(missing)) == place]
            splits[split] = train.select(held)
    return DatasetDict({split: splits[split] for split in SPLITS})

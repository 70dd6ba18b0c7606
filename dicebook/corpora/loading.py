"""One door to every corpus: embedded, registered by name, or the reader's own files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from os import PathLike
from pathlib import Path

import numpy as np
from datasets import Dataset, DatasetDict

from dicebook.corpora.errors import CorpusError
from dicebook.corpora.forms import check_task

SPLITS = ("train", "validation", "test")

#: name -> task, for every corpus that ``python -m data_scripts.NAME`` prepares.
REGISTERED: dict[str, str] = {
    "conll03": "tagging",
    "ontonotes5": "tagging",
    "ontonotes4_zh": "tagging",
    "msra": "tagging",
    "wnut17": "tagging",
    "wikigold": "tagging",
    "uner_zh_gsd": "tagging",
    "ctb5": "tagging",
    "ctb6": "tagging",
    "wsj": "tagging",
    "ud_zh": "tagging",
    "ud_en_ewt": "tagging",
    "ritter": "tagging",
    "squad11": "reading",
    "squad20": "reading",
    "quoref": "reading",
    "cmrc2018": "reading",
    "mrpc": "pairs",
    "qqp": "pairs",
    "sst2": "sentences",
    "sst5": "sentences",
}

#: The generators of ``dicebook.corpora.embedded`` and their tasks.
_GENERATORS = {
    "pos": "tagging",
    "entities": "tagging",
    "reading": "reading",
    "paraphrases": "pairs",
    "sentiment": "sentences",
}

#: name -> task, for the corpora that are made on the spot by a seeded generator.
EMBEDDED: dict[str, str] = {
    f"embedded-{kind}-{language}": task
    for language in ("en", "zh")
    for kind, task in _GENERATORS.items()
}

_SUFFIXES = {
    "tagging": (".conll", ".conllu", ".iob2", ".txt"),
    "reading": (".json",),
    "pairs": (".tsv", ".csv", ".jsonl"),
    "sentences": (".tsv", ".csv", ".jsonl"),
}

_SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "development": "validation",
    "test": "test",
    "testing": "test",
}


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
            (``"wnut17"``; prepared before by ``python -m data_scripts.wnut17 --out data``), or a
            path of the reader's own. A path is one file, or a folder with a file a split whose
            names say which (``train.conll``, ``en_ewt-ud-dev.conllu``). A split that is not there
            gets one tenth of train, drawn by the seed; questions on the same paragraph stay
            together.
        task: ``"tagging"``, ``"reading"``, ``"pairs"`` or ``"sentences"``.
        root: Folder of the registered corpora; by default ``$DICEBOOK_DATA``, else ``./data``,
            else, for a notebook in a folder of the project, ``../data``.
        seed: Seed of the embedded corpora and of splits drawn here.

    Returns:
        A ``datasets.DatasetDict`` whose rows have the task's form (``dicebook.corpora.FORMS``).

    Raises:
        CorpusError: The name is unknown, the corpus is not prepared yet, its task is another one,
            or a file of it is not what it should be.
    """
    check_task(task)
    name = os.fspath(name_or_path)
    data = Path(root) if root is not None else data_folder()
    if name in EMBEDDED:
        _check_same_task(name, EMBEDDED[name], task)
        return _load_embedded(name, seed)
    if name in REGISTERED:
        _check_same_task(name, REGISTERED[name], task)
        if not _is_prepared(data / name, task):
            raise CorpusError(
                f"the corpus {name!r} is not in {data}; run: "
                f"python -m data_scripts.{name} --out {data}"
            )
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
        path: ``.conll``, ``.txt`` (token and tag in columns), ``.iob2`` (Universal NER) or
            ``.conllu`` for tagging; ``.json`` (SQuAD) for reading; ``.tsv``, ``.csv`` or ``.jsonl``
            for pairs and sentences.
        task: One of ``FORMS``.

    Raises:
        CorpusError: The suffix does not belong to the task, or the reader refuses the file.
    """
    check_task(task)
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES[task]:
        raise CorpusError(
            f"{path}: expected for {task} a file ending in {', '.join(_SUFFIXES[task])}"
        )
    return _reader(path.suffix.lower(), task)(path)


def _reader(suffix: str, task: str) -> Callable[[Path], Dataset]:
    # Imported here, so that one kind of corpus never waits for the readers of another.
    if task == "tagging":
        from dicebook.corpora import conll, conllu

        if suffix == ".conllu":
            return conllu.read_conllu
        if suffix == ".iob2":
            return lambda path: conll.read_conll(path, **conll.UNIVERSAL_NER)
        return conll.read_conll
    if task == "reading":
        from dicebook.corpora.squad import read_squad

        return read_squad
    if task == "pairs":
        from dicebook.corpora.pairs import read_pairs

        return read_pairs
    from dicebook.corpora.sentences import read_sentences

    return read_sentences


def _load_embedded(name: str, seed: int) -> DatasetDict:
    from dicebook.corpora import embedded

    _, kind, language = name.split("-")
    made: DatasetDict = getattr(embedded, kind)(language=language, seed=seed)
    return made


def _check_same_task(name: str, actual: str, asked: str) -> None:
    if actual != asked:
        raise CorpusError(f"{name!r} is a corpus for {actual}, not for {asked}")


def _split_files(folder: Path, task: str) -> dict[str, Path]:
    """The file of each split that a folder has, told by the words in the files' names."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() not in _SUFFIXES[task] or not path.is_file():
            continue
        words = re.split(r"[^a-z]+", path.stem.lower())
        splits = {_SPLIT_NAMES[word] for word in words if word in _SPLIT_NAMES}
        for split in splits:
            if split in found:
                raise CorpusError(
                    f"{folder}: expected one file for the split {split}, "
                    f"got {found[split].name} and {path.name}"
                )
            found[split] = path
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
        raise CorpusError(
            f"{folder}: expected a file whose name says train and ends in "
            f"{', '.join(_SUFFIXES[task])}, got {names}"
        )
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

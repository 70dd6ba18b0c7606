"""From what a file holds to what a fit trains on: its splits, its classes, what is odd about it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, DatasetDict

from dicelab.corpora import embedded
from dicelab.corpora.cells import Asked
from dicelab.corpora.containers.binary import of_dataset
from dicelab.corpora.containers.folders import of_splits
from dicelab.corpora.drawing import draw, joined
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.files import Contents, of_tables, read_source
from dicelab.corpora.labels import MOST_LABELS, in_order, note_unseen, numbered
from dicelab.corpora.loading import load
from dicelab.corpora.registry import CORPORA, EMBEDDED, SPLITS
from dicelab.corpora.tags import is_entity_tag
from dicelab.fit.options import FitError, Options

#: Tags that say of a word that it is nothing that is looked for.
OUTSIDE = ("o", "0", "_", "-", "other", "none", "out", "outside", "false", "no", "ok", "correct")
BACKGROUND = 0.8  # of the words; a tag above it is the background, whatever its name


@dataclass(frozen=True)
class Data:
    """What a fit learns from and is scored on.

    Attributes:
        task: ``"tagging"``, ``"sentences"``, ``"pairs"`` or ``"labels"`` (several a sentence).
        splits: ``train``, ``validation`` and ``test``. Rows of ``tokens`` and ``tags``; of
            ``sentence`` (or ``sentence1`` and ``sentence2``) and ``label``, a number; or of
            ``sentence`` and ``labels``, a 0 or 1 for each.
        labels: names of the classes; the last of two is the positive one. Of tagging: the tags of
            the training split, the background first.
        columns: how a new table is read: ``text``, ``text2``, ``label``.
        notes: what was decided about the data, in sentences.
        preview: how each file was read, and its first rows as they were understood.
        unseen: classes of validation and test that train lacks; their numbers follow those of
            ``labels``.
        background: the tag of words that are nothing that is looked for; None where there is none.
    """

    task: str
    splits: DatasetDict
    labels: list[str]
    columns: dict[str, str]
    notes: list[str] = field(default_factory=list)
    preview: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    background: str | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of the rows of all splits; a fit goes on only with the same data."""
        digest = hashlib.sha256()
        for name in SPLITS:
            for row in self.splits[name]:
                digest.update(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace"))
        return digest.hexdigest()

    @property
    def entities(self) -> bool:
        """Whether the tags are those of entities, and not one class a word."""
        return self.task == "tagging" and all(map(is_entity_tag, self.labels))

    @property
    def binary(self) -> bool:
        """Whether there are two classes, of which the second is looked for."""
        return self.task in ("sentences", "pairs") and len(self.labels) == 2


def check_source(source: str) -> None:
    """Refuse a source that is not there.

    Raises:
        FitError: it is no file, no folder, no name of the hub and no corpus.
    """
    if not (source in CORPORA or source.startswith("hub:") or Path(source).exists()):
        raise FitError(
            "expected a file, a folder, hub:NAME or a corpus such as embedded-entities-en; found "
            f"no {source!r}"
        )


def read(options: Options) -> Data:
    """Read a source, take its task from its form, draw the splits that it lacks.

    Args:
        options: for the source and how its columns are called.

    Raises:
        CorpusError: a file is not what it should be, with file and line.
        FitError: there is too little to learn from.
    """
    source = options.source
    check_source(source)
    if source in CORPORA:
        contents = _registered(source)
    elif source.startswith("hub:"):
        contents = of_tables(_of_hub(source.removeprefix("hub:")), options.asked, [])
    else:
        contents = read_source(Path(source), options.asked)
    if contents.task == "tagging":
        return _tagged(contents, options)
    return (_several if contents.task == "labels" else _single)(contents, options)


def _registered(name: str) -> Contents:
    task = CORPORA[name].task
    if task == "reading":
        raise FitError(
            f"{name!r} is a corpus of questions; train on it with chapter 10: papermill "
            f"notebooks/10_reading.ipynb out.ipynb -p corpus {name}"
        )
    try:
        corpus = embedded.load(name) if name in EMBEDDED else load(name, task=task)
    except CorpusError as error:
        if not Path(name).exists():
            raise
        raise CorpusError(f"{error}; for the {name} that is here say ./{name}") from None
    parts = {split: of_dataset(f"{name}, {split}", corpus[split]) for split in SPLITS}
    contents = of_tables(parts, Asked(task=task), [])
    return replace(contents, notes=[], preview=contents.preview[-3:])


def _of_hub(name: str) -> dict[str, Any]:
    from datasets import load_dataset

    try:
        dataset = load_dataset(name)
    except Exception as error:  # whatever the hub's client raises
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FitError(f"hub:{name}: expected a data set of the hub; {reason}") from None
    return of_splits(f"hub:{name}", dataset)


def _background(contents: Contents, notes: list[str]) -> str | None:
    """The tag of words that are nothing that is looked for, if there is one."""
    words = Counter(tag for row in contents.rows["train"] for tag in row["tags"])
    if all(map(is_entity_tag, words)):
        return "O"
    if len(words) < 2:
        return None
    usual, many = words.most_common(1)[0]
    outside = [tag for tag, _ in words.most_common() if tag.lower() in OUTSIDE]
    if outside and words[outside[0]] > 0.25 * words.total():
        usual, many = outside[0], words[outside[0]]
    elif many <= BACKGROUND * words.total():
        return None
    notes.append(
        "The tags have no prefix such as B- and I-: words are scored one by one, and "
        f"{usual!r}, {many / words.total():.0%} of them, is the background, which F1 does not "
        "count."
    )
    if all(tag.isdecimal() for tag in words) and len(words) > 2:
        notes.append(
            "The tags are numbers; if they stand for B- and I- of entities, write their names."
        )
    return usual


def _tagged(contents: Contents, options: Options) -> Data:
    notes = contents.notes
    background = _background(contents, notes)
    splits = draw(contents.rows, options.seed, notes, background)
    known = {tag for row in splits["train"] for tag in row["tags"]}
    if len(known) < 2:
        raise FitError(
            f"expected at least two tags in train, got {', '.join(sorted(known)) or 'none'} alone"
        )
    for name in ("validation", "test"):
        unseen = Counter(tag for row in splits[name] for tag in row["tags"] if tag not in known)
        if unseen:
            note_unseen(name, unseen, "word", notes)
    labels = sorted(known, key=lambda tag: (tag != background, tag))
    return _made(contents, splits, labels, background=background)


def _single(contents: Contents, options: Options) -> Data:
    known = Counter(row["label"] for row in contents.rows["train"])
    if len(known) < 2:
        raise FitError(
            f"expected at least two classes in train, got {', '.join(map(repr, known))} alone"
        )
    has_validation = "validation" in contents.rows
    labels, unseen = numbered(contents.rows, options.positive or contents.positive, contents.notes)
    splits = draw(contents.rows, options.seed, contents.notes)
    held = {row["label"] for row in splits["validation"]}
    for number, label in enumerate(labels if len(labels) == 2 else ()):
        # A threshold is chosen between two classes, so that validation needs both.
        if number not in held and has_validation:
            raise FitError(
                f"expected rows labelled {label!r} in validation, got none, and a threshold is "
                "chosen on them; leave the validation file out to draw its rows from train"
            )
        if number not in held:
            raise FitError(
                f"expected at least 4 rows labelled {label!r}, so that train, validation and test "
                f"have some, got {known[label]}; label more rows"
            )
    return _made(contents, splits, labels, unseen=unseen)


def _several(contents: Contents, options: Options) -> Data:
    notes = contents.notes
    splits = draw(contents.rows, options.seed, notes)
    labels = in_order(Counter(label for row in splits["train"] for label in row["label"]))
    if len(labels) > MOST_LABELS or len(labels) < 2:
        raise FitError(
            f"expected from 2 to {MOST_LABELS} labels in train, got {len(labels)} (--label, "
            "--label-separator)"
        )
    columns = contents.columns["label"].split(",")
    if len(columns) > 1:
        named = [name for name in columns if name in labels]
        labels = [*named, *(label for label in labels if label not in named)]
    if not any(row["label"] for row in splits["validation"]):
        raise FitError(
            "expected rows with a label in validation, got none, and thresholds are chosen on "
            "them; leave the validation file out to draw its rows from train"
        )
    notes.append(f"A row may have several of {len(labels)} labels.")
    for name, part in splits.items():
        unseen: Counter[str] = Counter()
        for row in part:
            row_labels = set(row.pop("label"))
            row["labels"] = [int(label in row_labels) for label in labels]
            unseen.update(row_labels - set(labels))
        if unseen:
            listing = ", ".join(map(repr, sorted(unseen)))
            notes.append(
                f"Train has no row labelled {listing}, but {name} has: these labels are left out."
            )
    data = _made(contents, splits, labels)
    lacking = [label for label, n in class_counts(data)["test"].items() if not n]
    if lacking:
        most = 100 * (1 - len(lacking) / len(labels))
        notes.append(
            "A label without a row in test counts 0 in macro F1, as in scikit-learn: the most that "
            f"can be reached there is {most:.1f}."
        )
    return data


def _made(
    contents: Contents, splits: Mapping[str, list[dict[str, Any]]], labels: list[str], **more: Any
) -> Data:
    """The data, with notes on duplicates, rows in two splits, labels that one split lacks."""
    made = DatasetDict({name: Dataset.from_list(part) for name, part in splits.items()})
    told = contents.columns, contents.notes, contents.preview
    data = Data(contents.task, made, labels, *told, **more)
    texts = {name: [joined(row) for row in data.splits[name]] for name in SPLITS}
    twice = len(texts["train"]) - len(set(texts["train"]))
    if twice:
        data.notes.append(f"{twice:,} of {len(texts['train']):,} rows of train are duplicates.")
    if twice and data.task != "tagging":
        column = "labels" if data.task == "labels" else "label"
        labels_of: dict[str, set[str]] = {}
        for text, label in zip(texts["train"], data.splits["train"][column], strict=True):
            labels_of.setdefault(text, set()).add(str(label))
        torn = sum(len(labels_of[text]) > 1 for text in texts["train"])
        if torn:
            data.notes.append(
                f"{torn:,} rows of train contradict others: the same text has other labels."
            )
    for first, second in (("train", "test"), ("train", "validation"), ("validation", "test")):
        known = set(texts[first])
        overlap = sum(text in known for text in texts[second])
        if overlap:
            data.notes.append(
                f"{overlap:,} of {len(texts[second]):,} rows of {second} also occur in "
                f"{first}; scores on them say little about new text."
            )
    counts = class_counts(data)
    for name in SPLITS:
        lacking = [label for label, n in counts[name].items() if not n]
        if lacking:
            listing = ", ".join(map(repr, lacking[:8])) + (" and others" if lacking[8:] else "")
            data.notes.append(f"{name} has no row labelled {listing}.")
    return data


def class_counts(data: Data) -> dict[str, dict[str, int]]:
    """How often each class occurs, by split: entities by type, words by tag, or rows by label."""
    counts: dict[str, Counter[str]] = {}
    for name in SPLITS:
        split = data.splits[name]
        if data.entities:
            opening = (tag[2:] for tags in split["tags"] for tag in tags if tag[0] == "B")
            counts[name] = Counter(opening)
        elif data.task == "tagging":
            counts[name] = Counter(chain.from_iterable(split["tags"]))
        elif data.task == "labels":
            held = np.sum(split["labels"][:], axis=0)
            counts[name] = Counter(dict(zip(data.labels, held.tolist(), strict=True)))
        else:
            numbers = Counter(split["label"][:])
            names = [*data.labels, *data.unseen]
            counts[name] = Counter({label: numbers[i] for i, label in enumerate(names)})
    labels: Sequence[str] = list(dict.fromkeys(chain.from_iterable(counts.values())))
    if data.task == "tagging":
        labels = sorted(labels, key=lambda label: -counts["train"][label])
    return {name: {label: counts[name][label] for label in labels} for name in SPLITS}

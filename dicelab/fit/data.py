"""From a file to splits: what the task is, which rows train, and what is odd about them."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, DatasetDict

from dicelab.corpora import embedded
from dicelab.corpora.conll import UNIVERSAL_NER, read_conll
from dicelab.corpora.conllu import read_conllu
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.loading import load, split_of
from dicelab.corpora.registry import CORPORA, EMBEDDED, SPLITS
from dicelab.corpora.tags import is_entity_tag
from dicelab.corpora.text import read_lines
from dicelab.fit import tables
from dicelab.fit.options import FitError, Options

TAGGED = (".conll", ".conllu", ".iob2", ".iob", ".bio", ".bmes", ".bioes", ".annotated")
SHARE = 0.15  # of the rows, for each split that is drawn
LEAST = 20  # rows; with fewer no split would hold anything to score by
POSITIVES = ("1", "true", "yes", "y", "positive", "pos", "spam", "toxic", "hate")
_SCHEMES = ("IOB2", "IOB1", "IOBES")


@dataclass(frozen=True)
class Data:
    """What a fit learns from and is scored on.

    Attributes:
        task: ``"tagging"``, ``"sentences"``, ``"pairs"`` or ``"labels"`` (several a sentence).
        splits: ``train``, ``validation`` and ``test``. Rows of ``tokens`` and ``tags``; of
            ``sentence`` (or ``sentence1`` and ``sentence2``) and ``label``, a number; or of
            ``sentence`` and ``labels``, a 0 or 1 for each.
        labels: names of the classes; the last of two is the positive one. Of tagging: the tags of
            the training split, ``O`` first.
        columns: how a new table is read: ``text``, ``text2``, ``label``.
        notes: what was decided about the data, in sentences.
    """

    task: str
    splits: DatasetDict
    labels: list[str]
    columns: dict[str, str]
    notes: list[str] = field(default_factory=list)

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


def read(options: Options) -> Data:
    """Read a source, take its task from its form, draw the splits that it lacks.

    Args:
        options: for the source and how its columns are called.

    Raises:
        CorpusError: a file is not what it should be, with file and line.
        FitError: there is too little to learn from.
    """
    source = options.source
    if source in CORPORA:
        return _registered(source, options)
    if source.startswith("hub:"):
        return _from_hub(source.removeprefix("hub:"), options)
    path = Path(source)
    if path.is_dir():
        files = _files(path)
    elif path.is_file():
        files = {"train": path}
    else:
        raise FitError(
            "expected a file, a folder, hub:NAME or a corpus such as embedded-entities-en; found "
            f"no {source!r}"
        )
    first = files["train"]
    if first.suffix.lower() == ".json" and _is_squad(first):
        raise FitError(
            f"{first}: questions with answers in a text; train on them with chapter 10: papermill "
            f"notebooks/10_reading.ipynb out.ipynb -p corpus {source}"
        )
    if options.task == "tagging" or (options.task is None and _is_tagged(first)):
        if options.task is None:
            notes = [f"{first.name} has a token a line and blank lines between sentences: tagging."]
        else:
            notes = []
        return _tagged(
            {name: _read_tagged(file, options) for name, file in files.items()}, notes, options
        )
    wanted = [name for name in (options.text, options.text2, options.label) if name]
    read_as = {
        name: tables.read_table(file, delimiter=options.delimiter, wanted=wanted)
        for name, file in files.items()
    }
    return _from_tables(read_as, options)


def _files(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        split = split_of(path.name) if path.is_file() else None
        if split is None:
            continue
        if split in found:
            raise CorpusError(
                f"{folder}: expected one file for {split}, got {found[split].name} and {path.name}"
            )
        found[split] = path
    if "train" not in found:
        names = ", ".join(sorted(p.name for p in folder.iterdir())[:8]) or "nothing"
        raise CorpusError(f"{folder}: expected a file whose name says train, got {names}")
    return found


def _is_squad(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8") as file:
            return re.match(r'\s*\{.*"(data|version)"', file.read(2000), re.DOTALL) is not None
    except (OSError, UnicodeDecodeError):
        return False


def _is_tagged(path: Path) -> bool:
    """A token a line: short columns, as many in each line, and blank lines between sentences."""
    suffix = path.suffix.lower()
    if suffix in TAGGED:
        return True
    if suffix in (".csv", ".jsonl", ".ndjson", ".parquet", ".json"):
        return False
    lines = read_lines(path)[:500]
    while lines and not lines[-1].strip():
        lines.pop()
    while lines and not lines[0].strip():
        lines.pop(0)
    full = [line for line in lines if line.strip() and not line.startswith("-DOCSTART-")]
    if len(full) == len(lines) or not full:
        return False
    fields = [line.split("\t") if "\t" in full[0] else line.split() for line in full]
    same = sum(len(row) == len(fields[0]) for row in fields)
    one_word = sum(" " not in row[0].strip() for row in fields)
    return len(fields[0]) > 1 and min(same, one_word) > 0.9 * len(fields)


def _read_tagged(path: Path, options: Options) -> Dataset:
    if path.suffix.lower() == ".conllu":
        return read_conllu(path)
    if path.suffix.lower() == ".iob2":
        return read_conll(path, **UNIVERSAL_NER)
    columns: dict[str, int] = {}
    for name, asked in (("token_column", options.text), ("tag_column", options.label)):
        if asked is not None:
            if not asked.isdigit() or asked == "0":
                raise FitError(
                    f"{path}: a tagged file has no header; expected a column's number from 1, got "
                    f"{asked!r}"
                )
            columns[name] = int(asked) - 1
    return read_conll(path, separator=options.delimiter, **columns)  # type: ignore[arg-type]


def _registered(name: str, options: Options) -> Data:
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
    rows = {split: corpus[split] for split in SPLITS}
    if task == "tagging":
        return _tagged(rows, [], options)
    texts = ["sentence1", "sentence2"] if task == "pairs" else ["sentence"]
    columns = tables.Columns(texts, ["labels" if task == "labels" else "label"], [])
    read_as = {split: tables.from_dataset(f"{name}, {split}", part) for split, part in rows.items()}
    return _with_labels(read_as, columns, options)


def _from_hub(name: str, options: Options) -> Data:
    from datasets import load_dataset

    try:
        found = load_dataset(name)
    except Exception as error:  # whatever the hub's client raises
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FitError(f"hub:{name}: expected a data set of the hub; {reason}") from None
    parts: dict[str, tables.Table] = {}
    for split in found:
        kind = split_of(f"{split}.x")
        if kind is not None:
            parts.setdefault(kind, tables.from_dataset(f"hub:{name}, {split}", found[split]))
    if "train" not in parts:
        raise FitError(f"hub:{name}: expected a split train, got {', '.join(found)}")
    return _from_tables(parts, options)


def _tagged(parts: dict[str, Dataset], notes: list[str], options: Options) -> Data:
    rows = {name: part.to_list() for name, part in parts.items()}

    def rarest(part: list[dict[str, Any]]) -> list[str]:
        kinds = Counter(tag[2:] or tag for row in part for tag in set(row["tags"]) if tag != "O")
        return [
            min((t[2:] or t for t in row["tags"] if t != "O"), key=lambda k: kinds[k], default="")
            for row in part
        ]

    splits = _draw(rows, rarest, lambda row: " ".join(row["tokens"]), options.seed, notes)
    seen = {tag for row in splits["train"] for tag in row["tags"]}
    if len(seen) < 2:
        raise FitError(
            f"expected at least two tags in train, got {', '.join(sorted(seen)) or 'none'} alone"
        )
    labels = sorted(seen, key=lambda tag: (tag != "O", tag))
    data = Data("tagging", _dataset(splits), labels, {}, notes)
    _note_odd(data, lambda row: " ".join(row["tokens"]))
    return data


def _from_tables(parts: dict[str, tables.Table], options: Options) -> Data:
    first = parts["train"]
    columns = tables.choose(
        first, text=options.text, text2=options.text2, label=options.label, task=options.task
    )
    for table in parts.values():
        lacking = [n for n in (*columns.texts, *columns.labels) if n not in table.names]
        if lacking:
            raise CorpusError(
                f"{table.path}: expected the columns of {first.path}, "
                f"{', '.join(map(repr, lacking))} among them; got "
                f"{', '.join(map(repr, table.names))}"
            )
    return _with_labels(parts, columns, options)


def _with_labels(parts: dict[str, tables.Table], columns: tables.Columns, options: Options) -> Data:
    notes = list(columns.notes)
    texts = ["sentence"] if len(columns.texts) == 1 else ["sentence1", "sentence2"]
    several = _several(parts["train"], columns, options)
    rows: dict[str, list[dict[str, Any]]] = {}
    for split, table in parts.items():
        places = [table.names.index(name) for name in (*columns.texts, *columns.labels)]
        rows[split], bad = [], list(table.bad)
        for line, values in table.rows:
            picked = [values[place] for place in places]
            try:
                row = {
                    new: tables.text_of(table, line, value, old)
                    for new, value, old in zip(texts, picked, columns.texts, strict=False)
                }
                row["label"] = several(table, line, picked[len(texts) :])
            except CorpusError as error:
                bad.append(str(error))
                continue
            rows[split].append(row)
        if bad and not options.skip_bad:
            more = f"; {len(bad) - 1} more rows are bad, too" if len(bad) > 1 else ""
            raise CorpusError(f"{bad[0]}{more} (--skip-bad leaves bad rows out)")
        if bad:
            notes.append(f"{len(bad)} bad rows of {split} were left out. The first: {bad[0]}.")
        if not rows[split]:
            raise CorpusError(f"{table.path}: expected rows of text and label, got none")
    if isinstance(rows["train"][0]["label"], list):
        return _multi(rows, columns, texts, notes, options)
    return _single(rows, columns, texts, notes, options)


def _several(
    table: tables.Table, columns: tables.Columns, options: Options
) -> Callable[[tables.Table, int, list[Any]], Any]:
    """How the label of a row is read: one name, or a list of names."""
    if len(columns.labels) > 1:

        def of_columns(table: tables.Table, line: int, values: list[Any]) -> list[str]:
            found = []
            for name, value in zip(columns.labels, values, strict=True):
                told = tables.label_of(table, line, value, name).lower()
                if told not in ("0", "1", "true", "false", "yes", "no"):
                    raise CorpusError.at(
                        table.path, line, f"expected 0 or 1 in column {name!r}, got {told!r}"
                    )
                if told in ("1", "true", "yes"):
                    found.append(name)
            return found

        return of_columns
    (name,) = columns.labels
    place = table.names.index(name)
    cells = [values[place] for _, values in table.rows]
    sign = options.label_separator
    if options.task in (None, "labels") and sign is None:
        sign = tables.separator_of(cells)
    lists = any(isinstance(cell, list) for cell in cells)
    if lists or sign is not None or options.task == "labels":

        def of_list(table: tables.Table, line: int, values: list[Any]) -> list[str]:
            (cell,) = values
            if isinstance(cell, str):
                cell = [part for part in cell.split(sign) if part.strip()] if sign else [cell]
            if cell is None or (cell != [] and not isinstance(cell, list)):
                cell = [tables.label_of(table, line, cell, name)]
            return [tables.label_of(table, line, one, name) for one in cell]

        return of_list
    return lambda table, line, values: tables.label_of(table, line, values[0], name)


def _single(
    rows: dict[str, list[dict[str, Any]]],
    columns: tables.Columns,
    texts: list[str],
    notes: list[str],
    options: Options,
) -> Data:
    task = "sentences" if len(texts) == 1 else "pairs"
    kinds = len({row["label"] for row in rows["train"]})
    if kinds > tables.MOST_LABELS:
        raise FitError(
            f"expected a label of at most {tables.MOST_LABELS} kinds, got {kinds} in column "
            f"{columns.labels[0]!r}: is it the label? (--label)"
        )
    splits = _draw(rows, lambda part: [row["label"] for row in part], _joined, options.seed, notes)
    counts = Counter(row["label"] for row in splits["train"])
    labels = _in_order(counts)
    if len(labels) < 2:
        raise FitError(
            f"expected at least two classes in train, got {', '.join(map(repr, labels))} alone"
        )
    if len(labels) == 2:
        labels = _negative_first(labels, counts, options.positive, notes)
    elif options.positive is not None:
        raise FitError(
            f"--positive: expected two classes, got {len(labels)}: {', '.join(labels[:8])}"
        )
    index = {label: number for number, label in enumerate(labels)}
    for name, part in splits.items():
        for row in part:
            if row["label"] not in index:
                raise FitError(
                    f"expected in {name} the labels of train ({', '.join(labels[:8])}), got "
                    f"{row['label']!r}, which a model cannot learn"
                )
            row["label"] = index[row["label"]]
    if len(labels) == 2 and not any(row["label"] for row in splits["validation"]):
        raise FitError(
            f"expected rows labelled {labels[1]!r} in validation to choose a threshold by, got "
            "none; leave the validation file out, and its rows are drawn from train"
        )
    data = Data(task, _dataset(splits), labels, _kept(columns), notes)
    _note_odd(data, _joined)
    return data


def _multi(
    rows: dict[str, list[dict[str, Any]]],
    columns: tables.Columns,
    texts: list[str],
    notes: list[str],
    options: Options,
) -> Data:
    if len(texts) > 1:
        raise FitError("expected one text a row with several labels, got pairs (--text)")

    def rarest(part: list[dict[str, Any]]) -> list[str]:
        counts = Counter(label for row in part for label in row["label"])
        return [min(row["label"], key=lambda one: counts[one], default="") for row in part]

    splits = _draw(rows, rarest, _joined, options.seed, notes)
    labels = _in_order(Counter(label for row in splits["train"] for label in row["label"]))
    if len(labels) > tables.MOST_LABELS or len(labels) < 2:
        raise FitError(
            f"expected from 2 to {tables.MOST_LABELS} labels in train, got {len(labels)} (--label, "
            "--label-separator)"
        )
    if len(columns.labels) > 1:
        labels = [name for name in columns.labels if name in labels]
    notes.append(f"A row may have several of {len(labels)} labels.")
    unseen: Counter[str] = Counter()
    for part in splits.values():
        for row in part:
            told = set(row.pop("label"))
            row["labels"] = [int(label in told) for label in labels]
            unseen.update(told - set(labels))
    if unseen:
        shown = ", ".join(map(repr, sorted(unseen)))
        notes.append(f"Train has no row labelled {shown}, so these labels are left out.")
    data = Data("labels", _dataset(splits), labels, _kept(columns), notes)
    _note_odd(data, _joined)
    return data


def _kept(columns: tables.Columns) -> dict[str, str]:
    names = dict(zip(("text", "text2"), columns.texts, strict=False))
    return {**names, "label": ",".join(columns.labels)}


def _joined(row: Mapping[str, Any]) -> str:
    return "\t".join(str(row[c]) for c in ("sentence", "sentence1", "sentence2") if c in row)


def _in_order(labels: Mapping[str, int]) -> list[str]:
    numbers = all(label.lstrip("-").isdigit() for label in labels)
    return sorted(labels, key=lambda label: (int(label) if numbers else 0, label))


def _negative_first(
    labels: list[str], counts: Mapping[str, int], asked: str | None, notes: list[str]
) -> list[str]:
    if asked is not None:
        if asked not in labels:
            raise FitError(f"--positive: expected {labels[0]!r} or {labels[1]!r}, got {asked!r}")
        positive = asked
    else:
        usual = [label for label in labels if label.lower() in POSITIVES]
        positive = usual[0] if len(usual) == 1 else min(labels, key=lambda label: counts[label])
        why = "by its name" if len(usual) == 1 else "the rarer of the two"
        notes.append(f"The positive class is {positive!r}, {why} (--positive).")
    return [*(label for label in labels if label != positive), positive]


def _draw(
    rows: dict[str, list[dict[str, Any]]],
    stratum: Callable[[list[dict[str, Any]]], list[str]],
    key: Callable[[dict[str, Any]], str],
    seed: int,
    notes: list[str],
) -> dict[str, list[dict[str, Any]]]:
    """Draw what is missing from train: in proportion by stratum, equal texts on one side."""
    missing = [split for split in SPLITS if split not in rows]
    train = rows["train"]
    if not missing:
        return {split: rows[split] for split in SPLITS}
    if len(train) < LEAST:
        raise FitError(
            f"expected at least {LEAST} rows to draw {' and '.join(missing)} from, got {len(train)}"
        )
    groups: dict[str, list[int]] = {}
    for number, row in enumerate(train):
        groups.setdefault(key(row), []).append(number)
    members = list(groups.values())
    strata = stratum(train)
    by_stratum: dict[str, list[int]] = {}
    for number in np.random.default_rng(seed).permutation(len(members)).tolist():
        by_stratum.setdefault(strata[members[number][0]], []).append(number)
    drawn: dict[str, list[int]] = {split: [] for split in missing}
    for of_stratum in by_stratum.values():
        # A class of two or three rows trains; from four on each split that is drawn gets one.
        share = round(SHARE * len(of_stratum)) or int(len(of_stratum) > 2 * len(missing) - 1)
        for place, split in enumerate(missing):
            drawn[split] += of_stratum[place * share : (place + 1) * share]
    taken = {number for numbers in drawn.values() for number in numbers}
    notes.append(
        f"There was no {' and no '.join(missing)} split; {SHARE:.0%} of the rows were drawn for "
        f"{'each' if len(missing) > 1 else 'it'} (seed {seed})."
    )
    kept = {n: [m for number in numbers for m in members[number]] for n, numbers in drawn.items()}
    kept["train"] = [m for n, of in enumerate(members) if n not in taken for m in of]
    splits = {n: [train[i] for i in sorted(numbers)] for n, numbers in kept.items()}
    splits |= {split: part for split, part in rows.items() if split != "train"}
    for split in missing:
        if not splits[split]:
            raise FitError(f"expected enough rows to draw {split} from, got {len(train)}")
    return {split: splits[split] for split in SPLITS}


def _dataset(splits: Mapping[str, list[dict[str, Any]]]) -> DatasetDict:
    return DatasetDict({name: Dataset.from_list(part) for name, part in splits.items()})


def _note_odd(data: Data, key: Callable[[dict[str, Any]], str]) -> None:
    """Duplicates, rows in two splits, labels that one split lacks."""
    texts = {name: [key(row) for row in data.splits[name]] for name in SPLITS}
    twice = len(texts["train"]) - len(set(texts["train"]))
    if twice:
        data.notes.append(f"{twice} rows of train repeat another one.")
    for first, second in (("train", "test"), ("train", "validation"), ("validation", "test")):
        known = set(texts[first])
        both = sum(text in known for text in texts[second])
        if both:
            data.notes.append(
                f"{both} of {len(texts[second])} rows of {second} stand in {first}, too: scores on "
                "them say little about new text."
            )
    counts = class_counts(data)
    for name in SPLITS:
        lacking = [label for label, n in counts[name].items() if not n]
        if lacking:
            shown = ", ".join(map(repr, lacking[:8])) + (" and others" if lacking[8:] else "")
            data.notes.append(f"{name} has no row labelled {shown}.")


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
            counts[name] = Counter({label: numbers[i] for i, label in enumerate(data.labels)})
    labels: Sequence[str] = list(dict.fromkeys(chain.from_iterable(counts.values())))
    if data.task == "tagging":
        labels = sorted(labels, key=lambda label: -counts["train"][label])
    return {name: {label: counts[name][label] for label in labels} for name in SPLITS}

"""From a file to splits: what the task is, which rows train, and what is odd about them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, DatasetDict

from dicelab.corpora import embedded, shapes
from dicelab.corpora.columns import MOST_LABELS, Columns, by_split, choose, label_reader
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.loading import load
from dicelab.corpora.registry import CORPORA, EMBEDDED, SPLITS, split_of
from dicelab.corpora.tables import Table, is_missing, short, text_of
from dicelab.corpora.tags import is_entity_tag
from dicelab.fit.options import FitError, Options

SHARE = 0.15  # of the rows, for each split that is drawn
LEAST = 20  # rows; with fewer no split would hold anything to score by
POSITIVES = ("1", "true", "yes", "y", "positive", "pos", "spam", "toxic", "hate")
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
        seen: how each file was read, and its first rows as they were understood.
        unseen: classes of validation and test that train lacks; their numbers follow those of
            ``labels``.
        background: the tag of words that are nothing that is looked for; None where there is none.
    """

    task: str
    splits: DatasetDict
    labels: list[str]
    columns: dict[str, str]
    notes: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
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
        return _registered(source, options)
    if source.startswith("hub:"):
        return _from_hub(source.removeprefix("hub:"), options)
    path = Path(source)
    parts = shapes.read_text_folders(path, options.asked) if path.is_dir() else {}
    if parts:
        return _from_tables(parts, options)
    files = _files(path) if path.is_dir() else {"train": path}
    parts = {name: shapes.read(file, options.asked) for name, file in files.items()}
    if shapes.is_reading(parts["train"]):
        raise FitError(
            f"{files['train']}: questions with answers in a text; train on them with chapter 10: "
            f"papermill notebooks/10_reading.ipynb out.ipynb -p corpus {source}"
        )
    return _from_tables(parts, options)


def _files(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        split = split_of(path.name.removesuffix(".gz")) if path.is_file() else None
        if split is None:
            continue
        if split in found:
            raise CorpusError(
                f"{folder}: expected one file for {split}, got {found[split].name} and "
                f"{path.name}; put each text and its label into one row of one file"
            )
        found[split] = path
    if "train" not in found:
        names = ", ".join(sorted(p.name for p in folder.iterdir())[:8]) or "nothing"
        brat = any(path.suffix == ".ann" for path in folder.iterdir())
        form = '{"text": "...", "spans": [[start, end, label]]}'
        raise CorpusError(
            f"{folder}: expected a file whose name says train, such as train.tsv, or a folder of "
            f"texts for each class, got {names}"
            + f"; write each .ann file as a JSON object a line in train.jsonl: {form}"
            * brat
        )
    return found


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
    if task == "tagging":
        return _tagged({split: corpus[split].to_list() for split in SPLITS}, options)
    texts = ["sentence1", "sentence2"] if task == "pairs" else ["sentence"]
    columns = Columns(texts, ["labels" if task == "labels" else "label"], [])
    parts = {split: _of_dataset(f"{name}, {split}", corpus[split]) for split in SPLITS}
    return _with_labels(parts, columns, options)


def _from_hub(name: str, options: Options) -> Data:
    from datasets import load_dataset

    try:
        found = load_dataset(name)
    except Exception as error:  # whatever the hub's client raises
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FitError(f"hub:{name}: expected a data set of the hub; {reason}") from None
    parts: dict[str, Table] = {}
    for split in found:
        kind = split_of(f"{split}.x")
        if kind is not None:
            parts.setdefault(kind, _of_dataset(f"hub:{name}, {split}", found[split]))
    if "train" not in parts:
        raise FitError(f"hub:{name}: expected a split train, got {', '.join(found)}")
    return _from_tables(parts, options)


def _of_dataset(name: str, rows: Any) -> Table:
    """A split of a ``datasets`` data set; numbers of classes become their names."""
    names = list(rows.column_names)
    of_class = {n: getattr(rows.features[n], "names", None) for n in names}
    of_classes = {
        n: getattr(getattr(rows.features[n], "feature", None), "names", None) for n in names
    }

    def named(name: str, value: Any) -> Any:
        classes = of_class[name] or of_classes[name]
        if classes and type(value) is list:
            return [classes[v] if type(v) is int and v >= 0 else v for v in value]
        return classes[value] if classes and type(value) is int and value >= 0 else value

    values = zip(*(rows[n][:] for n in names), strict=True)
    table = [
        (n, [named(*of) for of in zip(names, row, strict=True)]) for n, row in enumerate(values, 1)
    ]
    return Table(name, names, table, form="a data set", objects=True)


def _from_tables(parts: dict[str, Table], options: Options) -> Data:
    seen = [f"{Path(t.path).name} ({name}): {t.form}." for name, t in parts.items()]
    notes: list[str] = []
    if len(parts) == 1:
        parts, column = by_split(parts["train"])
        if column:
            notes.append(f"Column {column!r} says which rows are train, validation and test.")
    asked = options.asked
    form = shapes.tagging_form(parts["train"], asked)
    if form is not None:
        tagged = {name: shapes.as_tagged(table, form) for name, table in parts.items()}
        seen = [f"{Path(t.path).name} ({name}): {t.form}." for name, t in tagged.items()]
        rows = {}
        for name, table in tagged.items():
            _say_bad(name, table.bad, options, notes)
            if not table.rows:
                raise CorpusError(f"{table.path}: expected tagged sentences, got none")
            rows[name] = [{"tokens": of[0], "tags": of[1]} for _, of in table.rows]
        notes.append(
            "The task is tagging: " + ("a tag a word." if form[0] != "spans" else "spans.")
        )
        data = _tagged(rows, options, notes)
        text = form[1][-2] if form[0] != "tagged" else ""
        return replace(data, seen=[*seen, *data.seen], columns={"text": text} if text else {})
    first = parts["train"]
    if options.task == "tagging":
        raise CorpusError(
            f"{first.path}: expected a token a line with blank lines between sentences, rows of "
            "tokens and tags, or texts with spans; got the columns "
            f"{short(', '.join(map(repr, first.names)), 400)}"
        )
    columns = choose(first, asked)
    for name, table in list(parts.items()):
        lacking = [n for n in (*columns.texts, *columns.labels) if n not in table.names]
        if lacking and name != "train" and lacking == columns.labels:
            notes.append(
                f"{Path(table.path).name} has no column {', '.join(map(repr, lacking))}, so it is "
                f"left out of {name}; dicebook predict reads it."
            )
            del parts[name]
        elif lacking:
            raise CorpusError(
                f"{table.path}: expected the columns of {first.path}, "
                f"{', '.join(map(repr, lacking))} among them; got "
                f"{', '.join(map(repr, table.names))}"
            )
    data = _with_labels(parts, replace(columns, notes=[*notes, *columns.notes]), options)
    return replace(data, seen=[*seen, *data.seen])


def _say_bad(split: str, bad: Sequence[str], options: Options, notes: list[str]) -> None:
    if bad and not options.skip_bad:
        more = f"; {len(bad) - 1} more rows are bad, too" if len(bad) > 1 else ""
        raise CorpusError(f"{bad[0]}{more} (--skip-bad leaves bad rows out)")
    if bad:
        notes.append(f"{len(bad)} bad rows of {split} were left out. The first: {bad[0]}.")


def _tagged(
    rows: dict[str, list[dict[str, Any]]], options: Options, notes: list[str] | None = None
) -> Data:
    notes = [] if notes is None else notes
    shown = [
        f"Row {n}: {short(' '.join(row['tokens']))} → {short(' '.join(row['tags']))}"
        for n, row in enumerate(rows["train"][:3], 1)
    ]
    words = Counter(tag for row in rows["train"] for tag in row["tags"])
    usual = words.most_common(1)[0][0] if words else ""
    share = words[usual] / max(1, words.total())
    entities = all(map(is_entity_tag, words))
    background = "O" if entities else None
    if not entities and len(words) > 1:
        outside = [tag for tag, _ in words.most_common() if tag.lower() in OUTSIDE]
        if outside and words[outside[0]] > 0.25 * words.total():
            usual, share = outside[0], words[outside[0]] / words.total()
            background = usual
        elif share > BACKGROUND:
            background = usual
    if background is not None and not entities:
        notes.append(
            f"The tags have no prefix such as B- and I-: words are scored one by one, and "
            f"{usual!r}, {share:.0%} of them, is the background, which F1 does not count."
        )
        if all(tag.isdecimal() for tag in words) and len(words) > 2:
            notes.append(
                "The tags are numbers; if they stand for B- and I- of entities, write their names."
            )

    def rarest(part: list[dict[str, Any]]) -> list[str]:
        def kind(tag: str) -> str:
            return tag[2:] if entities else tag

        kinds = Counter(kind(tag) for row in part for tag in set(row["tags"]) if tag != background)
        return [
            min(
                (kind(tag) for tag in row["tags"] if tag != background),
                key=lambda k: kinds[k],
                default="",
            )
            for row in part
        ]

    splits = _draw(rows, rarest, lambda row: " ".join(row["tokens"]), options.seed, notes)
    seen = {tag for row in splits["train"] for tag in row["tags"]}
    if len(seen) < 2:
        raise FitError(
            f"expected at least two tags in train, got {', '.join(sorted(seen)) or 'none'} alone"
        )
    for name in ("validation", "test"):
        unseen = Counter(tag for row in splits[name] for tag in row["tags"] if tag not in seen)
        if unseen:
            _note_unseen(name, unseen, "word", notes)
    labels = sorted(seen, key=lambda tag: (tag != background, tag))
    data = Data("tagging", _dataset(splits), labels, {}, notes, shown, background=background)
    _note_odd(data, lambda row: " ".join(row["tokens"]))
    return data


def _note_unseen(split: str, unseen: Mapping[str, int], what: str, notes: list[str]) -> None:
    shown = ", ".join(f"{label!r} ({n})" for label, n in list(unseen.items())[:8])
    notes.append(
        f"Train has no {what} labelled {shown}, but {split} has: a model cannot say it, so each "
        "counts as an error."
    )


def _with_labels(parts: dict[str, Table], columns: Columns, options: Options) -> Data:
    notes = list(columns.notes)
    texts = ["sentence"] if len(columns.texts) == 1 else ["sentence1", "sentence2"]
    read_label, told = label_reader(parts["train"], columns, options.asked)
    notes += told
    rows: dict[str, list[dict[str, Any]]] = {}
    for split, table in parts.items():
        places = [table.names.index(name) for name in (*columns.texts, *columns.labels)]
        rows[split], bad = [], list(table.bad)
        empty = 0
        for line, values in table.rows:
            if all(map(is_missing, values)):
                empty += 1
                continue
            picked = [values[place] for place in places]
            try:
                row = {
                    new: text_of(table, line, value, old)
                    for new, value, old in zip(texts, picked, columns.texts, strict=False)
                }
                row["label"] = read_label(table, line, picked[len(texts) :])
            except CorpusError as error:
                bad.append(str(error))
                continue
            rows[split].append(row)
        if (
            split != "train"
            and not rows[split]
            and all(is_missing(v) for n in columns.labels for v in table.column(n))
        ):
            del rows[split]
            notes.append(f"No row of {split} has a label, so that it is left out.")
            continue
        if empty:
            notes.append(f"{empty} rows of {split} have empty cells alone and are left out.")
        _say_bad(split, bad, options, notes)
        if not rows[split]:
            raise CorpusError(f"{table.path}: expected rows of text and label, got none")
    one = isinstance(rows["train"][0]["label"], list)
    if one:
        several = {label for part in rows.values() for row in part for label in row["label"]}
        if len(several) == 1 and not all(row["label"] for row in rows["train"]):
            (name,) = several
            notes.append(f"A row is labelled {name!r} or not: two classes.")
            for part in rows.values():
                for row in part:
                    row["label"] = name if row["label"] else f"not {name}"
            options = replace(options, positive=options.positive or name)
            one = False
    shown = [
        f"Row {n}: {short(_joined(row, ' | '))} → {row['label']!r}"
        for n, row in enumerate(rows["train"][:3], 1)
    ]
    data = (_multi if one else _single)(rows, columns, texts, notes, options)
    return replace(data, seen=shown)


def _single(
    rows: dict[str, list[dict[str, Any]]],
    columns: Columns,
    texts: list[str],
    notes: list[str],
    options: Options,
) -> Data:
    task = "sentences" if len(texts) == 1 else "pairs"
    known = Counter(row["label"] for row in rows["train"])
    if len(known) > MOST_LABELS or len(known) > max(2, 0.9 * len(rows["train"])) > 20:
        raise FitError(
            f"expected a label of at most {MOST_LABELS} kinds, got {len(known)} in column "
            f"{columns.labels[0]!r}: is it the label? (--label)"
        )
    for name in ("validation", "test"):
        other = {row["label"] for row in rows.get(name, [])} - set(known)
        if len(other) == 1 and all(row["label"] in other for row in rows[name]):
            notes.append(
                f"Every row of {name} is labelled {other.pop()!r}, which train lacks: as in GLUE "
                "it stands for no label, so that it is left out."
            )
            del rows[name]
    given = set(rows)
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
    unseen: Counter[str] = Counter()
    for name in ("validation", "test"):
        of = Counter(row["label"] for row in splits[name] if row["label"] not in counts)
        if of:
            _note_unseen(name, of, "row", notes)
        unseen += of
    names = [*labels, *sorted(unseen)]
    index = {label: number for number, label in enumerate(names)}
    for part in splits.values():
        for row in part:
            row["label"] = index[row["label"]]
    if len(labels) == 2:
        _both_classes(splits["validation"], labels, known, "validation" in given)
    data = Data(task, _dataset(splits), labels, _kept(columns), notes, unseen=names[len(labels) :])
    _note_odd(data, _joined)
    return data


def _both_classes(
    validation: list[dict[str, Any]], labels: list[str], known: Mapping[str, int], given: bool
) -> None:
    """A threshold is chosen between two classes, so that validation needs both."""
    held = {row["label"] for row in validation}
    for number, label in enumerate(labels):
        if number in held:
            continue
        if given:
            raise FitError(
                f"expected rows labelled {label!r} in validation to choose a threshold by, got "
                "none; leave the validation file out, and its rows are drawn from train"
            )
        raise FitError(
            f"expected at least 4 rows labelled {label!r}, so that train, validation and test "
            f"have some, got {known[label]}; label more rows"
        )


def _multi(
    rows: dict[str, list[dict[str, Any]]],
    columns: Columns,
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
    if len(labels) > MOST_LABELS or len(labels) < 2:
        raise FitError(
            f"expected from 2 to {MOST_LABELS} labels in train, got {len(labels)} (--label, "
            "--label-separator)"
        )
    if len(columns.labels) > 1:
        named = [name for name in columns.labels if name in labels]
        labels = [*named, *(label for label in labels if label not in named)]
    if not any(row["label"] for row in splits["validation"]):
        raise FitError(
            "expected rows with a label in validation to choose thresholds by, got none; leave the "
            "validation file out, and its rows are drawn from train"
        )
    notes.append(f"A row may have several of {len(labels)} labels.")
    for name, part in splits.items():
        unseen: Counter[str] = Counter()
        for row in part:
            told = set(row.pop("label"))
            row["labels"] = [int(label in told) for label in labels]
            unseen.update(told - set(labels))
        if unseen:
            shown = ", ".join(map(repr, sorted(unseen)))
            notes.append(
                f"Train has no row labelled {shown}, but {name} has: these labels are left out."
            )
    data = Data("labels", _dataset(splits), labels, _kept(columns), notes)
    _note_odd(data, _joined)
    lacking = [label for label, n in class_counts(data)["test"].items() if not n]
    if lacking:
        most = 100 * (1 - len(lacking) / len(labels))
        notes.append(
            "A label without a row in test counts 0 in macro F1, as in scikit-learn: the most that "
            f"can be reached there is {most:.1f}."
        )
    return data


def _kept(columns: Columns) -> dict[str, str]:
    names = dict(zip(("text", "text2"), columns.texts, strict=False))
    return {**names, "label": ",".join(columns.labels)}


def _joined(row: Mapping[str, Any], sign: str = "\t") -> str:
    return sign.join(str(row[c]) for c in ("sentence", "sentence1", "sentence2") if c in row)


def _in_order(labels: Mapping[str, int]) -> list[str]:
    numbers = all(label.lstrip("-").isdecimal() and label.isascii() for label in labels)
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
        if all(label.isdecimal() for label in labels) and "0" not in labels:
            usual = []  # of 1 and 2 either may be the one that is looked for
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
        tagged = "tokens" in train[0]
        raise FitError(
            f"expected at least {LEAST} {'sentences' if tagged else 'rows'} to draw "
            f"{' and '.join(missing)} from, got {len(train)}"
            + "; put a blank line after each sentence"
            * (tagged and len(train) == 1)
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
            raise FitError(
                f"expected enough different texts to draw {split} from, got {len(members)} in "
                f"{len(train)} rows"
            )
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
            names = [*data.labels, *data.unseen]
            counts[name] = Counter({label: numbers[i] for i, label in enumerate(names)})
    labels: Sequence[str] = list(dict.fromkeys(chain.from_iterable(counts.values())))
    if data.task == "tagging":
        labels = sorted(labels, key=lambda label: -counts["train"][label])
    return {name: {label: counts[name][label] for label in labels} for name in SPLITS}

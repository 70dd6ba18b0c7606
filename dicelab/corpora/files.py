"""Any file or folder as the rows of one task, and what was decided about them.

``dicebook fit`` and the chapters read through :func:`read_source`. Which of the files is which
split, and whether rows are tags, one label or several, is found here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dicelab.corpora import shapes
from dicelab.corpora.cells import Table, is_missing, short, text_of
from dicelab.corpora.classes import MOST_LABELS
from dicelab.corpora.columns import Asked, Columns, by_split, choose, label_reader
from dicelab.corpora.conll import read_parallel
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.registry import BESIDE, split_of
from dicelab.corpora.tables import of_dataset
from dicelab.corpora.text import plain_name
from dicelab.corpora.trees import is_tree_file, read_trees

#: A split as a folder of two files, a sentence a line.
_PARALLEL = ("sentences.txt", "tags.txt")
#: What ``save_to_disk`` of datasets leaves in a folder.
_SAVED = ("dataset_dict.json", "state.json")


@dataclass(frozen=True)
class Contents:
    """What a source holds.

    Attributes:
        task: ``"tagging"``, ``"sentences"``, ``"pairs"`` or ``"labels"``.
        rows: rows of ``"train"``, and maybe ``"validation"`` and ``"test"``: ``tokens`` and
            ``tags``; or ``sentence`` (``sentence1`` and ``sentence2``) and ``label``, a name, of
            the task labels a list of names.
        columns: how a new table is read: ``text``, ``text2``, ``label``.
        notes: what was decided, in sentences.
        preview: how each file was read, and the first rows as they were understood.
        positive: the class that is looked for, where the rows have that label or none.
    """

    task: str
    rows: dict[str, list[dict[str, Any]]]
    columns: dict[str, str]
    notes: list[str] = field(default_factory=list)
    preview: list[str] = field(default_factory=list)
    positive: str | None = None


def read_source(path: Path, asked: Asked) -> Contents:
    """Read a file, or a folder with a file a split, a text a file, or a data set of datasets.

    Raises:
        CorpusError: with file and line where a row is wrong; a folder has no file for train; the
            rows are questions on a text.
    """
    notes: list[str] = []
    if not path.is_dir():
        parts = {"train": _table(path, asked)}
    elif any((path / name).is_file() for name in _SAVED):
        parts = _saved(path)
    else:
        parts = shapes.read_text_folders(path, asked)
        parts = parts or {n: _table(file, asked) for n, file in split_files(path, notes).items()}
    return of_tables(parts, asked, notes)


def split_files(folder: Path, notes: list[str] | None = None) -> dict[str, Path]:
    """The file of each split that a folder has, by the words in the names; train is among them.

    Args:
        folder: with files, or for tagging folders of sentences.txt and tags.txt.
        notes: takes a sentence about files whose names say no split.

    Raises:
        CorpusError: two files for one split, or none for train.
    """
    files: dict[str, Path] = {}
    unknown = []
    for path in sorted(folder.iterdir()):
        name = path.name.removesuffix(".gz")
        if not _is_parallel(path) and (not path.is_file() or BESIDE.fullmatch(name)):
            continue
        split = split_of(name)
        if split is None:
            unknown.append(path.name)
        elif split in files:
            raise CorpusError(
                f"{folder}: expected one file for {split}, got {files[split].name} and "
                f"{path.name}; put each text and its label into one row of one file"
            )
        else:
            files[split] = path
    if "train" not in files:
        names = ", ".join(sorted(p.name for p in folder.iterdir())[:8]) or "nothing"
        brat = any(path.suffix == ".ann" for path in folder.iterdir())
        form = '{"text": "...", "spans": [[start, end, label]]}'
        raise CorpusError(
            f"{folder}: expected a file whose name says train, such as train.tsv, or a folder of "
            f"texts for each class, got {names}"
            + f"; write each .ann file as a JSON object a line in train.jsonl: {form}"
            * brat
        )
    if unknown and notes is not None:
        listing = short(", ".join(unknown), 200)
        notes.append(f"Left out, for the names say neither train, dev nor test: {listing}.")
    return files


def _is_parallel(path: Path) -> bool:
    return all((path / name).is_file() for name in _PARALLEL)


def _table(path: Path, asked: Asked) -> Table:
    if _is_parallel(path):
        return shapes.of_tagged(
            path, read_parallel(*(path / name for name in _PARALLEL)), "words and tags in two files"
        )
    maybe_trees = asked.task in (None, "sentences") and plain_name(path).endswith(".txt")
    if maybe_trees and is_tree_file(path):
        return of_dataset(str(path), read_trees(path), "sentiment trees")
    return shapes.read(path, asked)


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


def of_tables(parts: dict[str, Table], asked: Asked, notes: list[str]) -> Contents:
    """The rows of tables by split, after the task that they are for.

    Args:
        parts: the table of each split; one alone may have a column that says the split.
        asked: what was said about them.
        notes: what was decided so far.

    Raises:
        CorpusError: as :func:`read_source`.
    """
    if shapes.is_reading(parts["train"]):
        path = parts["train"].path
        raise CorpusError(
            f"{path}: questions with answers in a text; train on them with chapter 10: "
            f"papermill notebooks/10_reading.ipynb out.ipynb -p corpus {path}"
        )
    read = parts
    if len(parts) == 1:
        parts, column = by_split(parts["train"])
        if column:
            notes.append(f"Column {column!r} says which rows are train, validation and test.")
    form = shapes.tagging_form(parts["train"], asked)
    if form is not None:
        read = parts = {name: shapes.as_tagged(table, form) for name, table in parts.items()}
        contents = _tagged(parts, form, asked, notes)
    elif asked.task == "tagging":
        raise CorpusError(
            f"{parts['train'].path}: expected a token a line with blank lines between sentences, "
            "rows of tokens and tags, or texts with spans; got the columns "
            f"{short(', '.join(map(repr, parts['train'].names)), 400)}"
        )
    else:
        contents = _labelled(parts, asked, notes)
    forms = [f"{Path(t.path).name} ({n}): {t.form}." for n, t in read.items() if t.form]
    return replace(contents, preview=forms + contents.preview)


def _tagged(
    parts: dict[str, Table], form: tuple[str, list[str]], asked: Asked, notes: list[str]
) -> Contents:
    rows = {}
    for name, table in parts.items():
        _say_bad(name, table.bad, asked, notes)
        if not table.rows:
            raise CorpusError(f"{table.path}: expected tagged sentences, got none")
        rows[name] = [{"tokens": cells[0], "tags": cells[1]} for _, cells in table.rows]
    notes.append("The task is tagging: " + ("a tag a word." if form[0] != "spans" else "spans."))
    preview = [
        f"Row {n}: {short(' '.join(row['tokens']))} → {short(' '.join(row['tags']))}"
        for n, row in enumerate(rows["train"][:3], 1)
    ]
    columns = {"text": form[1][-2]} if form[0] != "tagged" else {}
    return Contents("tagging", rows, columns, notes, preview)


def _say_bad(split: str, bad: Sequence[str], asked: Asked, notes: list[str]) -> None:
    if bad and not asked.skip_bad:
        more = f"; {len(bad) - 1} more rows are bad, too" if len(bad) > 1 else ""
        raise CorpusError(f"{bad[0]}{more} (--skip-bad leaves bad rows out)")
    if bad:
        notes.append(f"{len(bad)} bad rows of {split} were left out. The first: {bad[0]}.")


def _labelled(parts: dict[str, Table], asked: Asked, notes: list[str]) -> Contents:
    columns = choose(parts["train"], asked)
    notes += columns.notes
    parts = _with_columns(parts, columns, notes)
    texts = ["sentence"] if len(columns.texts) == 1 else ["sentence1", "sentence2"]
    read_label, label_notes = label_reader(parts["train"], columns, asked)
    notes += label_notes
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
                # In JSON an empty half of a pair, as QQP has some, is no slip of the pen.
                row: dict[str, Any] = {
                    new: text_of(
                        table, line, raw, old, empty=table.objects and raw == "" and len(texts) > 1
                    )
                    for new, raw, old in zip(texts, picked, columns.texts, strict=False)
                }
                row["label"] = read_label(table, line, picked[len(texts) :])
            except CorpusError as error:
                bad.append(str(error))
                continue
            rows[split].append(row)
        held = [value for name in columns.labels for value in table.column(name)]
        if split != "train" and not rows[split] and all(map(is_missing, held)):
            del rows[split]
            notes.append(f"No row of {split} has a label, so that it is left out.")
            continue
        if empty:
            notes.append(f"{empty} rows of {split} have empty cells alone and are left out.")
        _say_bad(split, bad, asked, notes)
        if not rows[split]:
            raise CorpusError(f"{table.path}: expected rows of text and label, got none")
    task, positive = _task_of(rows, parts["train"].path, columns, asked, notes)
    preview = [
        f"Row {n}: {short(' | '.join(row[name] for name in texts))} → {row['label']!r}"
        for n, row in enumerate(rows["train"][:3], 1)
    ]
    names = dict(zip(("text", "text2"), columns.texts, strict=False))
    column_names = {**names, "label": ",".join(columns.labels)}
    return Contents(task, rows, column_names, notes, preview, positive)


def _with_columns(parts: dict[str, Table], columns: Columns, notes: list[str]) -> dict[str, Table]:
    """The parts that have the columns of train; one without labels is left out."""
    usable = {}
    for name, table in parts.items():
        lacking = [n for n in (*columns.texts, *columns.labels) if n not in table.names]
        if not lacking:
            usable[name] = table
        elif lacking == columns.labels:
            notes.append(
                f"{Path(table.path).name} has no column {', '.join(map(repr, lacking))}, so it is "
                f"left out of {name}; dicebook predict reads it."
            )
        else:
            raise CorpusError(
                f"{table.path}: expected the columns of {parts['train'].path}, "
                f"{', '.join(map(repr, lacking))} among them; got "
                f"{', '.join(map(repr, table.names))}"
            )
    return usable


def _task_of(
    rows: dict[str, list[dict[str, Any]]],
    path: str,
    columns: Columns,
    asked: Asked,
    notes: list[str],
) -> tuple[str, str | None]:
    """The task, and the class that is looked for where each row has one label or none."""
    positive = None
    lists = isinstance(rows["train"][0]["label"], list)
    if lists and asked.task != "labels":
        several = {label for part in rows.values() for row in part for label in row["label"]}
        if len(several) == 1 and not all(row["label"] for row in rows["train"]):
            (positive,) = several
            notes.append(f"A row is labelled {positive!r} or not: two classes.")
            for row in (row for part in rows.values() for row in part):
                row["label"] = positive if row["label"] else f"not {positive}"
            lists = False
    if lists and len(columns.texts) > 1:
        raise CorpusError(
            f"{path}: expected one text a row with several labels, got pairs (--text)"
        )
    if lists and asked.task == "sentences":
        raise CorpusError(
            f"{path}: expected one label a row, got several in {', '.join(columns.labels)}; "
            "chapter 21 trains on them (--task labels)"
        )
    if lists:
        return "labels", None
    known = Counter(row["label"] for row in rows["train"])
    if len(known) > MOST_LABELS or len(known) > max(2, 0.9 * len(rows["train"])) > 20:
        raise CorpusError(
            f"{path}: expected a label of at most {MOST_LABELS} kinds, got {len(known)} in column "
            f"{columns.labels[0]!r}: is it the label? (--label)"
        )
    for name in ("validation", "test"):
        unknown = {row["label"] for row in rows.get(name, [])} - set(known)
        if len(unknown) == 1 and all(row["label"] in unknown for row in rows[name]):
            notes.append(
                f"Every row of {name} is labelled {unknown.pop()!r}, which train lacks: as in GLUE "
                "it stands for no label, so that it is left out."
            )
            del rows[name]
    return ("sentences" if len(columns.texts) == 1 else "pairs"), positive

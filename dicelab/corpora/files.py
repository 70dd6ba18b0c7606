"""Any file or folder as the rows of one task, and what was decided about them.

One walk leads down: a container gives tables, a form that a table proves gives texts and labels or
tokens and tags, and the columns give the rows of a task. ``dicebook fit`` and the chapters go it by
:func:`read_source`, and ``dicebook predict`` by :func:`read_texts` and :func:`read_words`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dicelab.corpora.cells import Asked, Table, is_missing, is_object, short, text_of
from dicelab.corpora.columns import Columns, by_split, choose
from dicelab.corpora.containers.folders import read_splits
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.forms import Found, find, lists, spans
from dicelab.corpora.forms.sample import each_row
from dicelab.corpora.labels import MOST_LABELS, label_reader

Rows = dict[str, list[dict[str, Any]]]


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
    rows: Rows
    columns: dict[str, str]
    notes: list[str] = field(default_factory=list)
    preview: list[str] = field(default_factory=list)
    positive: str | None = None


def read_source(path: Path, asked: Asked) -> Contents:
    """Read a file, or a folder with a file a split, or a data set of datasets.

    Raises:
        CorpusError: with file and line where a row is wrong; a folder has no file for train; the
            rows are questions on a text.
    """
    notes: list[str] = []
    return of_tables(read_splits(path, asked, notes), asked, notes)


def of_tables(parts: dict[str, Table], asked: Asked, notes: list[str]) -> Contents:
    """The rows of tables by split, after the task that they are for.

    Args:
        parts: the table of each split; one alone may have a column that says the split.
        asked: what was said about them.
        notes: what was decided so far.

    Raises:
        CorpusError: as :func:`read_source`.
    """
    forms = {name: table.form for name, table in parts.items()}
    if len(parts) == 1:
        parts, column = by_split(parts["train"])
        if column:
            notes.append(f"Column {column!r} says which rows are train, validation and test.")
    found = find(parts["train"], asked)
    for one in found:
        parts = {name: one.read(table, asked) for name, table in parts.items()}
    if not parts["train"].tagged and asked.task == "tagging":
        raise CorpusError(
            f"{parts['train'].path}: expected a token a line with blank lines between sentences, "
            "rows of tokens and tags, or texts with spans; got the columns "
            f"{short(', '.join(map(repr, parts['train'].names)), 400)}"
        )
    if found or parts["train"].tagged:
        forms = {name: table.form for name, table in parts.items()}
    preview = [f"{Path(parts[n].path).name} ({n}): {form}." for n, form in forms.items() if form]
    said = [note for table in parts.values() for note in table.notes]
    notes = [*dict.fromkeys(said), *notes]
    if parts["train"].tagged:
        contents = _tagged(parts, found[-1:], asked, notes)
    else:
        contents = _labelled(parts, asked, notes)
    return replace(contents, preview=preview + contents.preview)


def _say_bad(split: str, bad: Sequence[str], asked: Asked, notes: list[str]) -> None:
    if bad and not asked.skip_bad:
        more = f"; {len(bad) - 1} more rows are bad, too" if len(bad) > 1 else ""
        raise CorpusError(f"{bad[0]}{more} (--skip-bad leaves bad rows out)")
    if bad:
        of_split = f" of {split}" if split else ""
        notes.append(f"{len(bad)} bad rows{of_split} were left out. The first: {bad[0]}.")


def _tagged(
    parts: dict[str, Table], found: Sequence[Found], asked: Asked, notes: list[str]
) -> Contents:
    rows = {}
    for name, table in parts.items():
        _say_bad(name, table.bad, asked, notes)
        if not table.rows:
            raise CorpusError(f"{table.path}: expected tagged sentences, got none")
        rows[name] = [{"tokens": cells[0], "tags": cells[1]} for _, cells in table.rows]
    by_spans = [one.form for one in found] == [spans]
    notes.append("The task is tagging: " + ("spans." if by_spans else "a tag a word."))
    preview = [
        f"Row {n}: {short(' '.join(row['tokens']))} → {short(' '.join(row['tags']))}"
        for n, row in enumerate(rows["train"][:3], 1)
    ]
    columns = {"text": found[0].proof[-2]} if found else {}
    return Contents("tagging", rows, columns, notes, preview)


def _labelled(parts: dict[str, Table], asked: Asked, notes: list[str]) -> Contents:
    train = parts["train"]
    columns = choose(train, asked)
    read_label, label_notes = label_reader(train, columns.labels, asked)
    notes += [*columns.notes, *label_notes]
    texts = ["sentence"] if len(columns.texts) == 1 else ["sentence1", "sentence2"]
    rows: Rows = {}
    for split, table in parts.items():
        held = _with_columns(split, table, train, columns, notes)
        if held is None:
            continue

        def make(line: int, record: dict[str, Any], table: Table = held) -> list[Any]:
            # In JSON an empty half of a pair, as QQP has some, is no slip of the pen.
            may_be_empty = table.objects and len(texts) > 1
            sentences = [
                text_of(table, line, record[n], n, empty=may_be_empty and record[n] == "")
                for n in columns.texts
            ]
            return [*sentences, read_label(table, line, [record[n] for n in columns.labels])]

        made, bad = each_row(held, make)
        _say_bad(split, bad, asked, notes)
        if not made:
            raise CorpusError(f"{table.path}: expected rows of text and label, got none")
        rows[split] = [dict(zip((*texts, "label"), row, strict=True)) for _, row in made]
    task, positive = _task_of(rows, train.path, columns, asked, notes)
    preview = [
        f"Row {n}: {short(' | '.join(row[name] for name in texts))} → {row['label']!r}"
        for n, row in enumerate(rows["train"][:3], 1)
    ]
    names = dict(zip(("text", "text2"), columns.texts, strict=False))
    names["label"] = ",".join(columns.labels)
    return Contents(task, rows, names, notes, preview, positive)


def _with_columns(
    split: str, table: Table, train: Table, columns: Columns, notes: list[str]
) -> Table | None:
    """The rows of a split that hold something; None for a split without labels."""
    lacking = [name for name in (*columns.texts, *columns.labels) if name not in table.names]
    if lacking == columns.labels:
        notes.append(
            f"{Path(table.path).name} has no column {', '.join(map(repr, lacking))}, so it is left "
            f"out of {split}; dicebook predict reads it."
        )
        return None
    if lacking:
        raise CorpusError(
            f"{table.path}: expected the columns of {train.path}, "
            f"{', '.join(map(repr, lacking))} among them; got {', '.join(map(repr, table.names))}"
        )
    unlabelled = all(is_missing(v) for name in columns.labels for v in table.column(name))
    if split != "train" and unlabelled:
        notes.append(f"No row of {split} has a label, so that it is left out.")
        return None
    filled = [row for row in table.rows if not all(map(is_missing, row[1]))]
    if empty := len(table.rows) - len(filled):
        notes.append(f"{empty} rows of {split} have empty cells alone and are left out.")
    return replace(table, rows=filled)


def _task_of(
    rows: Rows, path: str, columns: Columns, asked: Asked, notes: list[str]
) -> tuple[str, str | None]:
    """The task, and the class that is looked for where each row has one label or none."""
    positive = None
    every = [row for part in rows.values() for row in part]
    lists = isinstance(every[0]["label"], list)
    if lists and asked.task != "labels":
        several = {label for row in every for label in row["label"]}
        if len(several) == 1 and not all(row["label"] for row in rows["train"]):
            (positive,) = several
            notes.append(f"A row is labelled {positive!r} or not: two classes.")
            for row in every:
                row["label"] = positive if row["label"] else f"not {positive}"
            lists = False
    if lists and len(columns.texts) > 1:
        problem = "expected one text a row with several labels, got pairs (--text)"
        raise CorpusError(f"{path}: {problem}")
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
    for name in [name for name in rows if name != "train"]:
        said = {row["label"] for row in rows[name]}
        if len(said) == 1 and not said & {*known}:
            notes.append(
                f"Every row of {name} is labelled {said.pop()!r}, which train lacks: as in GLUE "
                "it stands for no label, so that it is left out."
            )
            del rows[name]
    return ("sentences" if len(columns.texts) == 1 else "pairs"), positive


# -- what is to be predicted -------------------------------------------------------------------


def read_texts(
    path: Path, asked: Asked, trained_on: Sequence[str]
) -> tuple[list[list[str]], list[str]]:
    """The texts of what is to be predicted, by the walk of :func:`read_source`.

    Args:
        path: what ``fit`` reads, or a text a line.
        asked: what was said about it.
        trained_on: the columns of the text, or of both texts, that the model was trained on.

    Returns:
        One text or two for each row, and how each file was read, in sentences.

    Raises:
        CorpusError: a row is no text, or a row of a table has other columns than the rest.
    """
    known = [a or b for a, b in zip((asked.text, asked.text2), trained_on, strict=False)]
    task = "pairs" if len(trained_on) == 2 else "sentences"
    asked = replace(asked, task=task, label=None, labelled=False, known=tuple(known))
    return _unlabelled(path, asked, known)


def read_words(
    path: Path, asked: Asked, trained_on: str | None
) -> tuple[list[list[str] | str], list[str]]:
    """The words of what is to be tagged, by the walk of :func:`read_source`.

    Args:
        path: what ``fit`` reads, or a text or a token a line.
        asked: what was said about it.
        trained_on: the column of the text or the tokens that the model was trained on.

    Returns:
        The words of each row, or its text where it is not in words; and how each file was read.

    Raises:
        CorpusError: it holds neither.
    """
    known = [name for name in (asked.text or trained_on, *lists.TOKENS) if name]
    asked = replace(asked, task="tagging", label=None, labelled=False, known=tuple(known))
    rows, said = _unlabelled(path, asked, known[:1])
    return [row[0] for row in rows], said


def _unlabelled(
    path: Path, asked: Asked, wanted: Sequence[str]
) -> tuple[list[list[Any]], list[str]]:
    """The cells of the text, or of the tokens, of each row; and how each file was read."""
    rows: list[list[Any]] = []
    said: list[str] = []
    for table in read_splits(path, asked, said).values():
        for one in find(table, asked):
            table = one.read(table, asked)
        said += table.notes
        _say_bad("", table.bad, asked, said)
        if not table.rows:
            raise CorpusError.at(table.path, 0, "expected texts, got none")
        columns = ["tokens"] if table.tagged else _text_columns(table, asked, wanted)
        for line, values in table.rows:
            record = dict(zip(table.names, values, strict=True))
            cells = [(record[name], name) for name in columns]
            rows.append(
                [c if table.tagged else text_of(table, line, c, n, empty=True) for c, n in cells]
            )
        note = f", the text is column {' and '.join(map(repr, columns))}"
        several = len(table.names) > 1 and not table.tagged
        said.append(f"{Path(table.path).name}: {table.form}{note if several else ''}.")
    return rows, said


def _text_columns(table: Table, asked: Asked, wanted: Sequence[str]) -> list[str]:
    """The columns of the texts: those of training, or what the header and the columns say."""
    names = ["" if name.isdecimal() and table.header else table.named(name) for name in wanted]
    named = wanted and all(names) and not any(is_object(v) for n in names for v in table.column(n))
    if asked.text is None and named:
        return names
    many = 2 if asked.task == "pairs" else 1
    if len(table.names) == many:
        return table.names
    task = "pairs" if many == 2 else "sentences"
    chosen = choose(table, replace(asked, task=task), labelled=False).texts
    if len(chosen) != many:
        raise CorpusError(f"{table.path}: expected {many} columns of text, got {len(chosen)}")
    return chosen

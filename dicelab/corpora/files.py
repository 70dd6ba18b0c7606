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

from dicelab.corpora.cells import Asked, Table, is_missing, parsed, short, text_of
from dicelab.corpora.classes import MOST_LABELS
from dicelab.corpora.columns import Columns, by_split, choose
from dicelab.corpora.containers.folders import read_splits
from dicelab.corpora.containers.tagged import read_tagged, read_tokens
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.forms import Found, find, lists, spans, strings, token_rows
from dicelab.corpora.labels import label_reader


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
    read = parts
    if len(parts) == 1:
        parts, column = by_split(parts["train"])
        if column:
            notes.append(f"Column {column!r} says which rows are train, validation and test.")
    found = find(parts["train"], asked)
    for one in found:
        parts = {name: one.read(table, asked) for name, table in parts.items()}
    if not parts["train"].tagged and asked.task == "tagging":
        parts = read = {name: _as_tokens(table, asked) for name, table in parts.items()}
    if found:
        read = parts
    if parts["train"].tagged:
        kind = found[-1] if found else None
        contents = _tagged(parts, kind, asked, notes)
    else:
        contents = _labelled(parts, asked, notes)
    forms = [f"{Path(t.path).name} ({n}): {t.form}." for n, t in read.items() if t.form]
    said = [note for table in parts.values() for note in table.notes]
    contents.notes[:0] = dict.fromkeys(said)
    return replace(contents, preview=forms + contents.preview)


def _as_tokens(table: Table, asked: Asked) -> Table:
    """A table that is to hold tags, and proves no form, as a token a line."""
    path = Path(table.path)
    try:
        tagged = read_tagged(path, asked, sure=True) if path.is_file() else None
    except CorpusError:
        tagged = None
    words = [word for _, row in tagged.rows for word in row[0]] if tagged else []
    if tagged and sum(" " in word for word in words) < 0.1 * len(words):
        return tagged
    raise CorpusError(
        f"{table.path}: expected a token a line with blank lines between sentences, rows of tokens "
        "and tags, or texts with spans; got the columns "
        f"{short(', '.join(map(repr, table.names)), 400)}"
    )


def _tagged(
    parts: dict[str, Table], found: Found | None, asked: Asked, notes: list[str]
) -> Contents:
    rows = {}
    for name, table in parts.items():
        _say_bad(name, table.bad, asked, notes)
        if not table.rows:
            raise CorpusError(f"{table.path}: expected tagged sentences, got none")
        rows[name] = [{"tokens": cells[0], "tags": cells[1]} for _, cells in table.rows]
    by_spans = found is not None and found.form is spans
    notes.append("The task is tagging: " + ("spans." if by_spans else "a tag a word."))
    preview = [
        f"Row {n}: {short(' '.join(row['tokens']))} → {short(' '.join(row['tags']))}"
        for n, row in enumerate(rows["train"][:3], 1)
    ]
    columns = {"text": found.proof[-2]} if found else {}
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
    read_label, label_notes = label_reader(parts["train"], columns.labels, asked)
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
    task = "pairs" if len(trained_on) == 2 else "sentences"
    asked = replace(asked, task=task, label=None, labelled=False)
    wanted = [a or b for a, b in zip((asked.text, asked.text2), trained_on, strict=False)]
    rows: list[list[str]] = []
    said: list[str] = []
    for table in _unlabelled(path, asked, wanted, said):
        columns = _text_columns(table, asked, wanted)
        places = [table.names.index(name) for name in columns]
        for line, row in table.rows:
            cells = zip(places, columns, strict=True)
            rows.append([text_of(table, line, row[p], name, empty=True) for p, name in cells])
        note = f", the text is column {' and '.join(map(repr, columns))}"
        said.append(f"{Path(table.path).name}: {table.form}{note if len(table.names) > 1 else ''}.")
    return rows, said


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
    asked = replace(asked, task="tagging", label=None, labelled=False)
    if path.is_file() and (made := read_tokens(path, asked)) is not None:
        return [*made[0]], [f"{path.name}: {made[1]}."]
    usual = [asked.text] if asked.text else [n for n in (trained_on, *lists.TOKENS) if n]
    rows: list[Any] = []
    said: list[str] = []
    for table in _unlabelled(path, asked, usual, said):
        listed = [n for n in table.names if n.lower() in map(str.lower, usual) and _lists(table, n)]
        found = [] if table.tagged or listed else find(table, asked)
        form = found[0].form if found else None
        column = listed[0] if listed else found[0].proof[0] if found else "tokens"
        if form is token_rows:
            table, column = found[0].read(table, asked), "tokens"
        if form is spans or not (table.tagged or listed or found):
            usual = list(found[0].proof[:1]) if found and not asked.text else usual[:1]
            column = _text_columns(table, replace(asked, task="sentences"), usual)[0]
            place = table.names.index(column)
            rows += [text_of(table, n, row[place], column, empty=True) for n, row in table.rows]
        elif form is strings:
            rows += [str(value or "").split() for value in table.column(column)]
        else:
            rows += _words(table, column)
        note = f", column {column!r}" if len(table.names) > 1 and not table.tagged else ""
        said.append(f"{Path(table.path).name}: {table.form}{note}.")
    return rows, said


def _words(table: Table, column: str) -> list[list[str]]:
    place = table.names.index(column)
    words = []
    for line, row in table.rows:
        cell = parsed(row[place])
        if cell is not None and type(cell) is not list:
            raise table.error(line, f"expected a list of tokens, got {short(repr(cell))}")
        words.append(list(map(str, cell or [])))
    return words


def _lists(table: Table, name: str) -> bool:
    cells = [parsed(value) for value in table.column(name)]
    return any(cells) and all(cell is None or type(cell) is list for cell in cells)


def _unlabelled(path: Path, asked: Asked, wanted: Sequence[str], said: list[str]) -> list[Table]:
    """The tables of what is to be predicted, in the order of their splits."""
    tables = []
    for table in read_splits(path, replace(asked, known=tuple(wanted)), said).values():
        for one in find(table, replace(asked, task="sentences")):
            table = one.read(table, asked)
        if table.bad and not asked.skip_bad:
            raise CorpusError(f"{table.bad[0]} (--skip-bad leaves bad rows out)")
        if not table.rows:
            raise CorpusError.at(table.path, 0, "expected texts, got none")
        if table.bad:
            said.append(f"{len(table.bad)} bad rows were left out. The first: {table.bad[0]}.")
        said += table.notes
        tables.append(table)
    return tables


def _text_columns(table: Table, asked: Asked, wanted: Sequence[str]) -> list[str]:
    """The columns of the texts: those of training, or what the header and the columns say."""
    names = {name.lower(): name for name in reversed(table.names)}
    if asked.text is None and wanted and all(name.lower() in names for name in wanted):
        return [names[name.lower()] for name in wanted]
    many = 2 if asked.task == "pairs" else 1
    if len(table.names) == many:
        return table.names
    chosen = choose(table, asked, labelled=False).texts
    if len(chosen) != many:
        raise CorpusError(f"{table.path}: expected {many} columns of text, got {len(chosen)}")
    return chosen

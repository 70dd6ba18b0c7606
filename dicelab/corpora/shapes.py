"""What a file is for: which of its columns are texts, labels, tags or spans.

Whatever the file, tagged text comes out as a table of the columns ``tokens`` and ``tags``, and
everything else as a table with a text, or two, and a label, or several.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dicelab.corpora.cells import (
    LOOK,
    OF_ROWS,
    TEXTS,
    Table,
    is_missing,
    label_of,
    short,
)
from dicelab.corpora.columns import Asked, parsed
from dicelab.corpora.conll import UNIVERSAL_NER, fields_of, layout_of, read_conll
from dicelab.corpora.conllu import read_conllu
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.registry import split_of
from dicelab.corpora.tables import read_table
from dicelab.corpora.tags import looks_tagged, respelt, scheme_of, to_iob2
from dicelab.corpora.text import (
    WORD,
    odd_character,
    plain_name,
    read_bytes,
    read_lines,
    text_of_bytes,
)

TAGGED = (".conll", ".conllu", ".iob2", ".iob", ".bio", ".bmes", ".bioes", ".annotated")
TOKENS = ("tokens", "words", "tokenized_text", "token", "word", "text", "sentence")
_TAGS = ("ner_tags", "ner", "tags", "tag", "labels", "label", "entities", "pos_tags", "pos")
_SENTENCES = (
    "sentence #",
    "sentence_id",
    "sent_id",
    "sentence",
    "sentence_number",
    "sid",
    "doc_id",
)
_SPANS = ("label", "labels", "entities", "spans", "annotations", "ner")


# -- files -------------------------------------------------------------------------------------


def read(path: str | Path, asked: Asked | None = None) -> Table:
    """A file as a table; of a tagged one the columns are ``tokens`` and ``tags``.

    Raises:
        CorpusError: with file and line: it cannot be read.
    """
    asked = asked or Asked()
    path = Path(path)
    if asked.task in (None, "tagging"):
        tagged = read_tagged(path, asked)
        if tagged is not None:
            return tagged
    table = read_table(
        path,
        encoding=asked.encoding,
        delimiter=asked.delimiter,
        header=asked.header,
        header_names=asked.columns,
    )
    table = of_fasttext(_studio(_prodigy(table)))
    if asked.task == "tagging" and tagging_form(table, asked) is None:
        try:
            tagged = read_tagged(path, asked, sure=True)
        except CorpusError:
            return table
        words = [word for _, row in tagged.rows for word in row[0]] if tagged else []
        if tagged and sum(" " in word for word in words) < 0.1 * len(words):
            return tagged
    return table


def read_text_folders(folder: Path, asked: Asked) -> dict[str, Table]:
    """Texts of a file each, in a folder a class, as they are or in folders train, dev and test.

    Returns:
        A table of ``text`` and ``label`` by split; none where the folder is of another form.

    Raises:
        CorpusError: With the file: it cannot be read.
    """
    inner = sorted(path for path in folder.iterdir() if path.is_dir())
    parts = {split: path for path in inner if (split := split_of(f"{path.name}.x"))}
    if "train" in parts:
        tables = {split: _text_folder(path, asked) for split, path in parts.items()}
        return {split: table for split, table in tables.items() if table}
    table = _text_folder(folder, asked)
    return {"train": table} if table else {}


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
            text, _ = text_of_bytes(
                read_bytes(path), path, encoding=asked.encoding, errors="replace"
            )
            rows.append((number, [" ".join(text.split()), path.parent.name]))
    form = "a text a file, a folder a class"
    form += "".join(f", without the folder {name}" for name in unlabelled)
    return Table(str(folder), ["text", "label"], rows, form=form)


def read_tagged(path: Path, asked: Asked, *, sure: bool = False) -> Table | None:
    """A file of a token a line as a table of ``tokens`` and ``tags``; None for any other.

    Args:
        path: the file.
        asked: what was said about it.
        sure: whether it can be nothing else; by default where its name says so.
    """
    name = plain_name(path)
    sure = sure or name.endswith(TAGGED)
    if name.endswith(OF_ROWS):
        return None
    if path.is_file() and path.read_bytes()[:4] in (b"PAR1", b"PK\x03\x04"):
        return None
    lines = read_lines(path, encoding=asked.encoding, errors="keep")
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip()[:1] in ("{", "[") and not sure and '"' in first:
        return None
    options: dict[str, Any] = {"encoding": asked.encoding}
    if name.endswith(".conllu"):
        return of_tagged(path, read_conllu(path), "CoNLL-U")
    try:
        layout = layout_of(lines[:5000], sure=sure)
    except CorpusError as error:
        raise CorpusError(f"{path}: {error}") from None
    if layout is None and not sure:
        return None
    options |= layout or {}
    if name.endswith(".iob2") and options.get("token_column", 1) == 1:
        options |= UNIVERSAL_NER
    if asked.delimiter:
        options["separator"] = asked.delimiter
    head = [name.strip() for name in fields_of(first, options.get("separator") or "\t")]
    for option, column in (("token_column", asked.text), ("tag_column", asked.label)):
        if column is not None:
            if options.get("header") and column in head:
                column = str(head.index(column) + 1)
            if not column.isdigit() or column == "0":
                raise CorpusError(
                    f"{path}: a tagged file has no header; expected a column's number from 1, got "
                    f"{column!r}"
                )
            options[option] = int(column) - 1
    repairs: Counter[str] = Counter()
    bad: list[str] | None = [] if asked.skip_bad else None
    try:
        rows = read_conll(path, bad=bad, repairs=repairs, **options)
    except CorpusError as error:
        raise CorpusError(f"{error} (--skip-bad leaves such sentences out)") from None
    places = ""
    if "token_column" in options:
        tag = options["tag_column"] + 1 or "last"
        places = f", tokens in column {options['token_column'] + 1}, tags in column {tag}"
    form = "a sentence a line" if "inner" in options else "a token a line"
    return of_tagged(path, rows, f"{form}{places}", bad or [], list(repairs))


def of_tagged(
    path: Path, rows: Any, form: str, bad: Sequence[str] = (), notes: Sequence[str] = ()
) -> Table:
    """Rows of tokens and tags as a table."""
    tag_notes = [note for note in notes if note.startswith("tags ")]
    taken = [note.removeprefix("read as ") for note in notes if note.startswith("read as ")]
    form = f"{(taken or ['utf-8'])[0]}, {form}"
    pairs = zip(rows["tokens"][:], rows["tags"][:], strict=True)
    table = [(n, [list(tokens), list(tags)]) for n, (tokens, tags) in enumerate(pairs, 1)]
    form = "; ".join([form, *tag_notes])
    return Table(str(path), ["tokens", "tags"], table, list(bad), form, objects=True, tagged=True)


def of_fasttext(table: Table) -> Table:
    """Lines that begin with ``__label__NAME`` as a text and its labels."""
    lines = [" ".join(map(str, row)) for _, row in table.rows]
    sample = [line for line in lines[:LOOK] if line.strip()]
    if table.header or not sample or not all(line.startswith("__label__") for line in sample):
        return table
    rows: list[tuple[int, list[Any]]] = []
    for (number, _), line in zip(table.rows, lines, strict=True):
        labels = re.match(r"(?:__label__\S+[\s,]*)*", line)
        end = labels.end() if labels else 0
        names = re.findall(r"__label__([^\s,]+)", line[:end])
        rows.append((number, [line[end:].strip(), names[0] if len(names) == 1 else names]))
    rows = _lists_alike(rows)
    form = table.form.replace(", no header (--header)", "") + ", fastText's __label__"
    return replace(table, names=["text", "label"], rows=rows, form=form, objects=True)


def _lists_alike(rows: list[tuple[int, list[Any]]]) -> list[tuple[int, list[Any]]]:
    """Rows of a text and its label; where one has several labels, all have lists of them."""
    if not any(type(label) is list for _, (_, label) in rows):
        return rows
    return [(n, [text, [label] if type(label) is str else label]) for n, (text, label) in rows]


def _studio(table: Table) -> Table:
    """An export of Label Studio as a table of texts with their spans or choices."""
    if "annotations" not in table.names or not table.objects:
        return table
    if not all(type(made) is list for made in table.column("annotations") if made):
        return table
    rows: list[tuple[int, list[Any]]] = []
    bad = list(table.bad)
    spans = False
    several = 0
    for number, row in table.rows:
        record = dict(zip(table.names, row, strict=True))
        made = [a for a in record["annotations"] or [] if not a.get("was_cancelled")]
        texts = [v for v in (record.get("data") or {}).values() if isinstance(v, str)]
        text = (record.get("data") or {}).get("text", texts[0] if len(texts) == 1 else None)
        if not made or text is None:
            lacking = "an annotation" if text is not None else "one text"
            bad.append(f"{table.path}:{number}: expected {lacking}, got none")
            continue
        several += len(made) > 1
        values = [r.get("value", {}) for r in made[0].get("result", [])]
        choices: list[Any] = [choice for v in values for choice in v.get("choices", [])]
        marked = [
            {"start": v["start"], "end": v["end"], "label": name}
            for v in values
            if "start" in v
            for name in v.get("labels", [])
        ]
        spans = spans or bool(marked)
        rows.append((number, [text, marked or choices]))
    if not spans:
        rows = _lists_alike([(n, [t, c[0] if len(c) == 1 else c]) for n, (t, c) in rows])
    form = f"{table.form}, an export of Label Studio"
    if several:
        form += f"; {several} texts have several annotations, of which the first is taken"
    return replace(
        table, names=["text", "spans" if spans else "label"], rows=rows, bad=bad, form=form
    )


def _prodigy(table: Table) -> Table:
    """An export of Prodigy without what its user did not accept; his choices are the label."""
    answers = table.column("answer") if "answer" in table.names and table.objects else []
    if not answers or not set(map(str, answers)) <= {"accept", "reject", "ignore"}:
        return table
    names = ["label" if name == "accept" else name for name in table.names]
    binary = "label" in table.names and not {"accept", "spans"} & set(table.names)
    place = names.index("label") if binary else 0
    binary = binary and len({str(row[place]) for _, row in table.rows}) == 1
    rows = []
    for (line, row), answer in zip(table.rows, answers, strict=True):
        if answer == "reject" and binary:
            row = [*row[:place], f"not {row[place]}", *row[place + 1 :]]
        if answer == "accept" or (answer == "reject" and binary):
            rows.append((line, row))
    form = f"{table.form}, an export of Prodigy"
    if left := len(table.rows) - len(rows):
        form += f"; {left} rows that Prodigy's user did not accept are left out"
    return replace(table, names=names, rows=rows, form=form)


# -- tags --------------------------------------------------------------------------------------


def tagging_form(table: Table, asked: Asked) -> tuple[str, list[str]] | None:
    """How a table holds tagged text, and in which columns; None for any other table.

    Returns:
        ``"tagged"``, ``"lists"`` (tokens and tags), ``"spans"`` (text and spans by characters),
        ``"words"`` (tokens and spans by tokens), ``"strings"`` (tokens and tags between spaces) or
        ``"rows"`` (a token a row: the sentence's number, the token, the tag).
    """
    if table.tagged:
        return "tagged", ["tokens", "tags"]
    if asked.task not in (None, "tagging"):
        return None
    sample = replace(table, rows=table.rows[:LOOK])
    cells = {name: [parsed(v) for v in sample.column(name)] for name in table.names}
    lists = [n for n, values in cells.items() if _are(values, lambda v: type(v) is list)]
    strings = [n for n in lists if any(cells[n])]
    tokens = [n for n in strings if _are(cells[n], lambda v: all(type(t) is str for t in v))]
    tokens = _first(tokens, TOKENS, asked.text)
    for name in _first([n for n in lists if n not in tokens[:1]], _TAGS, asked.label):
        pairs = zip(cells[tokens[0]], cells[name], strict=True) if tokens else ()
        alike = [
            len(a) == len(b) and not isinstance((b or [""])[0], dict | list)
            for a, b in pairs
            if type(a) is list and type(b) is list
        ]
        if sum(alike) > 0.9 * len(table.rows[:LOOK]):
            return "lists", [tokens[0], name]
    for name in _first(lists, _SPANS, asked.label):
        kinds = [_span(entry) for value in cells[name] if type(value) is list for entry in value]
        if kinds and all(kind is not None for kind in kinds):
            texts = [n for n in table.names if _are(cells[n], lambda v: type(v) is str)]
            if tokens and name != tokens[0]:
                return "words", [tokens[0], name]
            texts = _first(texts, TEXTS, asked.text)
            if texts:
                return "spans", [texts[0], name]
        lacking = [entry for value in cells[name] if type(value) is list for entry in value]
        if lacking and name.lower() in _SPANS[2:] and all(type(entry) is dict for entry in lacking):
            raise CorpusError(
                f"{table.path}: expected spans with a start, an end and a label in column "
                f"{name!r}, got {short(str(lacking[0]))}; add where each begins and ends in the "
                "text, counted in characters from 0"
            )
    as_dict = [n for n, values in cells.items() if _are(values, lambda v: type(v) is dict)]
    for name in as_dict:  # spaCy: a text and {"entities": [[0, 4, "PER"]]}
        if all("entities" in v for v in cells[name] if v):
            texts = [n for n in table.names if _are(cells[n], lambda v: type(v) is str)]
            if texts:
                return "spans", [texts[0], name]
    if asked.label is None or asked.task == "tagging":
        return _strings(sample, asked) or _token_rows(sample, asked)
    return None


def _are(values: Sequence[Any], test: Callable[[Any], bool]) -> bool:
    held = [value for value in values if not is_missing(value)]
    return bool(held) and sum(map(test, held)) > 0.9 * len(held)


def _first(names: Sequence[str], known: Sequence[str], asked: str | None) -> list[str]:
    """Names with those first that were asked for or are known."""

    def place(name: str) -> int:
        if asked is not None:
            return 0 if name == asked else 1
        return known.index(name.lower()) if name.lower() in known else len(known)

    return sorted(names, key=place)


def _strings(table: Table, asked: Asked) -> tuple[str, list[str]] | None:
    if len(table.names) < 2 or not table.rows:
        return None
    words = {
        name: [v.split() if isinstance(v, str) else [] for v in table.column(name)]
        for name in table.names
    }
    for tags in _first(table.names, _TAGS, asked.label):
        flat = [tag for row in words[tags] for tag in row]
        by_name = asked.task == "tagging" and tags.lower() in _TAGS
        if len(flat) < 2 * len(table.rows) or not (by_name or looks_tagged(flat)):
            continue
        for tokens in _first([n for n in table.names if n != tags], TEXTS, asked.text):
            pairs = zip(words[tokens], words[tags], strict=True)
            if sum(len(a) == len(b) for a, b in pairs) > 0.9 * len(table.rows):
                return "strings", [tokens, tags]
    return None


def _token_rows(table: Table, asked: Asked) -> tuple[str, list[str]] | None:
    names = {name.lower(): name for name in reversed(table.names)}
    tokens = [names[n] for n in ("word", "words", "token", "tokens") if n in names]
    if asked.text in table.names:
        tokens = [str(asked.text)]
    if not table.rows or not (tokens or asked.task == "tagging"):
        return None
    known = [names[n] for n in (*_TAGS, "ner_tag", "entity", "bio") if n in names]
    known = [n for n in known if n not in tokens[:1]]
    spoken = [n for n in known if looks_tagged(map(str, table.column(n)))]
    tags = spoken or known
    if asked.label in table.names:
        tags = [str(asked.label)]
    numbers = [names[n] for n in _SENTENCES if n in names and names[n] not in (tokens + tags)[:2]]
    if not tokens or not tags or not (numbers or spoken or asked.task == "tagging"):
        return None
    ids = [value for value in table.column(numbers[0]) if not is_missing(value)] if numbers else []
    if numbers and not spoken and len(set(map(str, ids))) > 0.9 * len(table.rows):
        return None  # a label for each word, and no sentences
    single = sum(" " not in str(v).strip() for v in table.column(tokens[0]))
    if single < 0.9 * len(table.rows):
        return None
    return "rows", [*numbers[:1], tokens[0], tags[0]]


def _span(span: Any) -> tuple[int, int, str] | None:
    """Start, end and label of a span in any of the usual forms."""
    if type(span) is list and len(span) == 3:
        start, end, label = span
    elif type(span) is dict:
        start = span.get("start", span.get("start_offset"))
        end = span.get("end", span.get("end_offset"))
        label = span.get("label", span.get("labels", span.get("entity_group", span.get("type"))))
        label = label[0] if type(label) is list and len(label) == 1 else label
    else:
        return None
    if type(start) is int and type(end) is int and type(label) is str and label.strip():
        return start, end, "_".join(label.split())
    return None


def as_tagged(table: Table, form: tuple[str, list[str]]) -> Table:
    """A table of ``tokens`` and ``tags`` in IOB2, from any of :func:`tagging_form`.

    Raises:
        CorpusError: the tags are of no scheme, or nothing says where a sentence ends.
    """
    kind, names = form
    if kind == "tagged":
        return table
    lacking = [name for name in names if name not in table.names]
    if lacking:
        raise CorpusError(
            f"{table.path}: expected the columns {', '.join(names)}, got {', '.join(table.names)}"
        )
    bad = list(table.bad)
    notes: Counter[str] = Counter()
    rows: list[tuple[int, list[Any]]] = []
    if kind == "rows":
        rows = _by_sentence(table, names, bad)
    else:
        places = [table.names.index(name) for name in names]
        for line, values in table.rows:
            try:
                made = _tagged_row(table, line, kind, [values[p] for p in places], notes)
            except CorpusError as error:
                bad.append(str(error))
                continue
            if made[0]:
                rows.append((line, made))
            else:
                notes["rows without a word are left out"] += 1
    for line, (tokens, tags) in rows:
        if odd := next(filter(None, map(odd_character, (*tokens, *tags))), ""):
            bad.append(f"{table.path}:{line}: expected text, got {odd}")
    broken = {int(line.removeprefix(f"{table.path}:").split(":")[0]) for line in bad if ":" in line}
    rows = [row for row in rows if row[0] not in broken]
    tagged, respelling = respelt([tags for _, (_, tags) in rows])
    scheme = scheme_of(tagged)
    if scheme != "plain":
        tagged = [to_iob2(tags) for tags in tagged]
    rows = [(n, [cells[0], tags]) for (n, cells), tags in zip(rows, tagged, strict=True)]
    remarks = [f"{n} {note}" for note, n in notes.items()] + [respelling] * bool(respelling)
    how = {
        "lists": f"lists of tokens ({names[0]!r}) and tags ({names[-1]!r})",
        "spans": f"a text ({names[0]!r}) and its spans by characters ({names[-1]!r})",
        "words": f"tokens ({names[0]!r}) and their spans ({names[-1]!r})",
        "strings": f"tokens ({names[0]!r}) and tags ({names[-1]!r}) between spaces",
        "rows": f"a token a row, {', '.join(map(repr, names))}",
    }
    description = "; ".join([f"{table.form}: {how[kind]}", *remarks])
    return replace(table, names=["tokens", "tags"], rows=rows, bad=bad, form=description)


def _tagged_row(
    table: Table, line: int, kind: str, values: list[Any], notes: Counter[str]
) -> list[list[str]]:
    first, second = (parsed(value) for value in values)
    if kind == "spans":
        if isinstance(second, dict):
            second = second.get("entities", [])
        return _of_spans(table, line, first, second, notes)
    if kind == "strings":
        first, second = str(first or "").split(), str(second or "").split()
    if type(first) is not list or type(second) is not list:
        raise table.error(line, f"expected lists of tokens and of tags, got {short(repr(values))}")
    if kind == "words":
        tags = ["O"] * len(first)
        for entry in second:
            start, end, label = _span(entry) or (0, -1, "")
            if not 0 <= start <= end < len(first):
                raise table.error(line, f"expected a span of its {len(first)} tokens, got {entry}")
            if any(tag != "O" for tag in tags[start : end + 1]):
                notes["spans that overlap another one are left out"] += 1
                continue
            tags[start : end + 1] = [f"B-{label}"] + [f"I-{label}"] * (end - start)
        return [list(map(str, first)), tags]
    if len(first) != len(second):
        raise table.error(line, f"expected a tag a token, got {len(second)} for {len(first)}")
    tags = [tag if type(tag) is str else label_of(table, line, tag, "tags") for tag in second]
    tokens = [token if type(token) is str else str(token) for token in first]
    if not all(token.strip() for token in tokens) or not all(tag.strip() for tag in tags):
        raise table.error(line, "expected tokens and tags, got an empty one")
    return [tokens, ["_".join(tag.split()) for tag in tags]]


def _of_spans(
    table: Table, line: int, text: Any, marked: Any, notes: Counter[str]
) -> list[list[str]]:
    """Words and their IOB2 tags, from a text and spans by characters."""
    if type(text) is not str or (marked is not None and type(marked) is not list):
        got = short(repr([text, marked]))
        raise table.error(line, f"expected a text and its spans, got {got}")
    spans = []
    for entry in marked or []:
        start, end, label = _span(entry) or (0, 0, "")
        inner = text[start:end] if 0 <= start < end <= len(text) else ""
        if not inner.strip():
            raise table.error(
                line,
                f"expected spans of start, end and label within the text, got {short(str(entry))}",
            )
        start += len(inner) - len(inner.lstrip())
        spans.append((start, start + len(inner.strip()), label))
    taken: list[tuple[int, int, str]] = []
    for span in sorted(set(spans), key=lambda s: (s[0] - s[1], s)):  # the longest first
        if any(span[0] < end and start < span[1] for start, end, _ in taken):
            notes["spans that overlap another one are left out"] += 1
        else:
            taken.append(span)
    ends = sorted({place for start, end, _ in taken for place in (start, end)})
    words = []
    for match in WORD.finditer(text):
        cuts = [place for place in ends if match.start() < place < match.end()]
        if cuts:
            notes["words are divided where a span begins or ends within them"] += 1
        words += list(zip([match.start(), *cuts], [*cuts, match.end()], strict=True))
    tags = []
    for start, end in words:
        held = next((s for s in taken if s[0] <= start and end <= s[1]), None)
        tags.append("O" if held is None else f"{'B' if start == held[0] else 'I'}-{held[2]}")
    return [[text[start:end] for start, end in words], tags]


def _by_sentence(table: Table, names: list[str], bad: list[str]) -> list[tuple[int, list[Any]]]:
    """Sentences of a table with a token a row."""
    if len(names) < 3:
        raise CorpusError(
            f"{table.path}: expected a column with the sentence's number, such as sentence_id, or "
            f"a token a line with blank lines between sentences; got {', '.join(table.names)}"
        )
    number, token, tag = (table.names.index(name) for name in names)
    rows: list[tuple[int, list[Any]]] = []
    last: Any = None
    broken: set[int] = set()
    for line, values in table.rows:
        key = values[number]
        if not rows or (not is_missing(key) and key != last):
            rows.append((line, [[], []]))
            last = key
        cells = [str(values[p]).strip() if values[p] is not None else "" for p in (token, tag)]
        if not all(cells):
            bad.append(f"{table.path}:{line}: expected a token and a tag, got an empty one")
            broken.add(len(rows) - 1)
        rows[-1][1][0].append(cells[0])
        rows[-1][1][1].append("_".join(cells[1].split()))
    return [row for n, row in enumerate(rows) if n not in broken]


# -- questions ---------------------------------------------------------------------------------


def is_reading(table: Table) -> bool:
    """Whether a table is of questions with answers in a text, in SQuAD's form or its kin."""
    names = set(table.names)
    forms = ({"paragraphs"}, {"context", "qas"}, {"context", "question", "answers"})
    return any(form <= names for form in forms) or names == {"version", "data"}

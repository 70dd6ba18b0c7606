"""What a file is for: which of its columns are texts, labels, tags or spans.

Whatever the file, tagged text comes out as a table of the columns ``tokens`` and ``tags``, and
everything else as a table with a text, or two, and a label, or several.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dicelab.corpora.conll import UNIVERSAL_NER, layout_of, read_conll
from dicelab.corpora.conllu import read_conllu
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.registry import split_of
from dicelab.corpora.tables import (
    LABELS,
    LOOK,
    PAIRS,
    SPLIT_COLUMNS,
    TEXTS,
    Table,
    is_missing,
    is_number,
    label_of,
    read_table,
    short,
    text_of,
)
from dicelab.corpora.tags import looks_tagged, respelt, scheme_of, to_iob2
from dicelab.corpora.text import WORD, odd_character, read_lines

TAGGED = (".conll", ".conllu", ".iob2", ".iob", ".bio", ".bmes", ".bioes", ".annotated")
#: Between several labels in one cell.
SEPARATORS = ("|", ";", ",")
#: More labels than this are an id or a number to predict, which no classifier can.
MOST_LABELS = 1000
YES, NO = ("1", "true", "yes"), ("0", "false", "no")
NOTHING = ("none", "n/a", "na", "null", "#n/a", "<na>", "-")
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


@dataclass(frozen=True)
class Asked:
    """What the reader of a file was told about it; None where nothing was.

    Attributes:
        task: ``"tagging"``, ``"sentences"``, ``"pairs"`` or ``"labels"``.
        text: the column of the text, or of the tokens.
        text2: of a pair's second text.
        label: of the label or the tags; several by commas are yes or no each.
        label_separator: between several labels in one cell.
        encoding: of the file.
        delimiter: between columns.
        header: whether the first line names the columns.
        skip_bad: leave rows out that cannot be read.
    """

    task: str | None = None
    text: str | None = None
    text2: str | None = None
    label: str | None = None
    label_separator: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    skip_bad: bool = False

    @property
    def columns(self) -> list[str]:
        """The names that were asked for."""
        labels = self.label.split(",") if self.label else []
        return [name for name in (self.text, self.text2, *labels) if name]


@dataclass(frozen=True)
class Columns:
    """Which columns a task reads.

    Attributes:
        texts: one, or two of a pair.
        labels: one, or several with yes or no each; none where a table is only to be predicted.
        notes: what was guessed, in sentences.
    """

    texts: list[str]
    labels: list[str]
    notes: list[str]


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
    table = of_fasttext(
        _studio(
            read_table(
                path,
                encoding=asked.encoding,
                delimiter=asked.delimiter,
                header=asked.header,
                wanted=asked.columns,
            )
        )
    )
    if asked.task == "tagging" and tagging_form(table, asked) is None:
        try:
            return read_tagged(path, asked, sure=True) or table
        except CorpusError:
            return table
    return table


def read_tagged(path: Path, asked: Asked, *, sure: bool = False) -> Table | None:
    """A file of a token a line as a table of ``tokens`` and ``tags``; None for any other.

    Args:
        path: the file.
        asked: what was said about it.
        sure: whether it can be nothing else; by default where its name says so.
    """
    name = path.name.lower().removesuffix(".gz")
    sure = sure or name.endswith(TAGGED)
    if name.endswith((".json", ".jsonl", ".ndjson", ".parquet", ".xlsx")):
        return None
    if path.is_file() and path.read_bytes()[:4] in (b"PAR1", b"PK\x03\x04"):
        return None
    lines = read_lines(path, encoding=asked.encoding, errors="keep")
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip()[:1] in ("{", "[") and not sure and '"' in first:
        return None
    options: dict[str, Any] = {"encoding": asked.encoding}
    if name.endswith(".conllu"):
        return _of_dataset(path, read_conllu(path), "CoNLL-U", [])
    layout = layout_of(lines[:5000], sure=sure)
    if layout is None and not sure:
        return None
    options |= layout or {}
    if name.endswith(".iob2") and options.get("token_column", 1) == 1:
        options |= UNIVERSAL_NER
    if asked.delimiter:
        options["separator"] = asked.delimiter
    for option, told in (("token_column", asked.text), ("tag_column", asked.label)):
        if told is not None:
            if not told.isdigit() or told == "0":
                raise CorpusError(
                    f"{path}: a tagged file has no header; expected a column's number from 1, got "
                    f"{told!r}"
                )
            options[option] = int(told) - 1
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
    return _of_dataset(path, rows, f"{form}{places}", bad or [], list(repairs))


def _of_dataset(
    path: Path, rows: Any, form: str, bad: list[str], notes: Sequence[str] = ()
) -> Table:
    told = [note for note in notes if note.startswith("tags ")]
    taken = [note.removeprefix("read as ") for note in notes if note.startswith("read as ")]
    form = f"{(taken or ['utf-8'])[0]}, {form}"
    pairs = zip(rows["tokens"][:], rows["tags"][:], strict=True)
    table = [(n, [list(tokens), list(tags)]) for n, (tokens, tags) in enumerate(pairs, 1)]
    form = "; ".join([form, *told])
    return Table(str(path), ["tokens", "tags"], table, bad, form, objects=True, tagged=True)


def of_fasttext(table: Table) -> Table:
    """Lines that begin with ``__label__NAME`` as a text and its labels."""
    lines = [" ".join(map(str, row)) for _, row in table.rows]
    some = [line for line in lines[:LOOK] if line.strip()]
    if table.header or not some or not all(line.startswith("__label__") for line in some):
        return table
    rows: list[tuple[int, list[Any]]] = []
    for (number, _), line in zip(table.rows, lines, strict=True):
        labels = re.match(r"(?:__label__\S+[\s,]*)*", line)
        end = labels.end() if labels else 0
        names = re.findall(r"__label__([^\s,]+)", line[:end])
        rows.append((number, [line[end:].strip(), names[0] if len(names) == 1 else names]))
    if any(type(row[1]) is list for _, row in rows):
        rows = [(n, [text, [of] if type(of) is str else of]) for n, (text, of) in rows]
    form = table.form.replace(", no header (--header)", "") + ", fastText's __label__"
    return replace(table, names=["text", "label"], rows=rows, form=form, objects=True)


def _studio(table: Table) -> Table:
    """An export of Label Studio as a table of texts with their spans or choices."""
    if "annotations" not in table.names or not table.objects:
        return table
    rows: list[tuple[int, list[Any]]] = []
    bad = list(table.bad)
    spans = False
    for number, row in table.rows:
        told = dict(zip(table.names, row, strict=True))
        made = [a for a in told["annotations"] or [] if not a.get("was_cancelled")]
        texts = [v for v in (told.get("data") or {}).values() if isinstance(v, str)]
        text = (told.get("data") or {}).get("text", texts[0] if len(texts) == 1 else None)
        if not made or text is None:
            lacking = "an annotation" if text is not None else "one text"
            bad.append(f"{table.path}:{number}: expected {lacking}, got none")
            continue
        values = [r.get("value", {}) for r in made[0].get("result", [])]
        found: list[Any] = [choice for v in values for choice in v.get("choices", [])]
        marked = [
            {"start": v["start"], "end": v["end"], "label": name}
            for v in values
            if "start" in v
            for name in v.get("labels", [])
        ]
        spans = spans or bool(marked)
        rows.append((number, [text, marked or found]))
    if not spans:
        rows = [(n, [t, c[0] if len(c) == 1 else c]) for n, (t, c) in rows]
        if any(type(row[1]) is list for _, row in rows):
            rows = [(n, [t, [c] if type(c) is str else c]) for n, (t, c) in rows]
    form = f"{table.form}, an export of Label Studio"
    return replace(
        table, names=["text", "spans" if spans else "label"], rows=rows, bad=bad, form=form
    )


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
    some = replace(table, rows=table.rows[:LOOK])
    cells = {name: [parsed(v) for v in some.column(name)] for name in table.names}
    lists = [n for n, of in cells.items() if _are(of, lambda v: type(v) is list)]
    strings = [n for n in lists if any(cells[n])]
    tokens = [n for n in strings if _are(cells[n], lambda v: all(type(t) is str for t in v))]
    tokens = _first(tokens, TOKENS, asked.text)
    for name in _first([n for n in lists if n not in tokens[:1]], _TAGS, asked.label):
        both = zip(cells[tokens[0]], cells[name], strict=True) if tokens else ()
        alike = [
            len(a) == len(b) and not isinstance((b or [""])[0], dict | list)
            for a, b in both
            if type(a) is list and type(b) is list
        ]
        if sum(alike) > 0.9 * len(table.rows[:LOOK]):
            return "lists", [tokens[0], name]
    for name in _first(lists, _SPANS, asked.label):
        kinds = [_span(one) for value in cells[name] if type(value) is list for one in value]
        if kinds and all(kind is not None for kind in kinds):
            texts = [n for n in table.names if _are(cells[n], lambda v: type(v) is str)]
            if tokens and name != tokens[0]:
                return "words", [tokens[0], name]
            texts = _first(texts, TEXTS, asked.text)
            if texts:
                return "spans", [texts[0], name]
    as_dict = [n for n, of in cells.items() if _are(of, lambda v: type(v) is dict)]
    for name in as_dict:  # spaCy: a text and {"entities": [[0, 4, "PER"]]}
        if all("entities" in v for v in cells[name] if v):
            texts = [n for n in table.names if _are(cells[n], lambda v: type(v) is str)]
            if texts:
                return "spans", [texts[0], name]
    if asked.label is None or asked.task == "tagging":
        return _strings(some, asked) or _token_rows(some, asked)
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
        if len(flat) < 2 * len(table.rows) or not looks_tagged(flat):
            continue
        for tokens in _first([n for n in table.names if n != tags], TEXTS, asked.text):
            both = zip(words[tokens], words[tags], strict=True)
            if sum(len(a) == len(b) for a, b in both) > 0.9 * len(table.rows):
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
    tags = [n for n in known if looks_tagged(map(str, table.column(n)))] or known
    if asked.label in table.names:
        tags = [str(asked.label)]
    numbers = [names[n] for n in _SENTENCES if n in names and names[n] not in (tokens + tags)[:2]]
    if not tokens or not tags:
        return None
    single = sum(" " not in str(v).strip() for v in table.column(tokens[0]))
    if single < 0.9 * len(table.rows):
        return None
    return "rows", [*numbers[:1], tokens[0], tags[0]]


def parsed(value: Any) -> Any:
    """A cell whose text is a list, or an object with a list, as that list."""
    if isinstance(value, str):
        text = value.strip()
        if text[:1] + text[-1:] in ("[]", "{}", "()"):
            for load in (json.loads, ast.literal_eval):
                try:
                    value = load(text)
                    break
                except (RecursionError, ValueError, SyntaxError, MemoryError):
                    continue
            else:
                inner = text[1:-1].split()
                # As pandas writes an array of numpy: [1 0 0].
                if text[0] == "[" and len(inner) > 1 and all(map(is_number, inner)):
                    value = [float(one) for one in inner]
    if isinstance(value, dict) and list(value) == ["choices"]:
        value = value["choices"]
    if isinstance(value, set | frozenset | tuple):
        value = sorted(value) if isinstance(value, set | frozenset) else list(value)
    return value


def _span(one: Any) -> tuple[int, int, str] | None:
    """Start, end and label of a span in any of the usual forms."""
    if type(one) is list and len(one) == 3:
        start, end, label = one
    elif type(one) is dict:
        start = one.get("start", one.get("start_offset"))
        end = one.get("end", one.get("end_offset"))
        label = one.get("label", one.get("labels", one.get("entity_group", one.get("type"))))
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
        answer = table.names.index("answer") if "answer" in table.names else None
        for line, values in table.rows:
            if answer is not None and values[answer] in ("reject", "ignore"):
                notes["rows that Prodigy's user did not accept are left out"] += 1
                continue
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
    broken = {int(told.removeprefix(f"{table.path}:").split(":")[0]) for told in bad if ":" in told}
    rows = [row for row in rows if row[0] not in broken]
    tagged, told = respelt([tags for _, (_, tags) in rows])
    scheme = scheme_of(tagged)
    if scheme != "plain":
        tagged = [to_iob2(tags) for tags in tagged]
    rows = [(n, [of[0], tags]) for (n, of), tags in zip(rows, tagged, strict=True)]
    said = [f"{n} {note}" for note, n in notes.items()] + [told] * bool(told)
    how = {
        "lists": f"lists of tokens ({names[0]!r}) and tags ({names[-1]!r})",
        "spans": f"a text ({names[0]!r}) and its spans by characters ({names[-1]!r})",
        "words": f"tokens ({names[0]!r}) and their spans ({names[-1]!r})",
        "strings": f"tokens ({names[0]!r}) and tags ({names[-1]!r}) between spaces",
        "rows": f"a token a row, {', '.join(map(repr, names))}",
    }
    form_told = "; ".join([f"{table.form}: {how[kind]}", *said])
    return replace(table, names=["tokens", "tags"], rows=rows, bad=bad, form=form_told)


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
        for one in second:
            start, end, label = _span(one) or (0, -1, "")
            if not 0 <= start <= end < len(first):
                raise table.error(line, f"expected a span of its {len(first)} tokens, got {one}")
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
    for one in marked or []:
        start, end, label = _span(one) or (0, 0, "")
        inner = text[start:end] if 0 <= start < end <= len(text) else ""
        if not inner.strip():
            raise table.error(
                line,
                f"expected spans of start, end and label within the text, got {short(str(one))}",
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


# -- columns -----------------------------------------------------------------------------------


def choose(table: Table, asked: Asked, *, labelled: bool = True) -> Columns:
    """Which columns are the text (or the two texts) and the label.

    Args:
        table: what was read.
        asked: names or numbers from 1; what is None follows from the header, then from what the
            columns hold.
        labelled: whether a label is needed.

    Raises:
        CorpusError: naming the columns that there are, and the options that say which is which.
    """
    notes: list[str] = []
    names = {name.lower(): name for name in reversed(table.names)}
    some = replace(table, rows=table.rows[:LOOK])
    labels = [asked_for(table, n, "--label") for n in asked.label.split(",")] if asked.label else []
    texts = [
        asked_for(table, one, option)
        for one, option in ((asked.text, "--text"), (asked.text2, "--text2"))
        if one is not None
    ]
    free = [name for name in table.names if name and name not in texts and name not in labels]
    if labelled and not labels:
        by_name = [names[alias] for alias in LABELS if alias in names and names[alias] in free]
        # A column called label whose values are all different is an id.
        by_name = [n for n in by_name if _recur(some, n)] or by_name
        several = _yes_or_no_columns(some, free) if not by_name else []
        labels = by_name[:1] or several or _few_values(some, free)
        if labels:
            how = "by its name" if by_name else "by what it holds"
            shown = ", ".join(map(repr, labels))
            notes.append(
                f"The label is column {shown}, {how} (--label)."
                if len(labels) == 1
                else f"The labels are the columns {shown}, yes or no each (--label)."
            )
    if asked.text is None:
        free = [n for n in table.names if n not in labels and n not in texts]
        texts = [*_texts_by_name(free, asked.task), *texts][:2] or _long_columns(some, free)
        if asked.task in ("sentences", "labels") and len(texts) > 1:
            texts = []
        if texts:
            shown = " and ".join(map(repr, texts))
            columns = "columns" if len(texts) > 1 else "column"
            notes.append(f"The text is {columns} {shown} (--text).")
    if not texts or (labelled and not labels) or len(texts) > 2:
        lacking = "text" if not texts or len(texts) > 2 else "label"
        option = "--text, and --text2 for pairs" if lacking == "text" else "--label"
        shown = short(", ".join(map(repr, table.names)), 400)
        raise CorpusError(
            f"{table.path}: expected to tell which column is the {lacking}; the columns are "
            f"{shown}. Say it with {option} (a name or a number from 1)"
        )
    if asked.task == "pairs" and len(texts) == 1:
        raise CorpusError(
            f"{table.path}: expected two columns of text for pairs, got {texts[0]!r} alone; say "
            f"the other with --text2. The columns are {', '.join(map(repr, table.names))}"
        )
    return Columns(texts, labels, notes)


def asked_for(table: Table, wanted: str, option: str) -> str:
    """The column of a name, or of a number from 1.

    Raises:
        CorpusError: there is none.
    """
    for name in table.names:
        if name == wanted or name.lower() == wanted.strip().lower():
            return name
    if wanted.isdigit() and 0 < int(wanted) <= len(table.names):
        return table.names[int(wanted) - 1]
    raise CorpusError(
        f"{table.path}: {option}: expected one of the columns "
        f"{short(', '.join(map(repr, table.names)), 400)}, got {wanted!r}"
    )


def _texts_by_name(free: Sequence[str], task: str | None) -> list[str]:
    names = {name.lower(): name for name in free}
    if task in (None, "pairs"):
        for pair in PAIRS:
            if all(name in names for name in pair):
                return [names[name] for name in pair]
    return [names[alias] for alias in TEXTS if alias in names][:1]


def _values(table: Table, name: str) -> list[str]:
    return ["" if value is None else str(value).strip() for value in table.column(name)]


def _recur(table: Table, name: str) -> bool:
    values = _values(table, name)
    return len(set(values)) <= max(2, 0.5 * len(values))


def _yes_or_no_columns(table: Table, free: Sequence[str]) -> list[str]:
    found = []
    for name in free:
        values = {plain(value).lower() for value in _values(table, name)} - {""}
        binary = values <= {*YES, *NO} and len(values & {*NO}) == 1
        # Or the name of the label where the row has it, and NONE where it has not.
        named = len(values & {*NOTHING}) == 1 and len(values) <= 20 and len(table.rows) > 40
        if values and (binary or named):
            found.append(name)
    return found if len(found) > 1 else []


def _few_values(table: Table, free: Sequence[str]) -> list[str]:
    found = []
    for name in free:
        values = _values(table, name)
        distinct = set(values)
        brief = sum(map(len, distinct)) <= 40 * len(distinct)
        if 2 <= len(distinct) <= max(2, min(MOST_LABELS, len(values) // 3)) and brief:
            found.append(name)
    return found if len(found) == 1 else []


def _long_columns(table: Table, free: Sequence[str]) -> list[str]:
    found = []
    for name in free:
        values = [value for value in _values(table, name) if value]
        words = sum(len(value.split()) for value in values)
        characters = sum(map(len, values))
        if values and (words >= 2 * len(values) or characters >= 15 * len(values)):
            found.append(name)
    if not found and len(free) == 1 and table.rows:
        found = list(free)
    return found if len(found) <= 2 else []


# -- splits ------------------------------------------------------------------------------------


def by_split(table: Table) -> tuple[dict[str, Table], str]:
    """The parts of a table with a column that says train, dev or test, and that column's name."""
    for name in table.names:
        values = [str(value).strip() for value in table.column(name) if not is_missing(value)]
        known = name.lower() in SPLIT_COLUMNS or not table.header
        if not values or not known:
            continue
        kinds = {value: split_of(f"{value}.x") for value in set(values)}
        if len(kinds) > 12 or None in kinds.values() or "train" not in kinds.values():
            continue
        place = table.names.index(name)
        names = [n for n in table.names if n != name]
        parts: dict[str, list[tuple[int, list[Any]]]] = {}
        bad = list(table.bad)
        for line, row in table.rows:
            kind = kinds.get(str(row[place]).strip())
            if kind is None:
                bad.append(f"{table.path}:{line}: expected a split in column {name!r}, got none")
                continue
            parts.setdefault(kind, []).append((line, row[:place] + row[place + 1 :]))
        of = {
            kind: replace(table, names=names, rows=rows, bad=bad if kind == "train" else [])
            for kind, rows in parts.items()
        }
        return of, name
    return {"train": table}, ""


# -- labels ------------------------------------------------------------------------------------

Reader = Callable[[Table, int, list[Any]], Any]


def plain(label: str) -> str:
    """A whole number without the .0 that pandas adds where a column has holes."""
    return re.sub(r"^(-?\d+)\.0+$", r"\1", label)


def label_reader(table: Table, columns: Columns, asked: Asked) -> tuple[Reader, list[str]]:
    """How the label of a row is read, one name or a list of names, and notes about it."""
    if len(columns.labels) > 1:
        return _of_columns(table, columns.labels), []
    (name,) = columns.labels
    cells = [parsed(value) for value in table.column(name)]
    held = [cell for cell in cells if not is_missing(cell)]
    lists = any(type(cell) is list for cell in held)
    sign = asked.label_separator
    if asked.task in (None, "labels") and sign is None and not lists:
        sign = separator_of(held)
    hot = positions(cells, name)
    if hot:
        note = f"The labels {hot[0]} to {hot[-1]} are the places of lists of 0 and 1."
        return lambda table, line, values: places_of(table, line, values[0], hot), [note]
    if lists and asked.task is None and all(type(c) is list and len(c) == 1 for c in held):
        of_one, notes = _one_label([cell[0] for cell in held], name)
        note = f"Each list in column {name!r} has one label: one class a row (--task labels)."

        def of_only(table: Table, line: int, values: list[Any]) -> str:
            cell = parsed(values[0])
            if type(cell) is not list or len(cell) != 1:
                raise table.error(line, f"expected a list of one label, got {short(str(cell))}")
            return str(of_one(table, line, cell))

        return of_only, [*notes, note]
    if lists or sign is not None or asked.task == "labels":

        def of_list(table: Table, line: int, values: list[Any]) -> list[str]:
            cell = parsed(values[0])
            if isinstance(cell, str):
                cell = [part for part in cell.split(sign) if part.strip()] if sign else [cell]
            if cell is None or (cell != [] and not isinstance(cell, list)):
                cell = [label_of(table, line, cell, name)]
            found = [label_of(table, line, one, name) for one in cell]
            return list(dict.fromkeys(found))

        return of_list, []
    return _one_label(cells, name)


_BITS = ("0", "1", "true", "false")


def positions(cells: Sequence[Any], name: str) -> list[str]:
    """Names of the labels whose places lists of 0 and 1 have; none where cells are not such."""
    held = [cell for cell in cells if not is_missing(cell)]
    width = {len(cell) if type(cell) is list else 0 for cell in held}
    if len(width) != 1 or min(width) < 2:
        return []
    flat = {plain(str(one)).lower() for cell in held for one in cell}
    if not flat <= {*_BITS} or len(flat) < 2:
        return []
    return [f"{name}_{n + 1}" for n in range(min(width))]


def places_of(table: Table, line: int, value: Any, names: Sequence[str]) -> list[str]:
    """The labels whose places in a list hold 1.

    Raises:
        CorpusError: the cell is no list of as many 0 and 1.
    """
    cell = parsed(value)
    told = [plain(str(one)).lower() for one in cell] if type(cell) is list else []
    if len(told) != len(names) or not set(told) <= {*_BITS}:
        raise table.error(line, f"expected {len(names)} times 0 or 1, got {short(str(cell))}")
    return [name for name, one in zip(names, told, strict=True) if one in ("1", "true")]


def _one_label(cells: list[Any], name: str) -> tuple[Reader, list[str]]:
    texts = [cell.strip() for cell in cells if isinstance(cell, str) and not is_missing(cell)]
    numbers = sum(map(is_number, texts))
    missing = {t for t in texts if t.lower() in NOTHING} if numbers > 0 else set()
    numeric = numbers + sum(t in missing for t in texts) == len(texts)
    missing = missing if numeric else set()
    whole = numeric and all(re.fullmatch(r"-?\d+(\.0+)?", t) for t in texts if t not in missing)
    spellings: dict[str, Counter[str]] = {}
    for text in texts:
        spellings.setdefault(text.casefold(), Counter())[text] += 1
    usual = {key: of.most_common(1)[0][0] for key, of in spellings.items()}
    notes = [
        f"The labels {', '.join(map(repr, sorted(of)))} differ in case alone: all are read as "
        f"{usual[key]!r}."
        for key, of in spellings.items()
        if len(of) > 1
    ]

    def of_one(table: Table, line: int, values: list[Any]) -> str:
        value = values[0]
        if isinstance(value, str) and value.strip() in missing:
            raise table.error(
                line,
                f"expected a number in column {name!r} as in other rows, got {value.strip()!r}",
            )
        label = label_of(table, line, value, name)
        if whole:
            return plain(label)
        return usual.get(label.casefold(), label)

    return of_one, notes


def _of_columns(table: Table, labels: Sequence[str]) -> Reader:
    named = {
        name
        for name in labels
        if not {plain(v).lower() for v in _values(table, name)} <= {*YES, *NO, ""}
        and {v.lower() for v in _values(table, name)} & {*NOTHING, ""}
    }

    def of_columns(table: Table, line: int, values: list[Any]) -> list[str]:
        found = []
        for name, value in zip(labels, values, strict=True):
            if name in named and is_missing(value):
                continue
            told = plain(label_of(table, line, value, name))
            if name in named and not is_number(told):
                # The label's own name where the row has it, as in NONE, late, NONE.
                if told.lower() not in NOTHING:
                    found.append(told)
                continue
            if told.lower() not in (*YES, *NO):
                raise table.error(line, f"expected 0 or 1 in column {name!r}, got {told!r}")
            if told.lower() in YES:
                found.append(name)
        return list(dict.fromkeys(found))

    return of_columns


def separator_of(cells: Iterable[Any]) -> str | None:
    """The sign between several labels in one cell; None where each cell holds one label."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    for sign in SEPARATORS:
        several = [cell for cell in texts if sign in cell]
        if not several:
            continue
        atoms = Counter(atom.strip() for cell in texts for atom in cell.split(sign))
        in_several = {atom.strip() for cell in several for atom in cell.split(sign)}
        recur = sum(atoms[atom] > 1 for atom in in_several)
        decimals = sign == "," and all(map(is_number, texts))
        if recur >= 0.8 * len(in_several) and len(atoms) < len(set(texts)) and not decimals:
            return sign
    return None


__all__ = ["Asked", "Columns", "as_tagged", "by_split", "choose", "label_reader", "read", "text_of"]

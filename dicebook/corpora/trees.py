r"""Bracketed trees: sentiment trees (SST), and the Penn and Chinese Treebanks.

Words are split at blanks and tabs alone, never at other Unicode spaces: three trees of SST hold a
no-break space within a word (``1\/2``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from datasets import Dataset

from dicebook.corpora.errors import CorpusError
from dicebook.corpora.forms import to_dataset
from dicebook.corpora.text import read_lines

#: The treebanks' escapes for brackets, and what they stand for.
ESCAPES = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
}

#: Keys of ``repairs``.
NEUTRAL = "neutral sentences left out"
UNESCAPED = "words with treebank escapes undone"
BLANK = "blank lines skipped"

_ESCAPE = re.compile("|".join(ESCAPES))
_PIECE = re.compile(r"[()]|[^() \t]+")
_MARKUP = re.compile(r"\s*<.*>\s*")


_DEGREES = frozenset("01234")


@dataclass
class _Node:
    """A bracket that is still open: its line, its atoms, and whether it holds brackets."""

    line: int
    atoms: list[str] = field(default_factory=list)
    phrase: bool = False


def _trees(
    path: str | PathLike[str],
    lines: Iterable[tuple[int, str]],
    labels: Collection[str] | None = None,
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The label of each outermost bracket ("" for none), and the words in it with theirs.

    One pass with a stack: no tree is too deep. Every label must be one of ``labels``, if given.
    """
    stack: list[_Node] = []
    words: list[tuple[str, str]] = []
    number = 0
    for number, line in lines:
        if "\0" in line:
            raise CorpusError.at(path, number, "expected plain text, got a NUL byte")
        if _MARKUP.fullmatch(line) and "(" not in line:
            if stack:
                problem = (
                    f"expected ')' for the bracket of line {stack[-1].line}, got {line[:60]!r}"
                )
                raise CorpusError.at(path, number, problem)
            continue
        for piece in _PIECE.findall(line):
            if piece == "(":
                if stack:
                    stack[-1].phrase = True
                stack.append(_Node(number))
            elif not stack:
                raise CorpusError.at(path, number, f"expected '(', got {piece[:60]!r}")
            elif piece != ")":
                stack[-1].atoms.append(piece)
            else:
                node = stack.pop()
                if problem := _problem(node, labels):
                    raise CorpusError.at(path, number, problem)
                if not node.phrase:
                    words.append((node.atoms[0], node.atoms[1]))
                if not stack:
                    yield "".join(node.atoms[:1]), words
                    words = []
    if stack:
        problem = f"expected ')' for the bracket of line {stack[0].line}, got the end"
        raise CorpusError.at(path, number, problem)


def _problem(node: _Node, labels: Collection[str] | None) -> str | None:
    """What is wrong with a bracket: a word has a label, a phrase may have one, and nothing else."""
    if labels is not None and (not node.atoms or node.atoms[0] not in labels):
        expected = ", ".join(sorted(labels))
        return f"expected a label of {expected} after '(', got {' '.join(node.atoms)[:40]!r}"
    if node.phrase and len(node.atoms) > 1:
        return f"expected '(' or ')' in a phrase, got {node.atoms[1][:60]!r}"
    if not node.phrase and len(node.atoms) != 2:
        return f"expected (label word), got ({' '.join(node.atoms)[:60]})"
    return None


def is_tree_file(path: str | PathLike[str]) -> bool:
    """Whether a file begins with a bracket, as one of trees does."""
    with Path(path).open("rb") as file:
        return file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"(")


def read_trees(
    path: str | PathLike[str], repairs: Counter[str] | None = None, *, classes: int = 5
) -> Dataset:
    r"""Read the sentences of a sentiment treebank, with the labels of the whole sentences.

    Args:
        path: A UTF-8 file with one tree a line, such as ``(3 (2 It) (4 works))``: every node has a
            label from 0 (very negative) to 4 (very positive) and either one word or children.
        repairs: What was repaired or left out is added here, by kind.
        classes: 5 keeps the labels (SST-5). 2 makes SST-2: 0 and 1 become 0, 3 and 4 become 1, and
            neutral sentences are left out.

    Returns:
        One row a sentence, in the file's order: ``{"sentence": str, "label": int}``. The words are
        joined by blanks; the treebank's escapes (``-LRB-``, ``\/``) are undone.

    Raises:
        CorpusError: With file and line: brackets that do not match, a label that is none of 0 to
            4, a node with neither word nor children, text outside the tree; or an empty file.
    """
    if classes not in (2, 5):
        raise CorpusError(f"classes: expected 5 (SST-5) or 2 (SST-2), got {classes!r}")
    repairs = Counter() if repairs is None else repairs
    columns: dict[str, list[object]] = {"sentence": [], "label": []}
    for number, line in enumerate(read_lines(path, repairs), 1):
        if not line.strip():
            repairs[BLANK] += 1
            continue
        trees = list(_trees(path, [(number, line)], _DEGREES))
        if len(trees) != 1:
            raise CorpusError.at(path, number, f"expected one tree a line, got {len(trees)}")
        label, words = int(trees[0][0]), [word for _, word in trees[0][1]]
        if classes == 2 and label == 2:
            repairs[NEUTRAL] += 1
            continue
        plain = [_ESCAPE.sub(lambda match: ESCAPES[match[0]], printed(word)) for word in words]
        if plain != words:
            repairs[UNESCAPED] += sum(map(str.__ne__, plain, words))
        columns["sentence"].append(" ".join(plain))
        columns["label"].append(int(label > 2) if classes == 2 else label)
    if not columns["label"]:
        raise CorpusError.at(path, 0, "expected labelled trees, got none")
    return to_dataset(columns, task="sentences")


def read_treebank(
    paths: Iterable[str | PathLike[str]],
    *,
    unescape: bool = True,
    encodings: tuple[str, ...] = ("utf-8",),
    repairs: Counter[str] | None = None,
) -> Dataset:
    r"""Read the words and parts of speech of bracketed files, a sentence each outermost bracket.

    Traces (tag ``-NONE-``) are left out, and a sentence of nothing else with them. Lines of markup
    (``<S ID=1>``, in files of the Chinese Treebank) are passed over. A functional suffix of a tag
    (``NN-SHORT``) is cut off.

    Args:
        paths: The files (``.mrg``, ``.fid``, ``.nw``, ...), in the order wanted.
        unescape: Whether words come out as they were printed: ``(`` for ``-LRB-``, ``/`` for
            ``\/``, ``*`` for ``\*``. Tags stay as they are.
        encodings: Tried in turn for each file; ``("utf-8", "gb18030")`` suits the Chinese
            Treebank 5.
        repairs: What was repaired or left out is added here, by kind.

    Returns:
        Rows of ``tokens`` and ``tags``.

    Raises:
        CorpusError: With file and line: a bracket that is not closed or not open, text outside the
            brackets, a word without a tag, an empty bracket; a file without a tree.
    """
    repairs = Counter() if repairs is None else repairs
    columns: dict[str, list[list[str]]] = {"tokens": [], "tags": []}
    for path in paths:
        lines = _read_in_one_of(path, encodings, repairs)
        trees = 0
        for trees, (_, words) in enumerate(_trees(path, enumerate(lines, 1)), 1):  # noqa: B007
            kept = [(word, tag) for tag, word in words if tag != "-NONE-"]
            repairs["traces left out"] += len(words) - len(kept)
            if not kept:
                repairs["sentences of traces alone left out"] += 1
                continue
            columns["tokens"].append([printed(word) if unescape else word for word, _ in kept])
            columns["tags"].append([_bare(tag, repairs) for _, tag in kept])
        if not trees:
            raise CorpusError.at(path, 0, "expected bracketed trees, got none")
    if not columns["tokens"]:
        raise CorpusError("expected files of bracketed trees, got no sentence")
    return to_dataset(columns, task="tagging")


def _read_in_one_of(
    path: str | PathLike[str], encodings: tuple[str, ...], repairs: Counter[str]
) -> list[str]:
    for encoding in encodings[:-1]:
        try:
            return read_lines(path, repairs, encoding=encoding)
        except CorpusError:
            continue
    return read_lines(path, repairs, encoding=encodings[-1])


def printed(word: str) -> str:
    r"""A word as it was printed: ``(`` for ``-LRB-``, ``/`` for ``\/``, ``*`` for ``\*``."""
    return ESCAPES.get(word) or word.replace(r"\/", "/").replace(r"\*", "*")


def _bare(tag: str, repairs: Counter[str]) -> str:
    bare = tag.split("-", 1)[0]
    if bare and bare != tag:
        repairs["functional suffixes cut off tags"] += 1
        return bare
    return tag

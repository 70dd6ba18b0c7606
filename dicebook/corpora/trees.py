r"""Bracketed trees: sentiment trees (SST), and the Penn and Chinese Treebanks.

Words are split at blanks and tabs alone, never at other Unicode spaces: three trees of SST hold a
no-break space within a word (``1\/2``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
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


@dataclass
class _Node:
    """A bracket that is still open: its line, its atoms, and how many brackets it holds."""

    line: int
    atoms: list[str] = field(default_factory=list)
    children: int = 0


def _nodes(
    path: str | PathLike[str], lines: Iterable[tuple[int, str]]
) -> Iterator[tuple[int, _Node, bool]]:
    """Every bracket as it closes: the line it closes in, what it holds, whether it is outermost.

    One pass with a stack: no tree is too deep.
    """
    stack: list[_Node] = []
    number = 0
    for number, line in lines:
        if "\0" in line:
            raise CorpusError.at(path, number, "expected plain text, got a NUL byte")
        if _MARKUP.fullmatch(line) and "(" not in line:
            if stack:
                raise CorpusError.at(
                    path,
                    number,
                    f"expected ')' for the bracket of line {stack[-1].line}, got {line[:60]!r}",
                )
            continue
        for piece in _PIECE.findall(line):
            if piece == "(":
                if stack:
                    stack[-1].children += 1
                stack.append(_Node(number))
            elif not stack:
                raise CorpusError.at(path, number, f"expected '(', got {piece[:60]!r}")
            elif piece == ")":
                yield number, stack.pop(), not stack
            else:
                stack[-1].atoms.append(piece)
    if stack:
        raise CorpusError.at(
            path, number, f"expected ')' for the bracket of line {stack[0].line}, got the end"
        )


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
        label, words = _sentiment(path, number, line)
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


def _sentiment(path: str | PathLike[str], number: int, line: str) -> tuple[int, list[str]]:
    words: list[str] = []
    root = None
    for _, node, outermost in _nodes(path, [(number, line)]):
        label, *inside = node.atoms or ["no label"]
        if root is not None:
            raise CorpusError.at(path, number, "expected one tree a line, got another after it")
        if label not in ("0", "1", "2", "3", "4"):
            raise CorpusError.at(
                path, number, f"expected a label from 0 to 4 after '(', got {label[:40]!r}"
            )
        if len(inside) + bool(node.children) != 1:
            got = " ".join(inside)[:40] + " and nodes" * bool(node.children)
            raise CorpusError.at(
                path, number, f"expected one word or nodes in a node, got {got or 'none'}"
            )
        words += inside
        root = int(label) if outermost else None
    if root is None:
        raise CorpusError.at(path, number, "expected a tree, got none")
    return root, words


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
        trees, words = 0, []
        for number, node, outermost in _nodes(path, enumerate(lines, 1)):
            words += _leaf(path, number, node)
            if outermost:
                kept = [(word, tag) for tag, word in words if tag != "-NONE-"]
                repairs["traces left out"] += len(words) - len(kept)
                trees, words = trees + 1, []
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


def _leaf(path: str | PathLike[str], number: int, node: _Node) -> list[tuple[str, str]]:
    """The tag and the word of a bracket; nothing of a phrase, which has at most a label."""
    if node.children:
        if len(node.atoms) > 1:
            raise CorpusError.at(
                path, number, f"expected '(' or ')' in a phrase, got {node.atoms[1][:60]!r}"
            )
        return []
    if len(node.atoms) != 2:
        got = " ".join(node.atoms)[:60]
        raise CorpusError.at(path, number, f"expected (TAG word), got ({got})")
    return [(node.atoms[0], node.atoms[1])]


def printed(word: str) -> str:
    r"""A word as it was printed: ``(`` for ``-LRB-``, ``/`` for ``\/``, ``*`` for ``\*``."""
    return ESCAPES.get(word) or word.replace(r"\/", "/").replace(r"\*", "*")


def _bare(tag: str, repairs: Counter[str]) -> str:
    bare = tag.split("-", 1)[0]
    if bare and bare != tag:
        repairs["functional suffixes cut off tags"] += 1
        return bare
    return tag

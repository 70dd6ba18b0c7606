r"""Bracketed trees: sentiment trees (SST), and those of which a treebank's readers are made.

Words are split at blanks and tabs alone, never at other Unicode spaces: three trees of SST hold a
no-break space within a word (``1\/2``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from os import PathLike

from datasets import Dataset

from dicelab.corpora.errors import CorpusError
from dicelab.corpora.features import to_dataset
from dicelab.corpora.text import read_lines

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


def trees_in(
    path: str | PathLike[str],
    lines: Iterable[tuple[int, str]],
    labels: Collection[str] | None = None,
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Walk over bracketed trees, in one pass with a stack: none is too deep.

    Args:
        path: The file, for errors.
        lines: Its lines with their numbers. Lines of markup (``<S ID=1>``) are passed over.
        labels: What the label of every bracket must be one of; None for any.

    Yields:
        Of each outermost bracket its label, "" where it has none, and the words in it, each a pair
        of label and word.

    Raises:
        CorpusError: With file and line: a bracket that is not closed or not open, text outside the
            brackets, a word without a label, an empty bracket, or another label.
    """
    stack: list[tuple[int, list[str]]] = []  # line and atoms of the brackets that are open
    words: list[tuple[str, str]] = []
    phrase = False  # whether the bracket that closes next holds brackets
    for number, line in lines:
        if "\0" in line:
            raise CorpusError.at(path, number, "expected plain text, got a NUL byte")
        if _MARKUP.fullmatch(line) and "(" not in line:
            if stack:
                opened = f"expected ')' for the bracket of line {stack[-1][0]}"
                raise CorpusError.at(path, number, f"{opened}, got {line[:60]!r}")
            continue
        for piece in _PIECE.findall(line):
            if piece == "(":
                stack.append((number, []))
                phrase = False
            elif not stack:
                raise CorpusError.at(path, number, f"expected '(', got {piece[:60]!r}")
            elif piece != ")":
                stack[-1][1].append(piece)
            else:
                _, atoms = stack.pop()
                if problem := _problem(atoms, phrase, labels):
                    raise CorpusError.at(path, number, problem)
                words += [] if phrase else [(atoms[0], atoms[1])]
                phrase = True
                if not stack:
                    yield "".join(atoms[:1]), words
                    words = []
    if stack:
        problem = f"expected ')' for the bracket of line {stack[0][0]}, got the end"
        raise CorpusError.at(path, number, problem)


def _problem(atoms: list[str], phrase: bool, labels: Collection[str] | None) -> str | None:
    """What is wrong with a bracket: a word has a label, a phrase may have one, and nothing else."""
    if labels is not None and (not atoms or atoms[0] not in labels):
        expected = ", ".join(sorted(labels))
        return f"expected a label of {expected} after '(', got {' '.join(atoms)[:40]!r}"
    if phrase and len(atoms) > 1:
        return f"expected '(' or ')' in a phrase, got {atoms[1][:60]!r}"
    if not phrase and len(atoms) != 2:
        return f"expected (label word), got ({' '.join(atoms)[:60]})"
    return None


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
        trees = list(trees_in(path, [(number, line)], _DEGREES))
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


def printed(word: str) -> str:
    r"""A word as it was printed: ``(`` for ``-LRB-``, ``/`` for ``\/``, ``*`` for ``\*``."""
    return ESCAPES.get(word) or word.replace(r"\/", "/").replace(r"\*", "*")

"""The order of classes, and which of two is the positive one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from dicelab.corpora.errors import CorpusError

#: More labels than this are an id or a number to predict, which no classifier can.
MOST_LABELS = 1000
POSITIVES = (
    *("1", "true", "yes", "y", "positive", "pos", "spam", "toxic", "hate"),
    *("duplicate", "paraphrase"),
)


def in_order(labels: Mapping[str, int]) -> list[str]:
    """Names of classes by the alphabet, or by value where all are whole numbers."""
    numbers = all(label.lstrip("-").isdecimal() and label.isascii() for label in labels)
    return sorted(labels, key=lambda label: (int(label) if numbers else 0, label))


def negative_first(
    labels: Sequence[str], counts: Mapping[str, int], asked: str | None, notes: list[str]
) -> list[str]:
    """Two classes, the positive one last.

    Args:
        labels: two names.
        counts: how often each occurs in train.
        asked: the positive one; None takes it from the names, or the rarer.
        notes: takes a sentence about which was taken.

    Raises:
        CorpusError: the class that was asked for is none of the two.
    """
    if asked is not None and asked not in labels:
        raise CorpusError(f"--positive: expected {labels[0]!r} or {labels[1]!r}, got {asked!r}")
    usual = [label for label in labels if label.lower() in POSITIVES]
    # Of 1 and 2 either may be the one that is looked for.
    by_name = len(usual) == 1 and ("0" in labels or not all(map(str.isdecimal, labels)))
    positive = asked or (usual[0] if by_name else min(labels, key=lambda label: counts[label]))
    if asked is None:
        why = "by its name" if by_name else "the rarer of the two"
        notes.append(f"The positive class is {positive!r}, {why} (--positive).")
    return sorted(labels, key=lambda label: label == positive)


def numbered(
    rows: Mapping[str, list[dict[str, Any]]], positive: str | None, notes: list[str]
) -> tuple[list[str], list[str]]:
    """Put numbers in place of the names in ``label``, in all splits.

    Args:
        rows: by split, with ``train``; they are changed.
        positive: the positive one of two classes; None for :func:`negative_first` to find.
        notes: takes sentences about classes.

    Returns:
        The names of train's classes, by number, and the names that train lacks, whose numbers
        follow.

    Raises:
        CorpusError: a positive class is asked for that is not one of two.
    """
    counts = Counter(row["label"] for row in rows["train"])
    labels = in_order(counts)
    if len(labels) == 2:
        labels = negative_first(labels, counts, positive, notes)
    elif len(labels) > 2 and positive is not None:
        raise CorpusError(
            f"--positive: expected two classes, got {len(labels)}: {', '.join(labels[:8])}"
        )
    elif set(labels) <= {"0", "1"}:
        labels = ["0", "1"]
    unseen: set[str] = set()
    for name, part in rows.items():
        of_part = Counter(row["label"] for row in part if row["label"] not in labels)
        note_unseen(name, of_part, "row", notes)
        unseen |= {*of_part}
    index = {label: number for number, label in enumerate([*labels, *sorted(unseen)])}
    for row in (row for part in rows.values() for row in part):
        row["label"] = index[row["label"]]
    return labels, sorted(unseen)


def note_unseen(split: str, unseen: Mapping[str, int], what: str, notes: list[str]) -> None:
    """Say that a split has labels that train lacks, if it has."""
    listing = ", ".join(f"{label!r} ({n})" for label, n in list(unseen.items())[:8])
    if listing:
        notes.append(
            f"Train has no {what} labelled {listing}, but {split} has: a model cannot say it, so "
            "each counts as an error."
        )

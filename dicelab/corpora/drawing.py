"""The splits that a file of one's own lacks, drawn from its rows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from dicelab.corpora.errors import CorpusError
from dicelab.corpora.registry import SPLITS
from dicelab.corpora.tags import is_entity_tag

SHARE = 0.15  # of the rows, for each split that is drawn
ENOUGH, ENOUGH_OF_A_CLASS = 5_000, 100  # rows of such a split, where there are many
LEAST = 20  # rows; with fewer no split would hold anything to score by

Row = dict[str, Any]


def draw(
    rows: dict[str, list[Row]], seed: int, notes: list[str], outside: str | None = "O"
) -> dict[str, list[Row]]:
    """Draw what is missing from train: in proportion by class, equal texts on one side.

    A split gets 15% of the rows, or where there are many only so many that it has 5,000, and 100
    of the rarest class: scoring more takes time from training.

    Args:
        rows: by split; ``tokens`` and ``tags``, or texts and ``label``, one or a list.
        seed: which rows are drawn depends on it.
        notes: takes a sentence about what was drawn.
        outside: the tag that makes no class.

    Raises:
        CorpusError: train has too few rows to draw from.
    """
    missing = [split for split in SPLITS if split not in rows]
    train = rows["train"]
    if not missing:
        return {split: rows[split] for split in SPLITS}
    if len(train) < LEAST:
        unit = "sentences" if "tokens" in train[0] else "rows"
        way = "; put a blank line after each sentence" * (unit == "sentences" and len(train) == 1)
        names = " and ".join(missing)
        raise CorpusError(
            f"expected at least {LEAST} {unit} to draw {names} from, got {len(train)}{way}"
        )
    groups: dict[str, list[int]] = {}
    for number, row in enumerate(train):
        groups.setdefault(joined(row), []).append(number)
    members = list(groups.values())
    classes = _rarest(train, outside)
    by_class: dict[Any, list[int]] = {}
    for number in np.random.default_rng(seed).permutation(len(members)).tolist():
        by_class.setdefault(classes[members[number][0]], []).append(number)
    rarest = min(map(len, by_class.values()))
    share = min(SHARE, max(ENOUGH / len(members), ENOUGH_OF_A_CLASS / rarest))
    drawn: dict[str, list[int]] = {split: [] for split in missing}
    single = not isinstance(train[0].get("label", []), list)
    for stratum, size in _strata(by_class, share, len(missing), single):
        for place, split in enumerate(missing):
            drawn[split] += stratum[place * size : (place + 1) * size]
    taken = {number for numbers in drawn.values() for number in numbers}
    drawn["train"] = [number for number in range(len(members)) if number not in taken]
    splits = {
        split: [train[row] for row in sorted(row for number in numbers for row in members[number])]
        for split, numbers in drawn.items()
    }
    shares = " and ".join(dict.fromkeys(f"{len(splits[n]) / len(train):.0%}" for n in missing))
    notes.append(
        f"There was no {' and no '.join(missing)} split; {shares} of the rows were drawn for "
        f"{'each' if len(missing) > 1 else 'it'} (seed {seed})."
    )
    splits |= {split: part for split, part in rows.items() if split != "train"}
    for split in missing:
        if not splits[split]:
            lacking = "rows of each label" if len(members) > LEAST else "different texts"
            got = f"{len(members)} in {len(train)} rows"
            raise CorpusError(f"expected enough {lacking} to draw {split} from, got {got}")
    return {split: splits[split] for split in SPLITS}


def _strata(
    by_class: dict[Any, list[int]], share: float, missing: int, single: bool
) -> list[tuple[list[int], int]]:
    """Groups of rows to draw from, and how many of each go to a split that is drawn.

    Classes that are too rare for a row in each split are one stratum, so that the splits keep their
    sizes; where a row has one label, a row of each such class stays in train.
    """
    # A class of two or three rows trains; from four on each split that is drawn gets one.
    sizes = {k: round(share * len(v)) or int(len(v) > 2 * missing - 1) for k, v in by_class.items()}
    strata = [(by_class[label], size) for label, size in sizes.items() if size]
    rare = [by_class[label] for label, size in sizes.items() if not size]
    pool = [number for of_class in rare for number in of_class[single:]]
    size = min(round(share * sum(map(len, rare))), len(pool) // missing)
    return [*strata, (pool, size)]


def joined(row: Row) -> str:
    """The text of a row, or its words or two texts as one."""
    if "tokens" in row:
        return " ".join(row["tokens"])
    return "\t".join(row[c] for c in ("sentence", "sentence1", "sentence2") if c in row)


def _rarest(part: list[Row], outside: str | None) -> list[Any]:
    """The class of each row; of several labels, and of tags, the rarest among them."""
    of_rows = []
    for row in part:
        held = row["tags"] if "tags" in row else row["label"]
        classes = dict.fromkeys(held if isinstance(held, list) else [held])
        if "tags" in row:
            classes.pop(outside, None)
        of_rows.append([c[2:] if "tags" in row and is_entity_tag(c) else c for c in classes])
    counts = Counter(one for classes in of_rows for one in classes)
    return [min(classes, key=lambda one: counts[one], default="") for classes in of_rows]

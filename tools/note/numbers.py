"""Every number of the note, from the records and the paper's tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pybtex import format_from_file

from dicelab.claims import claim
from dicelab.records import paper
from dicelab.records.runs import read_records
from tools.note import layers, second

CITED = (
    "li2020dice",
    "milletari2016vnet",
    "sudre2017generalised",
    "ye2012",
    "lipton2014thresholding",
    "menon2021logit",
    "derczynski2017wnut",
    "dolan2005mrpc",
    "socher2013sst",
)


def numbers(root: Path) -> dict[str, str]:
    """What the text's braces stand for; its comparisons are asserted on the way.

    Args:
        root: The repository.

    Raises:
        AssertionError: A sentence does not hold for the records.
    """
    folder = root / "results" / "evidence_2"
    values = second.numbers(folder)
    gains = _gains()
    claim(
        "more than many a published gain",
        sum(g < float(values["sd"]) for g in gains) > len(gains) / 2,
    )
    values |= layers.numbers(folder)
    rows = second.spent(folder) + layers.spent(folder)
    values |= {
        "references": _references(root),
        "table_hours": "\n".join(f"| {a} | {n:,} | {h:.1f} |" for a, n, h in rows),
    }
    values |= _of_the_paper() | _first_try(root)
    return {name: str(value) for name, value in values.items()}


def _of_the_paper() -> dict[str, Any]:
    rows = [row for table in paper.tables().values() for row in table.rows]
    complete = [row for row in rows if row.precision is not None and row.f1 is not None]

    def f1(precision: float, recall: float) -> float:
        return 2 * precision * recall / (precision + recall)

    off, outside = 0, 0
    for row in complete:
        (p_low, p_high), (r_low, r_high) = row.bounds("precision"), row.bounds("recall")
        low, high = row.bounds("f1")
        p, r, printed = (float(x) for x in (row.precision, row.recall, row.f1) if x is not None)
        off += not (f1(p_low, r_low) <= high and low <= f1(p_high, r_high))
        outside += not min(p, r) <= printed <= max(p, r)
    gains = _gains()
    claim("each of the printed gains is positive", min(gains) > 0)
    return {
        "printed": len(complete),
        "inconsistent": off,
        "outside": outside,
        "gains": len(gains),
        "gain_least": f"{min(gains):.2f}",
        "gain_most": f"{max(gains):.2f}",
    }


def _gains() -> list[float]:
    return [
        float(row.value("delta") or 0)
        for number, table in paper.tables().items()
        for row in table.rows
        if row.loss == "dsc" and 3 <= number <= 8 and "delta" in row.printed
    ]


def _first_try(root: Path) -> dict[str, str]:
    usual = {"corpus": "wnut17", "learning_rate": 2e-4, "batch_size": 32, "precision": "bf16"}
    records = [
        r
        for r in read_records(root / "results" / "first_try.jsonl")
        if usual.items() <= r["parameters"].items()
    ]

    def scores_of(is_arm: Callable[[dict[str, Any], dict[str, Any]], bool]) -> list[float]:
        scores = [
            r["metrics"]["test"]["f1"]
            for r in records
            if is_arm(r["parameters"], r["parameters"]["options"])
        ]
        assert len(scores) == 3, scores
        return scores

    def dice(squared: bool) -> list[float]:
        options = {"squared": squared, "smooth": 1.0, "absent": "keep", "outside": True}
        return scores_of(
            lambda p, o: (
                p["loss"] == "dl"
                and options.items() <= o.items()
                and not (o.get("warm_start") or o.get("outside_bias"))
            )
        )

    linear, squares = dice(False), dice(True)
    claim("a tagger trained so finds no entities with any of three seeds", max(linear) == 0)
    ce = scores_of(lambda p, o: p["loss"] == "ce" and not any(o.values()))
    return {
        "linear": "no",
        "ce_first": f"{np.mean(ce):.1f}",
        "squared_first": f"{np.mean(squares):.1f}",
    }


def _references(root: Path) -> str:
    text: str = format_from_file(
        root / "references.bib", "plain", output_backend="markdown", citations=list(CITED)
    )
    entries = [" ".join(entry.split()) for entry in re.split(r"^\[\d+\] ", text, flags=re.M)[1:]]
    return "\n".join(f"{n}. {entry}" for n, entry in enumerate(entries, 1))

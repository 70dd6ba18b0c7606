"""Count negatives and positives of real corpora, for the table of chapter 01.

    dicebook data imbalance wnut17 mrpc squad11=my/train-v1.1.json

A name stands for the train split of a corpus prepared before; NAME=FILE for all of a file, in the
form of that corpus. Each becomes one line of the record; lines of other corpora stay.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from dicelab.atomic import atomic
from dicelab.corpora import REGISTERED, CorpusError, imbalance, load, read_file

RECORD = Path("runs") / "imbalance.jsonl"


def count(argument: str) -> dict[str, Any]:
    """The record of one corpus.

    Args:
        argument: ``NAME`` or ``NAME=FILE``.

    Raises:
        CorpusError: An unknown name, a missing corpus, or one whose examples are not negative or
            positive.
    """
    name, _, file = argument.partition("=")
    if name not in REGISTERED:
        raise CorpusError(f"expected one of {', '.join(REGISTERED)}, got {name!r}")
    task = REGISTERED[name]
    data = read_file(file, task=task) if file else load(name, task=task)["train"]
    counts = imbalance(data, task=task)
    counted = Path(file).name if file else "train"
    return {
        "chapter": "01_imbalance",
        "parameters": {"corpus": name, "task": task, "counted": counted},
        "metrics": {"rows": len(data), **counts._asdict()},
    }


def update(record: Path, entries: list[dict[str, Any]]) -> None:
    """Put counts into the record, in place of older ones of the same corpora."""
    old = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    lines = {e["parameters"]["corpus"]: e for e in [*map(json.loads, old), *entries]}
    with atomic(record) as path:
        text = "".join(json.dumps(lines[name], ensure_ascii=False) + "\n" for name in sorted(lines))
        path.write_text(text, encoding="utf-8")


def main(argv: list[str] | None = None) -> int:
    """Count, print and record; 1 after one clear sentence if a corpus cannot be counted."""
    parser = argparse.ArgumentParser(
        prog="dicebook data imbalance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("corpora", nargs="+", metavar="NAME[=FILE]")
    parser.add_argument("--record", type=Path, default=RECORD, help=f"default: {RECORD}")
    options = parser.parse_args(argv)
    try:
        entries = [count(argument) for argument in options.corpora]
    except CorpusError as error:
        print(f"imbalance: {error}", file=sys.stderr)
        return 1
    for entry in entries:
        negative, positive = entry["metrics"]["negative"], entry["metrics"]["positive"]
        ratio = negative / positive if positive else float("inf")
        print(f"{entry['parameters']['corpus']:14} {negative:>12,} {positive:>12,} {ratio:8.2f}")
    update(options.record, entries)
    return 0

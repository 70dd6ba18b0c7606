"""Two searches of the second protocol that nobody ran."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dicelab.records import kept

HEIGHT = {"dice": 4, "ce_start": 3, "ce": 1, "wce": 3, "logit_adjustment": 2}
GOLD, BLOCKS = 8, 10  # entities of a block of test sentences; an arm finds 1 to 3 above its height
SEARCHES, TRIALS, FINALS = 2, 16, 4
WAYS = ("argmax", "tuned", "plug_in")
TASKS = pd.read_parquet(kept.DATA / "tasks.parquet", filters=[("encoder", "==", "frozen")])
TASKS = TASKS.set_index("task")[["source", "stratum"]]


def write(folder: Path) -> None:
    """All tasks of Stage A2, an arm's trials an hour in all; and Stage B2 on one corpus."""
    for number, name in enumerate(TASKS.index):
        _lines(folder / f"{name}.jsonl", _records(name, number))
    _lines(
        folder / "b-crossner_politics.jsonl",
        (
            {"kind": "final", "arm": arm, "seed": seed, "length": n, "rate": 1e-4}
            | {"steps": n + n // 5}
            | {"gold": [GOLD] * BLOCKS}
            | {"test": {how: _scored(np.full(BLOCKS, HEIGHT[arm])) for how in WAYS}}
            for arm in ("ce", "ce_start", "dice")
            for seed in range(2)
            for n in (16, 32, 64, 128, 256)
        ),
    )


def _lines(path: Path, records: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


def _scored(found: np.ndarray) -> dict[str, Any]:
    f1 = 200 * found.sum() / (2 * GOLD * BLOCKS)
    return {"f1": float(f1), "blocks": [found.tolist(), [GOLD] * BLOCKS]}


def _records(name: str, number: int) -> Iterable[dict[str, Any]]:
    rng, spec = np.random.default_rng(number), TASKS.loc[name]
    half = {"positive": 30 + number, "rows": 100}
    yield {
        "kind": "task",
        "task": name,
        "source": spec.source,
        "stratum": spec.stratum,
        "baseline": 9.0,
        "blocks": [GOLD] * BLOCKS,
        "sizes": {"train": half, "validation_1": half, "validation_2": half},
    }
    for arm in HEIGHT:
        for search in range(SEARCHES):
            same = {"task": name, "arm": arm, "search": search}
            for trial in range(TRIALS):
                scores = {how: {"f1": float(trial == 5), "steps": 3840} for how in WAYS}
                seconds = 3600 / len(TASKS) / SEARCHES / TRIALS
                one = {"kind": "search", "trial": trial, "validation": scores, "seconds": seconds}
                yield same | one | {"parameters": {"learning_rate": 0.003}}
            for seed in range(search * FINALS, (search + 1) * FINALS):
                test = {how: _scored(rng.integers(1, 4, BLOCKS) + HEIGHT[arm]) for how in WAYS}
                one = {"kind": "final", "trial": 5, "seed": seed, "chosen_for": list(WAYS)}
                yield same | one | {"seconds": 0, "test": test}

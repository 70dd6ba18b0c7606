"""The records of the book's runs, which are tables of this package, and how one reads them.

``results/README.md`` says what made each table and what its columns are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

Record = dict[str, Any]
DATA = Path(__file__).parent / "data"
#: Columns of ``runs.parquet`` whose text is JSON: what a run's loss or script was given.
JSON = ("parameters.options", "parameters.loss_options", "parameters.habits")


def kept_folder() -> Path:
    """The folder of the tables and of the few records that are no table, wherever one works."""
    return DATA


def kept_records(study: str) -> list[Record]:
    """The records of a study, from which a chapter draws its table.

    Args:
        study: Such as ``"wnut17"``; or the folder of several, such as ``"own_data"``.

    Returns:
        A dictionary a run, in the order of the runs: its ``chapter``, ``parameters``, ``metrics``,
        ``measured`` and ``history``. The history has F1 on the validation split after each pass.

    Raises:
        ValueError: There is no such study.
    """
    table = pq.read_table(DATA / "runs.parquet")
    names = table["study"]
    chosen = pc.or_(pc.equal(names, study), pc.starts_with(names, f"{study}/"))
    rows = table.filter(chosen).drop_columns("study").to_pylist()
    if not rows:
        known = ", ".join(dict.fromkeys(name.split("/")[0] for name in names.to_pylist()))
        raise ValueError(f"study: expected one of {known}; got {study!r}")
    return [
        {"history": [{"validation_f1": f1} for f1 in row.pop("validation_f1") or ()], **nested(row)}
        for row in rows
    ]


def frozen(*, linear: bool = False) -> dict[str, list[Record]]:
    """The runs on frozen features, by task: Stage A2 of ``docs/protocol_2.md``.

    Args:
        linear: Whether those with a linear head, not with a hidden layer.

    Returns:
        Of each task a record of the kind ``"task"``, one of the kind ``"final"`` for each winner
        with a fresh seed, and, with a hidden layer, one of the kind ``"search"`` for each trial.
    """
    records: dict[str, list[Record]] = {}
    for row in _tasks("frozen"):
        records[row["task"]] = [{"kind": "task", **row}]
    if not linear:
        for row in pq.read_table(DATA / "trials.parquet").to_pylist():
            records[row["task"]].append({"kind": "search", **nested(row)})
    for run in _by_run("linear" if linear else "finals"):
        gold = int(records[run["task"]][0]["blocks"].sum())
        for scores in run["test"].values():
            scores["gold"] = gold
        records[run["task"]].append({"kind": "final", **run, "chosen_for": list(run["test"])})
    return records


def layers() -> dict[str, list[Record]]:
    """The runs with all layers trained, by corpus: Stage B2 of ``docs/protocol_2.md``.

    Returns:
        Records of the kinds ``"search"`` and ``"final"``; a final has the positives by block of
        test sentences as ``gold``.
    """
    gold = {row["task"]: row["blocks"] for row in _tasks("all layers")}
    records: dict[str, list[Record]] = {name: [] for name in gold}
    for run in _by_run("lengths"):
        also = {"gold": gold[run["task"]]} if "test" in run else {}
        records[run["task"]].append({**run, **also})
    return records


def nested(row: Record) -> Record:
    """A row as a dictionary of dictionaries: a column ``a.b`` becomes the key ``b`` under ``a``.

    Args:
        row: By column; what is None is left out.
    """
    record: Record = {}
    for column, value in row.items():
        if value is None:
            continue
        *folders, name = column.split(".")
        place = record
        for folder in folders:
            place = place.setdefault(folder, {})
        place[name] = json.loads(value) if column in JSON else value
    return record


def _tasks(encoder: str) -> Iterator[Record]:
    table = pq.read_table(DATA / "tasks.parquet", filters=[("encoder", "==", encoder)])
    for row in table.drop_columns("encoder").to_pylist():
        yield {**nested(row), "blocks": np.array(row["blocks"])}


def _by_run(name: str) -> Iterator[Record]:
    """A table with a row for each run and way of deciding, which stand together, by run."""
    table = pq.read_table(DATA / f"{name}.parquet")
    blocks = zip(*(_arrays(table[column]) for column in ("found", "predicted")), strict=True)
    run: Record = {}
    own: Record = {}
    for row, of_way in zip(
        table.drop_columns(["found", "predicted"]).to_pylist(), blocks, strict=True
    ):
        way, f1 = row.pop("way"), row.pop("f1")
        validation = {key: row.pop(key) for key in table.column_names if "validation." in key}
        if row != own:
            if run:
                yield run
            own, run = row, nested({**row, "validation": {}})
        run["validation"][way] = nested(validation)["validation"]
        if f1 is not None:
            found, predicted = map(int, map(np.sum, of_way))
            scores = {"f1": f1, "found": found, "predicted": predicted, "blocks": np.array(of_way)}
            run.setdefault("test", {})[way] = scores
    if run:
        yield run


def _arrays(column: pa.ChunkedArray) -> list[np.ndarray]:
    """The lists of a column as arrays; an empty one where there is none."""
    lists = column.combine_chunks()
    ends = np.cumsum(pc.fill_null(pc.list_value_length(lists), 0).to_numpy())
    return np.split(lists.flatten().to_numpy().astype(np.int64), ends)[:-1]

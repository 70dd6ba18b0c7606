"""Pack records of finished studies into the tables of dicelab/records/data.

    python -m tools.pack_records FOLDER

FOLDER is a folder `results` with JSON Lines, one file a study, without text of a corpus. Where it
has none of the evidence, its runs take the place of those with the same parameters.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dicelab.records.analysis import read
from dicelab.records.kept import DATA, JSON
from dicelab.records.searched import read_tasks
from dicelab.records.speed import read_corpora

Row = dict[str, Any]
#: Whose runs are in tables of their own, are going on, or are read by nobody.
APART = ("evidence_2", "evidence_2_linear", "significance")
COUNTS = pa.list_(pa.uint16())  # positives by block of test sentences


def flat(record: Any, column: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a record by column: a key ``b`` under ``a`` becomes the column ``a.b``."""
    if column in JSON:
        yield column, json.dumps(record)
    elif isinstance(record, dict):
        for key, value in record.items():
            yield from flat(value, f"{column}.{key}".removeprefix("."))
    else:
        yield column, record


def run_rows(folder: Path) -> Iterator[Row]:
    """A row for each run of the studies that have no table of their own."""
    for file in sorted(folder.rglob("*.jsonl")):
        study = file.relative_to(folder).with_suffix("").as_posix()
        if study.partition("/")[0] in APART:
            continue
        for record in read(file):
            parts = {key: record.get(key) for key in ("chapter", "parameters", "metrics")}
            row = {"study": study, **dict(flat(parts))}
            if isinstance(steps := row.get("parameters.steps"), list):
                row["parameters.checkpoints"] = steps
                del row["parameters.steps"]
            for key in ("device", "seconds"):
                row[f"measured.{key}"] = record.get("measured", {}).get(key)
            passes = [entry.get("validation_f1") for entry in record.get("history", ())]
            row["validation_f1"] = None if None in passes else passes or None
            first: Row = next(iter(record.get("history", ())), {})
            for name, f1 in first.get("of", {}).items():
                if f"metrics.{name}.f1" in row:  # there it is rounded
                    row[f"metrics.{name}.f1"] = f1
            row |= {f"measured.{key}": first.get(key) for key in ("kept", "megabytes", "refitted")}
            yield row


def other_runs(new: Sequence[Row]) -> Iterator[Row]:
    """The rows that are in the table already, but for those of which there are new ones."""

    def parameters(row: Row) -> set[str]:
        return {f"{k}={v}" for k, v in row.items() if "parameters." in k and v is not None}

    again = [parameters(row) | {row["study"]} for row in new]
    for row in pq.read_table(DATA / "runs.parquet").to_pylist():
        if parameters(row) | {row["study"]} not in again:
            yield {key: value for key, value in row.items() if value is not None}


def task_rows(folder: Path) -> Iterator[Row]:
    """A row for each task: where it is from, its sizes, and its positives by block."""
    columns = ("task", "source", "stratum", "form", "classes", "sizes", "baseline", "blocks")
    for records in read_tasks(folder).values():
        task = {key: records[0][key] for key in columns}
        yield {"encoder": "frozen", **dict(flat(task))}
    for name, records in read_corpora(folder).items():
        for gold in [r["gold"] for r in records if r["kind"] == "final"][:1]:
            yield {"encoder": "all layers", "task": name, "blocks": gold}


def final_rows(folder: Path) -> Iterator[Row]:
    """A row for each final on frozen features and each way of deciding that it was chosen for."""
    for records in read_tasks(folder).values():
        for r in records:
            if r["kind"] == "final":
                same = {key: r[key] for key in ("task", "arm", "search", "trial", "seed")}
                for way in r["chosen_for"]:
                    yield {**same, "way": way, **of_way(r, way, ("steps", "threshold"))}


def length_rows(folder: Path) -> Iterator[Row]:
    """A row for each run with all layers trained and each way of deciding."""
    columns = ("kind", "task", "arm", "seed", "rate", "length", "steps", "empty", "seconds")
    for records in read_corpora(folder).values():
        for r in records:
            same = {key: r.get(key) for key in columns}
            for way in r["validation"]:
                yield {**same, "way": way, **of_way(r, way, ("f1", "threshold"))}


def of_way(record: Row, way: str, validation: Sequence[str]) -> Row:
    """What a record has of a way of deciding."""
    scores = {f"validation.{key}": record["validation"][way][key] for key in validation}
    test = record.get("test", {}).get(way)
    if test is None:
        return scores
    found, predicted = test["blocks"]
    return {**scores, "f1": test["f1"], "found": found, "predicted": predicted}


def write(name: str, every_row: Iterable[Row]) -> None:
    """Write a table: a column that earlier rows lack stands behind its neighbour in its row."""
    rows, columns = list(every_row), list[str]()
    for row in rows:
        place = 0
        for key in row:
            if key not in columns:
                columns.insert(place, key)
            place = columns.index(key) + 1
    arrays = {
        key: pa.array(
            [row.get(key) for row in rows],
            COUNTS if key in ("found", "predicted", "blocks") else None,
        )
        for key in columns
    }
    words = [key for key, array in arrays.items() if pa.types.is_string(array.type)]
    pq.write_table(
        pa.table(arrays),
        DATA / f"{name}.parquet",
        compression="zstd",
        compression_level=19,
        use_dictionary=[*words, "f1"],
    )


def main(folder: Path) -> None:
    """Write the tables of which the folder has the records."""
    DATA.mkdir(exist_ok=True)
    if (folder / "evidence_2_linear").exists():
        write("linear", final_rows(folder / "evidence_2_linear"))
    if not (folder / "evidence_2").exists():
        if runs := list(run_rows(folder)):
            write("runs", [*other_runs(runs), *runs])
        return
    write("runs", run_rows(folder))
    write("tasks", task_rows(folder / "evidence_2"))
    write("finals", final_rows(folder / "evidence_2"))
    write("lengths", length_rows(folder / "evidence_2"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""A table of the paper, and beside it our runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from dicebook.atomic import atomic
from dicebook.reproduce import grid, paper, runs
from dicebook.reproduce.runs import markdown

Record = Mapping[str, Any]

# How a reader is told what the records name by a word.
LOSSES = {
    "ce": "cross entropy",
    "wce": "weighted cross entropy",
    "fl": "focal",
    "dl": "dice",
    "tl": "Tversky",
    "dsc": "self-adjusting dice",
}
OPTIONS = {"fp_weight": "α", "fn_weight": "β", "alpha": "α"}  # as in the paper
FLOORS = {"majority": "*the majority's answer*", "dictionary": "*words alone*"}


def table_of(records: Sequence[Record], number: int, profile: str = "default") -> pd.DataFrame:
    """Our runs beside the paper's table.

    Args:
        records: of the table's jobs.
        number: the table.
        profile: the profile that they were run in.

    Returns:
        A row for each corpus, model and loss: seeds, mean and 95% interval of the test F1 (accuracy
        in Table 9) at argmax and tuned, the difference from cross entropy on the same seeds with
        the p-value of a paired test, and the model and the number that the paper prints. Below a
        corpus what its test split gives away without a model.
    """
    metric = metric_of(number)
    title = metric.capitalize()
    of = {(*_system(record), runs.loss_label(record)): record for record in records}
    tuned = scores(records, number, "test_tuned")
    rows: list[dict[str, Any]] = []
    for corpus, systems in groupby(scores(records, number).items(), key=lambda item: item[0][0]):
        for system, label, found in (
            (s, *item) for s, losses in systems for item in losses.items()
        ):
            row, best = grid.printed(of[*system, label], profile), tuned[system]
            rows.append(
                {
                    "corpus": corpus,
                    "model": _model(*system[1:]),
                    "loss": loss_in_words(of[*system, label]),
                    "seeds": str(len(found.scores)),
                    title: str(found.mean),
                    "less ce": str(found.gain or ""),
                    "p": "" if found.p_value is None else f"{found.p_value:.3f}",
                    f"tuned {title}": f"{best[label].mean.mean:.1f}" if best else "",
                    "the paper's": _in_print(row) if row else "",
                    "paper": row.printed.get(metric, "") if row else "",
                }
            )
        rows += _floors(records, corpus, metric)
    return pd.DataFrame(rows).fillna("")


System = tuple[str, str, str]  # corpus, backbone, way of training


def scores(
    records: Sequence[Record], number: int, split: str = "test"
) -> dict[System, dict[str, runs.OverSeeds]]:
    """Each loss over its seeds, by system; the systems of a corpus stand together.

    Args:
        records: of the table's jobs.
        number: the table.
        split: `"test"` or `"test_tuned"`. Of a system that has no such score there are no losses.
    """
    metric = metric_of(number)
    groups: dict[System, list[Record]] = {}
    for record in records:
        groups.setdefault(_system(record), []).append(record)
    corpora = list(dict.fromkeys(corpus for corpus, _, _ in groups))
    return {
        system: over_seeds(groups[system], split, metric)
        for system in sorted(groups, key=lambda system: corpora.index(system[0]))
    }


def over_seeds(group: Sequence[Record], split: str, metric: str) -> dict[str, runs.OverSeeds]:
    """See `dicebook.reproduce.runs.over_seeds`; empty where a record lacks the score."""
    if not all(metric in record["metrics"].get(split, {}) for record in group):
        return {}
    return runs.over_seeds(group, split=split, metric=metric)


def metric_of(number: int) -> str:
    """What a table is scored by."""
    return "accuracy" if number == 9 else "f1"


def _system(record: Record) -> System:
    given = record["parameters"]
    return given["corpus"], given["backbone"], given["system"]


def _floors(records: Sequence[Record], corpus: str, metric: str) -> Iterator[dict[str, str]]:
    of_corpus = [r["metrics"] for r in records if r["parameters"]["corpus"] == corpus]
    for name, words in FLOORS.items():
        values = [m[name][metric] for m in of_corpus if metric in m.get(name, {})]
        if values:
            # Records of one seed share a draw of the corpus, and so what it gives away.
            mean = runs.interval([sum(set(values)) / len(set(values))])
            yield {"corpus": corpus, "model": words, metric.capitalize(): str(mean)}


def _model(backbone: str, system: str) -> str:
    how = {"choice": "by choice", "decisions": "by decisions", "mrc": "", "tagger": ""}
    names = [backbone or {"mrc": "BERT-MRC", "decisions": "BERT"}.get(system, "")]
    return ", ".join(filter(None, [*names, how.get(system, "")]))


def _in_print(row: paper.Row) -> str:
    corpus = f"{row.corpus_title} {row.variant}".strip()
    return f"{row.model}, {corpus}" if row.model else corpus


def loss_in_words(record: Record, usual: Mapping[str, Any] | None = None) -> str:
    """A loss in words, such as ``"dice, squared"``, without the options that are as usual."""
    options = runs.loss_options(record).items()
    said = {name: value for name, value in options if (name, value) not in (usual or {}).items()}
    parts = [LOSSES[record["parameters"]["loss"]], *options_in_words(said)]
    if reader := record["parameters"].get("reader"):
        parts.append(f"read by {reader}")
    return ", ".join(parts)


def options_in_words(options: Mapping[str, Any]) -> Iterator[str]:
    """Such as ``"squared"``, ``"not squared"`` and ``"α 0.1"``."""
    for name, value in options.items():
        name = OPTIONS.get(name, name.replace("_", " "))
        switch = {"True": name, "False": f"not {name}"}
        yield switch.get(str(value), f"{name} {value}")


def write_table(
    records: Sequence[Record], number: int, out: Path, profile: str = "default"
) -> list[Path]:
    """Write the records of a table as JSON lines, and the table as Markdown and CSV.

    Args:
        records: of the table's jobs.
        number: the table.
        out: the folder.
        profile: the profile that they were run in.

    Returns:
        The files.
    """
    frame = table_of(records, number, profile)
    title = f"Table {number}: {paper.table(number).title}"
    lines = (json.dumps(record, ensure_ascii=False, allow_nan=False) for record in records)
    texts = {
        "jsonl": "\n".join(lines) + "\n",
        "md": f"# {title}\n\n{markdown(frame.to_dict('records'))}\n",
        "csv": frame.to_csv(index=False),
    }
    files = [out / f"table{number}.{suffix}" for suffix in texts]
    for path, text in zip(files, texts.values(), strict=True):
        with atomic(path) as partial:
            partial.write_text(text, encoding="utf-8")
    return files

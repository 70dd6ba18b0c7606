"""Our runs as tables: beside a table of the paper, and all that are kept as a page of the book.

python -m dicebook.reproduce.tables table --table 5 FOLDER --out results/reproduced
python -m dicebook.reproduce.tables page                   # docs/records.md, from results/
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dicebook.reproduce import grid, paper, runs


def table_of(records: Sequence[Mapping[str, Any]], number: int) -> pd.DataFrame:
    """Our runs beside the paper's table.

    Args:
        records: of the table's jobs.
        number: the table.

    Returns:
        A row for each corpus and loss: seeds, mean and 95% interval of the test F1 (accuracy in
        Table 9) at argmax and tuned, the difference from cross entropy on the same seeds with the
        p-value of a paired test, and what the paper prints for the same corpus and loss with BERT.
    """
    metric = "accuracy" if number == 9 else "f1"
    title = metric.capitalize()
    rows = []
    for corpus in dict.fromkeys(record["parameters"]["corpus"] for record in records):
        printed = _printed(number, corpus, metric)
        _, group = runs.largest_group(r for r in records if r["parameters"]["corpus"] == corpus)
        argmax, tuned = (_over_seeds(group, split, metric) for split in ("test", "test_tuned"))
        weight = {runs.loss_label(r): r["parameters"]["loss_options"] for r in group}
        for label, found in argmax.items():
            key = str(weight[label].get("fp_weight")) if number == 10 else label.split(",")[0]
            rows.append(
                {
                    "corpus": corpus,
                    "loss": label,
                    "seeds": len(found.scores),
                    title: _mean(found),
                    "less ce": str(found.gain or ""),
                    "p": "" if found.p_value is None else f"{found.p_value:.3f}",
                    f"tuned {title}": f"{tuned[label].mean.mean:.1f}" if label in tuned else "",
                    "paper": printed.get(key, ""),
                }
            )
    return pd.DataFrame(rows)


def _mean(found: runs.OverSeeds) -> str:
    """The mean with its interval; of a single seed, which has none, the score."""
    return str(found.mean) if len(found.scores) > 1 else f"{found.mean.mean:.1f}"


def _printed(number: int, corpus: str, metric: str) -> dict[str, str]:
    """What the paper prints for a corpus: by loss, or by alpha in Table 10."""
    known = {c.name: c.printed_as for c in grid.TABLES[number]}
    name, variant = known.get(corpus) or (corpus, "")
    found: dict[str, str] = {}
    for row in paper.table(number).rows:
        if row.corpus != name or not row.loss or metric not in row.printed:
            continue
        if number == 10:
            found[row.variant.split()[-1]] = row.printed[metric]
        elif not variant or row.variant == variant:
            found.setdefault(row.loss, row.printed[metric])
    return found


def _over_seeds(
    group: Sequence[Mapping[str, Any]], split: str, metric: str
) -> dict[str, runs.OverSeeds]:
    if not all(metric in record["metrics"].get(split, {}) for record in group):
        return {}
    return runs.over_seeds(group, split=split, metric=metric)


def write_table(records: Sequence[Mapping[str, Any]], number: int, out: Path) -> list[Path]:
    """Write the records of a table as JSON lines, and the table as Markdown, CSV and HTML.

    Args:
        records: of the table's jobs.
        number: the table.
        out: the folder.

    Returns:
        The files.
    """
    out.mkdir(parents=True, exist_ok=True)
    frame = table_of(records, number)
    title = f"Table {number}: {paper.table(number).title}"
    lines = (json.dumps(record, ensure_ascii=False, allow_nan=False) for record in records)
    texts = {
        "jsonl": "\n".join(lines) + "\n",
        "md": f"# {title}\n\n{frame.to_markdown(index=False)}\n",
        "csv": frame.to_csv(index=False),
        "html": frame.to_html(index=False),
    }
    files = []
    for suffix, text in texts.items():
        path = out / f"table{number}.{suffix}"
        partial = path.with_name(f".{path.name}.partial")
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
        files.append(path)
    return files


def page(results: Path) -> str:
    """All runs that are kept, as a page of the book.

    Args:
        results: the folder ``results``: a ``CORPUS.jsonl`` of runs for each corpus, and below
            ``reproduced`` the tables that the workflow has made (not those of ``smoke``).

    Returns:
        Markdown: for each corpus its largest group of comparable runs over seeds, then the tables.
    """
    parts = [_PAGE]
    for file in sorted(results.glob("*.jsonl")):
        records = [r for r in runs.read_records(file) if "loss" in r["parameters"]]
        if not records:
            continue
        common, group = runs.largest_group(records)
        settings = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in common.items())
        device = ", ".join(dict.fromkeys(r["measured"]["device"] for r in group))
        hours = sum(r["measured"]["seconds"] for r in group) / 3600
        parts.append(
            f"## {file.stem}\n\n{group[0]['chapter']}: {settings}. {len(group)} runs, "
            f"{hours:.1f} hours on {device}; torch {group[0]['versions']['torch']}, transformers "
            f"{group[0]['versions']['transformers']}.{_readers(group)}\n\n"
            f"{_kept(group).to_markdown(index=False, disable_numparse=True)}\n"
        )
    made = sorted(results.glob("reproduced/*/table*.md"))
    for file in [path for path in made if path.parent.name != "smoke"]:
        title, _, table = file.read_text(encoding="utf-8").removeprefix("# ").partition("\n")
        parts.append(f"## {title} (profile {file.parent.name})\n{table}")
    return "\n".join(parts)


_PAGE = """\
# The records

Every run that is kept under `results/`, read by
`python -m dicebook.reproduce.tables page`. F1 on the test
split in percent: the mean over seeds with its 95% interval, and the difference from cross entropy
(`ce`) on the same seeds. "Tuned" has its threshold, or the bias of `O`, chosen on the validation
split. An interval of a difference that holds zero shows no difference.
"""


def _readers(group: Sequence[Mapping[str, Any]]) -> str:
    kinds = {runs.loss_label(r): r["parameters"].get("reader") for r in group}
    texts = [f"`{label}` reads by {kind}" for label, kind in kinds.items() if kind]
    return f" {'; '.join(texts)}." if texts else ""


def _kept(group: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    argmax, tuned = (_over_seeds(group, split, "f1") for split in ("test", "test_tuned"))
    rows = []
    for label, found in argmax.items():
        row = {"loss": label, "seeds": str(len(found.scores))}
        for title, scores in (("F1", argmax), ("tuned F1", tuned)):
            if label in scores:
                row[title] = _mean(scores[label])
                row[f"{title} less ce"] = str(scores[label].gain or "")
        rows.append(row)
    return pd.DataFrame(rows).fillna("")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("table", help="the table that a folder of records makes")
    made.add_argument("records", type=Path, nargs="+")
    made.add_argument("--table", type=int, required=True)
    made.add_argument("--out", type=Path, default=Path("results/reproduced"))
    book = commands.add_parser("page", help="the kept runs as a page of the book")
    book.add_argument("--results", type=Path, default=Path("results"))
    book.add_argument("--out", type=Path, default=Path("docs/records.md"))
    given = parser.parse_args(arguments)
    try:
        if given.command == "page":
            given.out.write_text(page(given.results), encoding="utf-8")
            print(given.out)
        else:
            for path in write_table(runs.read_records(*given.records), given.table, given.out):
                print(path)
    except FileNotFoundError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

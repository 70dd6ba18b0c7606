"""Our runs as tables: beside a table of the paper, and all that are kept as a page of the book.

python -m dicebook.reproduce.tables table --table 5 FOLDER --out results/reproduced
python -m dicebook.reproduce.tables page                   # docs/records.md, from results/
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dicebook.atomic import atomic
from dicebook.corpora.registry import CORPORA
from dicebook.reproduce import grid, paper, runs

Record = Mapping[str, Any]

# How a page names what the records name by a word.
LOSSES = {
    "ce": "cross entropy",
    "wce": "weighted cross entropy",
    "fl": "focal",
    "dl": "dice",
    "tl": "Tversky",
    "dsc": "self-adjusting dice",
}
OPTIONS = {"fp_weight": "false positives", "fn_weight": "false negatives", "alpha": "α"}
ENCODERS = {"tiny": "a small encoder trained from nothing", "minilm": "all-MiniLM-L6-v2"}


def printed(record: Record, number: int) -> paper.Row | None:
    """The paper's row for a run: the same corpus, model, variant and loss.

    Args:
        record: a run with one of the grid's corpora.
        number: the table.

    Returns:
        The row, or None where the paper prints none, as for a corpus or a loss of our own.
    """
    parameters = record["parameters"]
    corpus = next((c for c in grid.TABLES[number] if c.name == parameters["corpus"]), None)
    if corpus is None:
        return None
    name, variant = corpus.printed_as or (corpus.name, "")
    backbone = grid.BACKBONES[number]
    if number == 10:
        variant = f"alpha = {runs.loss_options(record).get('fp_weight')}"
    return paper.table(number).row(name, backbone, parameters["loss"], variant)


def table_of(records: Sequence[Record], number: int) -> pd.DataFrame:
    """Our runs beside the paper's table.

    Args:
        records: of the table's jobs.
        number: the table.

    Returns:
        A row for each corpus, setting and loss: seeds, mean and 95% interval of the test F1
        (accuracy in Table 9) at argmax and tuned, the difference from cross entropy on the same
        seeds with the p-value of a paired test, and the model and the number that the paper prints.
    """
    metric = "accuracy" if number == 9 else "f1"
    title = metric.capitalize()
    rows = []
    for corpus in dict.fromkeys(record["parameters"]["corpus"] for record in records):
        groups = runs.comparable(r for r in records if r["parameters"]["corpus"] == corpus)
        for settings, group in groups:
            argmax, tuned = (_over_seeds(group, split, metric) for split in ("test", "test_tuned"))
            rows_of = {runs.loss_label(record): printed(record, number) for record in group}
            for label, found in argmax.items():
                row = rows_of[label]
                rows.append(
                    {
                        "corpus": corpus,
                        **({"settings": _settings(settings)} if len(groups) > 1 else {}),
                        "loss": label,
                        "seeds": len(found.scores),
                        title: str(found.mean),
                        "less ce": str(found.gain or ""),
                        "p": "" if found.p_value is None else f"{found.p_value:.3f}",
                        f"tuned {title}": f"{tuned[label].mean.mean:.1f}" if label in tuned else "",
                        "the paper's": row.model or row.variant if row else "",
                        "paper": row.printed.get(metric, "") if row else "",
                    }
                )
    return pd.DataFrame(rows).fillna("")


def _over_seeds(group: Sequence[Record], split: str, metric: str) -> dict[str, runs.OverSeeds]:
    if not all(metric in record["metrics"].get(split, {}) for record in group):
        return {}
    return runs.over_seeds(group, split=split, metric=metric)


def write_table(records: Sequence[Record], number: int, out: Path) -> list[Path]:
    """Write the records of a table as JSON lines, and the table as Markdown, CSV and HTML.

    Args:
        records: of the table's jobs.
        number: the table.
        out: the folder.

    Returns:
        The files.
    """
    frame = table_of(records, number)
    title = f"Table {number}: {paper.table(number).title}"
    lines = (json.dumps(record, ensure_ascii=False, allow_nan=False) for record in records)
    texts = {
        "jsonl": "\n".join(lines) + "\n",
        "md": f"# {title}\n\n{frame.to_markdown(index=False)}\n",
        "csv": frame.to_csv(index=False),
        "html": frame.to_html(index=False),
    }
    files = [out / f"table{number}.{suffix}" for suffix in texts]
    for path, text in zip(files, texts.values(), strict=True):
        with atomic(path) as partial:
            partial.write_text(text, encoding="utf-8")
    return files


PAGE = """\
# The records

Every run that is kept under `results/`, none left out;
`python -m dicebook.reproduce.tables page` writes this page from them.

Scores are in percent, on the test split: the mean over seeds with its 95% interval, where there
are several. *Less CE* is the difference from cross entropy on the same seeds, in points. *Tuned*
has its threshold, or the bias of the tag `O`, chosen on the validation split. Runs stand in one
table where all but the loss and the seed is equal.

An interval that holds zero does not say that two losses are equal. It says how large a difference
could have hidden: the sentences below a table name its farthest end.
"""


def page(results: Path) -> str:
    """All runs that are kept, as a page of the book.

    Args:
        results: the folder ``results``: ``*.jsonl`` of runs, and below ``reproduced`` the tables
            that the workflow has made (not those of ``smoke``).

    Returns:
        Markdown: every group of comparable runs, the other records as they are, the tables.
    """
    parts = [PAGE]
    for file in sorted(results.glob("*.jsonl")):
        records = runs.read_records(file)
        trained = [record for record in records if "loss" in record["parameters"]]
        for corpus in dict.fromkeys(record["parameters"]["corpus"] for record in trained):
            parts.append(f"## {_corpus(corpus)}\n")
            of_corpus = (r for r in trained if r["parameters"]["corpus"] == corpus)
            parts += [_section(*group) for group in runs.comparable(of_corpus)]
        others = [record for record in records if "loss" not in record["parameters"]]
        if others:
            parts.append(f"## {_chapter(others[0])}\n\n{_table(list(_other_rows(others)))}\n")
    made = sorted(results.glob("reproduced/*/table*.md"))
    for file in [path for path in made if path.parent.name != "smoke"]:
        title, _, table = file.read_text(encoding="utf-8").removeprefix("# ").partition("\n")
        parts.append(f"## {title} (profile {file.parent.name})\n{table}")
    return "\n".join(parts)


def _section(settings: Mapping[str, Any], group: Sequence[Record]) -> str:
    """A group of runs: where they come from, their table, and what it could not have shown."""
    versions, count = group[0]["versions"], "one run" if len(group) == 1 else f"{len(group)} runs"
    device = ", ".join(dict.fromkeys(record["measured"]["device"] for record in group))
    hours = sum(record["measured"]["seconds"] for record in group) / 3600
    if "13" in group[0]["chapter"]:
        scores = {"accuracy": ("test", "accuracy"), "tuned accuracy": ("test_tuned", "accuracy")}
    else:
        scores = {"F1": ("test", "f1"), "tuned F1": ("test_tuned", "f1"), "EM": ("test", "em")}
    words = {runs.loss_label(record): _loss(record) for record in group}
    rows: dict[str, dict[str, str]] = {label: {"loss": words[label]} for label in words}
    floor = {"loss": "*the majority's answer*"}
    below: list[str] = []
    for title, (split, metric) in scores.items():
        found = _over_seeds(group, split, metric)
        for label, result in found.items():
            rows[label] |= {"seeds": str(len(result.scores)), f"{title}, %": str(result.mean)}
            if result.gain:
                rows[label][f"{title} less CE"] = str(result.gain)
        majority = {record["metrics"].get("majority", {}).get(metric) for record in group} - {None}
        if found and split == "test" and majority:
            floor[f"{title}, %"] = f"{max(majority):.1f}"
        below += seen(title, {words[label]: r.gain for label, r in found.items() if r.gain})
    table = [*rows.values(), *([floor] if len(floor) > 1 else [])]
    return (
        f"{_chapter(group[0])}, {_settings(settings)}. {count.capitalize()}, {hours:.1f} hours on "
        f"{device.replace('1 threads', 'one thread')}; torch {versions['torch']}, transformers "
        f"{versions['transformers']}.\n\n{_table(table)}\n" + "".join(f"\n{s}\n" for s in below)
    )


def seen(title: str, gains: Mapping[str, runs.Interval]) -> Iterator[str]:
    """What the intervals of the differences from cross entropy say, and what they leave open.

    Args:
        title: the score.
        gains: the difference from cross entropy by loss, in points.
    """
    above = [loss for loss, gain in gains.items() if gain.low > 0]
    below = [loss for loss, gain in gains.items() if gain.high < 0]
    open_ = [max(-g.low, g.high) for loss, g in gains.items() if loss not in (*above, *below)]
    parts = [f"{word} cross entropy: {'; '.join(losses)}"
             for word, losses in (("above", above), ("below", below)) if losses]  # fmt: skip
    if open_:
        which = "the others" if parts else "all losses"
        parts.append(f"for {which} no difference larger than {max(open_):.1f} points was seen")
    if parts:
        yield f"**{title}**: {'. '.join(part[0].upper() + part[1:] for part in parts)}."


def _other_rows(records: Sequence[Record]) -> Iterator[dict[str, str]]:
    """Records without a loss, such as counts: a row for each, or for each named contrast in it."""
    for record in records:
        corpus = {"corpus": _corpus(record["parameters"]["corpus"])}
        named = {key: v for key, v in record["metrics"].items() if isinstance(v, Mapping)}
        for contrast, values in named.items():
            words = [LOSSES.get(word, word) for word in contrast.replace(",", " ,").split()]
            yield {**corpus, "contrast": " ".join(words).replace(" ,", ","), **values}
        if not named:
            counts = {key: f"{value:,}" for key, value in record["metrics"].items()}
            yield {**corpus, "counted": record["parameters"].get("counted", ""), **counts}


def _table(rows: Sequence[Mapping[str, str]]) -> str:
    """Markdown in which an interval is never broken over two lines."""
    frame = pd.DataFrame(rows).fillna("").map(lambda cell: str(cell).replace(" [", "\u00a0["))
    frame = frame.map(lambda cell: cell.replace(", ", ",\u00a0") if "[" in cell else cell)
    return str(frame.to_markdown(index=False, disable_numparse=True))


def _chapter(record: Record) -> str:
    name = str(record["chapter"])
    return f"Chapter {name[:2]}" if name[:2].isdigit() else f"`{name}`"


def _corpus(name: str) -> str:
    return CORPORA[name].title.partition(",")[0] if name in CORPORA else f"`{name}`"


def _loss(record: Record) -> str:
    """A loss in words, such as ``"dice, squared"``."""
    parts = [LOSSES[record["parameters"]["loss"]]]
    for name, value in runs.loss_options(record).items():
        name = OPTIONS.get(name, name.replace("_", " "))
        switch = {"True": name, "False": f"not {name}"}
        parts.append(switch.get(str(value), f"{name} {value}"))
    if reader := record["parameters"].get("reader"):
        parts.append(f"read by {reader}")
    return ", ".join(parts)


def _settings(settings: Mapping[str, Any]) -> str:
    """The settings of a group in words, with their units."""
    size, encoder = settings["train_size"], str(settings["encoder"])
    return ", ".join(
        [
            ENCODERS.get(encoder, encoder),
            f"{size:,} training examples" if size else "all training examples",
            f"{settings['epochs']} passes in batches of {settings['batch_size']}",
            f"learning rate {settings['learning_rate']:g}",
            f"at most {settings['max_length']} sub-words",
        ]
    )


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

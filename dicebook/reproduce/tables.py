"""Our runs as tables: beside a table of the paper, and all that are kept as a page of the book.

python -m dicebook.reproduce.tables table --table 5 FOLDER --out results/reproduced
python -m dicebook.reproduce.tables page                   # the pages in docs/, from results/
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dicebook.atomic import atomic
from dicebook.corpora.registry import CORPORA
from dicebook.reproduce import grid, paper, runs
from dicebook.reproduce.lines import TABLES
from dicebook.reproduce.profiles import PROFILES
from dicebook.reproduce.runs import markdown

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
OPTIONS = {"fp_weight": "α", "fn_weight": "β", "alpha": "α"}  # as in the paper
ENCODERS = {"tiny": "a small encoder trained from nothing", "minilm": "all-MiniLM-L6-v2"}
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
    metric = _metric(number)
    title = metric.capitalize()
    rows: list[dict[str, Any]] = []
    last = ""
    for (corpus, backbone, system), group in _systems(records):
        if last and last != corpus:
            rows += _floors(records, last, metric, title)
        last = corpus
        argmax, tuned = (_over_seeds(group, split, metric) for split in ("test", "test_tuned"))
        of = {runs.loss_label(record): record for record in group}
        for label, found in argmax.items():
            row = grid.printed(of[label], profile)
            rows.append(
                {
                    "corpus": corpus,
                    "model": _model(backbone, system),
                    "loss": _loss(of[label]),
                    "seeds": str(len(found.scores)),
                    title: str(found.mean),
                    "less ce": str(found.gain or ""),
                    "p": "" if found.p_value is None else f"{found.p_value:.3f}",
                    f"tuned {title}": f"{tuned[label].mean.mean:.1f}" if label in tuned else "",
                    "the paper's": _in_print(row) if row else "",
                    "paper": row.printed.get(metric, "") if row else "",
                }
            )
    rows += _floors(records, last, metric, title)
    return pd.DataFrame(rows).fillna("")


def _metric(number: int) -> str:
    return "accuracy" if number == 9 else "f1"


def _systems(records: Sequence[Record]) -> list[tuple[tuple[str, str, str], list[Record]]]:
    """Records by corpus, backbone and system; a corpus stands where its first record stands."""
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        given = record["parameters"]
        groups.setdefault((given["corpus"], given["backbone"], given["system"]), []).append(record)
    corpora = list(dict.fromkeys(record["parameters"]["corpus"] for record in records))
    return sorted(groups.items(), key=lambda item: corpora.index(item[0][0]))


def _floors(
    records: Sequence[Record], corpus: str, metric: str, title: str
) -> Iterator[dict[str, str]]:
    of_corpus = [r["metrics"] for r in records if r["parameters"]["corpus"] == corpus]
    for name, words in FLOORS.items():
        values = [m[name][metric] for m in of_corpus if metric in m.get(name, {})]
        if values:
            yield {"corpus": corpus, "model": words, title: str(runs.interval(_distinct(values)))}


def _distinct(values: Sequence[float]) -> list[float]:
    """Records of one seed share a draw of the corpus, and so what it gives away."""
    return [sum(set(values)) / len(set(values))]


def _model(backbone: str, system: str) -> str:
    how = {"choice": "by choice", "decisions": "by decisions", "mrc": "", "tagger": ""}
    names = [backbone or {"mrc": "BERT-MRC", "decisions": "BERT"}.get(system, "")]
    return ", ".join(filter(None, [*names, how.get(system, "")]))


def _in_print(row: paper.Row) -> str:
    corpus = f"{row.corpus_title} {row.variant}".strip()
    return f"{row.model}, {corpus}" if row.model else corpus


def _over_seeds(group: Sequence[Record], split: str, metric: str) -> dict[str, runs.OverSeeds]:
    if not all(metric in record["metrics"].get(split, {}) for record in group):
        return {}
    return runs.over_seeds(group, split=split, metric=metric)


def write_table(
    records: Sequence[Record], number: int, out: Path, profile: str = "default"
) -> list[Path]:
    """Write the records of a table as JSON lines, and the table as Markdown, CSV and HTML.

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
        "html": frame.to_html(index=False),
    }
    files = [out / f"table{number}.{suffix}" for suffix in texts]
    for path, text in zip(files, texts.values(), strict=True):
        with atomic(path) as partial:
            partial.write_text(text, encoding="utf-8")
    return files


LETTERS = """\
Tversky's α prices false positives, its β false negatives; the α of self-adjusting dice is its
exponent."""

PAGE = f"""\
# The records

Every run that is kept under `results/`, none left out;
`python -m dicebook.reproduce.tables page` writes this page from them.

Scores are in percent, on the test split: the mean over seeds with its 95% interval, where there
are several. *Less CE* is the difference from cross entropy on the same seeds, in points. *Tuned*
has its threshold, or the bias of the tag `O`, chosen on the validation split. Runs stand in one
table where all but the loss and the seed is equal.

{LETTERS}

An interval that holds zero does not say that two losses are equal. It says how large a difference
could have hidden: the sentences below a table name its farthest end.
"""


def page(results: Path) -> str:
    """All runs that are kept, as a page of the book.

    Args:
        results: the folder ``results``: ``*.jsonl`` of runs.

    Returns:
        Markdown: every group of comparable runs, the other records as they are.
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
            parts.append(f"## {_chapter(others[0])}\n\n{markdown(list(_other_rows(others)))}\n")
    return "\n".join(parts)


REPRODUCED = f"""\
# The paper's tables, run again

Each table below was made by `make reproduce`, see [](reproduce.md);
`python -m dicebook.reproduce.tables page` writes this page from the records below
`results/reproduced/`.

Scores are in percent, on the test split: the mean over seeds with its 95% interval. *Less ce* is
the difference from cross entropy on the same seeds, in points. *Tuned* has its threshold, or the
bias of the tag `O`, chosen on the validation split. The last two columns are what the paper prints
for the corpus of its own and a far larger encoder. *Words alone* is a dictionary of the training
split for tags, a count of words for sentences, the share of common words for pairs.

{LETTERS}
"""
HOW = {
    "laptop": "Parts of real corpora, small encoders, two seeds, on a CPU in bfloat16: what shows "
    "here shows in minutes, and differences of a point or two do not show. All losses have one "
    "learning rate and few steps, in which a loss that learns faster is ahead; chapter 17 gives "
    "each its own. Two seeds make wide intervals; what tells more is whether the corpora of a "
    "table agree. The losses share what the frozen layers say of an input, which spares each of "
    "them that part of the training.",
    "default": "The same budget for each loss, its learning rate found on the validation split.",
    "paper": "Hyperparameters and habits of the paper's scripts.",
}


def reproduced(results: Path) -> str:
    """The tables that the workflow has made, as a page of the book.

    Args:
        results: the folder ``results``; those of the profile ``smoke`` are left out.
    """
    parts = [REPRODUCED]
    for profile, about in HOW.items():
        files = [results / "reproduced" / profile / f"table{n}.jsonl" for n in TABLES]
        there = [file for file in files if file.is_file()]
        kept = {int(file.stem.removeprefix("table")): runs.read_records(file) for file in there}
        if kept:
            parts += [f"## Profile `{profile}`\n", f"{about}\n", f"{_at_a_glance(kept)}\n"]
        for number, records in kept.items():
            frame = table_of(records, number, profile)
            parts.append(f"### Table {number}: {paper.table(number).title}\n")
            for corpus, rows in frame.groupby("corpus", sort=False):
                of_corpus = (r["parameters"] for r in records)
                given = next(one for one in of_corpus if one["corpus"] == corpus)
                parts.append(_of_corpus(given, rows))
            ran = f"{len(records)} runs, {_time(records)} of training on {_device(records)}."
            parts.append(f"{ran}{_silent(records, number)}\n")
    if len(parts) == 1:
        parts.append("No table is kept here yet.\n")
    return "\n".join(parts)


def _of_corpus(given: Mapping[str, Any], rows: pd.DataFrame) -> str:
    """The rows of a corpus below its settings, without the columns that say nothing."""
    name, note = given["corpus"], given.get("corpus_note")
    how = f"{_settings(given)}, {rows['seeds'].iloc[0]} seeds.{f' {note}' if note else ''}"
    shown = rows.drop(columns=["corpus", "seeds", "p"])  # the files have them
    shown = shown.loc[:, (shown != "").any()]
    return f"**{_title(name)}** (`{name}`): {how}\n\n{markdown(shown.to_dict('records'))}\n"


def _at_a_glance(kept: Mapping[int, Sequence[Record]]) -> str:
    """Dice less cross entropy by table, and how many differences have an interval without zero."""
    found, rows = [], []
    for number, records in kept.items():
        row = {"table": f"{number}, {paper.table(number).title}"}
        for way, split in (("at argmax", "test"), ("tuned", "test_tuned")):
            groups = [_over_seeds(g, split, _metric(number)) for _, g in _systems(records)]
            if split == "test":
                found += [result.gain for of in groups for result in of.values() if result.gain]
            gains = [of["dl"].gain.mean for of in groups if "dl" in of and of["dl"].gain]
            if gains:
                row.setdefault("corpora × systems", str(len(gains)))
                ends = f" ({min(gains):z.1f} to {max(gains):z.1f})".replace(" ", "\u00a0")
                row[way] = f"{np.mean(gains):z.1f}{ends if len(gains) > 1 else ''}"
        rows += [row] if len(row) > 1 else []
    above, below = sum(gain.low > 0 for gain in found), sum(gain.high < 0 for gain in found)
    return (
        "Dice less cross entropy, in points: the mean over a table's corpora and systems, in "
        f"brackets the least and the most.\n\n{markdown(rows)}\n\n"
        f"Of {len(found)} differences from cross entropy at argmax, {above} have an interval above "
        f"zero and {below} one below. Were no loss better than another, one interval in twenty "
        f"would still leave zero out: here about {len(found) / 20:.0f}."
    )


def _silent(records: Sequence[Record], number: int) -> str:
    groups = [_over_seeds(group, "test", _metric(number)) for _, group in _systems(records)]
    rows = [found.scores.values() for of in groups for found in of.values()]
    silent = sum(not any(scores) for scores in rows)
    return f" In {silent} of {len(rows)} rows no seed has anything right at argmax." * bool(silent)


def _title(corpus: str) -> str:
    if corpus in CORPORA:
        return CORPORA[corpus].title
    source, _, made = corpus.partition("_")  # a set of `data_scripts.augment_pairs`
    return f"{_corpus(source)}, changed as in the paper's Table 8: {made.replace('_', ' ')}"


def _device(records: Sequence[Record]) -> str:
    devices = dict.fromkeys(record["measured"]["device"] for record in records)
    return ", ".join(devices).replace("1 threads", "one thread")


def _time(records: Sequence[Record]) -> str:
    seconds = sum(record["measured"]["seconds"] for record in records)
    minutes = max(1, round(seconds / 60))
    if minutes >= 60:
        return f"{seconds / 3600:.1f} hours"
    return f"{minutes} minute{'s' if minutes > 1 else ''}"


def _section(settings: Mapping[str, Any], group: Sequence[Record]) -> str:
    """A group of runs: where they come from, their table, and what it could not have shown."""
    versions, count = group[0]["versions"], "one run" if len(group) == 1 else f"{len(group)} runs"
    usual = _usual(group)
    unless = f" Unless a row says otherwise: {', '.join(_options(usual))}." if usual else ""
    if "13" in group[0]["chapter"] or "f1" not in group[0]["metrics"]["test"]:
        scores = {"accuracy": ("test", "accuracy"), "tuned accuracy": ("test_tuned", "accuracy")}
    else:
        scores = {"F1": ("test", "f1"), "tuned F1": ("test_tuned", "f1"), "EM": ("test", "em")}
    words = {runs.loss_label(record): _loss(record, usual) for record in group}
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
    table = markdown([*rows.values(), *([floor] if len(floor) > 1 else [])])
    return (
        f"{_chapter(group[0])}, {_settings(settings)}. {count.capitalize()}, {_time(group)} on "
        f"{_device(group)}; torch {versions['torch']}, transformers "
        f"{versions['transformers']}.{unless}\n\n{table}\n" + "".join(f"\n{s}\n" for s in below)
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
            scores = {title.replace("less ce", "less CE"): score for title, score in values.items()}
            yield {**corpus, "contrast": " ".join(words).replace(" ,", ","), **scores}
        if not named:
            counts = {key: f"{value:,}" for key, value in record["metrics"].items()}
            yield {**corpus, "counted": record["parameters"].get("counted", ""), **counts}


def _chapter(record: Record) -> str:
    name = str(record["chapter"])
    return f"Chapter {name[:2]}" if name[:2].isdigit() else f"`{name}`"


def _corpus(name: str) -> str:
    return CORPORA[name].title.partition(",")[0] if name in CORPORA else f"`{name}`"


def _loss(record: Record, usual: Mapping[str, Any] | None = None) -> str:
    """A loss in words, such as ``"dice, squared"``, without the options that are as usual."""
    options = runs.loss_options(record).items()
    said = {name: value for name, value in options if (name, value) not in (usual or {}).items()}
    parts = [LOSSES[record["parameters"]["loss"]], *_options(said)]
    if reader := record["parameters"].get("reader"):
        parts.append(f"read by {reader}")
    return ", ".join(parts)


def _options(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        name = OPTIONS.get(name, name.replace("_", " "))
        switch = {"True": name, "False": f"not {name}"}
        yield switch.get(str(value), f"{name} {value}")


def _usual(group: Sequence[Record]) -> dict[str, Any]:
    """The commonest values of the options that all losses have, cross entropy aside."""
    if len({runs.loss_label(record) for record in group}) == 1:
        return {}
    rows = [runs.loss_options(r) for r in group if r["parameters"]["loss"] != "ce"]
    shared = [name for name in rows[0] if all(name in row for row in rows)] if rows else []
    return {name: Counter(row[name] for row in rows).most_common(1)[0][0] for name in shared}


def _settings(settings: Mapping[str, Any]) -> str:
    """The settings of a group in words, with their units."""
    size, encoder = settings["train_size"], str(settings["encoder"])
    frozen = settings.get("habits", {}).get("frozen_layers", 0)
    words = [
        ENCODERS.get(encoder, encoder) + f", {frozen} layers frozen" * bool(frozen),
        f"{size:,} training examples" if size else "all training examples",
    ]
    if settings.get("ratio"):
        words.append(f"{settings['ratio']:g} negatives for each positive")
    if settings["epochs"]:
        words += [
            f"{settings['epochs']} passes in batches of {settings['batch_size']}",
            f"learning rate {settings['learning_rate']:g}",
            f"at most {settings['max_length']} sub-words",
            *filter(None, [settings.get("precision")]),
        ]
    else:
        words.append("learning rate and steps chosen on validation")
    return ", ".join(words)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("table", help="the table that a folder of records makes")
    made.add_argument("records", type=Path, nargs="+")
    made.add_argument("--table", type=int, required=True)
    made.add_argument("--profile", default="default", choices=PROFILES)
    made.add_argument("--out", type=Path, default=Path("results/reproduced"))
    book = commands.add_parser("page", help="the kept runs as a page of the book")
    book.add_argument("--results", type=Path, default=Path("results"))
    book.add_argument("--out", type=Path, default=Path("docs"))
    given = parser.parse_args(arguments)
    try:
        if given.command == "page":
            from dicebook.reproduce import guide  # it needs torch, the workflow does not

            texts = {
                "records.md": page(given.results),
                "reproduced.md": reproduced(given.results),
                "from_here_to_the_paper.md": guide.page(),
            }
            for name, text in texts.items():
                (given.out / name).write_text(text, encoding="utf-8")
                print(given.out / name)
        else:
            records = runs.read_records(*given.records)
            for path in write_table(records, given.table, given.out, given.profile):
                print(path)
    except FileNotFoundError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

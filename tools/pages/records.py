"""Every run that is kept, as a page of the book."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dicelab.fit.result import NAMES
from dicelab.records import runs
from dicelab.records.runs import markdown
from reproduce.tables import Record, loss_in_words, options_in_words, where_scored
from tools.pages import decided, own_data, words

PAGE = f"""\
# The records

**For** readers who want the run behind a number of a chapter or of the guide.

Every run that is kept under `results/`, none left out;
`python -m tools.pages` writes this page from them.

Scores are in percent, on the test split: the mean over seeds with its 95% interval, where there
are several. *Minus CE* is the difference from cross entropy on the same seeds, in points. *Tuned*
has its threshold, or the bias of the tag `O`, chosen on the validation split. Runs stand in one
table where all but the loss and the seed is equal.

{words.LETTERS}

An interval that includes zero does not say that two losses are equal. It says how large a
difference could have hidden: the sentences below a table name its farthest end.
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
        parts += decided.sections([r for r in records if decided.is_decided(r)])
        trained = [r for r in records if "loss" in r["parameters"] and "test" in r["metrics"]]
        for corpus in dict.fromkeys(record["parameters"]["corpus"] for record in trained):
            parts.append(f"## {words.corpus(corpus)}\n")
            of_corpus = (r for r in trained if r["parameters"]["corpus"] == corpus)
            parts += [_section(*group) for group in runs.comparable(of_corpus)]
        others = [record for record in records if "loss" not in record["parameters"]]
        if others:
            parts.append(f"## {_chapter(others[0])}\n\n{markdown(list(_other_rows(others)))}\n")
    parts.append(own_data.page(results / "own_data"))
    return "\n".join(parts)


def _section(settings: Mapping[str, Any], group: Sequence[Record]) -> str:
    """A group of runs: where they come from, their table, and what it could not have shown."""
    versions, count = group[0]["versions"], "one run" if len(group) == 1 else f"{len(group)} runs"
    usual = _usual(group)
    unless = f" Unless a row says otherwise: {', '.join(options_in_words(usual))}." if usual else ""
    if "13" in group[0]["chapter"] or "f1" not in group[0]["metrics"]["test"]:
        scores = {"accuracy": ("test", "accuracy"), "tuned accuracy": ("test_tuned", "accuracy")}
    else:
        scores = {"F1": ("test", "f1"), "tuned F1": ("test_tuned", "f1"), "EM": ("test", "em")}
    named = {runs.loss_label(record): loss_in_words(record, usual) for record in group}
    rows: dict[str, dict[str, str]] = {label: {"loss": named[label]} for label in named}
    floor = {"loss": "*the majority's answer*"}
    below: list[str] = []
    for title, (split, metric) in scores.items():
        by_loss = where_scored(group, split, metric)
        for label, result in by_loss.items():
            rows[label] |= {"seeds": str(len(result.scores)), f"{title}, %": str(result.mean)}
            if result.gain:
                rows[label][f"{title} minus CE"] = str(result.gain)
        majority = {record["metrics"].get("majority", {}).get(metric) for record in group} - {None}
        if by_loss and split == "test" and majority:
            floor[f"{title}, %"] = f"{max(majority):.1f}"
        below += findings(title, {named[label]: r.gain for label, r in by_loss.items() if r.gain})
    table = markdown([*rows.values(), *([floor] if len(floor) > 1 else [])])
    where = f"{_chapter(group[0])}, {words.settings(settings)}"
    ran = f"{count.capitalize()}, {words.time(group)} on {words.device(group)}"
    on = f"torch {versions['torch']}, transformers {versions['transformers']}"
    return f"{where}. {ran}; {on}.{unless}\n\n{table}\n" + "".join(f"\n{s}\n" for s in below)


def findings(title: str, gains: Mapping[str, runs.Interval]) -> Iterator[str]:
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
        corpus = {"corpus": words.corpus(record["parameters"]["corpus"])}
        if "train_size" in record["parameters"]:
            corpus["training rows"] = f"{record['parameters']['train_size']:,}"
        named = {key: v for key, v in record["metrics"].items() if isinstance(v, Mapping)}
        for contrast, values in named.items():
            spaced = contrast.replace(",", " ,").replace(" less ", " minus ").split()
            title = " ".join(runs.LOSS_WORDS.get(word, word) for word in spaced).replace(" ,", ",")
            title = NAMES.get(contrast, title)
            scores = {name.replace("less ce", "minus CE"): score for name, score in values.items()}
            yield {**corpus, "contrast": title, **scores}
        if not named:
            counts = {key: f"{value:,}" for key, value in record["metrics"].items()}
            yield {**corpus, "counted": record["parameters"].get("counted", ""), **counts}


def _chapter(record: Record) -> str:
    name = str(record["chapter"])
    return f"Chapter {name[:2]}" if name[:2].isdigit() else f"`{name}`"


def _usual(group: Sequence[Record]) -> dict[str, Any]:
    """The commonest values of the options that all losses have, cross entropy aside."""
    if len({runs.loss_label(record) for record in group}) == 1:
        return {}
    rows = [runs.loss_options(r) for r in group if r["parameters"]["loss"] != "ce"]
    shared = [name for name in rows[0] if all(name in row for row in rows)] if rows else []
    return {name: Counter(row[name] for row in rows).most_common(1)[0][0] for name in shared}

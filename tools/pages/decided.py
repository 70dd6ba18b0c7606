"""The records of the studies that decide every run in several ways: spans, and many labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dicelab.records import runs
from dicelab.records.runs import markdown
from reproduce.tables import Record
from tools.pages import words

LOSSES = {
    "bce": "binary cross entropy",
    "bce_prior": "binary cross entropy, bias at the log prior",
    "weighted": "weighted cross entropy",
    "pos_weight": "weighted cross entropy",
    "logit_adjustment": "logit adjustment",
    "focal": "focal",
    "focal_25": "focal, γ 2, weight 0.25 of the positives",
    "dice_element": "dice, element by element",
    "dice_element_warm": "dice, element by element, after cross entropy",
    "dice_set": "dice of the set",
    "dsc_set": "self-adjusting dice of the set",
    "sampled": "cross entropy with sampled negatives",
    "dice_micro": "dice over all labels at once",
    "dice_macro": "dice, the mean over labels",
}
WAYS = {
    "half": "at one half",
    "one": "one threshold",
    "tuned": "tuned",
    "each": "a threshold a label",
    "shrunk": "the same, shrunk",
    "plug_in": "plug-in",
}
SCORES = {"f1": "F1", "micro": "Micro F1", "macro": "Macro F1"}


def is_decided(record: Record) -> bool:
    """Whether a record holds scores by way of deciding, and none of ``"test"`` alone."""
    return "half" in record["metrics"]


def sections(records: Sequence[Record]) -> Iterator[str]:
    """A section for each corpus and encoder, with a table for each score.

    Args:
        records: those of one file for which :func:`is_decided` holds.
    """
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        parameters = record["parameters"]
        groups.setdefault((parameters["corpus"], parameters["encoder"]), []).append(record)
    for (corpus, encoder), group in groups.items():
        first = group[0]
        yield f"## {words.corpus(corpus)}\n"
        yield (
            f"`{first['chapter']}`, {encoder}; each draw is a seed of its own. {len(group)} runs, "
            f"{words.time(group)} on {words.device(group)}; torch {first['versions']['torch']}.\n"
        )
        ways = [way for way in WAYS if way in first["metrics"]]
        for metric in (name for name in SCORES if name in first["metrics"]["half"]):
            yield f"{SCORES[metric]} on the test split, by how it is decided.\n"
            yield markdown(_rows(group, ways, metric)) + "\n"


def _rows(group: Sequence[Record], ways: Sequence[str], metric: str) -> list[dict[str, str]]:
    rows: dict[str, dict[str, str]] = {}
    for way in ways:
        for loss, summary in runs.over_seeds(group, split=way, metric=metric).items():
            row = rows.setdefault(loss, {"loss": LOSSES[loss], "draws": str(len(summary.scores))})
            row[f"{WAYS[way]}, %"] = str(summary.mean)
    return list(rows.values())

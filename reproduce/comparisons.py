"""What the paper compares: the losses of a model on a corpus, in Tables 3 to 10."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Loss = tuple[str, dict[str, Any]]

# The denominators of DL are squared in the paper, those of DSC in its scripts.
PRINTED: list[Loss] = [
    ("ce", {}),
    ("fl", {}),
    ("dl", {}),
    ("dsc", {"alpha": 0.1, "squared": True}),
]
# Table 10: the price of a false positive from 0.1 to 0.9, and cross entropy to compare with.
TVERSKY_WEIGHTS: list[Loss] = [
    ("ce", {}),
    *(
        ("tl", {"fp_weight": n / 10, "fn_weight": (10 - n) / 10, "squared": False})
        for n in range(1, 10)
    ),
]

BASE, LARGE = "bert-base-cased", "bert-large-cased"
CHINESE, XLNET = "bert-base-chinese", "xlnet-large-cased"

READERS = ("choice", "decisions")  # two ways to train what the paper prints once
TABLES = (3, 4, 5, 6, 7, 8, 9, 10)


@dataclass(frozen=True)
class Comparison:
    """What the paper prints of one model on one corpus.

    Attributes:
        table: the paper's table.
        prints: corpus and variant of the paper's rows.
        corpus: what is trained on, a name of `dicelab.corpora`.
        backbone: the model without the loss, as printed; empty in Table 10.
        system: one of `reproduce.systems.SYSTEMS`.
        encoder: the encoder of the paper's rows, by its name on the hub.
        losses: the losses that are trained.
        settings: parameters of its runs, from its profile.
        habits: what the paper's scripts do beyond the text, see `reproduce.scripts`.
        script: the released script whose settings it has, and what of them it has not; empty
            where the profile asks for none.
    """

    table: int
    prints: tuple[str, str]
    corpus: str
    backbone: str
    system: str
    encoder: str
    losses: tuple[Loss, ...] = tuple(PRINTED)
    settings: Mapping[str, Any] = field(default_factory=dict)
    habits: Mapping[str, Any] = field(default_factory=dict)
    script: str = ""


def _of(
    table: int,
    corpus: str,
    backbone: str,
    system: str,
    encoder: str,
    variant: str = "",
    **more: Any,
) -> Comparison:
    prints = ("qqp" if corpus.startswith("qqp") else corpus, variant)
    return Comparison(table, prints, corpus, backbone, system, encoder, **more)


_MODELS = (("BERT", LARGE), ("XLNet", XLNET))
#: The training sets of Table 8 by corpus, as the paper prints their names.
QQP_SETS = {
    "qqp_original": "original",
    "qqp_plus_positive": "+ positive",
    "qqp_plus_negative": "+ negative",
    "qqp_minus_negative": "- negative",
    "qqp_plus_both": "+ positive & negative",
}
COMPARISONS: tuple[Comparison, ...] = (
    *(_of(3, corpus, "BERT-Tagger", "tagger", CHINESE) for corpus in ("ctb5", "ctb6", "ud_zh")),
    *(_of(4, corpus, "BERT-Tagger", "tagger", BASE) for corpus in ("wsj", "ritter")),
    *(
        comparison
        for corpus, encoder in (
            ("conll03", LARGE),
            ("ontonotes5", LARGE),
            ("msra", CHINESE),
            ("ontonotes4_zh", CHINESE),
        )
        for comparison in (
            _of(5, corpus, "BERT-Tagger", "tagger", encoder, losses=(("ce", {}),)),
            _of(5, corpus, "BERT-MRC", "mrc", encoder),
        )
    ),
    *(
        _of(6, corpus, backbone, system, encoder)
        for corpus in ("squad11", "squad20", "quoref")
        for backbone, encoder in _MODELS
        for system in READERS
    ),
    *(
        _of(7, corpus, backbone, "pairs", encoder)
        for corpus in ("mrpc", "qqp")
        for backbone, encoder in _MODELS
    ),
    *(_of(8, made, "BERT", "pairs", LARGE, variant) for made, variant in QQP_SETS.items()),
    *(_of(9, corpus, "BERT", "pairs", LARGE) for corpus in ("sst2", "sst5")),
    _of(10, "ontonotes4_zh", "", "mrc", CHINESE, losses=tuple(TVERSKY_WEIGHTS)),
    _of(10, "quoref", "", "decisions", LARGE, losses=tuple(TVERSKY_WEIGHTS)),
)


def of_table(table: int) -> list[Comparison]:
    """The comparisons of a table, 3 to 10, without a profile's settings."""
    return [comparison for comparison in COMPARISONS if comparison.table == table]

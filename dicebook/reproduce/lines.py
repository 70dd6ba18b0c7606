"""What the paper prints as its own: a line for each model on each corpus of Tables 3 to 10."""

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
CONFIGURATIONS: list[Loss] = [
    *PRINTED,
    ("wce", {}),
    ("dsc", {"alpha": 0.01, "squared": True}),
    ("tl", {"fp_weight": 0.3, "fn_weight": 0.7, "squared": False}),
]
# Table 10: the price of a false positive from .1 to .9, and cross entropy to compare with.
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
class Line:
    """What the paper prints of one model on one corpus.

    Attributes:
        table: the paper's table.
        prints: corpus and variant of the paper's rows.
        corpus: what is trained on, a name of `dicebook.corpora`.
        backbone: the model without the loss, as printed; empty in Table 10.
        system: one of `dicebook.reproduce.systems.SYSTEMS`.
        encoder: of the paper's rows, by its name on the hub.
        losses: the losses that are trained.
        settings: parameters of its runs, from its profile.
        habits: what the paper's scripts do beyond the text, see
            `dicebook.reproduce.profiles.HABITS`.
    """

    table: int
    prints: tuple[str, str]
    corpus: str
    backbone: str
    system: str
    encoder: str
    losses: tuple[Loss, ...] = tuple(CONFIGURATIONS)
    settings: Mapping[str, Any] = field(default_factory=dict)
    habits: Mapping[str, Any] = field(default_factory=dict)


def of_table(table: int) -> list[Line]:
    """The lines of a table, 3 to 10, without a profile's settings."""

    def line(
        corpus: str, backbone: str, system: str, encoder: str, variant: str = "", **more: Any
    ) -> Line:
        prints = ("qqp" if corpus.startswith("qqp") else corpus, variant)
        return Line(table, prints, corpus, backbone, system, encoder, **more)

    chinese = ("ctb5", "ctb6", "ud_zh")
    encoders = {
        "conll03": LARGE,
        "ontonotes5": LARGE,
        "msra": CHINESE,
        "ontonotes4_zh": CHINESE,
    }
    models = (("BERT", LARGE), ("XLNet", XLNET))
    weights = tuple(TVERSKY_WEIGHTS)
    qqp = {
        "original": "original",
        "plus_positive": "+ positive",
        "plus_negative": "+ negative",
        "minus_negative": "- negative",
        "plus_both": "+ positive & negative",
    }
    return {
        3: [line(corpus, "BERT-Tagger", "tagger", CHINESE) for corpus in chinese],
        4: [line(corpus, "BERT-Tagger", "tagger", BASE) for corpus in ("wsj", "ritter")],
        5: [
            each
            for corpus, encoder in encoders.items()
            for each in (
                line(corpus, "BERT-Tagger", "tagger", encoder, losses=(("ce", {}),)),
                line(corpus, "BERT-MRC", "mrc", encoder),
            )
        ],
        6: [
            line(corpus, backbone, system, encoder)
            for corpus in ("squad11", "squad20", "quoref")
            for backbone, encoder in models
            for system in ("choice", "decisions")
        ],
        7: [
            line(corpus, backbone, "pairs", encoder)
            for corpus in ("mrpc", "qqp")
            for backbone, encoder in models
        ],
        8: [line(f"qqp_{v}", "BERT", "pairs", LARGE, printed) for v, printed in qqp.items()],
        9: [line(corpus, "BERT", "pairs", LARGE) for corpus in ("sst2", "sst5")],
        10: [
            line("ontonotes4_zh", "", "mrc", CHINESE, losses=weights),
            line("quoref", "", "decisions", LARGE, losses=weights),
        ],
    }[table]

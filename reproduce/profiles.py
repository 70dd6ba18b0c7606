"""What a profile makes of a comparison of the paper: on which corpora, with which settings."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from dicelab.corpora.registry import CORPORA
from reproduce.comparisons import CHINESE, PRINTED, READERS, Comparison, Loss
from reproduce.scripts import script_of

RATES = [2e-5, 3e-5, 5e-5]

# Real corpora that everybody can get, in place of those that are licensed or large.
STAND_INS: dict[int, dict[str, tuple[str, ...]]] = {
    3: {"ctb5": (), "ctb6": ()},
    4: {"wsj": ("wsj_sample", "ud_en_ewt")},
    5: {
        "conll03": ("wnut17",),
        "ontonotes5": ("crossner_politics",),
        "msra": ("uner_zh_gsd",),
        "ontonotes4_zh": ("uner_en_ewt",),
    },
    7: {"qqp": ("qqp_wang",)},
    8: {
        "qqp_original": ("mrpc_original",),
        "qqp_plus_positive": ("mrpc_plus_positive",),
        "qqp_plus_negative": ("mrpc_plus_negative",),
        "qqp_minus_negative": ("mrpc_minus_positive",),
        "qqp_plus_both": ("mrpc_plus_both",),
    },
    10: {"ontonotes4_zh": ("wnut17",)},
}
# Train, evaluated examples of a split, passes, batch, sub-words, learning rate: on one thread of a
# CPU with bf16 a run takes a minute or two. Of MiniLM's six layers the upper two are trained.
_LAPTOP = {
    3: (0, 0, 6, 32, 160, 2e-3),
    4: (1000, 500, 4, 16, 96, 2e-4),
    5: (350, 300, 5, 24, 96, 4e-4),
    6: (600, 200, 2, 12, 256, 2e-4),
    7: (1000, 500, 4, 16, 128, 1e-4),
    8: (1000, 500, 3, 16, 128, 1e-4),
    9: (1500, 800, 3, 16, 64, 1e-4),
    10: (300, 300, 3, 24, 128, 2e-4),
}
# Where four frozen layers of six leave too little to train, and more is trained on: corpus to how
# many are frozen and what it has instead of the table's settings.
_LAPTOP_MORE: dict[str, tuple[int, dict[str, Any]]] = {
    "qqp_wang": (3, {"train_size": 5000, "epochs": 3, "learning_rate": 2e-4}),
}
UPPER_ONLY = {"frozen_layers": 4, "dropout": 0.0, "attention_dropout": 0.0}
_LAPTOP_CHINESE = {"learning_rate": 2e-3, "epochs": 8, "train_size": 1500}  # from nothing
# Where they differ from the table's, for its questions are about longer texts.
_LAPTOP_QUOREF = {"train_size": 300, "eval_size": 120, "max_length": 256, "batch_size": 12}
# The embedded corpus of the profile `smoke` for each printed one.
_SMOKE_CORPORA = {
    3: "embedded-pos-zh",
    4: "embedded-pos-en",
    6: "embedded-reading-en",
    7: "embedded-paraphrases-en",
    8: "embedded-paraphrases-en",
    9: "embedded-sentiment-en",
}
_SMOKE = {
    "learning_rate": 2e-3,
    "batch_size": 16,
    "epochs": 1,
    "train_size": 64,
    "eval_size": 40,
    "max_length": 96,
}


def _usual(comparison: Comparison) -> dict[str, Any]:
    length = 384 if comparison.system in READERS else 256 if comparison.system != "pairs" else 128
    return {"learning_rate": 3e-5, "batch_size": 32, "epochs": 4, "max_length": length}


def _printed_losses(comparison: Comparison) -> tuple[Loss, ...]:
    """Those of the paper alone; a comparison with losses of its own keeps them."""
    own = comparison.table == 10 or len(comparison.losses) == 1
    return comparison.losses if own else tuple(PRINTED)


def _default(comparison: Comparison, _: Collection[str]) -> list[Comparison]:
    return [replace(comparison, settings={**_usual(comparison), "rates": RATES})]


def _paper(comparison: Comparison, _: Collection[str]) -> list[Comparison]:
    """A comparison for each loss, since each has a script of its own, or the nearest there is."""
    found = []
    for name, options in _printed_losses(comparison):
        script, note = script_of(comparison.corpus, comparison.system, comparison.backbone, name)
        settings, habits, encoder = _usual(comparison), {}, comparison.encoder
        if script is not None:
            settings, habits = {**settings, **script.settings}, script.habits
            # A loss of a whole step holds its micro-batches, too much for a GPU otherwise.
            whole = comparison.system == "mrc" or name in ("dl", "dsc", "tl")
            if whole and settings["gradient_accumulation"] > 1:
                settings["gradient_checkpointing"] = True
            options = {**options, **script.options(name)}
            encoder = comparison.encoder if comparison.backbone == "XLNet" else script.encoder
        elif name == "dsc":
            options = {**options, "alpha": 0.01}  # as all scripts have it
        said = ": ".join(filter(None, [script.name if script else "", note]))
        found.append(
            replace(
                comparison,
                encoder=encoder,
                settings=settings,
                habits=habits,
                losses=((name, options),),
                script=said,
            )
        )
    return found


def _laptop(comparison: Comparison, wanted: Collection[str]) -> list[Comparison]:
    if comparison.backbone == "XLNet":
        return []  # no small one is pretrained
    train, evaluated, epochs, batch, length, rate = _LAPTOP[comparison.table]
    settings = {
        "learning_rate": rate,
        "batch_size": batch,
        "epochs": epochs,
        "max_length": length,
        "train_size": train,
        "eval_size": evaluated,
        "precision": "bf16",
    }
    if comparison.corpus == "quoref":
        settings |= _LAPTOP_QUOREF
    found = []
    stand_ins = STAND_INS.get(comparison.table, {}).get(comparison.corpus, (comparison.corpus,))
    for corpus in (comparison.corpus,) if comparison.corpus in wanted else stand_ins:
        frozen, more = _LAPTOP_MORE.get(corpus, (UPPER_ONLY["frozen_layers"], {}))
        how: dict[str, Any] = {
            "encoder": "minilm",
            "settings": settings | more,
            "habits": {**UPPER_ONLY, "frozen_layers": frozen},
        }
        if corpus in CORPORA and CORPORA[corpus].language == "zh":
            how = {"encoder": "tiny", "settings": settings | _LAPTOP_CHINESE}
        if (
            len({CORPORA[name].language for name in (corpus, comparison.corpus) if name in CORPORA})
            > 1
        ):
            how["prints"] = ("", "")  # no number of another language stands beside it
        found.append(replace(comparison, corpus=corpus, losses=_printed_losses(comparison), **how))
    return found


def _smoke(comparison: Comparison, _: Collection[str]) -> list[Comparison]:
    if comparison.backbone == "XLNet":
        return []  # there is no tiny one
    entities = f"embedded-entities-{'zh' if comparison.encoder == CHINESE else 'en'}"
    of_system = {"decisions": "embedded-reading-en"}.get(comparison.system, entities)
    corpus = _SMOKE_CORPORA.get(comparison.table, of_system)
    return [
        replace(
            comparison, corpus=corpus, encoder="tiny", settings=_SMOKE, losses=comparison.losses[:2]
        )
    ]


@dataclass(frozen=True)
class Profile:
    """A way to run the paper's comparisons.

    Attributes:
        of: from a comparison and the corpora that were asked for by name to the comparisons as
            they are trained; none where one cannot be.
        seeds: how many.
    """

    of: Callable[[Comparison, Collection[str]], list[Comparison]]
    seeds: int


PROFILES = {
    "default": Profile(_default, 6),
    "paper": Profile(_paper, 1),
    "laptop": Profile(_laptop, 3),
    "smoke": Profile(_smoke, 1),
}

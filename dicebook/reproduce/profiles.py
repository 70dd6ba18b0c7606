"""What a profile makes of a line of the paper: on which corpora, with which settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dicebook.corpora.registry import CORPORA
from dicebook.reproduce.lines import CHINESE, PRINTED, READERS, Line, Loss

RATES = [2e-5, 3e-5, 5e-5]

# What the paper's released scripts do beyond its text, by corpus: github.com/ShannonAI/
# dice_loss_for_NLP, the dice script of each folder below scripts/. `training` goes to
# transformers.TrainingArguments. There, polynomial decay ends at a quarter of the learning rate.
# `ohem` is the number of negatives kept for each positive by its dice losses. For the entity
# corpora those scripts leave the match head out (start_and_end) though they set its weight to .3;
# here it is trained with that weight, as the text has it.
_QUESTIONS = {"weights": [1.0, 1.0, 0.3]}


def _scripts(
    rate: float,
    batch: int,
    accumulation: int,
    epochs: int,
    max_length: int,
    *,
    warmup: float,
    decay: float,
    polynomial: bool = False,
    **habits: Any,
) -> tuple[dict[str, Any], dict[str, Any]]:
    training: dict[str, Any] = {"warmup_steps": warmup, "weight_decay": decay}
    if polynomial:
        training |= {
            "lr_scheduler_type": "polynomial",
            "lr_scheduler_kwargs": {"lr_end": rate / 4, "power": 1.0},
        }
    settings = {
        "learning_rate": rate,
        "batch_size": batch,
        "gradient_accumulation": accumulation,
        "epochs": epochs,
        "max_length": max_length,
    }
    return settings, {"training": training, **habits}


# fmt: off
HABITS = {
    "conll03": _scripts(3e-5, 36, 8, 10, 256, warmup=.01, decay=.01, polynomial=True, dropout=.2,
                        answerable=.4, **_QUESTIONS),
    "ontonotes5": _scripts(2e-5, 12, 6, 5, 300, warmup=.1, decay=.002, polynomial=True, ohem=.3,
                           answerable=.2, **_QUESTIONS),
    "msra": _scripts(2e-5, 10, 3, 5, 275, warmup=.1, decay=.002, polynomial=True, ohem=.3,
                     answerable=.2, **_QUESTIONS),
    "ontonotes4_zh": _scripts(2e-5, 8, 2, 5, 300, warmup=.1, decay=.002, polynomial=True, ohem=.3,
                              answerable=.2, **_QUESTIONS),
    "squad11": _scripts(3e-5, 4, 5, 10, 384, warmup=0.0, decay=0.0, ohem=.3),
    "mrpc": _scripts(2e-5, 12, 1, 5, 128, warmup=.06, decay=.001),
    "qqp": _scripts(4e-5, 32, 1, 4, 128, warmup=.1, decay=.02),
}
# fmt: on

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
    5: (300, 300, 4, 24, 96, 2e-4),
    6: (600, 200, 2, 12, 256, 2e-4),
    7: (1000, 500, 4, 16, 128, 1e-4),
    8: (1000, 500, 3, 16, 128, 1e-4),
    9: (1500, 800, 3, 16, 64, 1e-4),
    10: (300, 300, 3, 24, 128, 2e-4),
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


def _usual(line: Line) -> dict[str, Any]:
    length = 384 if line.system in READERS else 256 if line.system != "pairs" else 128
    return {"learning_rate": 3e-5, "batch_size": 32, "epochs": 4, "max_length": length}


def _printed_losses(line: Line) -> tuple[Loss, ...]:
    """Those of the paper alone; a line with losses of its own keeps them."""
    own = line.table == 10 or len(line.losses) == 1
    return line.losses if own else tuple(PRINTED)


def _default(line: Line) -> list[Line]:
    return [replace(line, settings={**_usual(line), "rates": RATES})]


def _paper(line: Line) -> list[Line]:
    script, habits = HABITS.get(line.corpus, ({}, {}))
    habits = dict(habits)
    ohem = habits.pop("ohem", None)
    losses = []
    for name, options in _printed_losses(line):
        if name == "dsc":  # the exponent of the scripts
            options = {**options, "alpha": 0.01}
        if name in ("dl", "dsc") and ohem:
            options = {**options, "ohem_ratio": ohem}
        losses.append((name, options))
    settings = {**_usual(line), **script}
    return [replace(line, settings=settings, habits=habits, losses=tuple(losses))]


def _laptop(line: Line) -> list[Line]:
    if line.backbone == "XLNet":
        return []  # no small one is pretrained
    train, evaluated, epochs, batch, length, rate = _LAPTOP[line.table]
    settings = {
        "learning_rate": rate,
        "batch_size": batch,
        "epochs": epochs,
        "max_length": length,
        "train_size": train,
        "eval_size": evaluated,
        "precision": "bf16",
    }
    if line.corpus == "quoref":
        settings |= _LAPTOP_QUOREF
    found = []
    for corpus in STAND_INS.get(line.table, {}).get(line.corpus, (line.corpus,)):
        how: dict[str, Any] = {"encoder": "minilm", "settings": settings, "habits": UPPER_ONLY}
        if corpus in CORPORA and CORPORA[corpus].language == "zh":
            how = {"encoder": "tiny", "settings": settings | _LAPTOP_CHINESE}
        found.append(replace(line, corpus=corpus, losses=_printed_losses(line), **how))
    return found


def _smoke(line: Line) -> list[Line]:
    if line.backbone == "XLNet":
        return []  # there is no tiny one
    entities = f"embedded-entities-{'zh' if line.encoder == CHINESE else 'en'}"
    of_system = {"decisions": "embedded-reading-en"}.get(line.system, entities)
    corpus = _SMOKE_CORPORA.get(line.table, of_system)
    return [replace(line, corpus=corpus, encoder="tiny", settings=_SMOKE, losses=line.losses[:2])]


@dataclass(frozen=True)
class Profile:
    """A way to run the paper's lines.

    Attributes:
        of: the lines as they are trained; none where a line cannot be.
        seeds: how many.
    """

    of: Callable[[Line], list[Line]]
    seeds: int


PROFILES = {
    "default": Profile(_default, 5),
    "paper": Profile(_paper, 1),
    "laptop": Profile(_laptop, 2),
    "smoke": Profile(_smoke, 1),
}

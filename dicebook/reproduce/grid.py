"""The runs behind the paper's tables: which there are, what they need, and what they cost.

The Snakefile asks here for the jobs; each is one run of `dicebook.reproduce.systems`. A `Line` is
what the paper prints of one model on one corpus: a job for each of its losses and each seed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from dicebook.corpora.registry import CORPORA
from dicebook.reproduce import paper

Loss = tuple[str, dict[str, Any]]
PROFILES = ("default", "paper", "laptop", "smoke")

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

_BASE, _LARGE, _CHINESE, _XLNET = (
    "bert-base-cased",
    "bert-large-cased",
    "bert-base-chinese",
    "xlnet-large-cased",
)


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
        settings: parameters that differ from the profile's.
        habits: what the paper's scripts do beyond the text, see `HABITS`.
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


def _lines(table: int) -> list[Line]:
    def line(
        corpus: str, backbone: str, system: str, encoder: str, variant: str = "", **more: Any
    ) -> Line:
        prints = ("qqp" if corpus.startswith("qqp") else corpus, variant)
        return Line(table, prints, corpus, backbone, system, encoder, **more)

    chinese = ("ctb5", "ctb6", "ud_zh")
    encoders = {
        "conll03": _LARGE,
        "ontonotes5": _LARGE,
        "msra": _CHINESE,
        "ontonotes4_zh": _CHINESE,
    }
    models = (("BERT", _LARGE), ("XLNet", _XLNET))
    weights = tuple(TVERSKY_WEIGHTS)
    qqp = {
        "original": "original",
        "plus_positive": "+ positive",
        "plus_negative": "+ negative",
        "minus_negative": "- negative",
        "plus_both": "+ positive & negative",
    }
    return {
        3: [line(corpus, "BERT-Tagger", "tagger", _CHINESE) for corpus in chinese],
        4: [line(corpus, "BERT-Tagger", "tagger", _BASE) for corpus in ("wsj", "ritter")],
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
        8: [line(f"qqp_{v}", "BERT", "pairs", _LARGE, printed) for v, printed in qqp.items()],
        9: [line(corpus, "BERT", "pairs", _LARGE) for corpus in ("sst2", "sst5")],
        10: [
            line("ontonotes4_zh", "", "mrc", _CHINESE, losses=weights),
            line("quoref", "", "decisions", _LARGE, losses=weights),
        ],
    }[table]


READERS = ("choice", "decisions")  # two ways to train what the paper prints once
TABLES = (3, 4, 5, 6, 7, 8, 9, 10)

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

# The embedded corpus of the profile `smoke` for each printed one.
_SMOKE_CORPORA = {
    3: "embedded-pos-zh",
    4: "embedded-pos-en",
    6: "embedded-reading-en",
    7: "embedded-paraphrases-en",
    8: "embedded-paraphrases-en",
    9: "embedded-sentiment-en",
}
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
# Where they differ from the table's, for its questions are about longer texts.
_LAPTOP_QUOREF = {"train_size": 300, "eval_size": 120, "max_length": 256, "batch_size": 12}
_SMOKE = {
    "learning_rate": 2e-3,
    "batch_size": 16,
    "epochs": 1,
    "train_size": 64,
    "eval_size": 40,
    "max_length": 96,
}
RATES = [2e-5, 3e-5, 5e-5]


class GridError(ValueError):
    """A table or a profile that is not there, or no corpus for it."""


@dataclass(frozen=True)
class Job:
    """One run: a system, a corpus, a loss, a seed.

    Attributes:
        line: the rows of the paper that it belongs to.
        name: what tells the job from the others of its table; its folder.
        parameters: what `dicebook.reproduce.systems.run` takes.
    """

    line: Line
    name: str
    parameters: Mapping[str, Any]

    @property
    def searched(self) -> str:
        """The folder of the search for its learning rate; empty where none is wanted."""
        return self.name.rpartition("/")[0] if self.parameters.get("rates") else ""

    @property
    def text(self) -> str:
        """The parameters as JSON."""
        return json.dumps(dict(self.parameters))


@cache
def lines(table: int, profile: str = "default") -> tuple[Line, ...]:
    """The lines of a table as a profile trains them.

    Args:
        table: 3 to 10.
        profile: see `jobs`.

    Raises:
        GridError: naming the tables or profiles there are.
    """
    if table not in TABLES:
        raise GridError(f"expected a table of {', '.join(map(str, TABLES))}; got {table}")
    if profile not in PROFILES:
        raise GridError(f"expected a profile of {', '.join(PROFILES)}; got {profile!r}")
    return tuple(found for line in _lines(table) for found in _of_profile(line, profile))


def _of_profile(line: Line, profile: str) -> list[Line]:
    length = 384 if line.system in READERS else 256 if line.system != "pairs" else 128
    settings: dict[str, Any] = {
        "learning_rate": 3e-5,
        "batch_size": 32,
        "epochs": 4,
        "max_length": length,
    }
    if profile == "default":
        return [replace(line, settings={**settings, "rates": RATES})]
    if profile == "paper":
        script, habits = HABITS.get(line.corpus, ({}, {}))
        habits = dict(habits)
        ohem = habits.pop("ohem", None)
        losses = line.losses if line.table == 10 or len(line.losses) == 1 else tuple(PRINTED)
        changed = []
        for name, options in losses:
            if name == "dsc":  # the exponent of the scripts
                options = {**options, "alpha": 0.01}
            if name in ("dl", "dsc") and ohem:
                options = {**options, "ohem_ratio": ohem}
            changed.append((name, options))
        return [
            replace(line, settings={**settings, **script}, habits=habits, losses=tuple(changed))
        ]
    if profile == "smoke":
        zh = line.encoder == _CHINESE
        corpus = _SMOKE_CORPORA.get(
            line.table,
            "embedded-reading-en"
            if line.system == "decisions"
            else f"embedded-entities-{'zh' if zh else 'en'}",
        )
        if line.backbone == "XLNet":
            return []  # there is no tiny one
        return [
            replace(line, corpus=corpus, encoder="tiny", settings=_SMOKE, losses=line.losses[:2])
        ]
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
    losses = line.losses if line.table == 10 or len(line.losses) == 1 else tuple(PRINTED)
    corpora = STAND_INS.get(line.table, {}).get(line.corpus, (line.corpus,))
    tiny = {"learning_rate": 2e-3, "epochs": 8, "train_size": 1500}
    found = []
    for corpus in corpora:
        zh = corpus in CORPORA and CORPORA[corpus].language == "zh"
        how: dict[str, Any] = {"encoder": "minilm", "settings": settings, "habits": UPPER_ONLY}
        if zh:
            how = {"encoder": "tiny", "settings": settings | tiny}
        found.append(replace(line, corpus=corpus, losses=losses, **how))
    return found


def jobs(table: int, profile: str = "default") -> list[Job]:
    """All runs of a table.

    Args:
        table: 3 to 10.
        profile: ``"default"``: the same budget for every loss, each with the learning rate that a
            short search on validation finds for it, five seeds. ``"paper"``: the hyperparameters
            and habits of the paper's scripts where they exist, one seed, as it seems to have had.
            ``"laptop"``: real corpora that everybody can get, in part, small encoders, two seeds.
            ``"smoke"``: two losses for a moment on the embedded corpora, to see that all runs.

    Raises:
        GridError: naming the tables or profiles there are.
    """
    seeds = {"default": 5, "laptop": 2}.get(profile, 1)
    found: dict[str, Job] = {}
    for seed in range(seeds):
        for line in lines(table, profile):
            for loss, options in line.losses:
                label = "-".join([loss, *(f"{key}={value}" for key, value in options.items())])
                read = line.system if line.system in READERS else ""
                model = "-".join(filter(None, [line.backbone.lower(), read])) or line.system
                parameters = {
                    "table": table,
                    "system": line.system,
                    "backbone": line.backbone,
                    "corpus": line.corpus,
                    "encoder": line.encoder,
                    "loss": loss,
                    "loss_options": options,
                    "seed": seed,
                    **line.settings,
                    "habits": dict(line.habits),
                }
                job = Job(line, f"{line.corpus}/{model}/{label}/{seed}", parameters)
                found.setdefault(job.name, job)  # lines of a table may share a stand-in
    return list(found.values())


def printed(record: Mapping[str, Any], profile: str = "default") -> paper.Row | None:
    """The paper's row for a run: the same or the replaced corpus, model, variant and loss.

    Args:
        record: a record of `dicebook.reproduce.systems`.
        profile: what it was run in.

    Returns:
        The row, or None where the paper prints none, as for a loss of our own.
    """
    given = record["parameters"]
    for line in lines(given["table"], profile):
        if (line.corpus, line.backbone) == (given["corpus"], given["backbone"]):
            corpus, variant = line.prints
            if line.table == 10:
                variant = f"alpha = {given['loss_options'].get('fp_weight')}"
            return paper.table(line.table).row(corpus, line.backbone, given["loss"], variant)
    return None


def missing(wanted: Iterable[Job], data: Path) -> list[str]:
    """The corpora that are not prepared in a folder.

    Args:
        wanted: the jobs.
        data: the folder of the corpora.
    """
    names = dict.fromkeys(job.parameters["corpus"] for job in wanted)
    real = [name for name in names if not name.startswith("embedded-")]
    return [name for name in real if not (data / name / "card.json").is_file()]


def how_to_get(names: Sequence[str], data: Path) -> str:
    """For each corpus its licence and the command that gets it, or says which files it needs."""
    return "\n".join(dict.fromkeys(_how(name, data) for name in names))


def _how(name: str, data: Path) -> str:
    if name in CORPORA:
        corpus = CORPORA[name]
        return f"  {name}: {corpus.licence}\n    {corpus.command(data)}"
    source = name.partition("_")[0]
    return (
        f"  {name}: {CORPORA[source].licence}\n"
        f"    python -m data_scripts.augment_pairs --corpus {source} --out {data}"
    )


def of_corpora(wanted: Sequence[Job], corpora: Sequence[str] = ()) -> list[Job]:
    """The jobs of some corpora; none is all.

    Raises:
        GridError: one of ``corpora`` is none of the jobs'.
    """
    names = list(dict.fromkeys(job.parameters["corpus"] for job in wanted))
    unknown = [name for name in corpora if name not in names]
    if unknown:
        raise GridError(f"expected corpora of {', '.join(names)}; got {', '.join(unknown)}")
    return [job for job in wanted if not corpora or job.parameters["corpus"] in corpora]


def runnable(wanted: Sequence[Job], data: Path, corpora: Sequence[str] = ()) -> list[Job]:
    """The jobs whose corpora are there.

    Args:
        wanted: the jobs of a table.
        data: the folder of the corpora.
        corpora: only these; none is all.

    Raises:
        GridError: no corpus is there, or one of ``corpora`` is none of the table's.
    """
    wanted = of_corpora(wanted, corpora)
    absent = missing(wanted, data)
    there = [job for job in wanted if job.parameters["corpus"] not in absent]
    if not there:
        raise GridError(
            f"none of the table's corpora is in {data}. Under which licence they are, and the "
            f"commands that get them or say which files they need:\n{how_to_get(absent, data)}"
        )
    return there

"""docs/what_to_do.md: each number beside its records, each comparison, and the commands.

A passage is what is folded under one piece of advice; its ``id`` names it here. Wording is free:
the intervals of a passage are those of the records in the order of reading, and its other numbers
occur in it.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
import yaml
from papermill import inspect_notebook

from dicelab.__main__ import _parser
from dicelab.records import decided, runs, searched
from dicelab.records.decided import DrawEffect
from dicelab.records.speed import CORPORA, LONG, SHORT, by_rate, faster, read_corpora, scores
from studies import own_data
from tests.checkout import ROOT

RESULTS = ROOT / "results"
PAGE = (ROOT / "docs" / "what_to_do.md").read_text(encoding="utf-8")
PASSAGE = re.compile(r'<details id="([a-z-]+)">(.*?)</details>', re.DOTALL)
PASSAGES = {name: " ".join(text.split()) for name, text in PASSAGE.findall(PAGE)}
INTERVAL = re.compile(r"−?\d+\.\d+ \[−?\d+\.\d+, −?\d+\.\d+\]")
NUMBER = re.compile(r"(?<![\w.−])−?\d+(?:\.\d+)?(?![\w]|\.\d)")
LATER = ("focal_start", "dsc_start", "tversky_start")
FOUR = ("dice_start", "dice", "wce", "ce")  # beside cross entropy from the prior
LENGTHS = (SHORT, LONG)
ENTITIES = ("crossner_politics", "wnut17")
STRATA = ("tags", "yes or no", "rare")
PEERS = ("words", "embeddings", "setfit", "trainer")  # of fit
SPANS = ("wnut17", "crossner_ai", "crossner_politics", "wikigold")


def shown(value: float, digits: int = 1) -> str:
    """A number as the page prints it."""
    return f"{value:z.{digits}f}".replace("-", "−")


def told(estimate: Iterable[float], digits: int = 1) -> str:
    """A mean and its interval as the page prints them."""
    mean, low, high = (shown(x, digits) for x in list(estimate)[:3])
    return f"{mean} [{low}, {high}]"


def first_tries(corpus: str, loss: str, part: str = "test", **options: Any) -> list[float]:
    """F1 by seed with options' defaults of that study: squared, smooth 1, absent classes kept."""
    whole = {"squared": True, "smooth": 1.0, "absent": "keep", "outside": True, **options}
    whole |= {"fp_weight": 0.5, "fn_weight": 0.5, "alpha": 0.1}
    whole |= {"outside_bias": 0, "warm_start": False}
    records = [r for r in kept("first_try") if r["parameters"]["corpus"] == corpus]
    usual = records[0]["parameters"]
    same = ("learning_rate", "batch_size", "precision")
    found = {
        r["parameters"]["seed"]: r["metrics"][part]["f1"]
        for r in records
        if r["parameters"]["loss"] == loss
        and r["parameters"]["options"].items() <= whole.items()
        and all(r["parameters"][name] == usual[name] for name in same)
    }
    return [found[seed] for seed in sorted(found)]


def over_seeds(differences: Iterable[float]) -> str:
    """The mean of differences and its interval over seeds or draws."""
    gap = runs.interval(list(differences))
    return told((gap.mean, gap.low, gap.high))


@cache
def tasks() -> dict[str, list[dict]]:
    """The records of Stage A2."""
    return searched.read_tasks()


@cache
def layers() -> dict[str, list[dict]]:
    """The records of Stage B2."""
    return read_corpora()


@cache
def kept(name: str) -> list[dict[str, Any]]:
    """The records of a study."""
    return runs.kept_records(name)


def after(steps: int, task: str, arm: str, how: str, other: str = "ce_start") -> DrawEffect:
    """Stage B2: F1 after so many steps, minus that of cross entropy from the prior."""
    effect = faster(layers()[task], arm, other, how, after=steps)
    assert effect is not None
    assert effect.draws == 6
    return effect


def last(arm: str, how: str, task: str = "goemotions_fear") -> float:
    """Stage B2: mean F1 of an arm's longest runs."""
    return float(scores(layers()[task], arm, how)[1][:, -1].mean())


def of_fit() -> list[str]:
    scores = own_data.table(kept("own_data"))
    return [
        over_seeds(own_data.by_source(own_data.gaps(scores, peer, of)))
        for peer in PEERS
        for of in ("minute", "fit")
    ]


def of_accuracy() -> list[str]:
    by: dict[tuple, dict[int, float]] = defaultdict(dict)
    for r in kept("accuracy"):
        p = r["parameters"]
        arm = (p["corpus"], p["loss"], p["options"].get("classes"))
        by[arm][p["seed"]] = r["metrics"]["test"]["accuracy"]

    def less(corpus: str, classes: str) -> str:
        one, other = by[corpus, "dl", classes], by[corpus, "ce", None]
        assert len(one) == 10
        return over_seeds(one[seed] - other[seed] for seed in other)

    return [less("sst2", "all"), less("sst5", "all"), less("sst2", "positive")]


def of_threshold() -> list[str]:
    arms = ("dice", "dice_start", "wce", "logit_adjustment", *LATER)
    return [told(searched.pooled_minus_start(tasks(), arm, "tuned").over_all) for arm in arms]


def without_labels() -> list[searched.SearchEffect]:
    """F1 of cross entropy from the prior: plug-in threshold minus tuned threshold."""
    contrast = searched.Contrast(("ce_start", "plug_in"), ("ce_start", "tuned"))
    return searched.effects_of(tasks(), contrast)


def of_positives() -> list[str]:
    effects = {e.task: e for e in without_labels()}
    shifted = [effects[name] for name in ("sst2_02", "qqp_02")]
    over_all = searched.pool(list(effects.values())).over_all
    return [told(over_all), *(told((e.mean, e.low, e.high)) for e in shifted)]


def of_argmax() -> list[str]:
    heads = [
        told(searched.pooled_minus_start(tasks(), arm, "argmax").strata[stratum])
        for arm in ("dice", "wce", "logit_adjustment", *LATER)
        for stratum in STRATA
    ]
    to_tuned = searched.Contrast(("wce", "argmax"), ("ce_start", "tuned"))
    heads.append(told(searched.pool(searched.effects_of(tasks(), to_tuned)).over_all))
    layered = [(steps, t, arm) for t in (*ENTITIES, "mrpc") for steps in LENGTHS for arm in FOUR]
    return heads + [told(after(*run, "argmax")) for run in layered]


def of_few_steps() -> list[str]:
    found = [(steps, task, arm) for task in CORPORA for steps in LENGTHS for arm in FOUR]
    both = ("dice_both", "dice_both_zero")
    yes_or_no = ("mrpc", "goemotions_fear")
    found += [(steps, task, arm) for task in yes_or_no for steps in LENGTHS for arm in both]
    return [told(after(*run, "tuned")) for run in found]


def of_spans() -> list[str]:
    arms = [("dice_set", "tuned"), ("weighted", "tuned"), ("focal_25", "tuned")]
    arms += [("dice_set", "half"), ("weighted", "half")]
    found = [
        decided.effect(kept("spans"), corpus, arm, ("bce_prior", arm[1]))
        for corpus in SPANS
        for arm in arms
    ]
    assert {gap.draws for gap in found} == {10}
    return [told(gap) for gap in found]


def of_many_labels() -> list[str]:
    (record,) = kept("labels_comments")
    found = {
        (*d["arm"], *d["over"], d["metric"]): told([d[end] for end in ("mean", "low", "high")])
        for d in record["metrics"]["differences"]
    }
    half = [found["dice_macro", "half", "bce_prior", "half", m] for m in ("macro", "micro")]
    each = found["dice_macro", "each", "bce_prior", "each", "macro"]
    return [*half, each, found["dice_micro", "one", "bce_prior", "one", "micro"]]


def of_start() -> list[str]:
    ways = ("tuned", "argmax")
    layered = [
        told(after(steps, task, "dice_start", how, "dice"))
        for task in CORPORA
        for steps in LENGTHS
        for how in ways
    ]
    found, lowest = [], []
    for how in ways:
        contrast = searched.Contrast(("ce_start", how), ("ce", how))
        effects = searched.effects_of(tasks(), contrast)
        found.append(told(searched.pool(effects).over_all))
        least = min(effects, key=lambda e: e.mean)
        lowest.append((least.task, told((least.mean, least.low, least.high))))
    assert [task for task, _ in lowest] == ["sst2_02", "qqp_10"]
    return [*layered, *found, *(words for _, words in lowest)]


def of_resampling() -> list[str]:
    designs: tuple[Callable[[dict], bool], ...] = (
        lambda r: r["metrics"]["train"]["positive"] == 80,
        lambda r: r["parameters"]["train_size"] == 880,
    )
    found = []
    for belongs in designs:
        for corpus in ("qqp", "sst2"):
            f1: dict[int, dict[int, float]] = defaultdict(dict)
            for r in filter(belongs, kept("balance")):
                p = r["parameters"]
                if (p["corpus"], p["loss"]) == (corpus, "ce"):
                    f1[p["ratio"]][p["seed"]] = r["metrics"]["test_tuned"]["f1"]
            assert len(f1[1]) == 5
            found.append(over_seeds(f1[30][s] - f1[1][s] for s in f1[1]))
    return found


INTERVALS: dict[str, Callable[[], list[str]]] = {
    "fit": of_fit,
    "accuracy": of_accuracy,
    "threshold": of_threshold,
    "positives": of_positives,
    "argmax": of_argmax,
    "few-steps": of_few_steps,
    "spans": of_spans,
    "many-labels": of_many_labels,
    "start": of_start,
    "resample": of_resampling,
}


@pytest.mark.parametrize("name", INTERVALS)
def test_the_intervals_of_a_passage_are_those_of_the_records(name: str) -> None:
    assert INTERVAL.findall(PASSAGES[name]) == INTERVALS[name]()


def test_no_interval_is_without_its_records() -> None:
    assert {name for name, text in PASSAGES.items() if INTERVAL.search(text)} == set(INTERVALS)
    assert not INTERVAL.search(" ".join(PASSAGE.sub("", PAGE).split()))


def holds(passage: str, *numbers: str) -> None:
    """A passage prints each of the numbers, outside links and intervals."""
    text = re.sub(r"\[[^][]*\]\([^)]*\)", "", INTERVAL.sub("", PASSAGES[passage]))
    printed = NUMBER.findall(text)
    for number in numbers:
        assert printed.count(number) >= numbers.count(number), (passage, number)


def test_who_is_ahead_of_fit() -> None:
    scores = own_data.table(kept("own_data"))
    corpora = scores.index.get_level_values("corpus").nunique()
    assert scores[["fit", "minute", "words", "trainer"]].notna().all(axis=None)
    assert len(scores) == corpora * own_data.DRAWS
    beyond = {peer: own_data.gaps(scores, peer) for peer in PEERS}
    ahead = int((scores["trainer"] > scores["fit"]).sum())
    numbers = (corpora, own_data.DRAWS, own_data.STEPS, ahead, len(scores))
    fewer = tuple(len(beyond[peer]) for peer in ("embeddings", "setfit"))
    assert [scores[peer].count() / own_data.DRAWS for peer in ("embeddings", "setfit")] == [*fewer]
    of_trainer = beyond["trainer"]
    spread = (of_trainer.max(), of_trainer.min(), of_trainer.median())
    holds("fit", *map(str, numbers + fewer), *map(shown, spread))
    assert of_trainer.idxmax() == "crossner_politics"
    assert of_trainer.idxmin() == "mrpc"
    sources = {peer: own_data.by_source(gaps) for peer, gaps in beyond.items()}
    holds("fit", *(str(len(sources[peer])) for peer in ("words", "embeddings", "setfit")))
    for peer, gaps in sources.items():
        assert gaps.mean() > 0
        assert (runs.interval(gaps.tolist()).low > 0) == (peer == "words")
        minute = own_data.by_source(own_data.gaps(scores, peer, "minute"))
        assert runs.interval(minute.tolist()).low < 0


def test_with_a_tuned_threshold_no_gain_was_measurable() -> None:
    for arm in ("dice", "dice_start", "wce", "logit_adjustment", *LATER):
        mean = searched.pooled_minus_start(tasks(), arm, "tuned").over_all
        assert mean.low < 0 < mean.high
    effects = searched.effects_of(tasks(), searched.PRIMARY)
    least, most = (f(e.mean for e in effects) for f in (min, max))
    holds("threshold", shown(least), shown(most), str(len(effects)))
    assert max(-least, most) < 3.55, "the advice says up to 3.5 points either way"
    forms = {
        arm: [e for of in tasks().values() if (e := searched.minus_start(of, arm, "tuned"))]
        for arm in ("dice", "dice_start", "dice_both")
    }
    every = [e for of_form in forms.values() for e in of_form]
    assert f"{len(every)} intervals on single tasks" in " ".join(PAGE.split())
    assert sum(e.low > 0 for e in every) == 0
    below = {arm: sum(e.high < 0 for e in of_form) for arm, of_form in forms.items()}
    assert below == {"dice": 1, "dice_start": 2, "dice_both": 1}
    holds("threshold", str(len(forms["dice_start"])), str(len(forms["dice_both"])))


def test_how_many_positives_the_thresholds_were_tuned_on() -> None:
    effects = without_labels()
    least, most = (f(e.positives for e in effects) for f in (min, max))
    assert f"{least} to {most:,} positives" in PASSAGES["positives"]
    assert {e.task for e in effects if not e.low < 0 < e.high} == {"sst2_02", "qqp_02"}
    lost, own = defaultdict(list), []
    for r in kept("labels"):
        found = r["metrics"]
        lost[r["parameters"]["loss"]].append(found["each"]["macro"] - found["plug_in"]["macro"])
        if r["parameters"]["loss"] == "bce_prior":
            few = [found["labels"].index(x) for x in ("grief", "pride", "relief", "nervousness")]
            own += [found["each"]["each"][i] - found["one"]["each"][i] for i in few]
    holds("positives", *(shown(np.mean(lost[x])) for x in ("focal", "pos_weight")))
    holds("positives", shown(np.mean(own)))


def test_where_every_word_has_a_class() -> None:
    chapter = nbformat.read(ROOT / "notebooks" / "08_part_of_speech.ipynb", as_version=4)
    shown = [
        o.get("data", {}).get("text/plain", "") for c in chapter.cells for o in c.get("outputs", [])
    ]
    tables = [text for text in shown if text.lstrip().startswith("micro F1") and "dl " in text]
    for row in ("ce", "ce, τ = [0-9.]+", "dl"):
        line = re.search(rf"^{row} +(.*)$", tables[-1], re.MULTILINE)
        assert line
        holds("every-word", *re.findall(r"([0-9.]+) \[", line[1]))


def test_what_helps_at_argmax() -> None:
    means = {a: searched.pooled_minus_start(tasks(), a, "argmax") for a in ("dice", "wce")}
    means["logit_adjustment"] = searched.pooled_minus_start(tasks(), "logit_adjustment", "argmax")
    for mean in means.values():
        assert mean.strata["tags"].low < 0 < mean.strata["tags"].high
    for stratum in ("yes or no", "rare"):
        assert means["wce"].strata[stratum].mean > means["dice"].strata[stratum].mean > 0
    focal, _, tversky = (searched.pooled_minus_start(tasks(), arm, "argmax") for arm in LATER)
    assert focal.over_all.low < 0 < focal.over_all.high
    for stratum in ("yes or no", "rare"):
        dice, weights = means["dice"].strata[stratum], means["wce"].strata[stratum]
        assert dice.mean < tversky.strata[stratum].mean < weights.mean
    for arm in LATER:
        tags = searched.pooled_minus_start(tasks(), arm, "argmax").strata["tags"]
        assert tags.low < 0 < tags.high
    family = searched.secondary(tasks(), searched.ALSO)
    asked = [f"{searched.AT_ARGMAX.name}: {stratum}" for stratum in STRATA]
    asked += [contrast.name for contrast in searched.ALSO]
    asked += [f"{arm} minus cross entropy, argmax" for arm in ("class weights", "logit adjustment")]
    both = [(f"{family[name][0].p:.3f}", f"{family[name][1]:.3f}") for name in asked]
    assert re.findall(r"\| (\d\.\d{3}) \| (\d\.\d{3}) \|", PASSAGES["argmax"]) == both
    holds("argmax", str(len(family)))
    assert min(p for _, p in family.values()) > 0.05
    arms = ("ce_start", "dice", "wce", "logit_adjustment")
    qqp = [searched.mean_f1(tasks()["qqp_02"], arm, "argmax") for arm in arms]
    holds("argmax", *(f"{f1:.0f}" for f1 in qqp if f1 is not None))


def test_what_all_layers_do_at_argmax() -> None:
    assert after(SHORT, "mrpc", "wce", "argmax").low > 10, "weights gained much on one corpus"
    for length in LENGTHS:
        assert after(length, "wnut17", "wce", "argmax").high < -4, "and lost much on another"
    for task in (*ENTITIES, "mrpc"):
        assert after(SHORT, task, "ce", "argmax").high < 0, "the start helps at argmax, too"
    first, ends = {}, {}
    for arm in ("ce_start", "dice_start", "dice", "wce"):
        steps, f1 = scores(layers()["mrpc"], arm, "argmax")
        first[arm], ends[arm] = shown(f1[:, 0].mean()), shown(f1[:, -1].mean())
    everything = shown(tasks()["mrpc"][0]["baseline"])  # F1 of calling everything positive
    assert first["dice"] == first["wce"] == everything
    holds("argmax", first["ce_start"], first["dice"], *ends.values(), str(steps[0]), str(steps[-1]))


def test_what_the_start_does_with_all_layers_trained() -> None:
    short = {(t, arm): after(SHORT, t, arm, "tuned") for t in CORPORA for arm in FOUR}
    long = {(t, arm): after(LONG, t, arm, "tuned") for t in CORPORA for arm in FOUR}
    for task in CORPORA:
        assert short[task, "ce"].high < 0, "the start helps on all four"
        later = task in ("goemotions_fear", "crossner_politics")
        assert (long[task, "ce"].high < 0) == later, "and later on two"
    assert long["crossner_politics", "ce"].mean > -1, "by less than a point there"
    for task in ENTITIES:
        assert 6 < -short[task, "ce"].mean < 8, "six to eight points"
        for arm in ("wce", "dice"):
            assert 2.5 < short[task, arm].mean < 8.5, "three to eight points"
            assert short[task, arm].low > 0
    for arm in FOUR:
        assert 2 < -short["mrpc", arm].mean < 3, "two to three points"
    assert last("ce", "tuned") < last("ce_start", "tuned") / 2, "most of its F1"
    assert last("dice", "tuned") < last("ce_start", "tuned") / 2
    largest = max(abs(long[t, arm].mean) for t in (*ENTITIES, "mrpc") for arm in FOUR)
    both_zero = after(LONG, "mrpc", "dice_both_zero", "tuned")
    assert both_zero.high < 0
    advice = PAGE[PAGE.index("### Do you train all layers") :]
    advice = advice[: advice.index("<details")]
    assert re.findall(r"(\d\.\d) points", advice) == [shown(largest), shown(-both_zero.mean)]
    sizes = {t: tasks()[t][0]["sizes"]["train"]["rows"] for t in ("mrpc", "goemotions_fear")}
    assert 3 <= 32 * LONG / sizes["mrpc"] < 3.5, "about three passes"
    assert 0.3 < 32 * LONG / sizes["goemotions_fear"] < 0.35, "a third of one"
    gaps = {task: after(SHORT, task, "dice_start", "tuned", "dice") for task in CORPORA}
    assert round(gaps["crossner_politics"].mean) == -8
    assert gaps["crossner_politics"].high < 0
    for task in ("wnut17", "mrpc"):
        assert gaps[task].low < 0 < gaps[task].high
    for task in (*ENTITIES, "mrpc"):
        gap = after(LONG, task, "dice_start", "tuned", "dice")
        assert gap.low < 0 < gap.high
    for length in LENGTHS:
        assert after(length, "goemotions_fear", "dice_start", "tuned", "dice").low > 30
    steps, _ = scores(layers()["wnut17"], "dice", "tuned")
    assert f"{steps[0]} to {steps[-1]} steps, with 32 examples each" in advice
    holds("start", *(shown(last(a, h)) for a in ("ce_start", "ce") for h in ("tuned", "argmax")))
    start = searched.Contrast(("ce_start", "tuned"), ("ce", "tuned"))
    least = min(searched.effects_of(tasks(), start), key=lambda e: e.mean)
    assert f"2% positives, the start at the log prior was {shown(-least.mean)} points lower" in PAGE


def test_what_a_rate_from_two_draws_can_do() -> None:
    fear = layers()["goemotions_fear"]
    best = [max(by_rate(fear, arm, n)[1].max() for n in (64, 256)) for arm in ("dice", "ce")]
    ends = scores(fear, "ce", "tuned")[1][:, -1]
    holds("few-steps", *map(shown, (*best, ends.min(), ends.max())))
    steps, f1 = scores(fear, "dice_start", "tuned")
    dip = steps.index(76)
    assert sum(f1[:, dip] < 30) == 3
    gaps = {n: after(n, "goemotions_fear", "dice_start", "tuned") for n in steps}
    holds("few-steps", shown(-gaps[76].mean))
    assert all(gap.low < 0 < gap.high for gap in gaps.values())


def none_in_a_batch(task: str) -> float:
    """The share of batches of 32 that contain no positive."""
    size = tasks()[task][0]["sizes"]["train"]
    return (1 - size["positive"] / size["rows"]) ** 32


def test_what_batches_without_positives_did() -> None:
    rows = re.findall(r", (?:log prior|bias near 0) ((?:\| [\d. ]*){6})\|", PASSAGES["batch"])
    arms = ("ce_start", "ce", "wce", "dice_start", "dice", "dice_both", "dice_both_zero")
    fear = layers()["goemotions_fear"]
    ran = {r["arm"] for r in fear if r["kind"] == "final"}
    wanted = [
        [
            shown(last(arm + batches, how)) if arm + batches in ran else ""
            for how in ("tuned", "argmax")
            for batches in ("", "_two", "_128")
        ]
        for arm in arms
    ]
    assert [[cell.strip() for cell in cells.split("|")[1:]] for cells in rows] == wanted
    assert {len(scores(fear, arm, "tuned")[1]) for arm in ran} == {6}
    longest = scores(fear, "ce_start", "tuned")[0][-1]
    holds("batch", str(longest))
    for arm in ("ce_start", "ce_start_128"):
        whole = ("final", arm, longest)
        empty = [r["empty"] for r in fear if (r["kind"], r["arm"], r["steps"]) == whole]
        assert f"{100 * min(empty):.0f}% to {100 * max(empty):.0f}%" in PASSAGES["batch"]
    tuned = {arm: last(arm, "tuned") for arm in ran}
    for arm in ("dice_start", "dice_two", "dice_128"):
        assert abs(tuned[arm] - tuned["ce_start"]) < 2, "within two points of cross entropy"
    assert tuned["dice"] < 5, "almost nothing"
    assert tuned["ce"] < tuned["ce_start"] / 2
    assert 5 < tuned["dice_both"] - tuned["dice_both_zero"] < 10, "several points lower"
    assert tuned["wce"] > 50
    argmax = {arm: last(arm, "argmax") for arm in ran}
    assert scores(fear, "ce_start", "argmax")[1].max() == 0
    assert argmax["ce"] < 3
    for arm in ("ce_start", "dice_start", "dice"):
        assert min(argmax[f"{arm}_two"], argmax[f"{arm}_128"]) > 50
    assert min(argmax["dice_both"], argmax["dice_both_zero"]) > 50
    assert sum(scores(fear, "dice_both_zero_128", "argmax")[1][:, -1] == 0) == 3
    found: dict[tuple[str, float | None], list[float]] = defaultdict(list)
    for r in kept("first_fit/goemotions_remorse"):
        p = r["parameters"]
        found[p["loss"], p.get("learning_rate")].append(r["metrics"]["test_tuned"]["f1"])
    f1s = [found[loss, 1e-4] for loss in ("dl", "dsc", "ce")]
    assert {len(f1) for f1 in f1s} == {3}
    ranges = [f"{f(f1):.0f}" for f1 in f1s for f in (min, max)]
    assert " ".join(re.findall(r"\d+ to \d+", PASSAGES["batch"])) == " ".join(
        f"{low} to {high}" for low, high in zip(ranges[::2], ranges[1::2], strict=True)
    )
    assert max(found["dl", 4e-4]) < 3
    holds("batch", "3", "100")
    assert 0.63 < none_in_a_batch("goemotions_remorse") < 0.7, "about two thirds"


def test_what_a_decoder_adds() -> None:
    gains = defaultdict(list)
    for r in kept("decoding"):
        of, f1 = r["parameters"], {how: m["f1"] for how, m in r["metrics"].items() if "f1" in m}
        gains[of["corpus"], of["loss"]].append(f1["test_valid"] - f1["test"])
    means = [
        shown(np.mean(gains[corpus, loss]))
        for corpus in ("wnut17", "crossner_ai", "wikigold")
        for loss in ("ce", "dl")
    ]
    assert re.findall(r"\| (\d\.\d)(?= \|)", PASSAGES["decoder"]) == means


def test_what_else_is_said_of_spans() -> None:
    by_decision = [
        decided.effect(kept("spans"), c, ("dice_element", "tuned"), ("bce_prior", "tuned"))
        for c in SPANS
    ]
    ends = (f(-gap.mean for gap in by_decision) for f in (min, max))
    holds("spans", *(f"{end:.0f}" for end in ends))
    for corpus in SPANS:
        way = ("dice_set", "half"), ("bce_prior", "tuned")
        assert decided.effect(kept("spans"), corpus, *way).high < 0
        gains = [
            decided.effect(kept("spans"), corpus, (arm, "half"), ("bce_prior", "half"))
            for arm in ("weighted", "dice_set")
        ]
        assert gains[0].mean > gains[1].mean, "the weights gained more"
        for arm in ("weighted", "focal_25", "dice_set", "dsc_set"):
            way = (arm, "tuned"), ("bce_prior", "tuned")
            assert decided.effect(kept("spans"), corpus, *way).low < 0, "no loss above it"


def test_many_labels_with_all_layers() -> None:
    found: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for r in kept("labels_all_layers"):
        for way in ("half", "each"):
            for metric in ("macro", "micro"):
                value = r["metrics"][way][metric]
                found[r["parameters"]["loss"], way, metric].append(value)
    mean = {key: float(np.mean(values)) for key, values in found.items()}
    holds(
        "many-labels",
        *(shown(mean[arm, "each", "macro"]) for arm in ("bce_prior", "dice_macro", "bce")),
        shown(mean["dice_macro", "half", "micro"] - mean["bce_prior", "half", "micro"]),
        shown(mean["bce_prior", "half", "macro"] - mean["dice_macro", "half", "macro"]),
    )
    assert max(found["bce", "half", "micro"]) == 0


def test_what_the_start_does_to_a_reader() -> None:
    rows = json.loads((runs.kept_folder() / "gpu" / "chapters.json").read_text())["rows"]

    def mean(loss: str, start: str, how: str) -> float:
        asked = ("10_reading/" + loss, start)
        found = [r[how] for r in rows if (r["run"], r["start"]) == asked]
        assert len(found) == 3
        return float(np.mean(found))

    arms = [(loss, start) for loss in ("ce", "dl") for start in ("zero", "prior")]
    holds("reading", *(shown(mean(*arm, how)) for how in ("tuned", "test F1") for arm in arms))
    assert mean("ce", "zero", "tuned") < 10 < 50 < mean("ce", "prior", "tuned"), "decided"


def test_what_linear_tversky_loses_and_the_squared_form_does_not() -> None:
    assert first_tries("wnut17", "tl", squared=False) == [0]
    unequal = [
        r
        for r in runs.kept_records("wnut17")
        if r["chapter"] == "09_named_entities" and r["parameters"]["loss"] == "tl"
    ]
    assert {r["parameters"]["seed"] for r in unequal} == {0, 1, 2}
    for r in unequal:
        options = {"fp_weight": 0.3, "fn_weight": 0.7, "squared": False}
        assert r["parameters"]["loss_options"] == options
        assert r["metrics"]["test"]["f1"] == r["metrics"]["test_tuned"]["f1"] == 0
    squared = first_tries("wnut17", "tl", absent="skip")
    assert len(squared) == 3
    holds("linear-tversky", "0.5", "0.3", "0.7", str(int(min(squared))))


@pytest.mark.parametrize("corpus", ["wnut17", "crossner_ai", "ud_en_ewt", "mrpc", "squad11"])
def test_no_default_costs_five_points_of_validation_f1(corpus: str) -> None:
    absent = "keep" if corpus == "squad11" else "skip"
    entropy = first_tries(corpus, "ce", "validation")
    for loss in ("dl", "dsc", "tl"):
        f1 = first_tries(corpus, loss, "validation", absent=absent)
        assert len(f1) == len(entropy) == 3
        assert all(mine > theirs - 5 for mine, theirs in zip(f1, entropy, strict=True))


def test_what_denominators_and_absent_classes_do() -> None:
    assert first_tries("wnut17", "dl", squared=False) == [0, 0, 0]
    ranges = [
        f"{min(some):.0f} to {max(some):.0f}"
        for some in (
            first_tries("wnut17", "dl", squared=False, smooth=1e-4),
            first_tries("wnut17", "dl"),
        )
    ]
    assert re.findall(r"\d+ to \d+", PASSAGES["denominators"]) == ranges
    default = first_tries("wnut17", "dl", absent="skip")
    holds("denominators", *(f"{np.mean(f1):.0f}" for f1 in (default, first_tries("wnut17", "ce"))))
    for corpus in ("wnut17", "crossner_ai"):
        both = (first_tries(corpus, "dl", absent=absent) for absent in ("keep", "skip"))
        holds("absent", *(shown(np.mean(f1)) for f1 in both))
    kept_absent, skipped, small, ce = (
        f"{f1[0]:.0f}"
        for f1 in (
            first_tries("ud_en_ewt", "dl"),
            first_tries("ud_en_ewt", "dl", absent="skip"),
            first_tries("ud_en_ewt", "dl", smooth=1e-4),
            first_tries("ud_en_ewt", "ce"),
        )
    )
    holds("absent", kept_absent, skipped)
    holds("smooth", kept_absent, small, ce)
    without = [
        r["metrics"]["test"]
        for r in kept("first_try")
        if r["parameters"]["corpus"] == "wnut17"
        and r["parameters"]["options"].get("outside") is False
        and r["parameters"]["options"].get("absent") == "skip"
    ]
    worst = min(without, key=lambda m: m["accuracy"])
    holds("outside", f"{worst['f1']:.0f}", f"{worst['accuracy']:.0f}")


def test_negatives_that_are_added_never_lowered_a_tuned_f1() -> None:
    first, second = (float(words.split()[0].replace("−", "-")) for words in of_resampling()[:2])
    assert min(first, second) > 0


def test_the_commands_are_commands(root: Path) -> None:
    one, block = (part.split("```")[0] for part in PAGE.split("```sh\n")[1:3])
    install, fit = one.strip().splitlines()
    assert install.startswith("pip install 'dicebook[fit] @ ")
    given = _parser().parse_args(shlex.split(fit)[1:])
    assert (given.source, given.minutes) == ("my.tsv", 30)
    assert block.isascii(), "no sign that only looks like a space"
    lines = [line for line in block.replace("\\\n", "").splitlines() if line[0] != "#"]
    assert len(lines) == 4
    for line in lines:
        _, notebook, out, *options = shlex.split(line)
        assert out == "out.ipynb"
        known = inspect_notebook(root / notebook)
        words = iter(options)
        for flag in words:
            assert flag in ("-p", "-y")
            names = [next(words)] if flag == "-p" else yaml.safe_load(next(words))
            assert set(names) <= set(known), f"{notebook} has no parameter {names}"
            if flag == "-p":
                next(words)


def test_what_came_of_it_on_two_other_corpora() -> None:
    records = pd.json_normalize(kept("monday"))
    behind: dict[str, list[float]] = {"rare_tags": [], "answer_sentences": []}
    best = []
    for (corpus, seed), of in records.groupby(["parameters.corpus", "parameters.seed"], sort=False):
        for way, suffix, loss in (("tuned", "_tuned", "ce"), ("argmax", "", "dl")):
            ranked = of.sort_values(f"metrics.validation{suffix}.f1", ascending=False)
            default = ranked["parameters.loss"] == loss
            if loss == "dl":
                for option, value in {"squared": True, "smooth": 1.0, "absent": "skip"}.items():
                    default &= ranked[f"parameters.options.{option}"].eq(value)
            test = ranked[f"metrics.test{suffix}.f1"]
            guide, grid = test[default].iloc[0], test.iloc[0]
            row = f"{corpus.replace('_', ' ')} | {seed} | {way} | {guide:.1f} | {grid:.1f} | "
            assert row + ranked["parameters.loss"].iloc[0] in PASSAGES["other-corpora"]
            behind[corpus].append(grid - guide)
            best += [guide, grid] if corpus == "answer_sentences" else []
    tags, sentences = map(np.array, behind.values())
    assert sorted(tags < 1) == [False, True, True, True]
    # Who says no to all of them is wrong on the positives alone.
    tests = [
        r["metrics"]["test"]
        for r in kept("monday")
        if r["parameters"]["corpus"] == "answer_sentences"
    ]
    share = 1 - max(m["accuracy"] for m in tests if m["f1"] == 0) / 100
    always_yes = 200 * share / (1 + share)
    ends = tags.max(), sentences.max(), -sentences.min(), always_yes
    holds("other-corpora", *(f"{x:.1f}" for x in ends))
    assert max(best) < always_yes + 0.5

"""The numbers of docs/what_to_do.md that no other test holds against the records."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from papermill import inspect_notebook

from dicelab.__main__ import _parser
from dicelab.records import analysis, decided, runs
from dicelab.records.analysis import Evidence, less_ce
from studies import decoding, first_try, monday, own_data, readers


@pytest.fixture(scope="module")
def guide(root: Path) -> str:
    """The page's text on one line."""
    return " ".join((root / "docs" / "what_to_do.md").read_text(encoding="utf-8").split())


def test_what_a_bias_at_the_log_odds_does(root: Path, guide: str) -> None:
    kept = [
        record
        for name in ("first_try", "readers")
        for record in runs.read_records(root / "results" / f"{name}.jsonl")
    ]

    def f1(parameters: Callable[[int], dict[str, Any]]) -> str:
        of_seeds = [
            [r["metrics"]["test"]["f1"] for r in kept if r["parameters"] == parameters(seed)]
            for seed in (0, 1)
        ]
        return f"{np.mean(of_seeds):.1f}"

    plain, dice = (
        f1(partial(first_try.parameters_of, "squad11", first_try.SETUPS[setup]))
        for setup in ("ce", "dl, squared")
    )
    prior = f1(partial(readers.parameters_of, readers.READERS["bce, prior"]))
    assert f"has an F1 of {plain} with its bias at 0 and {prior} at the log-odds" in guide
    assert f"dice {dice}," in guide


def test_what_linear_tversky_with_a_small_beta_loses(root: Path, guide: str) -> None:
    search = Evidence.read(root / "results" / "evidence").search
    twin = {r["trial"]: r["validation"] for r in search["wnut17", "ce"]}
    behind = [
        (
            r["parameters"]["value"],
            twin[r["trial"]]["tuned"]["f1"] - r["validation"]["tuned"]["f1"],
        )
        for r in search["wnut17", "tversky"]
    ]
    small = [points for beta, points in behind if beta < 0.505]
    large = [points for beta, points in behind if beta > 0.8]
    assert len(small) > 3
    assert len(large) == 3
    assert round(min(small)) >= 13
    assert "every trial with β ≤ .5 is thirteen points or more behind" in guide
    assert max(map(abs, large)) < 5
    assert "With β above .8, and a warm start, it came near cross entropy" in guide


def test_what_the_rivals_do(root: Path, guide: str) -> None:
    evidence = Evidence.read(root / "results" / "evidence")
    halves = []
    for arm in ("wce", "focal", "logit_adjustment", "ce_prior", "dsc", "tversky"):
        pooled = analysis.pool(analysis.effects_of(evidence, less_ce(arm, "tuned")))
        assert pooled is not None
        assert abs(pooled.mu) < 0.5
        halves.append((pooled.mu_high - pooled.mu_low) / 2)
        if arm == "dsc":
            told = [f"{x:.2f}" for x in (pooled.mu, pooled.mu_low, pooled.mu_high)]
            mu, low, high = (x.replace("-", "−").replace("0.", ".") for x in told)
            assert f"{mu} points to cross entropy [{low}, {high}]" in guide
    least, most = (f"{x:.1f}".removeprefix("0") for x in (min(halves), max(halves)))
    assert f"intervals of {least} to {most} points to either side" in guide


def test_the_commands_are_commands(root: Path) -> None:
    page = (root / "docs" / "what_to_do.md").read_text(encoding="utf-8")
    one, block = (part.split("```")[0] for part in page.split("```sh\n")[1:3])
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


def test_what_is_said_of_spans(root: Path, guide: str) -> None:
    kept = runs.read_records(root / "results" / "spans.jsonl")
    corpora = {
        "wnut17": "on WNUT 2017",
        "crossner_ai": "on CrossNER AI",
        "crossner_politics": "on CrossNER politics",
        "wikigold": "on Wikigold",
    }

    def told(arm: str, way: str, corpus: str) -> str:
        gap = decided.effect(kept, corpus, (arm, way), ("bce_prior", way))
        assert gap.draws == 10
        mean, *ends = (re.sub(r"^(-?)0", r"\1", f"{x:.1f}").replace("-", "−") for x in gap[:3])
        return f"{mean} [{', '.join(ends)}]"

    tuned = [f"{told('dice_set', 'tuned', c)} {words}" for c, words in corpora.items()]
    assert f"set-level dice {', '.join(tuned)};".replace(" [", " points [", 1) in guide
    for name, arm in (("weights", "weighted"), ("focal loss", "focal_25")):
        assert f"{name} {', '.join(told(arm, 'tuned', c) for c in corpora)}" in guide
    by_decision = [
        decided.effect(kept, c, ("dice_element", "tuned"), ("bce_prior", "tuned")).mean
        for c in corpora
    ]
    behind = f"{-max(by_decision):.0f} to {-min(by_decision):.0f} points behind"
    assert f"Dice decision by decision was {behind}" in guide
    first, *others, last = (told("dice_set", "half", c) for c in corpora)
    ahead = first.replace(" [", " ahead on WNUT 2017 [")
    assert f"At one half set-level dice was {ahead}, {', '.join(others)} and {last}" in guide
    for corpus in corpora:
        gap = decided.effect(kept, corpus, ("dice_set", "half"), ("bce_prior", "tuned"))
        assert gap.high < 0


def test_what_a_decoder_adds(root: Path, guide: str) -> None:
    kept = runs.read_records(root / "results" / "decoding.jsonl")

    def told(corpus: str) -> str:
        gains = [np.mean(decoding.gains(kept, corpus, loss)["valid"]) for loss in ("ce", "dl")]
        return " and ".join(f"{gain:.1f}".removeprefix("0") for gain in gains)

    assert f"{told('wnut17')} points on WNUT 2017, {told('crossner_ai')} on CrossNER" in guide
    assert f"{told('wikigold')} on Wikigold, for cross entropy and dice" in guide


def test_how_well_fit_chooses(root: Path, guide: str) -> None:
    found = own_data.table(runs.read_records(root / "results" / "own_data"))
    assert len(found) == own_data.DRAWS * len(own_data.CORPORA)
    assert found["corpus"].nunique() == 5
    assert f"was tried in {len(found)} draws of five corpora" in guide

    def less(other: str, sign: int) -> str:
        gap = runs.interval((sign * (found["fit"] - found[other])).tolist())
        printed = f"{gap.mean:.1f} points [{gap.low:.1f}, {gap.high:.1f}]"
        return re.sub(r"\b0(?=\.)", "", printed.replace("-", "−"))

    assert less("grid at argmax", 1).replace("points", "points of F1") + " ahead of" in guide
    assert f"{less('grid', -1)} behind what it chooses with thresholds tuned" in guide
    assert f"{less('best on test', -1)} behind the setting that is best on test" in guide
    behind = found["best on test"] - found["fit"]
    far = f"{(behind > 3).sum()} of the {len(found)} are more than three points behind that one"
    assert f"{far}, and one of them {behind.max():.1f}" in guide


def test_what_came_of_it_on_two_other_corpora(root: Path, guide: str) -> None:
    kept = runs.read_records(root / "results" / "monday.jsonl")
    found = monday.table(kept)
    found["behind"] = found["the grid's"] - found["the guide's"]
    for row in found.to_dict("records"):
        line = [row["corpus"].replace("_", " "), row["seed"], row["way"]]
        line += [f"{row[which]:.1f}" for which in ("the guide's", "the grid's")]
        assert " | ".join(map(str, [*line, row["which is"]])) in guide
    tags, sentences = (found[found["corpus"] == c]["behind"] for c in monday.SETTINGS)
    assert sorted(tags < 1) == [False, True, True, True]
    assert f"once {tags.max():.1f} points behind" in guide
    assert f"from {sentences.max():.1f} points behind to {-sentences.min():.1f} ahead" in guide
    # Who says no to all of them is wrong on the positives alone.
    tests = [r["metrics"]["test"] for r in kept if r["parameters"]["corpus"] == "answer_sentences"]
    share = 1 - max(m["accuracy"] for m in tests if m["f1"] == 0) / 100
    always_yes = 200 * share / (1 + share)
    assert f"calling every sentence an answer has {always_yes:.1f}" in guide
    learned = found[found["corpus"] == "answer_sentences"][["the guide's", "the grid's"]]
    assert learned.max(axis=None) < always_yes + 0.5

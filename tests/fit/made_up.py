"""Small corpora of every task that a tiny model learns in seconds, and a plan for them."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

from dicelab.fit.fitting import Fit
from dicelab.fit.options import Options
from dicelab.fit.plan import Plan, Speed

NAMES = ("Ada", "Grace", "Alan", "Edsger")
PLACES = ("Paris", "Oslo", "Lima", "Kyoto")
WORDS = ("the", "a", "saw", "met", "in", "near", "old", "new", "house", "tree", "river", "today")


def _filler(rng: random.Random, least: int = 3) -> list[str]:
    return [rng.choice(WORDS) for _ in range(rng.randint(least, 7))]


def tagged(path: Path, rows: int = 90) -> Path:
    """Persons and places among other words, a token a line."""
    rng = random.Random(0)
    lines = []
    for _ in range(rows):
        tokens = [(word, "O") for word in _filler(rng)]
        if rng.random() < 0.7:
            tokens.insert(rng.randint(0, len(tokens)), (rng.choice(NAMES), "B-PER"))
        if rng.random() < 0.4:
            at = rng.randint(0, len(tokens))
            tokens[at:at] = [("New", "B-LOC"), (rng.choice(PLACES), "I-LOC")]
        lines += [f"{token}\t{tag}" for token, tag in tokens] + [""]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def rare(path: Path, rows: int = 90) -> Path:
    """Names among other words, by tags without a prefix."""
    text = tagged(path, rows).read_text(encoding="utf-8")
    for tag, plain in (("B-PER", "NAME"), ("B-LOC", "PLACE"), ("I-LOC", "PLACE")):
        text = text.replace(tag, plain)
    path.write_text(text, encoding="utf-8")
    return path


def sentences(path: Path, rows: int = 160, share: float = 0.2) -> Path:
    """Yes where a name stands, with columns of its own names."""
    rng = random.Random(1)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["id", "message", "flag"])
        for number in range(rows):
            words = _filler(rng)
            is_positive = rng.random() < share
            if is_positive:
                words.insert(rng.randint(0, len(words)), rng.choice(NAMES))
            writer.writerow([f"r{number}", " ".join(words), "hit" if is_positive else "miss"])
    return path


def pairs(path: Path, rows: int = 160) -> Path:
    """Yes where both sentences have a name."""
    rng = random.Random(2)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["premise", "hypothesis", "label"])
        for _ in range(rows):
            is_positive = rng.random() < 0.4
            both = [_filler(rng), _filler(rng)]
            for words in both if is_positive else both[: rng.randint(0, 1)]:
                words.append(rng.choice(NAMES))
            writer.writerow([*(" ".join(words) for words in both), int(is_positive)])
    return path


def labels(path: Path, rows: int = 200) -> Path:
    """``person`` and ``place``, both, or none, in one cell."""
    rng = random.Random(3)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["text", "labels"])
        for _ in range(rows):
            words, held = _filler(rng), []
            if rng.random() < 0.5:
                words.append(rng.choice(NAMES))
                held.append("person")
            if rng.random() < 0.4 or not held:
                words.insert(0, rng.choice(PLACES))
                held.append("place")
            writer.writerow([" ".join(words), "|".join(held)])
    return path


MAKERS = {"tagging": tagged, "rare": rare, "sentences": sentences, "pairs": pairs, "labels": labels}


def options(folder: Path, task: str, **more: Any) -> Options:
    """A fit of the tiny encoder on the CPU; the file is made at the first call."""
    source = folder / f"my-{task}.{'csv' if task == 'pairs' else 'tsv'}"
    if not source.exists():
        MAKERS[task](source)
    columns = {"text": "message", "label": "flag"} if task == "sentences" else {}
    usual = {"encoder": "tiny", "device": "cpu", "out": str(folder / "out"), **columns}
    return Options(source=str(source), **{**usual, **more})


def planned(options: Options, epochs: int = 4, *, refit: bool = False) -> Plan:
    """A plan that no clock decides."""
    arms, rates, seeds = options.arms, options.rates or (2e-3,), tuple(range(options.seeds))
    speed, finals = Speed(0.01, 0.001, 0.01, 10), min(2, len(options.arms))
    return Plan(arms, rates, finals, seeds, epochs, -1, 10, speed, 5.0, 10.0, refit)


def fitted(options: Options, epochs: int = 4, *, refit: bool = False) -> Fit:
    """A whole fit by such a plan."""
    fit = Fit(options, lambda line: None)
    fit.read()
    fit.baselines()
    fit.result.plan = planned(options, epochs, refit=refit)
    fit.search()
    fit.finals()
    fit.choose()
    fit.refit()
    fit.keep()
    fit.report()
    return fit

"""Any options on any batch, against loops over elements; gradients by complex steps.

With a step of 1e-30 in the imaginary part of one logit, the imaginary part of the loss is its
derivative times 1e-30, without the cancellation of a difference. Of the 20,000 cases, 500 run in
every test; ``pytest -m generator tests/losses/test_random_cases.py`` runs all.
"""

from __future__ import annotations

import cmath
import random
from typing import Any

import pytest
import torch

from dicebook.losses import functional

STEP = 1e-30
Row = list[complex]


def softmax(row: Row) -> Row:
    top = max(x.real for x in row)
    exps = [cmath.exp(x - top) for x in row]
    return [e / sum(exps) for e in exps]


def rest(row: Row, c: int) -> complex:
    """``1 − p`` of one class, as the sum of the others: a difference would cancel."""
    top = max(x.real for x in row)
    exps = [cmath.exp(x - top) for x in row]
    return sum(exps[:c] + exps[c + 1 :]) / sum(exps)


def mean(numbers: list[complex], weights: list[float] | None = None) -> complex:
    shares = weights or [1.0] * len(numbers)
    total = sum(shares)
    return sum(n * s for n, s in zip(numbers, shares, strict=True)) / total if total else 0j


def ratio(above: complex, below: complex) -> complex:
    return above / below if below else 1 + 0j


def of_class(case: dict[str, Any], terms: list[tuple[complex, float]]) -> complex:
    """One minus the coefficient of the pairs of q and y: one pair, or those of a set."""
    o, power = case["options"], 2 if case["options"]["squared"] else 1
    smooth = o["smooth"]
    overlap = sum(q * y for q, y in terms)
    if case["name"] != "tversky":
        below = sum(q**power + y**power for q, y in terms)
        return 1 - ratio(2 * overlap + smooth, below + smooth)
    if power == 1:
        FP, FN = sum(q * (1 - y) for q, y in terms), sum((1 - q) * y for q, y in terms)
    else:
        # Σ q² − q·y + y·(y − q)·(1 + q − y) of the false positives, as the sums define them.
        extra = [y * (y - q) * (1 + q - y) for q, y in terms]
        FP = sum(q * q - q * y + e for (q, y), e in zip(terms, extra, strict=True))
        FN = sum(y * y - q * y - e for (q, y), e in zip(terms, extra, strict=True))
    below = overlap + o["fp_weight"] * FP + o["fn_weight"] * FN + smooth
    return 1 - ratio(overlap + smooth, below)


def loss_of(case: dict[str, Any], logits: list[Row]) -> complex:
    """The loss of a case, from its definition."""
    o, C = case["options"], case["classes"]
    kept = [i for i, keep in enumerate(case["kept"]) if keep]
    p = {i: softmax(logits[i]) for i in kept}
    y = case["y"]
    if case["name"] in ("cross_entropy", "focal"):
        a = o["weight"] or [1.0] * C
        gamma = o.get("gamma", 0.0)
        each = [
            sum(
                -a[c] * y[i][c] * rest(logits[i], c) ** gamma * cmath.log(p[i][c]) for c in range(C)
            )
            for i in kept
        ]
        return mean(each)
    alpha = o.get("alpha", 0.0)
    pairs = {c: [(rest(logits[i], c) ** alpha * p[i][c], y[i][c]) for i in kept] for c in range(C)}
    chosen = o["classes"] if o["classes"] is not None else list(range(C))
    weight = [1.0 if o["weight"] is None else o["weight"][c] for c in chosen]
    if o["level"] == "example":
        each = [mean([of_class(case, [pairs[c][k]]) for c in chosen], weight)
                for k in range(len(kept))]  # fmt: skip
        return mean(each)
    skip = o["absent"] == "skip" or (o["absent"] is None and o["classes"] is None)
    gold = [any(value > 0 for _, value in pairs[c]) or not skip for c in chosen]
    weight = [w * there for w, there in zip(weight, gold, strict=True)]
    return mean([of_class(case, pairs[c]) for c in chosen], weight)


def make_case(seed: int) -> dict[str, Any]:
    draw = random.Random(seed)
    N, C = draw.randint(1, 5), draw.randint(2, 4)
    scale = draw.choice([0.5, 3.0, 12.0, 40.0])
    name = draw.choice(["cross_entropy", "focal", "dice", "tversky", "self_adjusting_dice"])
    soft = name != "focal" and draw.random() < 0.3
    labels = [draw.choice([*range(C), -100] if draw.random() < 0.3 else range(C)) for _ in range(N)]
    mask = [draw.random() < 0.8 for _ in range(N)] if draw.random() < 0.4 else None
    kept = [(soft or labels[i] >= 0) and (mask is None or mask[i]) for i in range(N)]
    if soft:
        y = [[abs(v) for v in softmax([complex(draw.gauss(0, 2)) for _ in range(C)])]
             for _ in range(N)]  # fmt: skip
    else:
        y = [[float(c == label) for c in range(C)] for label in labels]
    options: dict[str, Any] = {
        "weight": [draw.uniform(0.1, 3) for _ in range(C)] if draw.random() < 0.4 else None
    }
    if name == "focal":
        options["gamma"] = draw.choice([0.0, 0.5, 1.0, 2.0, 5.0])
    elif name != "cross_entropy":
        options |= {
            "smooth": draw.choice([0.0, 1e-3, 1.0, 10.0]),
            "squared": draw.random() < 0.5,
            "level": draw.choice(["set", "example"]),
            "classes": draw.sample(range(C), draw.randint(1, C)) if draw.random() < 0.3 else None,
        }
        options["absent"] = draw.choice([None, "keep", "skip"])
        if options["level"] == "example":
            options["absent"] = draw.choice([None, "keep"])
    if name == "tversky":
        options |= {"fp_weight": draw.uniform(0.1, 2), "fn_weight": draw.uniform(0.1, 2)}
    if name == "self_adjusting_dice":
        options["alpha"] = draw.choice([0.0, 0.01, 0.1, 0.4])
    return {
        "name": name, "classes": C, "options": options, "kept": kept, "y": y, "mask": mask,
        "target": y if soft else labels,
        "logits": [[draw.gauss(0, scale) for _ in range(C)] for _ in range(N)],
    }  # fmt: skip


def disagreement(seed: int) -> str | None:
    """What differs in a case, or None."""
    case = make_case(seed)
    rows = [[complex(x) for x in row] for row in case["logits"]]
    leaf = torch.tensor(case["logits"], dtype=torch.float64, requires_grad=True)
    soft = isinstance(case["target"][0], list)
    target = torch.tensor(case["target"], dtype=torch.float64 if soft else torch.int64)
    mask = None if case["mask"] is None else torch.tensor(case["mask"])
    options = dict(case["options"])
    if options["weight"] is not None:  # a list would become float32
        options["weight"] = torch.tensor(options["weight"], dtype=torch.float64)
    family = {"tversky": "dice", "self_adjusting_dice": "dice"}
    function = getattr(functional, family.get(case["name"], case["name"]))
    value = function(leaf, target, mask, **options)
    (gradient,) = torch.autograd.grad(value, leaf)
    truth = loss_of(case, rows).real
    if abs(value.item() - truth) > 1e-9 * (1 + abs(truth)):
        return f"seed {seed}: the loss is {value.item()}, the loop says {truth}: {case}"
    for i, row in enumerate(rows):
        for c in range(case["classes"]):
            moved = [
                *rows[:i],
                [x + (c == k) * STEP * 1j for k, x in enumerate(row)],
                *rows[i + 1 :],
            ]
            slope = loss_of(case, moved).imag / STEP
            if abs(gradient[i, c].item() - slope) > 1e-9 * (1 + abs(slope)):
                return (
                    f"seed {seed}: slope {i, c} is {gradient[i, c]}, the loop says {slope}: {case}"
                )
    return None


def disagreements(seeds: range) -> list[str]:
    return [found for found in map(disagreement, seeds) if found]


def test_five_hundred_cases_agree_with_the_loops() -> None:
    assert not disagreements(range(500))


@pytest.mark.generator
def test_twenty_thousand_cases_agree_with_the_loops() -> None:
    assert not disagreements(range(20_000))

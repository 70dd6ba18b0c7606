"""What README, front page and guide say of the second protocol, each number from its records."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from dicelab.records import searched
from dicelab.records.searched import less_start

STRATA = ("tags", "yes or no", "rare")
Tasks = dict[str, list[dict]]


@pytest.fixture(scope="module")
def tasks(root: Path) -> Tasks:
    """The records."""
    return searched.read_tasks(root / "results" / "evidence_2")


def text(root: Path, page: str) -> str:
    """A page on one line."""
    return " ".join((root / page).read_text(encoding="utf-8").split())


def told(estimate: Iterable[float], zero: bool = False) -> str:
    """A mean and its interval, with a zero before the point or without."""
    mean, low, high = (f"{x:z.1f}" for x in list(estimate)[:3])
    words = f"{mean} [{low}, {high}]".replace("-", "−")
    return words if zero else re.sub(r"(?<!\d)0(\.\d)", r"\1", words)


def test_the_readme_and_the_front_page(tasks: Tasks, root: Path) -> None:
    readme, front = text(root, "README.md"), text(root, "index.md")
    tuned, argmax = (less_start(tasks, "dice", how) for how in ("tuned", "argmax"))
    weights = less_start(tasks, "wce", "argmax").over_all
    assert f"starts at the log prior is {told(tuned.over_all, True)} points of F1" in readme
    assert f"from the prior {told(tuned.over_all, True)} over twenty-seven tasks" in front
    each = [told(argmax.strata[name], True) for name in STRATA]
    assert f"At argmax dice is {told(argmax.over_all, True)} points ahead" in readme
    assert f"on tags {each[0]}, for a yes or no {each[1]}, on rare positives {each[2]}" in readme
    assert f"Weights are {told(weights, True)} ahead" in readme
    both = f"{told(weights, True)} and {told(argmax.over_all, True)} ahead"
    assert f"on the same tasks {both}" in front
    searches = min(e.searches for e in searched.effects_of(tasks, searched.PRIMARY))
    assert f"over {('none', 'one', 'two', 'three', 'four', 'five')[searches]} searches" in readme


def test_the_guide(tasks: Tasks, root: Path) -> None:
    guide = text(root, "docs/what_to_do.md")
    tuned = less_start(tasks, "dice", "tuned").over_all
    assert (
        f"dice less cross entropy from the prior {told(tuned).replace(' [', ' points [')}" in guide
    )
    for arm, name in (("wce", "weights"), ("logit_adjustment", "logit adjustment")):
        assert f"{name} {told(less_start(tasks, arm, 'tuned').over_all)}" in guide
    for arm, name in (
        ("dice", "dice"),
        ("wce", "weights"),
        ("logit_adjustment", "logit adjustment"),
    ):
        means = less_start(tasks, arm, "argmax").strata
        tags, yes, rare = (told(means[s]) for s in STRATA)
        assert f"{name} {tags} for tags, {yes} for a yes or no, {rare} for rare positives" in guide

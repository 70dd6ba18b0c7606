"""What README, front page and guide say of the second protocol, each number from its records."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from dicelab.records import searched
from dicelab.records.analysis import Record
from dicelab.records.searched import less_start
from dicelab.records.speed import CORPORA, faster, read_corpora, scores

TAGS = ("crossner_politics", "wnut17")
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
    assert f"Weights are {told(weights, True)} ahead; corrected, none of these stands" in readme
    family = searched.secondary(tasks)
    assert (len(family) + 1) * argmax.over_all.p > 0.05, "one more question than the protocol has"
    assert min(corrected for _, corrected in family.values()) > 0.05
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
    effects = searched.effects_of(tasks, searched.PRIMARY)
    least, most = (f(e.mean for e in effects) for f in (min, max))
    ends = f"{least:.1f} and {most:.1f}".replace("-", "−")
    assert f"on single tasks between {ends} points, with all intervals but one across zero" in guide
    assert sum(e.low > 0 or e.high < 0 for e in effects) == 1
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


@pytest.fixture(scope="module")
def layers(root: Path) -> dict[str, list[Record]]:
    """The records of Stage B2."""
    return read_corpora(root / "results" / "evidence_2")


def test_all_layers(layers: dict[str, list[Record]], root: Path) -> None:
    guide, readme, front = (text(root, p) for p in ("docs/what_to_do.md", "README.md", "index.md"))

    def area(task: str, arm: str, how: str = "tuned", zero: bool = False) -> str:
        effect = faster(layers[task], arm, "ce_start", how)
        assert effect is not None
        assert effect.draws == 6
        return told(effect, zero)

    for arm, sentence in (
        (
            "dice",
            "Dice {} on CrossNER politics, {} on WNUT 2017 (1,000 sentences), {} on MRPC, {} on the"
            " label fear of GoEmotions",
        ),
        ("wce", "weights {}, {}, {}, {};"),
        ("ce", "cross entropy with its bias near 0 {}, {}, {}, {}."),
    ):
        assert sentence.format(*(area(task, arm) for task in CORPORA)) in guide
    mean, interval = area("mrpc", "dice", "argmax").split(maxsplit=1)
    assert f"At argmax dice is {mean} ahead on MRPC {interval}" in guide
    both = [area(task, "dice", zero=True) for task in TAGS]
    assert f"from the prior is {both[0]} on CrossNER politics and {both[1]} on WNUT" in readme
    near = [area(task, "ce", zero=True) for task in TAGS]
    assert f"its bias near 0 {near[0]} and {near[1]}." in readme
    assert f"**dice finds nothing**: {area('goemotions_fear', 'dice', zero=True)}" in readme
    assert f"on CrossNER politics: bias near 0 {near[0]}, dice {both[0]}" in front
    ends = {a: scores(layers["goemotions_fear"], a, "tuned") for a in ("dice", "ce_start")}
    one, other = (f1[:, -1].mean() for _, f1 in ends.values())
    last = ends["dice"][0][-1]
    assert (
        f"after {last} steps F1 is {one:.1f} with dice and {other:.1f} with cross entropy from the"
        in guide
    )


def test_most_batches_of_fear_hold_no_positive(tasks: Tasks, root: Path) -> None:
    size = tasks["goemotions_fear"][0]["sizes"]["train"]
    none = (1 - size["positive"] / size["rows"]) ** 32
    assert f"Of the batches of fear {100 * none:.0f}% hold no positive" in text(
        root, "docs/what_to_do.md"
    )

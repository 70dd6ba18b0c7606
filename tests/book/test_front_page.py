"""README and front page: their numbers and their answer beside the records; the pictures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image

from dicelab.records import paper, searched
from dicelab.records.speed import read_corpora, scores
from tools import answer, decision

INTERVAL = re.compile(r"(−?\d+\.\d) \[(−?\d+\.\d), (−?\d+\.\d)\]")
POLITICS, WNUT, MRPC, FEAR = answer.LAYERS.values()
LAYERED = ("ce", "dice_start", "dice", "wce")
# What the rows of the table show, from the top: where, and which arm.
ROWS = (
    tuple((answer.HEADS["tuned"], arm) for arm in ("dice", "dice_start")),
    tuple((answer.HEADS["argmax"], arm) for arm in ("wce", "dice", "dice_start")),
    tuple((where, arm) for arm in LAYERED for where in (POLITICS, WNUT)),
    tuple((MRPC, arm) for arm in LAYERED),
    (),
)
# And F1 itself in the last row, after the longest runs.
LAST = ("ce_start", "dice_start", "dice", "dice_two")


@pytest.fixture(scope="module")
def shown(root: Path) -> dict[tuple[str, str], answer.Gain]:
    """What the picture has to show."""
    return {(g.where, g.arm): g for g in answer.gains(root / "results")}


@pytest.mark.parametrize("name", answer.COLOURS)
def test_the_pictures_are_drawn_from_the_records_as_they_are(root, shown, name) -> None:
    for kind, said in (
        ("answer", answer.described(list(shown.values()))),
        ("decision", decision.described()),
    ):
        with Image.open(root / "_static" / f"{kind}-{name}.png") as picture:
            assert picture.info["Description"] == said, f"run: python -m tools.{kind}"
    assert (root / "docs" / "what_to_do.md").read_text("utf-8").count(decision.described()) == 2


@pytest.mark.parametrize("page", ["index.md", "README.md"])
def test_the_intervals_of_the_table_are_those_of_the_records(root, shown, page) -> None:
    text = (root / page).read_text(encoding="utf-8").replace("\u00a0", " ")
    table = [line for line in text.splitlines() if line.startswith("|")][2:]
    printed = [[" ".join(found) for found in INTERVAL.findall(line)] for line in table]
    wanted = [
        [" ".join(f"{x:z.1f}".replace("-", "−") for x in shown[key][2:]) for key in row]
        for row in ROWS
    ]
    assert printed == wanted


@pytest.mark.parametrize("page", ["index.md", "README.md"])
def test_the_picture_in_words_is_the_picture(root, shown, page) -> None:
    text = (root / page).read_text(encoding="utf-8")
    alts = re.findall(r'(?:alt="|:alt: )(.*(?:answer|intervals).*?)(?:"|\n)', text)
    assert alts
    argmax = {arm: shown[answer.HEADS["argmax"], arm] for arm in ("dice", "wce")}
    for alt in alts:
        numbers = re.findall(r"\d+\.\d", alt)
        assert numbers == [f"{argmax[arm].mean:.1f}" for arm in ("dice", "wce")]
    for where in (POLITICS, WNUT):
        assert round(shown[where, "wce"].mean) in (2, 3)
        assert 4.5 < -shown[where, "ce"].mean < 5.55, "about five"
    for arm in answer.ARMS:
        assert round(-shown[MRPC, arm].mean) in (2, 3)
    assert round(shown[POLITICS, "dice"].mean) == 3
    for key in ((POLITICS, "dice_start"), (WNUT, "dice_start"), (WNUT, "dice")):
        assert shown[key].low < 0 < shown[key].high
    beyond = {key for key, gain in shown.items() if gain.mean < answer.EDGES[0]}
    assert beyond == {(FEAR, "dice"), (FEAR, "ce")}
    assert all(shown[key].mean < -40 for key in beyond)
    for key in shown.keys() - beyond:
        assert answer.EDGES[0] < shown[key].low < shown[key].high < answer.EDGES[1]


def test_the_answer_follows_from_the_records(root, shown) -> None:
    for arm in answer.ARMS:
        gain = shown[answer.HEADS["tuned"], arm]
        assert gain.low < 0 < gain.high, "no measurable gain once the threshold is tuned"
    dice, weights = (shown[answer.HEADS["argmax"], arm] for arm in ("dice", "wce"))
    assert weights.mean > dice.mean > 0, "at argmax both may help"
    tasks = searched.read_tasks(root / "results" / "evidence_2")
    assert len(searched.effects_of(tasks, searched.PRIMARY)) == 27
    family = searched.secondary(tasks)
    for arm in ("dice", "dice_start"):
        over_all = searched.pooled_minus_start(tasks, arm, "argmax").over_all
        assert (len(family) + 2) * over_all.p > 0.05, "two more questions than the protocol has"
    assert min(corrected for _, corrected in family.values()) > 0.05
    for where in (POLITICS, WNUT):
        assert shown[where, "ce"].high < -3, "the start helps"
        assert shown[where, "wce"].low > 0, "and class weights from near 0 are worth a try"
    for arm in answer.ARMS:
        assert shown[MRPC, arm].high < 0, "cross entropy from the prior is the first to try"
    layers = read_corpora(root / "results" / "evidence_2")
    for task in answer.LAYERS:
        steps, _ = scores(layers[task], "dice", "tuned")
        assert (steps[0], steps[-1]) == (19, 307)


@pytest.mark.parametrize("page", ["index.md", "README.md"])
def test_what_the_start_does_on_a_rare_label(root, page) -> None:
    fear = read_corpora(root / "results" / "evidence_2")["goemotions_fear"]
    text = " ".join((root / page).read_text(encoding="utf-8").split())
    (row,) = re.findall(r"\| F1 itself ([^|]*) \|", text)
    f1 = {arm: float(scores(fear, arm, "tuned")[1][:, -1].mean()) for arm in LAST}
    assert re.findall(r"\d+\.\d", row) == [f"{value:.1f}" for value in f1.values()]
    steps, at_argmax = scores(fear, "ce_start", "argmax")
    assert set(re.findall(r"after (\d+) steps", text)) == {str(steps[-1])}
    assert at_argmax.max() == 0, "nothing at argmax"
    assert f1["dice"] < 5, "hardly learned the label"
    for arm in ("dice_start", "dice_two"):
        assert abs(f1[arm] - f1["ce_start"]) < 2


def test_the_other_numbers_of_the_pages(root) -> None:
    rows = [
        row
        for table in paper.tables().values()
        for row in table.rows
        if None not in (row.precision, row.recall, row.f1)
    ]

    def agrees(row: paper.Row) -> bool:
        """Whether precision and recall allow the F1 that is printed, all as they were rounded."""
        pairs = zip(row.bounds("precision"), row.bounds("recall"), strict=True)
        low, high = (2 * p * r / (p + r) for p, r in pairs)
        least, most = row.bounds("f1")
        return low <= most and least <= high

    off = str(sum(not agrees(row) for row in rows))
    gains = [
        row.value("delta") or 0
        for number in range(3, 9)
        for row in paper.tables()[number].rows
        if row.loss == "dsc" and "delta" in row.printed
    ]
    ends = (str(len(gains)), *(f"{float(end):.2f}" for end in (min(gains), max(gains))))
    for page in ("README.md", "index.md"):
        text = " ".join((root / page).read_text(encoding="utf-8").split())
        assert set(re.findall(r"(\d+) (?:\w+ )?tasks", text)) == {"27"}
        assert set(re.findall(r"(\d+) to (\d+) steps", text)) == {("19", "307")}
        assert re.findall(r"(\d+) of (\d+) rows", text) == [(off, str(len(rows)))]
        assert re.findall(r"All (\d+) gains .*? from ([\d.]+) to ([\d.]+) points", text) == [ends]

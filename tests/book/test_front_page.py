"""README and front page: their numbers and their answer beside the records; the pictures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image

from dicelab.records import paper, searched, speed
from tools import answer, decision
from tools.tables import page as made_page

POLITICS, WNUT, MRPC, FEAR = answer.LAYERS.values()
CORPORA = (POLITICS, WNUT, MRPC)  # on which no loss fails after the longest runs
SHORT, LONG = answer.LENGTHS.values()
ARGMAX, _ = answer.HEADS.values()


def in_words(number: int) -> str:
    """A small number as prose has it."""
    return ("none", "one", "two", "three", "four", "five", "six", "seven")[number]


def prose(root: Path, page: str) -> str:
    """A page on one line."""
    return " ".join((root / page).read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def shown(root: Path) -> dict[tuple[str, str, str], answer.Gain]:
    """What the picture has to show."""
    return {(g.panel, g.where, g.arm): g for g in answer.gains()}


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
def test_the_picture_in_words_is_the_picture(root, shown, page) -> None:
    text = (root / page).read_text(encoding="utf-8")
    alts = re.findall(r'(?:alt="|:alt: )(.*intervals.*?)(?:"|\n)', text)
    assert alts
    argmax = {arm: shown[ARGMAX, answer.TASKS, arm] for arm in ("dice", "wce")}
    for alt in alts:
        numbers = re.findall(r"\d+\.\d", alt)
        assert numbers == [f"{argmax[arm].mean:.1f}" for arm in ("dice", "wce")]
    short, long = (
        max(abs(shown[length, where, arm].mean) for where in CORPORA for arm in answer.ARMS)
        for length in (SHORT, LONG)
    )
    assert round(short) == 8, "up to eight points"
    assert long < 2
    for panel, points in ((SHORT, 40), (LONG, 30)):
        beyond = {g.arm: g for g in shown.values() if g.panel == panel and g.where == FEAR}
        beyond = {arm: g for arm, g in beyond.items() if g.mean < answer.EDGES[0]}
        assert beyond.keys() == {"dice", "ce"}
        assert all(g.mean < -points for g in beyond.values())
    for key, g in shown.items():
        if g.mean > answer.EDGES[0]:
            assert answer.EDGES[0] < g.low < g.high < answer.EDGES[1], key


def test_how_many_tasks_show_a_gain(root) -> None:
    tasks = searched.read_tasks()
    effects = [
        effect
        for arm in ("dice", "dice_start", "dice_both")
        for records in tasks.values()
        if (effect := searched.minus_start(records, arm, "tuned")) is not None
    ]
    start = searched.Contrast(("ce_start", "tuned"), ("ce", "tuned"))
    (cost,) = [e for e in searched.effects_of(tasks, start) if e.high < 0]
    assert cost.task == "sst2_02"
    text = prose(root, "README.md")
    said = re.findall(r"of (\d+) intervals .*?, (\w+) lies above 0, and (\w+) lie", text)
    above, below = (sum(e.low > 0 for e in effects), sum(e.high < 0 for e in effects))
    assert said == [(str(len(effects)), in_words(above), in_words(below))]
    said = re.findall(r"this start cost (\d+\.\d) points", prose(root, "docs/what_to_do.md"))
    assert said == [f"{-cost.mean:.1f}"]


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
    of_em = [
        row.value("delta_em") or 0
        for row in paper.tables()[6].rows
        if row.loss == "dsc" and "delta_em" in row.printed
    ]
    assert min(of_em) > 0
    ends = (
        str(len(gains)),
        *(f"{float(end):.2f}" for end in (min(gains), max(gains))),
        in_words(len(of_em)),
        f"{max(of_em):.2f}",
    )
    text = prose(root, "README.md")
    assert set(re.findall(r"(\d+) (?:\w+ )?tasks", text)) == {"27"}
    steps = set(re.findall(r"(\d+) steps", text)) - {"40"}  # some 40
    assert steps == {str(speed.SHORT), str(speed.LONG)}
    assert re.findall(r"(\d+) of (\d+) rows", text) == [(off, str(len(rows)))]
    said = r"(\d+) of F1, from ([\d.]+) to ([\d.]+) points, and (\w+) of exact match, up to "
    assert re.findall(said + r"(\d\.\d+)", text) == [ends]


def test_the_page_of_the_paper_s_tables_is_up_to_date(root: Path) -> None:
    stored = (root / "docs" / "tables.md").read_text(encoding="utf-8")
    assert stored == made_page(), "run: make tables"

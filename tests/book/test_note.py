"""The replication note: made from the records, and of the length that was asked for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tools.note.__main__ import page, pdf
from tools.note.figures import draw
from tools.note.numbers import numbers

pytestmark = pytest.mark.slow


def test_the_note_is_up_to_date(root: Path, tmp_path: Path) -> None:
    text = page(root, tmp_path)
    assert text == (root / "docs" / "note.md").read_text(encoding="utf-8")
    kept = sorted(path.name for path in (root / "_static").glob("note-*.png"))
    assert sorted(path.name for path in tmp_path.glob("*.png")) == kept


def test_the_note_is_six_to_eight_pages(root: Path, tmp_path: Path, browser: Browser) -> None:
    pdf(page(root, tmp_path), tmp_path, tmp_path / "note.pdf", browser)
    pages = re.findall(rb"/Type\s*/Page\b", (tmp_path / "note.pdf").read_bytes())
    assert 6 <= len(pages) <= 8


def test_its_numbers_by_other_code(root: Path) -> None:
    """Against the tables of docs/evidence_2.md, which another program writes."""
    found = numbers(root)
    assert found["trials"] == f"{5 * 27 * 5 * 16:,}", "five arms and searches; no extension"
    rows = {
        cells[0]: cells
        for line in (root / "docs" / "evidence_2.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("|") and (cells := [c.strip() for c in line.strip("|").split("|")])
    }
    plain = {name: text.replace("−", "-") for name, text in found.items()}
    for name, row in (
        ("primary", "all strata alike"),
        ("primary_rare", "rare"),
        ("dice_argmax_tags", "dice minus cross entropy, argmax: tags"),
        ("wce_argmax", "class weights minus cross entropy, argmax"),
        ("plug_in", "cross entropy, plug-in minus tuned"),
    ):
        mean, low, high = (float(x) for x in re.findall(r"-?\d+\.?\d*", rows[row][1]))
        assert abs(float(plain[name]) - mean) < 0.06
        interval = [float(x) for x in re.findall(r"-?[\d.]+", plain[f"{name}_in"])]
        assert interval == pytest.approx([low, high], abs=0.06)
    holm = [
        float(cells[3])
        for name, cells in rows.items()
        if " minus cross entropy" in name and len(cells) == 4
    ]
    assert len(holm) >= 9
    assert float(found["least_holm"]) == pytest.approx(min(holm), abs=0.01)


def test_a_sentence_that_the_records_contradict_is_no_note(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dicelab.records.searched.equivalence", lambda *_: 0.01)
    with pytest.raises(AssertionError, match="equivalence is not shown"):
        numbers(root)


def test_every_figure_says_what_it_shows(root: Path, tmp_path: Path) -> None:
    told = draw(root / "results", tmp_path)
    assert set(told) == {"primary", "strata", "threshold", "layers"}
    assert all(re.search(r"[+−]?\d", words) and len(words) > 60 for words in told.values())

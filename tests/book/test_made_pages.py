"""The page of the paper's tables: it is as the grid and the records have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from reproduce import tables
from reproduce.comparisons import TABLES
from tests.made_up_runs import made_up
from tools.tables import needs, page


def test_the_page_is_up_to_date(root: Path) -> None:
    stored = (root / "docs" / "tables.md").read_text(encoding="utf-8")
    assert stored == page(root / "results"), "run: make tables"


def cells(text: str, start: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith(start))
    return [cell.strip() for cell in line.split("|")[1:-1]]


def test_a_table_of_small_models_has_its_differences(tmp_path: Path) -> None:
    for profile in ("default", "laptop"):
        tables.write_table(made_up(9, profile), 9, tmp_path / "reproduced" / profile)
    text = page(tmp_path)
    assert text.count("### Table 9: Sentiment, scored by accuracy\n") == 1
    # An option is a point in these made-up scores: dice has none, DSC has two, of two corpora.
    assert cells(text, "| 9, Sentiment") == [
        "9, Sentiment, scored by accuracy",
        "2",
        "0.0 (0.0 to 0.0)".replace(" ", "\u00a0"),
    ]
    assert "Of 6 differences from cross entropy at argmax, 2 have an interval above zero" in text
    (head,) = (line for line in text.splitlines() if line.startswith("| corpus") and "loss" in line)
    assert "tuned" not in head


def test_a_table_says_what_the_profile_has_left_out(tmp_path: Path) -> None:
    tables.write_table(made_up(6, "laptop"), 6, tmp_path / "reproduced" / "laptop")
    text = page(tmp_path)
    assert "Not trained: SQuAD 2.0, for a reader" in text
    assert "| BERT, by decisions, focal " in text, "of two models each row says its own"


def test_rows_that_stand_on_the_floor_are_named_and_not_shown(tmp_path: Path) -> None:
    records = made_up(9, "laptop")
    for record in records:  # of four losses on two corpora; of dice one seed of three
        given = record["parameters"]
        low = given["loss"] == "fl" or (given["loss"] == "dl" and given["seed"] == 0)
        if low and given["corpus"] == "sst2":
            record["metrics"]["test"]["accuracy"] = 72.4  # the floor is 67.5
    tables.write_table(records, 9, tmp_path / "reproduced" / "laptop")
    text = page(tmp_path)
    assert "Left out, of 8 rows: `sst2`, BERT, focal 72.40; `sst2`, BERT, dice 78.90.\n" in text
    assert "one row of the two is left out: `sst2` (Table 9, dice).\n" in text
    of_sst2, of_sst5 = text[text.index("| `sst2`") :].split("| `sst5`")
    assert "| focal " not in of_sst2
    assert "| focal " in of_sst5
    assert "Of 4 differences from cross entropy" in text


@pytest.mark.parametrize("number", TABLES)
def test_every_corpus_has_a_line_with_its_cost(number: int) -> None:
    for line in needs(number):
        assert float(line["hours"]) > 0
        least, _, most = line["GB"].partition(" ")[0].partition("–")
        assert 0 < int(least) <= int(most)

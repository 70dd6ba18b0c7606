"""The page that is made from the records of the workflow."""

from __future__ import annotations

import re
from pathlib import Path

from reproduce import tables
from tests.made_up_runs import made_up
from tools.pages import reproduced


def test_the_page_of_reproduced_tables_is_up_to_date(root: Path) -> None:
    stored = (root / "docs" / "reproduced.md").read_text(encoding="utf-8")
    assert stored == reproduced.page(root / "results")


def test_reproduced_tables_have_a_page_of_their_own(tmp_path: Path) -> None:
    for profile in ("default", "laptop", "smoke"):
        folder = tmp_path / "reproduced" / profile
        tables.write_table(made_up(9, profile), 9, folder)
    text = reproduced.page(tmp_path)
    assert text.count("### Table 9: Sentiment, scored by accuracy\n") == 2
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Profile `laptop`",
        "## Profile `default`",
    ]
    assert "whole sentences** (`sst5`): BERT; all-MiniLM-L6-v2, 4 layers frozen" in text
    assert "bf16, 3 seeds. Paper: SST-5.\n" in text
    assert "24 runs, 14 minutes of training on cpu, one thread.\n" in text
    # An option is a point in these made-up scores: dice has none, DSC has two, of two corpora.
    row = next(line for line in text.splitlines() if line.startswith("| 9, Sentiment"))
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    assert cells == [
        "9, Sentiment, scored by accuracy",
        "2",
        "0.0 (0.0 to 0.0)".replace(" ", "\u00a0"),
    ]
    assert "Of 6 differences from cross entropy at argmax, 2 have an interval above zero" in text
    tables_of_it = [line for line in text.splitlines() if line.startswith("| loss")]
    assert len(tables_of_it) == 4  # of two corpora in two profiles
    assert not any(word in line for line in tables_of_it for word in ("corpus", "tuned", "seeds"))
    assert not any(word in line for line in tables_of_it for word in ("model", "the paper"))


def test_a_table_says_what_its_profile_has_left_out(tmp_path: Path) -> None:
    for profile in ("default", "laptop"):
        tables.write_table(made_up(6, profile), 6, tmp_path / "reproduced" / profile)
    laptop, default = reproduced.page(tmp_path).split("## Profile `default`")
    assert "Not trained in this profile: SQuAD 2.0, for a reader" in laptop
    assert "Not trained" not in default
    # Two models: each row says its own.
    assert "| model, loss " in laptop
    assert "| BERT, by decisions, focal " in laptop


def test_rows_that_stand_on_the_floor_are_named_and_not_shown(tmp_path: Path) -> None:
    records = made_up(9, "laptop")
    for record in records:  # of four losses on two corpora; of dice one seed of three
        given = record["parameters"]
        low = given["loss"] == "fl" or (given["loss"] == "dl" and given["seed"] == 0)
        if low and given["corpus"] == "sst2":
            record["metrics"]["test"]["accuracy"] = 72.4  # the floor is 67.5
    tables.write_table(records, 9, tmp_path / "reproduced" / "laptop")
    page = reproduced.page(tmp_path)
    said = (
        "Left out are 2 of 8 rows, in which some seed does not stand 5 points above the majority's "
        "answer and words alone: sst2, BERT: focal 72.40, dice 78.90.\n"
    )
    assert said in page
    assert "one row of the two is left out: Stanford Sentiment Treebank (Table 9, dice).\n" in page
    of_sst2, of_sst5 = re.findall(r"^\*\*(?!For).*?(?=^\*\*|\Z)", page, re.MULTILINE | re.DOTALL)
    assert "| focal " not in of_sst2
    assert "| focal " in of_sst5
    assert "Of 4 differences from cross entropy" in page

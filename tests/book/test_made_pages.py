"""The pages that are made from the records."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dicelab.records import runs
from reproduce import tables
from studies import labels, spans
from studies import own_data as study
from tests.made_up_runs import made_up
from tools.pages import decided, evidence_2, own_data, records, reproduced


def test_the_page_of_the_records_is_up_to_date(root: Path) -> None:
    stored = (root / "docs" / "records.md").read_text(encoding="utf-8")
    assert stored == records.page(root / "results"), "run: python -m tools.pages"


def test_the_page_of_the_second_protocol_is_up_to_date(root: Path) -> None:
    stored = (root / "docs" / "evidence_2.md").read_text(encoding="utf-8")
    assert stored == evidence_2.page(root / "results" / "evidence_2"), "run: make evidence"


def test_the_page_of_fit_says_who_is_ahead(tmp_path: Path) -> None:
    assert "`fit` 0 of 30, its first minute 0 of 30" in own_data.page(tmp_path / "none")

    def add(corpus: str, method: str, f1: float) -> None:
        record = runs.make_record(
            chapter="studies/own_data.py",
            parameters=study.parameters_of(corpus, 0, method, "minilm"),
            metrics={"test": {"f1": f1}},
            history=[{"kept": "words+embeddings"}],
            measured={"device": "cpu", "seconds": 60},
        )
        runs.append_record(tmp_path / f"{corpus}.jsonl", record)

    for corpus, minute, words in (("mrpc", 80.0, 82.0), ("sst2_03", 50.0, 46.0)):
        add(corpus, "minute", minute)
        add(corpus, "words", words)
    add("mrpc", "fit", 81.0)
    add("wnut17", "trainer", 22.0)  # nothing to compare it with
    text = own_data.page(tmp_path).replace("\u00a0", " ")
    assert "`fit` 1 of 30, its first minute 2 of 30, words 2 of 30" in text
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in text.splitlines() if "|" in line]
    name = "Microsoft Research Paraphrase Corpus"
    assert [name, "1", "81.0", "80.0", "82.0", ""] in rows
    low = f"-2.0, {name}"
    of_two = ["its first minute minus words", "2", "1.0", "2", "1.0 [-37.1, 39.1]", low]
    assert of_two in rows
    assert any(row[:2] == ["`fit` minus words", "1"] for row in rows)
    assert not any(row[0].endswith("minus Trainer") for row in rows)


@pytest.mark.parametrize(
    ("first", "others", "reached", "ahead"),
    [
        ((85, 70, 70), 70, "is reached", 1),
        ((84, 84, 84), 70, "is not", 3),
        ((76,) * 3, 76, "is not", 0),
    ],
)
def test_when_all_has_run_the_page_says_whether_the_aim_is_reached(
    tmp_path: Path, first: tuple[int, ...], others: int, reached: str, ahead: int
) -> None:
    for corpus, of in study.CORPORA.items():
        for draw in range(study.DRAWS):
            trainer = first[draw] if corpus == "mrpc" else others
            scores = dict.fromkeys(of.methods, 70) | {"fit": 80, "trainer": trainer}
            for method, f1 in scores.items():
                record = runs.make_record(
                    chapter="studies/own_data.py",
                    parameters=study.parameters_of(corpus, draw, method, "minilm"),
                    metrics={"test": {"f1": float(f1)}},
                    history=[{}],
                    measured={"device": "cpu", "seconds": 60},
                )
                runs.append_record(tmp_path / f"{corpus}.jsonl", record)
    text = own_data.page(tmp_path)
    assert f"this {reached}" in text
    assert f"In {ahead} of 30 draws" in text
    assert "Not all" not in text


def test_a_page_shows_every_kept_run(tmp_path: Path) -> None:
    for record in made_up(7):
        record["chapter"] = "11_paraphrases"
        record["versions"] = {"torch": "2", "transformers": "5"}
        record["measured"] = {"device": "cpu", "seconds": 360}
        record["parameters"]["train_size"] = 0
        if record["parameters"]["loss"] == "dsc" and record["parameters"]["seed"] == 2:
            record["parameters"]["epochs"] = 9
        runs.append_record(tmp_path / f"{record['parameters']['corpus']}.jsonl", record)
    counts = {"parameters": {"corpus": "wnut17"}, "metrics": {"rows": 3394}, "chapter": "01_x"}
    runs.append_record(tmp_path / "counts.jsonl", counts)
    text = records.page(tmp_path)
    assert "## Microsoft Research Paraphrase Corpus\n\nChapter 11, bert-large-cased, all" in text
    assert "5 runs, 30 minutes on cpu; torch 2" in text
    assert "One run, 6 minutes" in text
    assert str(runs.interval([80.0, 80.1, 80.2])).replace(" ", "\u00a0") in text
    assert "| self-adjusting dice, α 0.1, squared" in text
    assert "WNUT 2017 |" in text
    assert "3,394" in text


def test_a_run_that_is_decided_in_several_ways_has_a_column_for_each(tmp_path: Path) -> None:
    for seed, half in ((0, 10.0), (1, 20.0)):
        record = runs.make_record(
            chapter="studies/spans.py",
            parameters={"corpus": "wnut17", "encoder": "e", "loss": "dice_set", "seed": seed},
            metrics={"half": {"f1": half}, "tuned": {"f1": 30.0}, "gold": [1]},
            history=[],
            measured={"device": "cpu", "seconds": 30},
        )
        runs.append_record(tmp_path / "spans.jsonl", record)
    rows = [line.split("|")[1:-1] for line in records.page(tmp_path).splitlines() if "|" in line]
    cells = [[cell.strip() for cell in row] for row in rows]
    assert cells[0] == ["loss", "draws", "at one half, %", "tuned, %"]
    expected = [str(runs.interval(scores)) for scores in ([10.0, 20.0], [30.0, 30.0])]
    assert [c.replace("\u00a0", " ") for c in cells[2]] == ["dice of the set", "2", *expected]


def test_every_loss_and_way_of_those_studies_has_a_name() -> None:
    for arms, ways in ((spans.ARMS, spans.WAYS), (labels.ARMS, labels.WAYS)):
        assert set(arms) <= set(decided.LOSSES)
        assert set(ways) <= set(decided.WAYS)


def test_options_that_all_rows_share_are_said_once() -> None:
    def record(loss: str, **options: object) -> dict[str, Any]:
        return {"parameters": {"loss": loss, "options": options}}

    group = [
        record("ce"),
        record("dl", smooth=1.0, warm_start=False),
        record("dl", smooth=1.0, warm_start=True),
        record("dsc", smooth=1.0, warm_start=False, alpha=0.1),
    ]
    usual = records._usual(group)
    assert usual == {"smooth": 1.0, "warm_start": False}
    said = [tables.loss_in_words(one, usual) for one in group]
    assert said == ["cross entropy", "dice", "dice, warm start", "self-adjusting dice, α 0.1"]
    assert not records._usual(group[1:2])  # a single row says all
    # An option that a loss does not state is not known of it.
    assert not records._usual([record("dl"), record("dsc", squared=True)])


def test_the_words_below_a_table_say_what_its_intervals_say() -> None:
    gains = {
        "dice": runs.Interval(1.0, -2.0, 4.0, 3),
        "focal": runs.Interval(1.0, 0.5, 1.5, 3),
        "Tversky": runs.Interval(-9.0, -10.0, -8.0, 3),
    }
    (sentence,) = records.findings("F1", gains)
    assert sentence == (
        "**F1**: Above cross entropy: focal. Below cross entropy: Tversky. For the others no "
        "difference larger than 4.0 points was seen."
    )
    (sentence,) = records.findings("F1", {"dice": gains["dice"]})
    assert sentence == "**F1**: For all losses no difference larger than 4.0 points was seen."
    assert list(records.findings("F1", {})) == []


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

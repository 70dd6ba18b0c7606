"""The paper's tables as data: every cell is in the paper, and every cell of the paper is here."""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from importlib import resources
from pathlib import Path

import pytest

from dicelab.records import paper

# Where each table stands in the final text: from the first string to the second. The text is
# that of a two-column page, so some words of the running text come with it.
PLACES = {
    1: ("Task # neg", "Table 1:"),
    3: ("CTB5 CTB6 UD1.4", "Table 3:"),
    4: ("English WSJ", "Table 4:"),
    5: ("English CoNLL 2003", "Table 5:"),
    6: ("SQuAD v1.1 SQuAD v2.0 QuoRef", "Table 6:"),
    7: ("MRPC QQP", "Table 7:"),
    8: ("original + positive", "Table 8:"),
    9: ("SST-2 SST-5", "Table 9:"),
    10: ("α Chinese Onto4.0", "Table 10:"),
}
NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?[KM]?(?![\w.])")


def text_of(name: str) -> str:
    """The paper's text, from the folder that the environment variable DICEBOOK_PAPER names."""
    path = Path(os.environ.get("DICEBOOK_PAPER", "")) / name
    if not path.is_file():
        pytest.skip(f"DICEBOOK_PAPER names no folder with the paper's text, {name}")
    return path.read_text(encoding="utf-8")


@pytest.fixture(params=["final.txt", "v2.md"])
def text(request: pytest.FixtureRequest) -> str:
    return text_of(request.param)


@pytest.fixture
def final() -> str:
    return text_of("final.txt")


def cells(number: int) -> Counter[str]:
    return Counter(cell for row in paper.table(number).rows for cell in row.printed.values())


@pytest.mark.parametrize("number", PLACES)
def test_the_final_tables_hold_these_numbers_and_no_others(number: int, final: str) -> None:
    begin, end = PLACES[number]
    start = final.index(begin)
    printed = final[start : final.index(end, start)]
    # What looks like a number but is part of a name.
    names = r"\(.*?et al\., \d+b?\)|\([A-Z][^()]*?\d{4}\)|CoNLL ?\S+|OntoNotes\s?\S+|CTB\d|UD1\.4"
    names += r"|SQuAD v?\S+|SST-\d|α = 0\.\d|Onto4\.0|F1"
    assert Counter(NUMBER.findall(re.sub(names, " ", printed))) == cells(number)


@pytest.mark.parametrize("number", PLACES)
def test_rows_stand_in_the_final_text_in_this_order(number: int, final: str) -> None:
    """A model's cells follow each other in print: the right numbers are in the right row."""
    begin, end = PLACES[number]
    start = final.index(begin)
    printed = final[start : final.index(end, start)]
    rows = paper.table(number).rows
    for model in {row.model for row in rows if row.model}:
        for row in (row for row in rows if row.model == model):
            scores = [row.printed[c] for c in ("precision", "recall") if c in row.printed]
            scores += [row.printed["em"]] if "em" in row.printed else []
            scores += [row.printed[c] for c in ("f1", "accuracy") if c in row.printed]
            line = rf"^{re.escape(model)}\s?(?:\([^)]*\d{{4}}b?\))?[ \d.()+-]*?"
            line += r"\s".join(rf"{re.escape(s)}" for s in scores) if scores else ""
            assert re.search(line, printed, re.MULTILINE), (number, row)


def test_the_file_is_packaged_and_holds_no_unknown_column() -> None:
    text = resources.files("dicelab.records").joinpath("paper_tables.tsv").read_text("utf-8")
    header, *lines = text.splitlines()
    names = ["table", "corpus", "variant", "model", "source", "backbone", "loss", *paper.CELLS]
    assert header.split("\t") == names
    assert {line.count("\t") for line in lines} == {len(names) - 1}


def test_gains_are_differences_to_the_baseline_but_for_three() -> None:
    """A second oracle for the transcription: 87 of 90 printed gains follow from the scores."""
    off, gains = [], 0
    for number in (3, 4, 5, 6, 7, 8):
        for row in paper.table(number).rows:
            for cell, gain in (("f1", "delta"), ("em", "delta_em")):
                if gain in row.printed:
                    base = paper.table(number).baseline(row)
                    difference = round(row.value(cell) - base.value(cell), 2)
                    gains += 1
                    if difference != row.value(gain):
                        off.append((number, row.corpus, row.model, difference))
    assert gains == 90
    assert off == [
        (5, "conll03", "BERT-MRC+FL", 0.07),
        (5, "conll03", "BERT-MRC+DL", 0.13),
        (7, "qqp", "XLNet+DSC", 0.80),
    ]


def test_values_and_their_rounding() -> None:
    conll, ontonotes, _, _, quoref = paper.table(1).rows
    assert (conll.value("negatives"), ontonotes.value("negatives")) == (170e3, 1.96e6)
    assert conll.bounds("negatives") == (169500, 170500)
    assert ontonotes.bounds("negatives") == pytest.approx((1.955e6, 1.965e6))
    assert quoref.bounds("ratio") == (168.5, 169.5)
    assert quoref.f1 is None
    cvt = paper.table(5).rows[1]
    assert (cvt.model, cvt.source, cvt.f1) == ("CVT", "Clark et al., 2018", 92.6)
    assert cvt.bounds("f1") == pytest.approx((92.55, 92.65))
    with pytest.raises(ValueError, match="no precision printed"):
        cvt.bounds("precision")
    with pytest.raises(ValueError, match="unknown cell 'f2'; expected one of negatives"):
        cvt.value("f2")
    assert paper.table(4).rows[5].backbone == "FastText+CNN+CRF"


def test_a_row_is_found_by_corpus_model_loss_and_variant() -> None:
    """A second reading of the file: whatever is asked for by name is the line with that name."""
    text = resources.files("dicelab.records").joinpath("paper_tables.tsv").read_text("utf-8")
    for line in csv.DictReader(text.splitlines(), delimiter="\t"):
        found = paper.table(int(line["table"])).row(
            line["corpus"], line["backbone"], line["loss"], line["variant"]
        )
        assert found is not None
        if line["loss"]:
            assert (found.model, found.printed.get("f1", "")) == (line["model"], line["f1"])
    assert paper.table(5).row("conll03", "BERT-MRC", "ce").f1 == 93.04
    assert paper.table(5).row("conll03", "BERT-Tagger", "ce").f1 == 92.8
    assert paper.table(5).row("conll03", "BERT-Tagger", "dsc") is None
    assert paper.table(8).row("qqp", "BERT", "ce", "- negative").f1 == 89.73

"""The paper's tables as data: every cell is in the paper, and every cell of the paper is here."""

from __future__ import annotations

import csv
from importlib import resources

import pytest

from dicelab.records import paper


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

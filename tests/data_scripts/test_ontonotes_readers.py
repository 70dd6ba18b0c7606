"""The readers of OntoNotes, on small files of our own in its formats."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutated_files import mutated, written

from data_scripts.ontonotes_readers import read_conll2012, read_names
from dicelab.corpora import CorpusError
from dicelab.corpora.text import read_lines


def column_line(number: int, word: str, cell: str) -> str:
    start = f"nw/x/00/x_0001 0 {number} {word} NN (NP*) - - - speaker"
    return f"{start} {cell} (ARG0*) -"


CONLL = "\n".join(
    [
        "#begin document (nw/x/00/x_0001); part 000",
        column_line(0, "New", "(GPE*"),
        column_line(1, "York", "*)"),
        column_line(2, "-LRB-", "*"),
        column_line(3, "1990", "(DATE)"),
        "",
        column_line(0, "A", "(WORK_OF_ART*"),
        column_line(1, "B", "*"),
        column_line(2, "C", "*)"),
        column_line(3, "D", "(ORG)"),
        "#end document",
        "",
    ]
)

NAMES = """<DOC DOCNO="bn/x/00/x_0001@0001@x@bn@zh@on">
<ENAMEX TYPE="GPE">中国 上海</ENAMEX> 的 <ENAMEX TYPE="DATE">今天</ENAMEX> 。
EMPTY
在 <ENAMEX TYPE="ORG" S_OFF="1" E_OFF="2">老北京 大学里的</ENAMEX> 人
</DOC>
"""


def rows(data) -> list[tuple[list[str], list[str]]]:
    return [(row["tokens"], row["tags"]) for row in data]


def test_conll2012(write):
    assert rows(read_conll2012([write(CONLL)])) == [
        (["New", "York", "(", "1990"], ["B-GPE", "I-GPE", "O", "B-DATE"]),
        (
            ["A", "B", "C", "D"],
            ["B-WORK_OF_ART", "I-WORK_OF_ART", "I-WORK_OF_ART", "B-ORG"],
        ),
    ]


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("(DATE)", "(DATE*", 6, "expected ')' for the entity (DATE, got a sentence break"),
        ("(DATE)", "*)", 5, "expected an open entity, got '*)'"),
        ("*) (ARG0*)", "(ORG) (ARG0*)", 3, "expected GPE to be closed, got '(ORG)'"),
        (" (ARG0*) -", "", 2, "expected 12 or more columns, got 11"),
        (" York ", " [WORD] ", 3, "fill the skeleton files in first"),
    ],
)
def test_conll2012_errors(write, old, new, line, message):
    path = write(CONLL.replace(old, new))
    with pytest.raises(CorpusError) as caught:
        read_conll2012([path])
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


def test_names_by_character(write):
    repairs: Counter[str] = Counter()
    data = read_names([write(NAMES)], types={"GPE", "ORG"}, repairs=repairs)
    assert rows(data) == [
        (list("中国上海的今天。"), ["B-GPE", *["I-GPE"] * 3, *["O"] * 4]),
        (list("在老北京大学里的人"), ["O", "O", "B-ORG", *["I-ORG"] * 3, "O", "O", "O"]),
    ]
    assert repairs == {
        "sentences of the word EMPTY left out": 1,
        "entities of other types left out": 1,
    }


def test_no_sentence(write):
    for read in (read_names, read_conll2012):
        with pytest.raises(CorpusError, match="got none"):
            read([write("\n")])
        with pytest.raises(CorpusError, match="got none"):
            read([])


@pytest.mark.parametrize("name", ["columns", "names"])
@given(data=st.data())
@written(300)
def test_a_damaged_file_ends_in_a_value_or_in_corpus_error(name, data, tmp_path):
    sample, read, heads = {
        "columns": (CONLL, read_conll2012, ("#begin doc", "#end doc")),
        "names": (NAMES, read_names, ("<DOC", "</DOC")),
    }[name]
    path, repairs = tmp_path / "a.txt", Counter()
    path.write_bytes(data.draw(mutated(sample)))
    try:
        found = read([path], repairs=repairs)
    except CorpusError:
        return
    kept = [x for x in read_lines(path) if x.strip(" \t\r") and not x.strip().startswith(heads)]
    lines = sum(map(len, found["tokens"])) if name == "columns" else len(found)
    assert lines + repairs["sentences of the word EMPTY left out"] == len(kept)

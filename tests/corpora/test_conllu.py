"""The CoNLL-U reader: words, ranges, empty nodes, errors with file and line, fuzzed files."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from mutated_files import mutated

from dicelab.corpora import CorpusError, read_conllu


def word(number: str, form: str, upos: str = "_", xpos: str = "_") -> str:
    return "\t".join([number, form, "_", upos, xpos, *["_"] * 5])


GOOD = "\n".join(
    [
        "# text = don't go",
        word("1-2", "don't"),
        word("1", "do", "AUX", "VBP"),
        word("2", "n't", "PART", "RB"),
        word("2.1", "eat", "VERB", "VB"),
        word("3", "go", "VERB", "VB"),
        "",
        word("1", "10 000", "NUM", "CD"),
        "",
    ]
)


@pytest.mark.parametrize(
    ("column", "tags"),
    [("upos", [["AUX", "PART", "VERB"], ["NUM"]]), ("xpos", [["VBP", "RB", "VB"], ["CD"]])],
)
def test_words_and_tags(write, column, tags):
    repairs: Counter[str] = Counter()
    data = read_conllu(write(GOOD), column=column, repairs=repairs)
    assert list(data["tokens"]) == [["do", "n't", "go"], ["10 000"]]
    assert list(data["tags"]) == tags
    assert repairs == {"multiword ranges left out": 1, "empty nodes left out": 1}


def test_bom_crlf_and_a_missing_last_line_end(write):
    repairs: Counter[str] = Counter()
    text = ("\ufeff" + GOOD.rstrip("\n")).replace("\n", "\r\n")
    assert list(read_conllu(write(text), repairs=repairs)["tokens"])[1] == ["10 000"]
    assert repairs["byte order mark removed"] == 1
    assert repairs["CRLF line ends"] == text.count("\r\n")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("3\tgo", "4\tgo", 6, "expected the word number 3, got '4'"),
        ("3\tgo\t", "3\tgo ", 6, "expected 10 columns as in line 2, got 9"),
        ("3\tgo\t_\tVERB", "3\tgo\t_\t_", 6, "expected a tag, got none"),
        ("1-2\t", "2-3\t", 2, "expected the word number 1, got '2-3'"),
        ("2.1\t", "7.1\t", 5, "expected the word number 3, got '7.1'"),
    ],
)
def test_an_error_says_where_and_what(write, old, new, line, message):
    assert old in GOOD
    path = write(GOOD.replace(old, new))
    with pytest.raises(CorpusError) as caught:
        read_conllu(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


def test_no_sentence_and_no_such_column(write):
    with pytest.raises(CorpusError, match="expected tagged sentences, got none"):
        read_conllu(write("# nothing\n\n"))
    with pytest.raises(CorpusError, match="expected upos or xpos, got 'lemma'"):
        read_conllu(write(GOOD), column="lemma")  # type: ignore[arg-type]


@settings(max_examples=300, deadline=None)
@given(data=mutated(GOOD))
def test_a_damaged_file_ends_in_a_value_or_in_corpus_error(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "fuzz.conllu"
    path.write_bytes(data)
    try:
        read = read_conllu(path)
    except CorpusError:
        return
    words = re.findall(rb"^\d+\t", data.removeprefix(b"\xef\xbb\xbf"), re.MULTILINE)
    assert sum(map(len, read["tokens"])) == len(words)

"""The CoNLL reader: layouts, schemes, repairs, errors with file and line, fuzzed files."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mutated_files import mutated

from dicelab.corpora import CorpusError, read_conll, write_conll
from dicelab.corpora.conll import UNIVERSAL_NER
from dicelab.corpora.text import decode

GOOD = "Ann\tB-PER\nof\tO\nNew\tB-LOC\nYork\tI-LOC\n\n#ff\tO\n,\tO\n"


def rows(path: Path, **options) -> list[tuple[list[str], list[str]]]:
    data = read_conll(path, **options)
    return list(zip(data["tokens"], data["tags"], strict=True))


EXPECTED = [
    (["Ann", "of", "New", "York"], ["B-PER", "O", "B-LOC", "I-LOC"]),
    (["#ff", ","], ["O", "O"]),
]


def test_the_canonical_form(write):
    assert rows(write(GOOD)) == EXPECTED


@pytest.mark.parametrize(
    ("change", "repair"),
    [
        (lambda t: "\ufeff" + t, "byte order mark removed"),
        (lambda t: t.replace("\n", "\r\n"), "CRLF line ends"),
        (lambda t: t.replace("\n\n", "\n\t\n"), "sentence breaks that are not an empty line"),
        (lambda t: "-DOCSTART-\tO\n\n" + t, "-DOCSTART- lines left out"),
        (
            lambda t: t.replace("B-LOC", "I-LOC"),
            "entities that did not begin with their opening tag",
        ),
    ],
)
def test_what_is_repaired_is_counted(write, change, repair):
    repairs: Counter[str] = Counter()
    assert rows(write(change(GOOD)), repairs=repairs) == EXPECTED
    assert list(repairs) == [repair]


def test_iob1_is_converted_and_is_no_flaw(write):
    iob1 = "a I-PER\nb I-PER\nc B-PER\nd O\n"
    repairs: Counter[str] = Counter()
    assert rows(write(iob1), repairs=repairs)[0][1] == ["B-PER", "I-PER", "B-PER", "O"]
    assert not repairs


def test_other_layouts(write):
    conll03 = "-DOCSTART- -X- -X- O\n\nEU NNP B-NP I-ORG\nrejects VBZ B-VP O\n"
    assert rows(write(conll03)) == [(["EU", "rejects"], ["B-ORG", "O"])]
    assert rows(write(conll03), tag_column=1) == [(["EU", "rejects"], ["NNP", "VBZ"])]
    universal_ner = "# text = 同樣\n1\t同樣\tB-PER\t-\t-\n\n# x\n1\t#\tO\t-\t-\n"
    assert rows(write(universal_ner), **UNIVERSAL_NER) == [(["同樣"], ["B-PER"]), (["#"], ["O"])]
    assert rows(write("x|A\ny|B\n"), separator="|") == [(["x", "y"], ["A", "B"])]


def test_tokens_keep_spaces_and_unicode_separators_within(write):
    text = "1 000\tNUM\na\u2028b\u3000\tX\n\u3000\tPU\n"
    assert rows(write(text)) == [(["1 000", "a\u2028b\u3000", "\u3000"], ["NUM", "X", "PU"])]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (GOOD.replace("of\tO", "of"), 2, "expected 2 columns as in line 1, got 1: 'of'"),
        (GOOD.replace("of\tO", "\tO"), 2, "expected a token, got none"),
        (GOOD.replace("of\tO", "of\t"), 2, "expected a tag, got none"),
        (GOOD.replace("of\tO", "of\tB_PER"), 2, "got 'B_PER'"),
        (GOOD.replace("of\tO", "o\0f\tO"), 2, "expected plain text"),
        (GOOD.replace("of\tO\n", "of\tO\r"), 2, "expected plain text"),
        ("", 0, "expected tagged sentences, got none"),
    ],
)
def test_an_error_says_where_and_what(write, text, line, message):
    path = write(text)
    with pytest.raises(CorpusError) as caught:
        read_conll(path)
    where = f"{path}:{line}: " if line else f"{path}: "
    assert str(caught.value).startswith(where)
    assert message in str(caught.value)


def test_a_column_that_is_not_there(write):
    with pytest.raises(CorpusError, match="expected 4 or more columns, got 2"):
        read_conll(write(GOOD), tag_column=3)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(CorpusError, match="expected a readable file; No such file"):
        read_conll(tmp_path / "none.conll")
    with pytest.raises(CorpusError, match="expected a readable file"):
        read_conll(tmp_path)


def test_comments_are_an_option(write):
    text = "# a comment\n" + GOOD.replace("#ff", "ff")
    with pytest.raises(CorpusError, match="columns"):
        read_conll(write(text))
    assert len(rows(write(text), comments=True)) == 2


TOKEN = (
    st.text(min_size=1, max_size=5)
    .filter(lambda t: t == t.strip(" ") and t != "-DOCSTART-" and not set(t) & set("\t\n\r\0"))
    .filter(lambda t: t.encode("utf-8", "ignore").decode() == t)
)
SENTENCES = st.lists(
    st.lists(st.tuples(TOKEN, st.sampled_from(["NN", "B", "X-Y", "-LRB-"])), min_size=1), min_size=1
)


@settings(deadline=None)
@given(SENTENCES)
def test_what_is_written_reads_back(tmp_path_factory, sentences):
    path = tmp_path_factory.mktemp("round") / "a.conll"
    made = [{"tokens": [t for t, _ in s], "tags": [g for _, g in s]} for s in sentences]
    # A byte order mark at the very start of a file cannot be told from a token's first character.
    made[0]["tokens"][0] = made[0]["tokens"][0].lstrip("\ufeff") or "x"
    # Nor a corpus of such tokens alone from one whose characters carry their place in the word.
    assume(any(not re.fullmatch(r".[0-9]", t, re.DOTALL) for s in made for t in s["tokens"]))
    write_conll(made, path)
    assert read_conll(path).to_list() == made


@pytest.mark.parametrize("token", ["", "a\tb", "a\nb", " a", "-DOCSTART-", "a\rb"])
def test_what_would_not_read_back_is_not_written(tmp_path, token):
    with pytest.raises(CorpusError, match="expected a token or tag"):
        write_conll([{"tokens": [token], "tags": ["O"]}], tmp_path / "a.conll")


@settings(max_examples=300, deadline=None)
@given(data=mutated(GOOD + "\n" + GOOD))
def test_a_damaged_file_ends_in_a_value_or_in_corpus_error(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "fuzz.conll"
    path.write_bytes(data)
    try:
        read = rows(path)
    except CorpusError:
        return
    lines = decode(data, path)[0].split("\n")
    kept = [x for x in lines if x.strip(" \t\r") and not x.startswith("-DOCSTART-")]
    assert sum(len(tokens) for tokens, _ in read) == len(kept)  # nothing is lost silently

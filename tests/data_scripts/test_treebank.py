"""The reader of treebanks, on small trees of our own in the formats of LDC."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from mutated_files import mutated

from data_scripts.treebanks import read_treebank
from dicelab.corpora import CorpusError
from dicelab.corpora.text import decode

ENGLISH = r"""
( (S
    (NP-SBJ-1 (DT The) (NN dog) (-LRB- -LRB-) (NNP Rex) (-RRB- -RRB-) )
    (VP (VBZ wants)
      (S (NP-SBJ (-NONE- *-1) )
        (VP (TO to) (VP (VB eat) (NP (CD 1\/2) (NN M\*A) )))))
    (. .) ))
( (NP (-NONE- *) ))
((X (UH Yes)) )
"""

CHINESE = """<DOC>
<DOCID> FIXTURE </DOCID>
<BODY>
<S ID=1>
( (IP (NP-SBJ (NR-SHORT 沪) (NN 狗))
      (VP (VV 吃) (NP-OBJ (-NONE- *pro*)) (PU <)
          (PU 。)) ) )
</S>
</BODY>
</DOC>
"""


def rows(data) -> list[list[tuple[str, str]]]:
    return [list(zip(r["tokens"], r["tags"], strict=True)) for r in data]


def test_english_words_tags_and_traces(write):
    repairs: Counter[str] = Counter()
    data = read_treebank([write(ENGLISH)], repairs=repairs)
    assert rows(data) == [
        [
            ("The", "DT"),
            ("dog", "NN"),
            ("(", "-LRB-"),
            ("Rex", "NNP"),
            (")", "-RRB-"),
            ("wants", "VBZ"),
            ("to", "TO"),
            ("eat", "VB"),
            ("1/2", "CD"),
            ("M*A", "NN"),
            (".", "."),
        ],
        [("Yes", "UH")],
    ]
    assert repairs == {"traces left out": 2, "sentences of traces alone left out": 1}


def test_chinese_markup_and_suffixes(write):
    repairs: Counter[str] = Counter()
    data = read_treebank([write(CHINESE)], repairs=repairs)
    assert rows(data) == [[("沪", "NR"), ("狗", "NN"), ("吃", "VV"), ("<", "PU"), ("。", "PU")]]
    assert repairs["functional suffixes cut off tags"] == 1


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("( (NP (NN a) )\n", 1, "expected ')' for the bracket of line 1, got the end"),
        ("( (NP (NN a) ))\n )", 2, "expected '(', got ')'"),
        ("( (NP\n (NN a b) ))", 2, "expected (label word), got (NN a b)"),
        ("( (NP (NN a) b))", 1, "expected '(' or ')' in a phrase, got 'b'"),
        ("( (NP\n</S>\n (NN a)))", 2, "expected ')' for the bracket of line 1, got '</S>'"),
        ("<DOC>\n</DOC>", 0, "expected bracketed trees, got none"),
    ],
)
def test_an_error_says_where_and_what(write, text, line, message):
    path = write(text)
    with pytest.raises(CorpusError) as caught:
        read_treebank([path])
    assert str(caught.value).startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert message in str(caught.value)


def test_depth_has_no_limit(write):
    deep = "(X " * 20_000 + "(NN a)" + ")" * 20_000
    assert rows(read_treebank([write(deep)])) == [[("a", "NN")]]


@settings(max_examples=300, deadline=None)
@given(data=mutated(CHINESE + ENGLISH))
def test_a_damaged_file_ends_in_a_value_or_in_corpus_error(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "fuzz.mrg"
    path.write_bytes(data)
    repairs: Counter[str] = Counter()
    try:
        read = read_treebank([path], repairs=repairs)
    except CorpusError:
        return
    innermost = re.findall(r"\([^()]*\)", decode(data, path)[0])
    words = sum(map(len, read["tokens"])) + repairs["traces left out"]
    assert words == len(innermost)  # nothing is lost silently

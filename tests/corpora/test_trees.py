"""The reader of sentiment trees."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutated_files import mutated, outcome, written

from dicelab.corpora import CorpusError
from dicelab.corpora.features import FORMS
from dicelab.corpora.trees import NEUTRAL, UNESCAPED, read_trees

TREES = (
    "(3 (2 It) (4 (3 works) (2 .)))\n"
    "(2 (2 -LRB-) (2 (2 a\\/b) (2 -RRB-)))\n"
    "\n"
    "(0 (1 Not) (0 good))\r\n"
)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "trees.txt"
    path.write_bytes(TREES.encode())
    return path


def test_five_classes_with_escapes_undone(path):
    repairs: Counter[str] = Counter()
    rows = read_trees(path, repairs)
    assert rows.features == FORMS["sentences"]
    assert rows.to_list() == [
        {"sentence": "It works .", "label": 3},
        {"sentence": "( a/b )", "label": 2},
        {"sentence": "Not good", "label": 0},
    ]
    assert repairs == {UNESCAPED: 3, "blank lines skipped": 1, "CRLF line ends": 1}


def test_two_classes_leave_out_the_neutral(path):
    repairs: Counter[str] = Counter()
    rows = read_trees(path, repairs, classes=2)
    assert rows.to_list() == [
        {"sentence": "It works .", "label": 1},
        {"sentence": "Not good", "label": 0},
    ]
    assert repairs[NEUTRAL] == 1


def test_no_tree_is_too_deep(tmp_path):
    path = tmp_path / "deep.txt"
    path.write_text("(1 " * 50_000 + "deep" + ")" * 50_000 + "\n")
    assert read_trees(path).to_list() == [{"sentence": "deep", "label": 1}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "trees.txt: expected labelled trees, got none"),
        ("(2 a)\n(3 (2 b)\n", r"trees.txt:2: expected '\)' for the bracket of line 2, got the end"),
        ("(2 a))\n", r"trees.txt:1: expected '\(', got '\)'"),
        ("(2 a) (2 b)\n", "trees.txt:1: expected one tree a line, got 2"),
        ("word\n", r"trees.txt:1: expected '\(', got 'word'"),
        ("(5 a)\n", r"trees.txt:1: expected a label of 0, 1, 2, 3, 4 after '\(', got '5 a'"),
        ("(2)\n", r"trees.txt:1: expected \(label word\), got \(2\)"),
        ("(2 (2 a) b)\n", r"expected '\(' or '\)' in a phrase, got 'b'"),
    ],
)
def test_a_wrong_tree_is_reported_with_its_line(tmp_path, text, message):
    path = tmp_path / "trees.txt"
    path.write_text(text)
    with pytest.raises(CorpusError, match=message):
        read_trees(path)


def test_a_wrong_number_of_classes(path):
    with pytest.raises(CorpusError, match=r"expected 5 \(SST-5\) or 2 \(SST-2\), got 3"):
        read_trees(path, classes=3)


words = st.text(
    st.characters(exclude_categories=["C", "Z"], exclude_characters="()\\-"), min_size=1
)
labels = st.integers(0, 4)
trees = st.recursive(
    st.tuples(labels, words), lambda node: st.tuples(labels, st.lists(node, min_size=1, max_size=3))
)


def bracketed(tree) -> str:
    label, inside = tree
    inside = inside if isinstance(inside, str) else " ".join(map(bracketed, inside))
    return f"({label} {inside})"


def leaves(tree) -> list[str]:
    return (
        [tree[1]]
        if isinstance(tree[1], str)
        else [word for node in tree[1] for word in leaves(node)]
    )


@given(drawn=st.lists(trees, min_size=1, max_size=4))
@written(80)
def test_any_tree_is_read(drawn, tmp_path):
    path = tmp_path / "trees.txt"
    path.write_text("".join(bracketed(tree) + "\n" for tree in drawn), encoding="utf-8")
    rows = read_trees(path)
    assert rows["sentence"] == [" ".join(leaves(tree)) for tree in drawn]
    assert rows["label"] == [tree[0] for tree in drawn]


@given(data=mutated(TREES))
@written(200)
def test_a_damaged_file_ends_in_a_value_or_in_a_corpus_error(data, tmp_path):
    path = tmp_path / "trees.txt"
    path.write_bytes(data)
    assert outcome(read_trees, path, "sentences").startswith(("read", str(path)))

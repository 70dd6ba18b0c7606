"""The readers of tables: pairs and single sentences with a label."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutated_files import mutated, outcome, written

from dicelab.corpora import CorpusError
from dicelab.corpora.delimited import EMPTY, FRAGMENTS, read_pairs
from dicelab.corpora.features import FORMS

MRPC = (
    "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
    '1\t7\t8\t"We won", he said.\tHe said they won."\r\n'
    '0\t9\t10\tShares rose 5%.\t"Shares fell 5%.\r\n'
)
QQP = (
    "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
    "0\t1\t2\tHow do I cook rice?\tHow is rice cooked?\t1\n"
    "1\t3\t4\tWhat is a whale?\tWhat is a quail?\t0\n"
)


def save(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_mrpc_with_byte_order_mark_crlf_and_quotes_that_nothing_closes(tmp_path):
    repairs: Counter[str] = Counter()
    rows = read_pairs(save(tmp_path, "train.txt", MRPC), repairs)
    assert rows.features == FORMS["pairs"]
    assert rows.to_list() == [
        {"sentence1": '"We won", he said.', "sentence2": 'He said they won."', "label": 1},
        {"sentence1": "Shares rose 5%.", "sentence2": '"Shares fell 5%.', "label": 0},
    ]
    assert repairs == {"byte order mark removed": 1, "CRLF line ends": 3}


def test_fragments_of_broken_rows_are_an_error_or_counted(tmp_path):
    broken = QQP + "2\t5\t6\tIs this\nbroken?\tYes?\t1\n3\t7\t8\tAnd this?\t\t0\n\n"
    path = save(tmp_path, "train.tsv", broken)
    with pytest.raises(
        CorpusError, match=r"train.tsv:4: expected 6 columns, as in the first line, got 4"
    ):
        read_pairs(path)
    repairs: Counter[str] = Counter()
    rows = read_pairs(path, repairs, lenient=True)
    assert rows["sentence1"] == ["How do I cook rice?", "What is a whale?", "And this?"]
    assert repairs == {FRAGMENTS: 2, EMPTY: 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.tsv: expected pairs of sentences, got an empty file"),
        ("sentence1\tsentence2\tlabel\n", "x.tsv: expected pairs of sentences, got none"),
        ("a\tb\n", r"x.tsv:1: expected a header with sentence1 \(or .*; got a, b"),
        ("sentence1\tquestion1\tlabel\n", "expected a header with sentence1 .*, once each"),
        (QQP + "a\tb\t1\n", "x.tsv:4: expected 6 columns, as in the first line, got 3"),
        (QQP.replace("1\n", "-1\n"), "x.tsv:2: expected as label 0 or 1, got '-1'"),
        ("1\ta\t \t7\n", "x.tsv:1: expected two sentences, got an empty one"),
    ],
)
def test_a_wrong_file_is_reported_with_its_line(tmp_path, text, message):
    with pytest.raises(CorpusError, match=message):
        read_pairs(save(tmp_path, "x.tsv", text))


def test_bytes_that_are_no_utf_8(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_bytes(QQP.encode() + b"a\tb\tc\td\xe9\te\t1\n")
    with pytest.raises(CorpusError, match=r"x.tsv:4: expected utf-8 text, got byte 0xe9"):
        read_pairs(path)
    repairs: Counter[str] = Counter()
    assert read_pairs(path, repairs, errors="replace")["sentence1"][-1] == "d\ufffd"
    assert repairs == {"characters that are not in the encoding": 1}


SAMPLES = {"mrpc.txt": MRPC, "qqp.tsv": QQP}


@pytest.mark.parametrize("name", SAMPLES)
@given(data=st.data(), lenient=st.booleans())
@written(80)
def test_a_damaged_file_ends_in_a_value_or_in_a_corpus_error(name, data, lenient, tmp_path):
    path = tmp_path / name
    path.write_bytes(data.draw(mutated(SAMPLES[name])))
    read = partial(read_pairs, lenient=lenient)
    assert outcome(read, path, "pairs").startswith(("read", str(path)))

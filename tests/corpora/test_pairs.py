"""The readers of tables: pairs and single sentences with a label."""

from __future__ import annotations

import csv
import io
import json
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


def test_qqp(tmp_path):
    rows = read_pairs(save(tmp_path, "train.tsv", QQP))
    assert rows["sentence1"] == ["How do I cook rice?", "What is a whale?"]
    assert rows["label"] == [1, 0]


def test_fragments_of_broken_rows_are_an_error_or_counted(tmp_path):
    broken = QQP + "2\t5\t6\tIs this\nbroken?\tYes?\t1\n3\t7\t8\tAnd this?\t\t0\n\n"
    path = save(tmp_path, "train.tsv", broken)
    with pytest.raises(CorpusError, match=r"train.tsv:4: expected 6 columns, as in line 1, got 4"):
        read_pairs(path)
    repairs: Counter[str] = Counter()
    rows = read_pairs(path, repairs, lenient=True)
    assert rows["sentence1"] == ["How do I cook rice?", "What is a whale?", "And this?"]
    assert repairs == {FRAGMENTS: 2, EMPTY: 1}


def test_quoting_is_used_in_tab_separated_files_when_asked_for(tmp_path):
    rows = [["sentence1", "sentence2", "label"], ['say "a\tb"', "line\nend", "1"], ["x", "y", "0"]]
    text = io.StringIO(newline="")
    csv.writer(text, "excel-tab").writerows(rows)
    read = read_pairs(save(tmp_path, "train.tsv", text.getvalue()), quoting=True)
    assert read[0] == {"sentence1": 'say "a\tb"', "sentence2": "line\nend", "label": 1}
    # Unasked, where quotes enclose fields for no reason and not in each row, they are text.
    plain = save(tmp_path, "plain.tsv", '"a"\t"b"\t1\nc\td\t0\ne\tf\t0\n')
    assert read_pairs(plain)[0]["sentence1"] == '"a"'


def test_csv_is_quoted_unless_told_otherwise(tmp_path):
    path = save(tmp_path, "x.csv", 'label,text_b,text_a\n1,"b, ""c""",a\n')
    assert read_pairs(path)[0] == {"sentence1": "a", "sentence2": 'b, "c"', "label": 1}
    with pytest.raises(CorpusError, match=r"x.csv:2: expected 3 columns.* got 4"):
        read_pairs(path, quoting=False)


def test_errors_after_a_quoted_line_end_count_lines_of_the_file(tmp_path):
    path = save(tmp_path, "x.csv", 'sentence1,sentence2,label\n"a\nb",c,1\nd,e,2\n')
    with pytest.raises(CorpusError, match=r"x.csv:4: expected as label 0 or 1, got '2'"):
        read_pairs(path)


def test_json_lines(tmp_path):
    lines = [{"id": 1, "sentence1": "ä\tb", "sentence2": "c", "label": 1}]
    lines += [{"question1": "d", "question2": "", "is_duplicate": "0"}]
    path = save(tmp_path, "x.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    assert read_pairs(path).to_list() == [
        {"sentence1": "ä\tb", "sentence2": "c", "label": 1},
        {"sentence1": "d", "sentence2": "", "label": 0},
    ]


def test_a_table_without_header_has_its_columns_in_order(tmp_path):
    assert read_pairs(save(tmp_path, "x.tsv", "a\tb\t1\nc\td\t0\n"))["label"] == [1, 0]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.tsv", "", "x.tsv: expected rows of text and label, got an empty file"),
        (
            "x.tsv",
            "sentence1\tsentence2\tlabel\n",
            "x.tsv:1: expected pairs of sentences, got none",
        ),
        ("x.tsv", "a\tb\n", r"x.tsv:1: expected a header with sentence1 \(or .*; got a, b"),
        ("x.tsv", "sentence1\tquestion1\tlabel\n", "expected one column for sentence1, got two"),
        ("x.tsv", "a\tb\t1\nc\td\n", "x.tsv:2: expected 3 columns, as in line 1, got 2"),
        ("x.tsv", "a\tb\t1\nc\td\t-1\n", "x.tsv:2: expected as label 0 or 1, got '-1'"),
        ("x.tsv", "a\t \t1\n", "x.tsv:1: expected two sentences, got an empty one"),
        ("x.csv", 'a,"b,1\n', "x.csv:1: expected quoted fields, got: unexpected end of data"),
        ("x.jsonl", "{\n", "x.jsonl:1: expected a JSON object, got"),
        (
            "x.jsonl",
            '{"sentence1": 1, "sentence2": "b", "label": 1}\n',
            "x.jsonl:1: expected text in column 'sentence1', got 1",
        ),
        (
            "x.jsonl",
            '{"sentence1": "\\ud800", "sentence2": "b", "label": 1}\n',
            "x.jsonl:1: expected text in column 'sentence1', got a lone surrogate",
        ),
    ],
)
def test_a_wrong_file_is_reported_with_its_line(tmp_path, name, text, message):
    with pytest.raises(CorpusError, match=message):
        read_pairs(save(tmp_path, name, text))


def test_bytes_that_are_no_utf_8(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_bytes(b"a\tb\t1\nc\xe9\td\t0\n")
    with pytest.raises(CorpusError, match=r"x.tsv:2: expected text in .*, got byte 0xe9, which"):
        read_pairs(path)


SAMPLES = {
    "mrpc.txt": MRPC,
    "qqp.tsv": QQP,
    "x.csv": 'sentence1,sentence2,label\n"a, b",c,1\nd,"e\nf",0\n',
    "x.jsonl": '{"sentence1": "a", "sentence2": "b\\u00e9", "label": 1}\n',
}


@pytest.mark.parametrize("name", SAMPLES)
@given(data=st.data(), lenient=st.booleans(), quoting=st.sampled_from([None, False, True]))
@written(80)
def test_a_damaged_file_ends_in_a_value_or_in_a_corpus_error(
    name, data, lenient, quoting, tmp_path
):
    path = tmp_path / name
    path.write_bytes(data.draw(mutated(SAMPLES[name])))
    read = partial(read_pairs, lenient=lenient, quoting=quoting)
    assert outcome(read, path, "pairs").startswith(("read", str(path)))

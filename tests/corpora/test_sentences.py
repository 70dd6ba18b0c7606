"""The reader of labelled sentences; the tables themselves are tested with the pairs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutated_files import outcome, written

from dicelab.corpora import CorpusError, read_file
from dicelab.corpora.features import FORMS


def save(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def read(path: Path) -> list[dict[str, object]]:
    rows = read_file(path, task="sentences")
    assert rows.features == FORMS["sentences"]
    return rows.to_list()


def test_a_table_with_header_in_any_order(tmp_path):
    rows = read(save(tmp_path, "x.tsv", "label\tsentence\n1\tgood\n0\tbad\n"))
    assert rows == [{"sentence": "good", "label": 1}, {"sentence": "bad", "label": 0}]


def test_other_forms(tmp_path):
    good = [{"sentence": "a good, one", "label": 1}, {"sentence": "no, no", "label": 0}]
    headerless = "".join(f"some text, {i}\t{i % 2}\n" for i in range(9))
    assert read(save(tmp_path, "x.tsv", headerless))[1] == {"sentence": "some text, 1", "label": 1}
    assert read(save(tmp_path, "x.csv", 'text,label\n"a good, one",1\n"no, no",0\n')) == good
    objects = '{"text": "a good, one", "label": 1}\n{"text": "no, no", "label": 0}\n'
    assert read(save(tmp_path, "x.jsonl", objects)) == good


@pytest.mark.parametrize(
    ("labels", "numbers"),
    [
        (["fine", "spam", "fine"], [0, 1, 0]),  # the positive one by its name
        (["a", "a", "b"], [0, 0, 1]),  # the rarer
        (["2", "1", "2"], [0, 1, 0]),
        (["-1", "1", "1"], [0, 1, 1]),
        (["4", "0", "0"], [1, 0, 0]),
        (["10", "9", "2"], [2, 1, 0]),  # by value
        (["c", "b", "a"], [2, 1, 0]),
        (["0", "0", "0"], [0, 0, 0]),
        (["1", "1", "1"], [1, 1, 1]),  # with no 0 among these rows, 1 is still 1
    ],
)
def test_labels_become_numbers(tmp_path, labels, numbers):
    text = "text,label\n" + "".join(f"some text {i},{label}\n" for i, label in enumerate(labels))
    assert [row["label"] for row in read(save(tmp_path, "x.csv", text))] == numbers


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected rows of text and label, got an empty file"),
        ("sentence\tlabel\n", "expected rows of text and label, got none"),
        (
            "text\tlabel\n" + "good\t1\nbad\t0\n" * 5 + "bad\n",
            "x.tsv:12: expected 2 columns, as in line 1, got 1",
        ),
        ("sentence\tlabel\ngood\t1\n \t0\n", "x.tsv:3: expected text in column 'sentence'"),
        ("sentence\tlabel\ngood\t\n", "x.tsv:2: expected a label in column 'label', got none"),
        ("headline\tstars\tyear\n", "x.tsv: expected"),
    ],
)
def test_a_wrong_file_is_reported_with_its_line(tmp_path, text, message):
    with pytest.raises(CorpusError, match=message):
        read(save(tmp_path, "x.tsv", text))


@given(content=st.binary(max_size=40) | st.text('sentence,label\t\n"01{}:ä', max_size=40))
@written(200)
@pytest.mark.parametrize("name", ["x.tsv", "x.csv", "x.jsonl"])
def test_any_bytes_end_in_a_value_or_in_a_corpus_error(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    read = partial(read_file, task="sentences")
    assert outcome(read, path, "sentences").startswith(("read", str(path)))

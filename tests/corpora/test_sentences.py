"""The reader of labelled sentences; the tables themselves are tested with the pairs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dicelab.corpora import CorpusError, validate
from dicelab.corpora.delimited import read_sentences
from dicelab.corpora.forms import FORMS


def save(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_a_table_with_header_in_any_order(tmp_path):
    rows = read_sentences(save(tmp_path, "x.tsv", "label\tsentence\n4\tgood\n0\tbad\n"))
    assert rows.features == FORMS["sentences"]
    assert rows.to_list() == [{"sentence": "good", "label": 4}, {"sentence": "bad", "label": 0}]


def test_other_forms(tmp_path):
    assert read_sentences(save(tmp_path, "x.tsv", "good\t1\n"))["label"] == [1]
    assert read_sentences(save(tmp_path, "x.csv", 'text,label\n"a, b",1\n'))["sentence"] == ["a, b"]
    assert read_sentences(save(tmp_path, "x.jsonl", '{"text": "a", "label": 2}\n'))["label"] == [2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected rows of text and label, got an empty file"),
        ("sentence\tlabel\n", "x.tsv:1: expected rows after the header"),
        ("good\t1\nbad\n", "x.tsv:2: expected 2 columns, as in line 1, got 1"),
        ("good\t1\n \t0\n", "x.tsv:2: expected text in column 'sentence', got none"),
        ("good\t1999\n", "x.tsv:1: expected as label an integer from 0 to 999, got '1999'"),
        ("good\t1.5\n", "x.tsv:1: expected as label an integer"),
        ("good\tpositive\n", "x.tsv:1: expected as label an integer"),
        (
            "utterance\tflag\nfine\t1\n",
            r"a header with sentence \(or.*; got utterance, flag",
        ),
        ("headline\tstars\tyear\n", "x.tsv:1: expected a header with sentence"),
    ],
)
def test_a_wrong_file_is_reported_with_its_line(tmp_path, text, message):
    with pytest.raises(CorpusError, match=message):
        read_sentences(save(tmp_path, "x.tsv", text))


@given(content=st.binary(max_size=40) | st.text('sentence,label\t\n"01{}:ä', max_size=40))
@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@pytest.mark.parametrize("name", ["x.tsv", "x.csv", "x.jsonl"])
def test_any_bytes_end_in_a_value_or_in_a_corpus_error(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def refusal() -> str:
        try:
            rows = read_sentences(path)
        except CorpusError as error:
            return str(error)
        validate(rows, task="sentences")
        return "read"

    assert refusal().startswith(("read", str(path)))

"""The reader of sentences with any number of labels; tables are tested with the pairs."""

from __future__ import annotations

import pytest

from dicelab.corpora import CorpusError, imbalance, load, read_file, to_dataset, validate
from dicelab.corpora.delimited import read_labels
from dicelab.corpora.forms import FORMS


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.tsv", "labels\ttext\nb, a\tHi.\n\tNo.\n"),
        ("x.tsv", "Hi.\tb,a\nNo.\t\n"),
        ("x.csv", 'text,labels\nHi.,"b,a"\nNo.,\n'),
        ("x.jsonl", '{"text": "Hi.", "labels": ["b", "a"]}\n{"text": "No.", "labels": []}\n'),
    ],
)
def test_a_table_or_json_lines(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    rows = read_labels(tmp_path / name)
    assert rows.features == FORMS["labels"]
    assert rows.to_list() == [
        {"sentence": "Hi.", "labels": ["b", "a"]},
        {"sentence": "No.", "labels": []},
    ]
    assert read_file(tmp_path / name, task="labels").to_list() == rows.to_list()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.tsv", "", "expected rows of text and label, got an empty file"),
        ("x.tsv", "Hi.\ta,a\n", "x.tsv:1: expected labels that differ, none of them empty"),
        ("x.tsv", "Hi.\ta,,b\n", "x.tsv:1: expected labels that differ, none of them empty"),
        ("x.tsv", " \ta\n", "x.tsv:1: expected text in column 'sentence', got none"),
        ("x.jsonl", '{"text": "Hi.", "labels": [1]}', "x.jsonl:1: expected a list of labels"),
        ("x.jsonl", '{"text": "Hi.", "labels": {"a": 1}}', "expected a list of labels, got {'a'"),
    ],
)
def test_a_wrong_file_is_reported_with_its_line(tmp_path, name, text, message):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match=message):
        read_labels(tmp_path / name)


def test_the_form_and_the_count():
    rows = to_dataset({"sentence": ["x", "y"], "labels": [["a", "b"], ["a"]]}, task="labels")
    assert validate(rows, task="labels") is rows
    assert imbalance(rows, task="labels") == (1, 3)
    twice = to_dataset({"sentence": ["x"], "labels": [["a", "a"]]}, task="labels")
    with pytest.raises(CorpusError, match="row 0: expected labels that differ"):
        validate(twice, task="labels")


def test_a_file_is_split(tmp_path):
    (tmp_path / "x.tsv").write_text("".join(f"text {i}\ta\n" for i in range(30)))
    corpus = load(tmp_path / "x.tsv", task="labels")
    assert [len(split) for split in corpus.values()] == [24, 3, 3]

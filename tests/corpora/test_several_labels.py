"""The reader of sentences with any number of labels; tables are tested with the pairs."""

from __future__ import annotations

import pytest

from dicelab.corpora import CorpusError, imbalance, load, read_file, to_dataset, validate
from dicelab.corpora.features import FORMS


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.tsv", "labels\ttext\nb, a\tHi you.\n\tNo, no.\na,b\tOh, you.\n"),
        ("x.csv", 'text,labels\nHi you.,"b,a"\n"No, no.",\n"Oh, you.","a,b"\n'),
        (
            "x.jsonl",
            '{"text": "Hi you.", "labels": ["b", "a"]}\n{"text": "No, no.", "labels": []}\n'
            '{"text": "Oh, you.", "labels": ["a", "b"]}\n',
        ),
        (
            "x.json",
            '[{"text": "Hi you.", "labels": ["b", "a"]}, {"text": "No, no.", "labels": null}, '
            '{"text": "Oh, you.", "labels": ["a", "b"]}]',
        ),
    ],
)
def test_a_table_or_json(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    rows = read_file(tmp_path / name, task="labels")
    assert rows.features == FORMS["labels"]
    assert rows.to_list() == [
        {"sentence": "Hi you.", "labels": ["b", "a"]},
        {"sentence": "No, no.", "labels": []},
        {"sentence": "Oh, you.", "labels": ["a", "b"]},
    ]


def test_columns_of_0_and_1(tmp_path):
    (tmp_path / "x.csv").write_text("comment,toxic,insult\nshut up,1,1\nhi you,0,0\nwhy you,0,1\n")
    rows = read_file(tmp_path / "x.csv", task="labels")
    assert rows["labels"][:] == [["toxic", "insult"], [], ["insult"]]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.tsv", "", "expected rows of text and label, got an empty file"),
        ("x.tsv", "text\tlabels\n \ta\n", "x.tsv:2: expected text in column 'text', got none"),
        (
            "x.jsonl",
            '{"text": "Hi.", "labels": {"a": 1}}',
            "'labels' holds {'a': 1}: neither a label",
        ),
    ],
)
def test_a_wrong_file_is_reported_with_its_line(tmp_path, name, text, message):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match=message):
        read_file(tmp_path / name, task="labels")


def test_the_form_and_the_count():
    rows = to_dataset({"sentence": ["x", "y"], "labels": [["a", "b"], ["a"]]}, task="labels")
    assert validate(rows, task="labels") is rows
    assert imbalance(rows, task="labels") == (1, 3)
    twice = to_dataset({"sentence": ["x"], "labels": [["a", "a"]]}, task="labels")
    with pytest.raises(CorpusError, match="row 0: expected labels that differ"):
        validate(twice, task="labels")


def test_a_file_is_split(tmp_path):
    (tmp_path / "x.tsv").write_text("".join(f"text {i}\ta{i % 2}\n" for i in range(30)))
    corpus = load(tmp_path / "x.tsv", task="labels")
    assert [len(split) for split in corpus.values()] == [22, 4, 4]

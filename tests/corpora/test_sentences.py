"""Sentences with a label or with several, as `load` gives them; the forms are tested with `fit`."""

from __future__ import annotations

import pytest

from dicelab.corpora import CorpusError, imbalance, load, read_file, to_dataset, validate
from dicelab.corpora.features import FORMS


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
def test_labels_become_numbers(write, labels, numbers):
    text = "text,label\n" + "".join(f"some text {i},{label}\n" for i, label in enumerate(labels))
    rows = read_file(write(text, "x.csv"), task="sentences")
    assert rows.features == FORMS["sentences"]
    assert rows["label"][:] == numbers


def test_any_number_of_labels(write):
    table = "comment,toxic,insult\nshut up,1,1\nhi you,0,0\nwhy you,0,1\n"
    rows = read_file(write(table, "x.csv"), task="labels")
    assert rows.features == FORMS["labels"]
    assert rows.to_list() == [
        {"sentence": "shut up", "labels": ["toxic", "insult"]},
        {"sentence": "hi you", "labels": []},
        {"sentence": "why you", "labels": ["insult"]},
    ]
    assert imbalance(rows, task="labels") == (3, 3)
    twice = to_dataset({"sentence": ["x"], "labels": [["a", "a"]]}, task="labels")
    with pytest.raises(CorpusError, match="row 0: expected labels that differ"):
        validate(twice, task="labels")
    corpus = load(
        write("".join(f"text {i}\ta{i % 2}\n" for i in range(30)), "x.tsv"), task="labels"
    )
    assert [len(split) for split in corpus.values()] == [22, 4, 4]

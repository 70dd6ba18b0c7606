"""One door to every corpus: names, folders, files, splits drawn by a seed, and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dicelab.corpora import FORMS, CorpusError, imbalance, load, read_file, to_dataset, validate
from dicelab.corpora.drawing import draw
from dicelab.corpora.loading import data_folder


def conll(count: int, start: int = 0) -> str:
    return "".join(f"word{i}\tO\nEnd\tB-X\n\n" for i in range(start, start + count))


@pytest.fixture
def prepared(tmp_path):
    folder = tmp_path / "data" / "wnut17"
    folder.mkdir(parents=True)
    for number, split in enumerate(["train", "validation", "test"]):
        (folder / f"{split}.conll").write_text(conll(3, 10 * number))
    return tmp_path / "data"


def test_a_registered_corpus(prepared, monkeypatch):
    corpus = load("wnut17", task="tagging", root=prepared)
    assert list(corpus) == ["train", "validation", "test"]
    assert corpus["test"]["tokens"][0] == ["word20", "End"]
    assert all(split.features == FORMS["tagging"] for split in corpus.values())
    monkeypatch.setenv("DICEBOOK_DATA", str(prepared))
    assert load("wnut17", task="tagging")["train"].to_list() == corpus["train"].to_list()


def test_a_notebook_in_its_folder_finds_the_corpora_beside_it(prepared, monkeypatch):
    project = prepared.parent
    (project / "notebooks").mkdir()
    monkeypatch.chdir(project / "notebooks")
    monkeypatch.delenv("DICEBOOK_DATA", raising=False)
    assert data_folder() == Path("../data")
    assert len(load("wnut17", task="tagging")["train"]) == 3
    (project / "notebooks" / "data").mkdir()
    assert data_folder() == Path("data")


def test_a_registered_corpus_that_is_missing_names_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DICEBOOK_DATA", raising=False)
    with pytest.raises(CorpusError, match=r"run: dicebook data wnut17 --out data$"):
        load("wnut17", task="tagging")


def test_a_half_written_corpus_is_missing(prepared):
    (prepared / "wnut17" / "validation.conll").unlink()
    with pytest.raises(CorpusError, match="run: dicebook data wnut17"):
        load("wnut17", task="tagging", root=prepared)
    (prepared / "wnut17" / "card.json").write_text("{}")  # its script finished: no such split
    (prepared / "wnut17" / "train.conll").write_text(conll(20))
    assert len(load("wnut17", task="tagging", root=prepared)["validation"]) == 2


def test_the_task_must_fit(tmp_path):
    with pytest.raises(CorpusError, match="'squad11' is a corpus for reading, not for tagging"):
        load("squad11", task="tagging")
    (tmp_path / "a.docx").write_text("{}")
    with pytest.raises(CorpusError, match=r"a\.docx: expected a token a line"):
        load(tmp_path / "a.docx", task="tagging")
    (tmp_path / "a.json").write_text('[{"text": "a b", "label": 1}]')
    with pytest.raises(CorpusError, match=r"expected a token a line .* columns 'text', 'label'"):
        load(tmp_path / "a.json", task="tagging")


def test_one_file_is_split_by_the_seed(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text(conll(40))
    corpus = load(path, task="tagging", seed=1)
    assert [len(split) for split in corpus.values()] == [28, 6, 6]
    tokens = [row[0] for split in corpus.values() for row in split["tokens"]]
    assert sorted(tokens) == sorted(f"word{i}" for i in range(40))  # each once, none lost
    again, other = load(path, task="tagging", seed=1), load(path, task="tagging", seed=2)
    assert again["test"].to_list() == corpus["test"].to_list() != other["test"].to_list()


def test_a_folder_of_the_readers_own(tmp_path):
    (tmp_path / "en_x-ud-train.conllu").write_text(
        "".join(f"1\tw{i}\t_\tNOUN{'	_' * 6}\n\n" for i in range(20))
    )
    (tmp_path / "en_x-ud-dev.conllu").write_text(f"1\tdev\t_\tVERB{'	_' * 6}\n")
    (tmp_path / "README.md").write_text("no corpus")
    corpus = load(tmp_path, task="tagging")
    assert corpus["validation"].to_list() == [{"tokens": ["dev"], "tags": ["VERB"]}]
    assert (len(corpus["train"]), len(corpus["test"])) == (17, 3)
    (tmp_path / "train.conll").write_text(conll(1))
    with pytest.raises(CorpusError, match="expected one file for train, got"):
        load(tmp_path, task="tagging")


def test_universal_ner_files_are_known_by_their_suffix(tmp_path):
    path = tmp_path / "mine.iob2"
    path.write_text("".join(f"# text = w{i}\n1\tw{i}\tB-PER\t-\t-\n\n" for i in range(20)))
    assert load(path, task="tagging")["test"]["tags"][0] == ["B-PER"]


def test_questions_on_one_paragraph_stay_together(tmp_path):
    def paragraph(number: int) -> dict:
        qas = [
            {"id": f"{number}-{k}", "question": "?", "answers": [{"text": "a", "answer_start": 0}]}
            for k in range(3)
        ]
        return {"context": f"a {number}", "qas": qas}

    article = {"title": "t", "paragraphs": [paragraph(i) for i in range(20)]}
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"version": "1.1", "data": [article]}))
    corpus = load(path, task="reading")
    contexts = [set(split["context"]) for split in corpus.values()]
    assert [len(split) for split in corpus.values()] == [48, 6, 6]
    assert len(set.union(*contexts)) == sum(map(len, contexts)) == 20


def test_forms_are_checked():
    with pytest.raises(CorpusError, match="expected the columns tokens, tags, got tokens"):
        to_dataset({"tokens": []}, task="tagging")
    with pytest.raises(CorpusError, match="do not have the expected form"):
        to_dataset({"tokens": [["a"]], "tags": [3]}, task="tagging")
    wrong = to_dataset({"tokens": [["a"], ["a", "b"]], "tags": [["O"], ["O"]]}, task="tagging")
    with pytest.raises(CorpusError, match="row 1: expected a tag a token"):
        validate(wrong, task="tagging")
    label = to_dataset({"sentence": ["a"], "label": [-1]}, task="sentences")
    with pytest.raises(CorpusError, match="row 0: expected a label of 0 or more, got -1"):
        validate(label, task="sentences")
    with pytest.raises(CorpusError, match="pairs: expected"):
        validate(label, task="pairs")
    answers = {"text": ["b"], "answer_start": [0]}
    row = {"id": ["1"], "title": [""], "context": ["ab"], "question": ["?"], "answers": [answers]}
    with pytest.raises(CorpusError, match="row 0: expected 'b' at offset 0, got 'a'"):
        validate(to_dataset(row, task="reading"), task="reading")


def test_words_as_labels_of_pairs_and_of_sentences(tmp_path):
    pairs = [
        ("paraphrase" if i % 4 == 0 else "other", f"what is {i}?", f"so {i}?") for i in range(40)
    ]
    table = "label,one,two\n" + "".join(f"{label},{a},{b}\n" for label, a, b in pairs)
    (tmp_path / "pairs.csv").write_text(table)
    said: list[str] = []
    corpus = load(tmp_path / "pairs.csv", task="pairs", say=said.append)
    found = [row for split in corpus.values() for row in split.to_list()]
    assert sorted((r["label"], r["sentence1"], r["sentence2"]) for r in found) == sorted(
        (int(label == "paraphrase"), a, b) for label, a, b in pairs
    )
    assert "The classes: 0 is 'other' (30), 1 is 'paraphrase' (10)." in said
    assert not any("--" in line for line in said)
    assert all(sum(split["label"]) for split in corpus.values())
    with pytest.raises(
        CorpusError, match=r"expected to tell which column is the text.*In a chapter"
    ):
        load(tmp_path / "pairs.csv", task="sentences")


def test_a_task_that_a_file_is_not_for(tmp_path):
    three = "premise,hypothesis,label\n" + "".join(
        f"text {i},other {i},{'abc'[i % 3]}\n" for i in range(30)
    )
    (tmp_path / "three.csv").write_text(three)
    with pytest.raises(CorpusError, match="expected pairs of two classes, got 3: a, b, c"):
        load(tmp_path / "three.csv", task="pairs")
    (tmp_path / "one.csv").write_text("text,label\n" + "".join(f"text {i},x\n" for i in range(30)))
    with pytest.raises(CorpusError, match="expected two classes in train, got 'x' alone"):
        load(tmp_path / "one.csv", task="sentences")


@pytest.mark.parametrize(
    ("rows", "positives", "held", "of_positives"),
    [(1_000, 100, 150, 15), (100_000, 20_000, 5_000, 1_000), (100_000, 1_000, 10_000, 100)],
)
def test_of_many_rows_a_drawn_split_gets_no_more_than_it_needs(rows, positives, held, of_positives):
    notes: list[str] = []
    made = [{"sentence": f"row {n}", "label": str(int(n < positives))} for n in range(rows)]
    splits = draw({"train": made}, 0, notes)
    for split in ("validation", "test"):
        assert len(splits[split]) == held
        assert sum(row["label"] == "1" for row in splits[split]) == of_positives
    assert f"{held / rows:.0%} of the rows were drawn for each" in notes[0]


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

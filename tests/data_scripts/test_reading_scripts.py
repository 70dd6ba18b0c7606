"""The scripts of the reading corpora, on small files in the layout of the real ones."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from data_scripts import cmrc2018, corpus, quoref, squad11, squad20
from dicelab.corpora import load
from dicelab.corpora.squad import NOT_FOUND, SHIFTED, read_squad


def squad(id_: str, answers: list, **more) -> str:
    question = {"id": id_, "question": "Who?", "answers": answers, **more}
    paragraph = {"context": "Ann met Bob.", "qas": [question]}
    return json.dumps({"version": "1.1", "data": [{"title": "T", "paragraphs": [paragraph]}]})


ANN = {"text": "Ann", "answer_start": 0}
BOB = {"text": "Bob", "answer_start": 8}


def mirror(folder: Path, name: str, files: dict[str, str]) -> Path:
    (folder / name).mkdir(parents=True)
    for file, text in files.items():
        (folder / name / file).write_text(text, encoding="utf-8")
    return folder


def prepare(script, out: Path, source: Path, *more: str) -> int:
    return corpus.main(
        script.RECIPE, ["--out", str(out), "--mirror", str(source), "--quiet", *more]
    )


def test_squad_11_writes_dev_as_test_and_hides_no_difference(tmp_path, capsys):
    files = {"train-v1.1.json": squad("a", [ANN]), "dev-v1.1.json": squad("b", [ANN, BOB])}
    source = mirror(tmp_path / "mirror", "squad11", files)
    assert prepare(squad11, tmp_path / "out", source) == 1
    assert "the counts differ" in capsys.readouterr().err
    assert not (tmp_path / "out/squad11/train.json").exists()
    assert prepare(squad11, tmp_path / "out", source, "--accept-counts") == 0
    written = sorted(path.name for path in (tmp_path / "out/squad11").glob("*.json"))
    assert written == ["card.json", "test.json", "train.json"]
    test = json.loads((tmp_path / "out/squad11/test.json").read_text(encoding="utf-8"))
    assert test["data"][0]["paragraphs"][0]["qas"][0]["answers"] == [ANN, BOB]


def test_squad_20_counts_the_answerable(tmp_path, capsys):
    empty = squad("a", [], is_impossible=True)
    files = {"train-v2.0.json": empty, "dev-v2.0.json": squad("b", [ANN], is_impossible=False)}
    source = mirror(tmp_path / "mirror", "squad20", files)
    assert prepare(squad20, tmp_path / "out", source, "--accept-counts") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["train", "answerable", "0", "86,821", "differs"] in lines
    assert ["test", "answerable", "1", "5,928", "differs"] in lines


def quoref_archive(folder: Path) -> None:
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "quoref-train-dev-v0.1.zip", "w") as archive:
        for split, id_ in (("train", "a"), ("dev", "b")):
            name = f"quoref-train-dev-v0.1/quoref-{split}-v0.1.json"
            archive.writestr(name, squad(id_, [ANN, BOB]))


def test_quoref_says_that_all_answers_are_needed(tmp_path):
    quoref_archive(tmp_path / "mirror/quoref")
    assert prepare(quoref, tmp_path / "out", tmp_path / "mirror", "--accept-counts") == 0
    train = json.loads((tmp_path / "out/quoref/train.json").read_text(encoding="utf-8"))
    assert train["all_answers"] is True
    # Enough paragraphs to draw a validation set from, so that the corpus can be loaded.
    article = train["data"][0]
    article["paragraphs"] = [
        {
            "context": f"Ann met Bob {n} times.",
            "qas": [{**article["paragraphs"][0]["qas"][0], "id": str(n)}],
        }
        for n in range(10)
    ]
    (tmp_path / "out/quoref/train.json").write_text(json.dumps(train), encoding="utf-8")
    loaded = load("quoref", task="reading", root=tmp_path / "out")
    assert {split: len(rows) for split, rows in loaded.items()} == {
        "train": 9,
        "validation": 1,
        "test": 1,
    }
    for rows in loaded.values():
        assert set(rows["all_answers"]) == {True}
        assert rows[0]["answers"]["text"] == ["Ann", "Bob"]


def test_the_quoref_dev_set_at_hand_has_its_published_count(real_corpus):
    repairs: Counter[str] = Counter()
    path = real_corpus("quoref") / "quoref-dev-v0.1.json"
    dev = read_squad(path, repairs, all_answers=True)
    assert len(dev) == quoref.RECIPE.published["test"]["questions"] == 2418
    assert sum(len(answers["text"]) > 1 for answers in dev["answers"]) == 221
    assert NOT_FOUND not in repairs
    # The oracle: questions and answers of the plain JSON.
    asked = [
        question
        for article in json.loads(path.read_text(encoding="utf-8"))["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
    assert [[a["text"] for a in q["answers"]] for q in asked] == [a["text"] for a in dev["answers"]]


def test_a_page_saved_as_the_archive_does_not_poison_the_folder(tmp_path, capsys):
    (tmp_path / "mirror/quoref").mkdir(parents=True)
    page = tmp_path / "mirror/quoref" / "quoref-train-dev-v0.1.zip"
    page.write_text("<html>not found</html>")
    assert prepare(quoref, tmp_path / "out", tmp_path / "mirror") == 1
    raw = tmp_path / "out/quoref/raw"
    error = capsys.readouterr().err
    assert "expected a zip or tar archive" in error
    assert f"remove it from {raw} to get it again" in error
    assert not (raw / "SHA256SUMS").exists()
    page.unlink()
    page.parent.rmdir()
    quoref_archive(tmp_path / "mirror/quoref")
    (raw / "quoref-train-dev-v0.1.zip").unlink()
    assert prepare(quoref, tmp_path / "out", tmp_path / "mirror", "--accept-counts") == 0
    assert (raw / "SHA256SUMS").exists()


def test_cmrc_dev_is_the_test_set(tmp_path):
    files = {
        "cmrc2018_train.json": squad("a", [ANN]),
        "cmrc2018_trial.json": squad("b", [BOB]),
        "cmrc2018_dev.json": squad("c", [{**BOB, "answer_start": 7}, {**ANN, "text": "x"}]),
    }
    raw = mirror(tmp_path, "raw", files) / "raw"
    repairs: Counter[str] = Counter()
    splits = cmrc2018.RECIPE.convert(raw, 0, repairs)
    assert {split: rows["id"][:] for split, rows in splits.items()} == {
        "train": ["a"],
        "validation": ["b"],
        "test": ["c"],
    }
    assert repairs == {SHIFTED: 1, NOT_FOUND: 1}


def test_the_cmrc_files_at_hand_are_the_declared_ones(real_corpus, tmp_path, capsys):
    """Verified by hash, converted and counted; only the training file is made up."""
    source = tmp_path / "mirror/cmrc2018"
    source.mkdir(parents=True)
    for name in ("cmrc2018_trial.json", "cmrc2018_dev.json"):
        (source / name).symlink_to(real_corpus("cmrc2018") / name)
    (source / "cmrc2018_train.json").write_text(squad("a", [ANN]), encoding="utf-8")
    assert prepare(cmrc2018, tmp_path / "out", tmp_path / "mirror", "--accept-counts") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["validation", "questions", "1,002", "1,002"] in lines
    assert ["test", "questions", "3,219", "3,219"] in lines


@pytest.mark.parametrize("script", [squad11, squad20, quoref, cmrc2018])
def test_addresses_are_pinned_or_their_hash_is_recorded(script):
    for file in script.RECIPE.files:
        assert file.url.startswith("https://")
        pinned = any(len(part) == 40 for part in file.url.split("/")) or "v0.1" in file.url
        assert pinned, file.url
    assert script.RECIPE.citation
    assert script.RECIPE.corpus.licence.startswith("CC BY")

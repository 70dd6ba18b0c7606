"""The one list of corpora, against everything that names corpora."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from dicelab.corpora import CORPORA, EMBEDDED, FORMS, REGISTERED, CorpusError, embedded, load
from dicelab.corpora.features import validate
from dicelab.corpora.registry import SPLITS, corpus_named, language_of
from dicelab.corpora.tags import spans
from dicelab.records import paper
from reproduce import grid
from reproduce.comparisons import TABLES


def test_every_entry_is_complete():
    scorers = {"seqeval", "accuracy", "squad", "quoref", "cmrc", "f1", "macro_f1"}
    for name, corpus in CORPORA.items():
        assert corpus.name == name
        assert corpus.task in FORMS
        assert corpus.language in ("en", "zh")
        assert corpus.scorer in scorers
        assert corpus.licence
        assert set(corpus.splits) <= set(SPLITS)
        assert bool(corpus.script) == (name in REGISTERED) != (name in EMBEDDED)
        assert "OUT/" in corpus.place or not corpus.place
        said = re.search(r"(\d+) types", corpus.title)
        assert said is None or int(said[1]) == corpus.types


def test_the_corpora_of_the_papers_tables_have_their_names_in_it():
    printed = {
        row.corpus: row.corpus_title for table in paper.tables().values() for row in table.rows
    }
    assert {name: CORPORA[name].paper for name in printed} == printed
    for table in TABLES:
        jobs = grid.jobs(table, "paper")
        assert jobs
        assert {job.parameters["corpus"] for job in jobs} <= REGISTERED.keys()


def test_a_command_and_an_unknown_name():
    assert CORPORA["wnut17"].command("x") == "dicebook data wnut17 --out x"
    assert CORPORA["embedded-pos-en"].command() == ""
    with pytest.raises(CorpusError, match="unknown corpus 'wnut16': expected one of conll03, "):
        corpus_named("wnut16")
    with pytest.raises(CorpusError, match="'mrpc' is a corpus for pairs, not for tagging"):
        corpus_named("mrpc", task="tagging")


@pytest.mark.parametrize(
    ("corpus", "asked", "found"),
    [
        ("cmrc2018", "auto", "zh"),
        ("squad11", "auto", "en"),
        ("mine.json", "zh", "zh"),
        ("cmrc2018", "en", "en"),  # who asks for it gets it
    ],
)
def test_the_language_is_the_corpus_s_or_what_is_asked_for(corpus, asked, found):
    assert language_of(corpus, asked) == found


def test_the_language_of_a_corpus_of_one_s_own_shows_in_its_texts():
    assert language_of("mine.json", texts=["1900年谁搬了家？"]) == "zh"
    assert language_of("mine.json", texts=["Who moved to 北京?"]) == "en"
    assert language_of("mine.json", "zh", ["Who moved?"]) == "zh"


@pytest.mark.parametrize(
    ("corpus", "asked", "message"),
    [
        ("squad11", "de", "parameter 'language': expected one of auto, en, zh, got 'de'"),
        ("mine.json", "auto", "expected 'en' or 'zh' for a corpus of your own, 'mine.json', got"),
    ],
)
def test_a_language_that_cannot_be_told_is_asked_for(corpus, asked, message):
    with pytest.raises(CorpusError, match=message):
        language_of(corpus, asked)


@pytest.mark.parametrize("name", EMBEDDED)
def test_an_embedded_corpus_is_read_whole(name):
    corpus = load(name, task=EMBEDDED[name])
    assert tuple(corpus) == SPLITS
    for split in corpus.values():
        validate(split, task=EMBEDDED[name])
    if name.startswith("embedded-entities"):
        kinds = {span.type for tags in corpus["train"]["tags"] for span in spans(tags)}
        assert len(kinds) == CORPORA[name].types
    sizes = [len(split) for split in corpus.values()]
    assert sizes[0] == 3 * sizes[1] == 3 * sizes[2]
    # No row stands in two splits.
    rows = [{json.dumps(row, sort_keys=True) for row in split} for split in corpus.values()]
    if "sentiment" in name:
        assert not (rows[0] & rows[1] | rows[0] & rows[2] | rows[1] & rows[2])


def test_the_embedded_corpora_are_the_files_of_their_card():
    folder = Path(embedded.__file__).parent
    sums = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.glob("*.jsonl.gz")
    }
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert dict(re.findall(r"^\| `(\S+\.gz)` \| `([0-9a-f]{64})` \|$", card, re.MULTILINE)) == sums
    assert sums.keys() == {f"{name}.jsonl.gz" for name in EMBEDDED}

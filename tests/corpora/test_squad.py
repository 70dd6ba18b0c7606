"""The SQuAD reader: alignment, strictness, and what real corpora count."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from mutated_files import mutated, outcome, written

from dicelab.corpora import CorpusError, validate
from dicelab.corpora.features import FORMS
from dicelab.corpora.squad import (
    LOCATED,
    MAX_SHIFT,
    NO_TEXT,
    NOT_FOUND,
    NOT_FOUND_QUESTION,
    SHIFTED,
    align,
    read_squad,
    write_squad,
)

CONTEXT = "Ann met Bob in Oslo. Bob then flew to Rome."


def question(id_: str = "q1", answers: list | None = None, **more) -> dict:
    answers = [{"text": "Oslo", "answer_start": 15}] if answers is None else answers
    return {"id": id_, "question": "Where?", "answers": answers, **more}


def corpus(*questions: dict, **more) -> dict:
    paragraph = {"context": CONTEXT, "qas": list(questions)}
    return {"version": "v2.0", "data": [{"title": "Trip", "paragraphs": [paragraph]}], **more}


def save(folder: Path, value: object) -> Path:
    path = folder / "corpus.json"
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def test_reads_answerable_and_unanswerable_questions(tmp_path):
    path = save(
        tmp_path,
        corpus(question("a", is_impossible=False), question("b", [], is_impossible=True)),
    )
    rows = read_squad(path)
    assert rows.features == FORMS["reading"]
    assert rows[0] == {
        "id": "a",
        "title": "Trip",
        "context": CONTEXT,
        "question": "Where?",
        "answers": {"text": ["Oslo"], "answer_start": [15]},
    }
    assert rows[1]["answers"] == {"text": [], "answer_start": []}


@pytest.mark.parametrize(
    ("text", "start", "expected"),
    [
        ("Oslo", 15, (15, "")),
        ("Oslo", 13, (15, SHIFTED)),
        ("Oslo", 15 + MAX_SHIFT, (15, SHIFTED)),
        ("Oslo", 15 + MAX_SHIFT + 1, (15, LOCATED)),
        ("Oslo", -1, (15, LOCATED)),
        ("Oslo", 10**9, (15, LOCATED)),
        ("Bob", 20, (21, SHIFTED)),
        ("Bob", 9, (8, SHIFTED)),
        ("Bob", -1, (-1, NOT_FOUND)),  # two of them: no guess
        ("Bob", 40, (-1, NOT_FOUND)),
        ("Paris", 15, (-1, NOT_FOUND)),
    ],
)
def test_align(text, start, expected):
    assert align(CONTEXT, text, start) == expected


@given(context=st.text("ab ", max_size=30), text=st.text("ab ", min_size=1, max_size=4))
@settings(max_examples=200, deadline=None)
def test_an_aligned_answer_stands_in_its_context(context, text):
    for start in range(-2, len(context) + 3):
        found, outcome = align(context, text, start)
        if outcome == NOT_FOUND:
            nearest = [i for i in range(len(context)) if context.startswith(text, i)]
            assert found == -1
            assert len(nearest) != 1
            assert start not in nearest
        else:
            assert context[found : found + len(text)] == text
            if outcome == SHIFTED:  # the oracle looks at every occurrence
                distances = [
                    abs(i - start) for i in range(len(context)) if context.startswith(text, i)
                ]
                assert abs(found - start) == min(distances)


def test_repairs_are_counted_and_an_unaligned_question_does_not_become_unanswerable(tmp_path):
    path = save(
        tmp_path,
        corpus(
            question("a", [{"text": "Oslo", "answer_start": 14}]),
            question("b", [{"text": "Rome", "answer_start": -1}]),
            question("c", [{"text": "x", "answer_start": 0}, {"text": "Ann", "answer_start": 0}]),
            question("d", [{"text": "x", "answer_start": 0}]),
        ),
    )
    repairs: Counter[str] = Counter()
    rows = read_squad(path, repairs)
    assert rows["id"] == ["a", "b", "c"]
    assert rows[2]["answers"] == {"text": ["Ann"], "answer_start": [0]}
    assert repairs == {SHIFTED: 1, LOCATED: 1, NOT_FOUND: 2, NOT_FOUND_QUESTION: 1}
    validate(rows, task="reading")


def test_alternatives_and_answers_that_are_all_needed_differ(tmp_path):
    both = [{"text": "Ann", "answer_start": 0}, {"text": "Bob", "answer_start": 8}]
    path = save(tmp_path, corpus(question(answers=both)))
    assert "all_answers" not in read_squad(path).column_names
    needed = read_squad(path, all_answers=True)
    assert needed["all_answers"] == [True]
    assert needed[0]["answers"]["text"] == ["Ann", "Bob"]
    write_squad(needed, tmp_path / "written.json")
    again = read_squad(tmp_path / "written.json")
    assert again["all_answers"] == [True]
    assert validate(again, task="reading").to_list() == needed.to_list()


rows_of_questions = st.lists(
    st.tuples(st.sampled_from(["", "T", "U"]), st.text(min_size=1), st.text(), st.booleans()),
    min_size=1,
    max_size=6,
)


@given(rows=rows_of_questions, data=st.data())
@written(60)
def test_what_is_written_is_read_back(rows, data, tmp_path):
    made = []
    for number, (title, context, text, answerable) in enumerate(rows):
        start = data.draw(st.integers(0, len(context) - 1))
        end = data.draw(st.integers(start + 1, len(context)))
        answers = {"text": [context[start:end]], "answer_start": [start]}
        made.append(
            {
                "id": str(number),
                "title": title,
                "context": context,
                "question": text,
                "answers": answers if answerable else {"text": [], "answer_start": []},
            }
        )
    path = tmp_path / "round.json"
    write_squad(Dataset.from_list(made, features=FORMS["reading"]), path)
    repairs: Counter[str] = Counter()
    assert read_squad(path, repairs).to_list() == made
    assert not repairs
    assert [p.name for p in tmp_path.iterdir()] == ["round.json"]


def test_a_byte_order_mark_and_crlf_are_no_error(tmp_path):
    path = tmp_path / "bom.json"
    text = json.dumps(corpus(question()), indent=1).replace("\n", "\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_squad(path)[0]["answers"]["answer_start"] == [15]


def test_writing_another_form_is_refused(tmp_path):
    with pytest.raises(CorpusError, match="got none named answers"):
        write_squad(Dataset.from_dict({"id": ["1"]}), tmp_path / "x.json")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "expected an object, got 3"),
        ([], "expected at least one question"),
        ({}, "data: Field required, got {}"),
        ({"data": [{"paragraphs": [{"qas": []}]}]}, r"paragraphs\[0\].context: Field required"),
        (corpus(question(), question()), "expected each id once, got 'q1' twice"),
        (
            corpus(question(7.5)),
            r"data\[0\].paragraphs\[0\].qas\[0\].id: expected a valid string, got 7.5",
        ),
        (
            corpus(question(answers=[{"text": "Oslo", "answer_start": "x5"}])),
            r"qas\[0\].answers\[0\].answer_start: expected a valid integer, got 'x5'",
        ),
        (corpus(question(is_impossible=True)), "expected no answer where is_impossible is true"),
        (corpus(question(answers=[], is_impossible=False)), "else at least one, got"),
    ],
)
def test_wrong_structure_is_reported_with_its_place(tmp_path, value, message):
    path = save(tmp_path, value)
    with pytest.raises(CorpusError, match=message) as error:
        read_squad(path)
    assert str(error.value).startswith(str(path))


def test_the_forms_of_tools_and_libraries(tmp_path):
    context, answer = "Ann lives in Oslo.", {"text": "Oslo", "answer_start": 13}
    asked = {"id": 7, "question": "Where?"}
    flat = {"id": "7", "context": context, "question": "Where?"}
    for whole in (
        corpus({**asked, "answers": [{"text": "Oslo", "answer_start": "13", "answer_id": 5}]}),
        {"data": [{**flat, "answers": {"text": ["Oslo"], "answer_start": [13]}}]},
        [{"context": context, "qas": [{**asked, "answers": [{**answer, "answer_start": 13.0}]}]}],
        [{**flat, "answers": [answer]}],
    ):
        found = read_squad(save(tmp_path, whole))
        start = found["context"][0].index("Oslo")
        assert found["id"] == ["7"]
        assert found["answers"][0]["text"] == ["Oslo"]
        if found["context"][0] == context:
            assert found["answers"][0]["answer_start"] == [start]
    path = tmp_path / "lines.json"
    path.write_text("\n".join(json.dumps({**flat, "id": n, "answers": [answer]}) for n in (1, 2)))
    assert read_squad(path)["id"] == ["1", "2"]
    repairs: Counter[str] = Counter()
    for more in ({"answers": [{"text": "", "answer_start": -1}]}, {}):
        none = [{"context": context, "qas": [{**asked, **more}]}]
        assert read_squad(save(tmp_path, none), repairs)["answers"][0]["text"] == []
    assert repairs == {NO_TEXT: 1}


SAMPLE = json.dumps(corpus(question("a"), question("ü", [], is_impossible=True)))


@given(data=mutated(SAMPLE))
@written(200)
def test_a_damaged_file_ends_in_a_value_or_in_a_corpus_error(data, tmp_path):
    path = tmp_path / "damaged.json"
    path.write_bytes(data)
    assert outcome(read_squad, path, "reading").startswith(("read", str(path)))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@given(data=st.data())
@written(200)
def test_any_value_in_any_place_ends_in_a_value_or_in_a_corpus_error(data, tmp_path):
    value = corpus(question("a"), question("b", [], is_impossible=True))
    node: object = value
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        inner = node[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            node[key] = data.draw(json_values)
            break
        node = inner
    path = tmp_path / "damaged.json"
    path.write_text(json.dumps(value))
    assert outcome(read_squad, path, "reading").startswith(("read", str(path)))
